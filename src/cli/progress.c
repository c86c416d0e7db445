/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FIRST_S 1.0  /* nothing is shown of work that is done by then */
#define EVERY_S 0.2
#define MEMORY_S 5.0 /* the rate is that of about so many seconds, so that a change shows and a stutter does not */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Asked each time, since a terminal may be made narrower at any moment; what it says counts more than COLUMNS here. */
static size_t line_width(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return cli_width(stderr);
}

/* "12 s", "3:05", "2:07:30". */
static const char *show_time(char dst[32], double seconds)
{
	unsigned long long s = seconds < 1e9 ? (unsigned long long)(seconds + 0.5) : 1000000000;

	if (s < 60)
		snprintf(dst, 32, "%llu s", s);
	else if (s < 3600)
		snprintf(dst, 32, "%llu:%02llu", s / 60, s % 60);
	else
		snprintf(dst, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	return dst;
}

/* Cuts text to so many columns, between two characters. */
static void cut(char *text, size_t columns)
{
	size_t n = 0;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) == 0x80)
			continue;
		if (n++ == columns) {
			*text = '\0';
			return;
		}
	}
}

/*
 * The mean of what came by so far, and once that is more than memory reaches back to, one that forgets. The time before
 * the first byte, when headers are read, is in no rate.
 */
static void follow_rate(struct cli_progress *p, double t, uint64_t done)
{
	double passed = t - p->last, known;

	if (done < p->done) { /* another step of the work, which counts from 0 */
		p->begun = p->last;
		p->done = 0;
	}
	known = t - p->begun < MEMORY_S ? t - p->begun : MEMORY_S;
	p->rate += (passed < known ? passed / known : 1) * ((double)(done - p->done) / passed - p->rate);
	p->last = t;
	p->done = done;
}

static void show(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	struct cli_progress *p = ctx;
	double t = now();
	char line[512], size_a[32], size_b[32], rate[32], left[32], name[256];

	if (!p->active)
		return;
	if (p->begun <= 0) {
		p->begun = p->last = t;
		p->done = done;
	}
	if (t - p->last < EVERY_S)
		return;
	follow_rate(p, t, done);
	if (t - p->start < FIRST_S)
		return;
	p->shown = true;
	if (done > total)
		total = done;
	cli_mask(name, sizeof(name), file ? file : "");
	snprintf(line, sizeof(line), "%3.0f%%  %s of %s  %s/s  %s left  %s",
		 total ? 100.0 * (double)done / (double)total : 100.0, cli_size(size_a, done), cli_size(size_b, total),
		 cli_size(rate, (uint64_t)p->rate), p->rate > 0 ? show_time(left, (double)(total - done) / p->rate) : "?", name);
	cut(line, line_width() - 1); /* a full line would make some terminals begin another one */
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
