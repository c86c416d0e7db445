/* SPDX-License-Identifier: Apache-2.0 */
/* The report of gptq-inspect for people and for programs, from the same struct. */
#ifndef GQ_CLI_INSPECT_REPORT_H
#define GQ_CLI_INSPECT_REPORT_H

#include "cli.h"

/* What is shown besides the one screen. */
struct inspect_view {
	bool layers, tensors, stats, loaders;
	bool ascii;     /* no block characters: the locale is not UTF-8 */
	bool colour;
	unsigned width; /* columns */
};

void inspect_print_text(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view);
/* One object and a line feed. */
void inspect_print_json(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view);
void inspect_print_failure_json(FILE *out, const char *path, const struct gptq_error *err);

#endif
