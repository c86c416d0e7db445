/* SPDX-License-Identifier: Apache-2.0 */
/* The one screen of gptq-inspect, and the tables behind --layers, --tensors, --stats and --loaders. */
#include "inspect_report.h"

#include <math.h>
#include <string.h>

enum { LABEL = 14 }; /* columns of the left-hand words */

static void head(FILE *out, const char *name)
{
	fprintf(out, "%-*s", LABEL, name);
}

/* A wrapped text behind a left-hand word. */
static void line(FILE *out, const char *name, const char *text, unsigned width)
{
	head(out, name);
	cli_wrap(out, text, LABEL, LABEL, width);
}

static const char *yes_no(enum gptq_tristate v, const char *yes, const char *no, const char *unknown)
{
	return v == GPTQ_YES ? yes : v == GPTQ_NO ? no : unknown;
}

/* "7.24 B", "124 M", "65,536". */
static const char *parameters(char dst[32], uint64_t n)
{
	double v = (double)n;

	if (n >= 1000000000)
		snprintf(dst, 32, v < 1e10 ? "%.2f B" : "%.1f B", v / 1e9);
	else if (n >= 1000000)
		snprintf(dst, 32, v < 1e7 ? "%.2f M" : "%.1f M", v / 1e6);
	else
		cli_count(dst, n);
	return dst;
}

static void print_label(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[1024];

	if (!r->n_label_sources) {
		line(out, "label", r->n_layers ? "none (every loader takes that for v1)" : "none", width);
		return;
	}
	for (size_t i = 0; i < r->n_label_sources && i < 6; i++) {
		const struct gptq_label_source *s = &r->label_sources[i];

		snprintf(text, sizeof(text), "%s  in %s: %s", s->value, s->file, s->key);
		line(out, i ? "" : "label", text, width);
	}
	if (r->n_label_sources > 6) {
		snprintf(text, sizeof(text), "and %zu places more", r->n_label_sources - 6);
		line(out, "", text, width);
	}
	if (!r->label_consistent)
		line(out, "", "these contradict each other", width);
}

static void print_verdict(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[2048], n[32];

	if (r->headers_only) {
		line(out, "tensors", "not read (headers only)", width);
		return;
	}
	if (r->verdict == GPTQ_VERDICT_UNREAD)
		return;
	snprintf(text, sizeof(text), "%s%s", gptq_verdict_name(r->verdict),
		 yes_no(r->agrees_with_label, ", as the label says", ", which contradicts the label", ""));
	line(out, "tensors", text, width);
	snprintf(text, sizeof(text), "%s; codes of %s layers read", r->evidence, cli_count(n, r->n_layers_read));
	line(out, "", text, width);
}

static void print_style(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[256], n[32];

	if (r->headers_only || !r->n_layers || r->verdict == GPTQ_VERDICT_V2 ||
	    (r->effective != GPTQ_ZEROS_V1 && r->verdict != GPTQ_VERDICT_MIXED))
		return;
	if (r->v1_style == GPTQ_STYLE_CLEAN) {
		line(out, "v1 style", "clean: all styles read it alike", width);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s%s; %s lanes at their maximum",
		 r->v1_style ? gptq_style_name(r->v1_style) : "open", r->v1_style ? " (by " : "",
		 r->v1_style ? gptq_style_source_name(r->v1_style_source) : "", r->v1_style ? ")" : "",
		 cli_count(n, r->lanes_at_max));
	line(out, "v1 style", text, width);
	for (unsigned i = 0; i < r->n_bits && r->n_bits > 1; i++) {
		snprintf(text, sizeof(text), "%u bits: %s", r->bits[i].bits,
			 r->bits[i].style ? gptq_style_name(r->bits[i].style) : "open");
		line(out, "", text, width);
	}
}

static void print_shape(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[512], n[32];
	size_t used = 0;

	for (unsigned i = 0; i < r->n_bits; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u (%s layer%s)", i ? ", " : "",
					 r->bits[i].bits, cli_count(n, r->bits[i].n_layers),
					 r->bits[i].n_layers == 1 ? "" : "s");
	line(out, "bits", text, width);
	if (r->group_size == 0)
		snprintf(text, sizeof(text), "differs between layers");
	else if (r->group_size < 0)
		snprintf(text, sizeof(text), "-1 (one group a column)");
	else
		snprintf(text, sizeof(text), "%lld", (long long)r->group_size);
	line(out, "group size", text, width);
	snprintf(text, sizeof(text), "%s by the tensors, %s by the config",
		 yes_no(r->sym_data, "yes", "no", "not read"), yes_no(r->sym_label, "yes", "no", "nothing said"));
	line(out, "symmetric", text, width);
	snprintf(text, sizeof(text), "%s by g_idx, desc_act %s in the config",
		 yes_no(r->act_order_data, "yes", "no", "not read"), yes_no(r->act_order_label, "true", "false", "not said"));
	line(out, "act-order", text, width);
}

static void print_size(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[512], a[32], b[32], c[32], d[32];

	if (r->n_layers) {
		snprintf(text, sizeof(text), "%s quantised, %s plain", cli_count(a, r->n_layers),
			 cli_count(b, r->n_plain_modules));
		line(out, "modules", text, width);
		snprintf(text, sizeof(text), "%s, of them %s quantised at %.2f bits a weight", parameters(a, r->parameters),
			 parameters(b, r->quantised_parameters),
			 r->quantised_parameters ? (double)r->quantised_bits / (double)r->quantised_parameters : 0.0);
	} else {
		snprintf(text, sizeof(text), "%s", parameters(a, r->parameters));
	}
	line(out, "parameters", text, width);
	snprintf(text, sizeof(text), "%s in %s tensors in %s file%s", cli_size(c, r->tensor_bytes),
		 cli_count(a, r->n_tensors_in_all), cli_count(d, r->n_files), r->n_files == 1 ? "" : "s");
	line(out, "size", text, width);
}

static const char *paint(const struct inspect_view *view, enum gptq_severity severity)
{
	if (!view->colour)
		return "";
	return severity == GPTQ_ERROR ? "\033[1;31m" : severity == GPTQ_WARNING ? "\033[33m" : "\033[2m";
}

static void print_findings(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	if (!r->n_findings) {
		line(out, "findings", "none", view->width);
		return;
	}
	fputs("findings\n", out);
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct gptq_finding *f = &r->findings[i];

		fprintf(out, "  %s%-7s%s  %s%s%s\n", paint(view, f->severity), gptq_severity_name(f->severity),
			view->colour ? "\033[0m" : "", f->code, f->where[0] ? "  " : "", f->where);
		fprintf(out, "%*s", 11, "");
		cli_wrap(out, f->text, 11, 11, view->width);
	}
}

/* "vLLM gptq, SGLang gptq" for one answer. */
static void print_readers(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	static const char *const heads[] = {"reads right", "refuses", "reads wrong", "not known"};
	char text[1024];

	for (int answer = 0; answer < 4 && r->n_readers; answer++) {
		size_t used = 0;

		text[0] = '\0';
		for (size_t i = 0; i < r->n_readers && used < sizeof(text); i++)
			if ((int)r->readers[i].answer == answer)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
							 r->readers[i].loader);
		if (used)
			line(out, heads[answer], text, width);
	}
}

static void print_loader_table(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	fputs("\nloaders\n", out);
	for (size_t i = 0; i < r->n_readers; i++) {
		const struct gptq_reader *x = &r->readers[i];

		fprintf(out, "  %-30s  %-14s  ", x->loader, gptq_reader_answer_name(x->answer));
		cli_wrap(out, x->reason[0] ? x->reason : "-", 50, 50, view->width < 90 ? 90 : view->width);
		fprintf(out, "  %-30s  (as of %s)\n", "", x->read_at);
	}
}

static unsigned widest_name(const struct gptq_inspect_report *r, unsigned limit)
{
	size_t w = 5;

	for (size_t i = 0; i < r->n_layers; i++)
		w = strlen(r->layers[i].name) > w ? strlen(r->layers[i].name) : w;
	return w > limit ? limit : (unsigned)w;
}

static void print_layer_table(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	unsigned w = widest_name(r, view->width > 100 ? view->width - 56 : 44);

	fprintf(out, "\n%-*s %4s %5s %7s %7s %3s %3s %-7s %9s %8s\n", (int)w, "layer", "bits", "group", "in", "out", "sym",
		"act", "verdict", "zeros", "at 0");
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct gptq_layer_info *l = &r->layers[i];
		char group[24], zeros[24] = "-", at_0[24] = "-";

		snprintf(group, sizeof(group), l->group_size ? "%lld" : "?", (long long)l->group_size);
		if (l->has_zeros) {
			snprintf(zeros, sizeof(zeros), "%u..%u", l->zero_min, l->zero_max);
			snprintf(at_0, sizeof(at_0), "%llu", (unsigned long long)l->zeros_equal_0);
		}
		fprintf(out, "%-*s %4u %5s %7llu %7llu %3s %3s %-7s %9s %8s\n", (int)w, l->name, l->bits, group,
			(unsigned long long)l->in_features, (unsigned long long)l->out_features,
			yes_no(l->sym, "yes", "no", "?"), yes_no(l->act_order, "yes", "no", "?"),
			l->verdict == GPTQ_VERDICT_UNDETERMINED ? "open" : gptq_verdict_name(l->verdict), zeros, at_0);
	}
	for (size_t i = 0; i < r->n_layers; i++)
		if (r->layers[i].weights_sha256)
			fprintf(out, "%s  %s\n", r->layers[i].weights_sha256, r->layers[i].name);
}

static void print_tensor_table(FILE *out, const struct gptq_inspect_report *r)
{
	fprintf(out, "\n%-7s %-18s %14s %14s  %-28s  %s\n", "dtype", "shape", "bytes", "offset", "file", "tensor");
	for (size_t i = 0; i < r->n_tensors; i++) {
		const struct gptq_tensor_info *t = &r->tensors[i];
		char shape[256] = "[";
		size_t used = 1;

		for (uint32_t d = 0; d < t->rank && used + 24 < sizeof(shape); d++)
			used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%s%llu", d ? "," : "",
						 (unsigned long long)t->shape[d]);
		snprintf(shape + used, sizeof(shape) - used, "]");
		fprintf(out, "%-7s %-18s %14llu %14llu  %-28s  %s%s%s\n", t->dtype, shape, (unsigned long long)t->nbytes,
			(unsigned long long)t->offset, t->shard, t->name, t->digest ? "  " : "", t->digest ? t->digest : "");
	}
}

/* A bar of `cells` eighths; '#' where there are no block characters. */
static void print_bar(FILE *out, double share, unsigned columns, bool ascii)
{
	static const char *const parts[] = {"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
					    "\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
	unsigned eighths = (unsigned)(share * columns * 8 + 0.5);

	if (eighths == 0 && share > 0)
		eighths = 1;
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
		fprintf(out, "  %8s %14s %5.1f%%  ", range, cli_count(n, rows[i]), 100.0 * (double)rows[i] / (double)total);
		print_bar(out, (double)rows[i] / (double)most, view->width > 60 ? view->width - 40 : 20, view->ascii);
		fputc('\n', out);
	}
}

static void print_stats(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	double low = INFINITY, high = -INFINITY;

	for (unsigned i = 0; i < r->n_bits; i++)
		print_histogram(out, &r->bits[i], view);
	for (size_t i = 0; i < r->n_layers; i++) {
		low = r->layers[i].scale_min < low ? r->layers[i].scale_min : low;
		high = r->layers[i].scale_max > high ? r->layers[i].scale_max : high;
	}
	if (low <= high)
		fprintf(out, "\nscales from %.4g to %.4g\n", low, high);
}

void inspect_print_text(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	char text[1024];

	fprintf(out, "%s\n", r->path);
	if (r->other_format) {
		snprintf(text, sizeof(text), "%s: %s", r->other_format, r->other_format_text);
		line(out, "format", text, view->width);
	} else if (!r->n_layers) {
		line(out, "format", r->n_tensors_in_all ? "no GPTQ layer: a plain, unquantised checkpoint" : "no tensors",
		     view->width);
	}
	if (r->n_layers || r->n_label_sources)
		print_label(out, r, view->width);
	if (r->n_layers) {
		print_verdict(out, r, view->width);
		print_style(out, r, view->width);
		if (r->producer)
			line(out, "producer", r->producer, view->width);
		print_shape(out, r, view->width);
	}
	print_size(out, r, view->width);
	if (r->weights_digest)
		line(out, "weights", r->weights_digest, 200);
	print_readers(out, r, view->width);
	print_findings(out, r, view);
	if (view->stats)
		print_stats(out, r, view);
	if (view->loaders)
		print_loader_table(out, r, view);
	if (view->layers)
		print_layer_table(out, r, view);
	if (view->tensors)
		print_tensor_table(out, r);
}
