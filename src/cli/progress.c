/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void show(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	struct cli_progress *p = ctx;
	double t = now(), seconds = t - p->start, rate, left;
	char line[512], size_a[32], size_b[32], rate_text[32], name[256];
	unsigned width = cli_width(stderr);

	if (!p->active || seconds < 1 || t - p->last < 0.2)
		return;
	p->last = t;
	p->shown = true;
	rate = (double)done / seconds;
	left = rate > 0 && total > done ? (double)(total - done) / rate : 0;
	cli_mask(name, sizeof(name), file ? file : "");
	snprintf(line, sizeof(line), "%3.0f%%  %s of %s  %s/s  %.0f s left  %s",
		 total ? 100.0 * (double)done / (double)total : 100.0, cli_size(size_a, done), cli_size(size_b, total),
		 cli_size(rate_text, (uint64_t)rate), left, name);
	if (strlen(line) >= width) /* may cut a character in two; the next line overwrites it */
		line[width - 1] = '\0';
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
}

void cli_progress_init(struct cli_progress *p, enum cli_when when, struct gptq_hooks *hooks)
{
	*p = (struct cli_progress){.start = now()};
	p->active = when == CLI_ALWAYS || (when == CLI_AUTO && isatty(STDERR_FILENO));
	*hooks = (struct gptq_hooks){.ctx = p, .cancelled = cli_cancelled, .progress = p->active ? show : NULL};
}

void cli_progress_end(struct cli_progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
}
