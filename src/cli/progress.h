/* SPDX-License-Identifier: Apache-2.0 */
/* One line on stderr while bytes move: share, bytes, rate, time left, file. Nothing for work under a second. */
#ifndef GQ_CLI_PROGRESS_H
#define GQ_CLI_PROGRESS_H

#include "cli.h"

struct cli_progress {
	bool active;
	bool shown;
	double start, begun, last; /* seconds on the monotonic clock; begun: when the first bytes were told of, or 0 */
	uint64_t done;             /* at the last look */
	double rate;        /* bytes a second, lately */
};

/* Fills hooks (cancelled: a signal came; progress: the line), which use *p: keep both alive. */
void cli_progress_init(struct cli_progress *p, enum cli_when when, struct gptq_hooks *hooks);
/* Wipes the line. */
void cli_progress_end(struct cli_progress *p);

#endif
