/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind --layers, --tensors, --stats and --loaders. */
#include "inspect_report.h"

#include <math.h>
#include <string.h>

enum { CELL = 264, MAX_COLUMNS = 10 };

/* A table whose columns are as wide as what stands in them; the last one holds whatever is long. */
struct table {
	size_t n_rows;
	unsigned n_columns;
	const char *const *heads;
	const char *right; /* 'r' for columns that are set to the right */
	void (*fill)(const void *ctx, size_t row, char cells[MAX_COLUMNS][CELL], const char **last);
	const void *ctx;
};

static void print_table(FILE *out, const struct table *t)
{
	char cells[MAX_COLUMNS][CELL];
	size_t width[MAX_COLUMNS];
	const char *last;

	for (unsigned c = 0; c < t->n_columns; c++)
		width[c] = strlen(t->heads[c]);
	for (size_t i = 0; i < t->n_rows; i++) {
		t->fill(t->ctx, i, cells, &last);
		for (unsigned c = 0; c < t->n_columns; c++)
			width[c] = cli_columns(cells[c]) > width[c] ? cli_columns(cells[c]) : width[c];
	}
	fputc('\n', out);
	for (size_t i = 0; i <= t->n_rows; i++) {
		if (i)
			t->fill(t->ctx, i - 1, cells, &last);
		for (unsigned c = 0; c < t->n_columns; c++) {
			const char *text = i ? cells[c] : t->heads[c];
			int room = (int)(width[c] - cli_columns(text));

			fprintf(out, "%s%*s%s%*s", c ? "  " : "", t->right[c] == 'r' ? room : 0, "", text,
				t->right[c] == 'r' ? 0 : room, "");
		}
		fprintf(out, "  %s\n", i ? last : t->heads[t->n_columns]);
	}
}

/* ------------------------------------------------------------------------------------------------------ layers */

static const char *short_flag(enum gptq_tristate v)
{
	return v == GPTQ_YES ? "yes" : v == GPTQ_NO ? "no" : "?";
}

static void fill_layer(const void *ctx, size_t row, char cells[MAX_COLUMNS][CELL], const char **last)
{
	const struct gptq_layer_info *l = &((const struct gptq_inspect_report *)ctx)->layers[row];

	snprintf(cells[0], CELL, "%u", l->bits);
	snprintf(cells[1], CELL, l->group_size ? "%lld" : "?", (long long)l->group_size);
	snprintf(cells[2], CELL, "%llu", (unsigned long long)l->in_features);
	snprintf(cells[3], CELL, "%llu", (unsigned long long)l->out_features);
	snprintf(cells[4], CELL, "%s", short_flag(l->sym));
	snprintf(cells[5], CELL, "%s", short_flag(l->act_order));
	snprintf(cells[6], CELL, "%s",
		 l->verdict == GPTQ_VERDICT_UNDETERMINED ? "open"
		 : l->verdict == GPTQ_VERDICT_UNREAD     ? "-"
							 : gptq_verdict_name(l->verdict));
	snprintf(cells[7], CELL, "%s", strcmp(l->rule, "none") == 0 ? "-" : l->rule);
	snprintf(cells[8], CELL, "-");
	snprintf(cells[9], CELL, "-");
	if (l->has_zeros) {
		snprintf(cells[8], CELL, "%u..%u", l->zero_min, l->zero_max);
		snprintf(cells[9], CELL, "%llu", (unsigned long long)l->zeros_equal_0);
	}
	*last = l->name;
}

void inspect_print_layers(FILE *out, const struct gptq_inspect_report *r)
{
	static const char *const heads[] = {"bits", "group", "in",    "out",  "sym",  "act",
					    "is",   "by",    "zeros", "at 0", "layer"};
	struct table t = {r->n_layers, 10, heads, "rrrrllllrr", fill_layer, r};

	print_table(out, &t);
	for (size_t i = 0; i < r->n_layers; i++)
		if (r->layers[i].weights_sha256)
			fprintf(out, "%s  %s\n", r->layers[i].weights_sha256, r->layers[i].name);
}

/* ----------------------------------------------------------------------------------------------------- tensors */

static void fill_tensor(const void *ctx, size_t row, char cells[MAX_COLUMNS][CELL], const char **last)
{
	const struct gptq_inspect_report *r = ctx;
	const struct gptq_tensor_info *t = &r->tensors[row];
	char *shape = cells[1];
	size_t used = 1;
	unsigned c = 4;

	snprintf(cells[0], CELL, "%s", t->dtype);
	strcpy(shape, "[");
	for (uint32_t d = 0; d < t->rank && used < 96; d++)
		used += (size_t)snprintf(shape + used, CELL - used, "%s%llu", d ? "," : "",
					 (unsigned long long)t->shape[d]);
	snprintf(shape + used, CELL - used, used < 96 ? "]" : ",...]");
	snprintf(cells[2], CELL, "%llu", (unsigned long long)t->nbytes);
	snprintf(cells[3], CELL, "%llu", (unsigned long long)t->offset);
	if (t->digest)
		snprintf(cells[c++], CELL, "%s", t->digest);
	if (r->n_files > 1)
		snprintf(cells[c], CELL, "%s", t->shard);
	*last = t->name;
}

void inspect_print_tensors(FILE *out, const struct gptq_inspect_report *r)
{
	const char *heads[7] = {"dtype", "shape", "bytes", "offset"};
	struct table t = {r->n_tensors, 4, heads, "llrrll", fill_tensor, r};

	if (r->n_tensors && r->tensors[0].digest)
		heads[t.n_columns++] = "digest";
	if (r->n_files > 1)
		heads[t.n_columns++] = "file";
	heads[t.n_columns] = "tensor";
	print_table(out, &t);
}

/* ------------------------------------------------------------------------------------------------------- stats */

/* A bar in eighths of a column; '#' where there are no block characters. */
static void print_bar(FILE *out, double share, unsigned columns, bool ascii)
{
	static const char *const parts[] = {"",
					    "\xe2\x96\x8f",
					    "\xe2\x96\x8e",
					    "\xe2\x96\x8d",
					    "\xe2\x96\x8c",
					    "\xe2\x96\x8b",
					    "\xe2\x96\x8a",
					    "\xe2\x96\x89"};
	unsigned eighths = (unsigned)(share * columns * 8 + 0.5);

	if (eighths == 0 && share > 0)
		eighths = 1;
	if (eighths)
		fputs("  ", out);
	for (unsigned i = 0; i < eighths / 8; i++)
		fputs(ascii ? "#" : "\xe2\x96\x88", out);
	if (ascii)
		fputs(eighths % 8 ? "+" : "", out);
	else
		fputs(parts[eighths % 8], out);
}

static void print_histogram(FILE *out, const struct gptq_bits_count *b, const struct inspect_view *view)
{
	unsigned values = 1u << b->bits, per = values > 32 ? values / 32 : 1; /* at most 32 rows */
	unsigned columns = view->width > 120 ? 80 : view->width > 60 ? view->width - 40 : 20;
	uint64_t rows[32] = {0}, most = 0, total = 0;
	char n[32];

	for (unsigned z = 0; z < values; z++) {
		rows[z / per] += b->zero_histogram[z];
		total += b->zero_histogram[z];
	}
	for (unsigned i = 0; i < values / per; i++)
		most = rows[i] > most ? rows[i] : most;
	if (!total)
		return;
	fprintf(out, "\nzero points at %u bits\n", b->bits);
	for (unsigned i = 0; i < values / per; i++) {
		char range[24];

		if (per > 1)
			snprintf(range, sizeof(range), "%u..%u", i * per, i * per + per - 1);
		else
			snprintf(range, sizeof(range), "%u", i);
		fprintf(out, "  %8s  %14s  %5.1f%%", range, cli_count(n, rows[i]),
			100.0 * (double)rows[i] / (double)total);
		print_bar(out, (double)rows[i] / (double)most, columns, view->ascii);
		fputc('\n', out);
	}
}

void inspect_print_stats(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	double low = (double)INFINITY, high = (double)-INFINITY;

	for (unsigned i = 0; i < r->n_bits; i++)
		print_histogram(out, &r->bits[i], view);
	if (r->n_layers)
		fputs("\nscales, smallest and largest of each layer\n", out);
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct gptq_layer_info *l = &r->layers[i];

		if (isnan(l->scale_min))
			fprintf(out, "  %11s  %11s  %s\n", "-", "-", l->name);
		else
			fprintf(out, "  %11.4g  %11.4g  %s\n", l->scale_min, l->scale_max, l->name);
		low = l->scale_min < low ? l->scale_min : low;
		high = l->scale_max > high ? l->scale_max : high;
	}
	if (low <= high)
		fprintf(out, "  %11.4g  %11.4g  all layers\n", low, high);
}

/* ----------------------------------------------------------------------------------------------------- loaders */

void inspect_print_loaders(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	enum { NAME = 19, ANSWER = 14, REASON = 2 + NAME + 2 + ANSWER + 2 };

	fputs("\nloaders, and the version or commit that was read\n", out);
	for (size_t i = 0; i < r->n_readers; i++) {
		const struct gptq_reader *x = &r->readers[i];
		char text[1024];

		snprintf(text, sizeof(text), "%s%s(%s)", x->reason, x->reason[0] ? " " : "", x->read_at);
		if (view->width >= REASON + 24) {
			fprintf(out, "  %-*s  %-*s  ", NAME, x->loader, ANSWER, gptq_reader_answer_name(x->answer));
			cli_wrap(out, text, REASON, REASON, view->width);
		} else {
			fprintf(out, "  %-*s  %s\n      ", NAME, x->loader, gptq_reader_answer_name(x->answer));
			cli_wrap(out, text, 6, 6, view->width);
		}
	}
}
