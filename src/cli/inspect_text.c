/* SPDX-License-Identifier: Apache-2.0 */
/* The one screen of gptq-inspect. */
#include "inspect_report.h"

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

/* "GPTQ v1, 4 bits, group size 128, symmetric, act-order": what people ask first. */
static void print_summary(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[512], kind[64] = "GPTQ";
	size_t used;

	if (r->verdict == GPTQ_VERDICT_V1 || r->verdict == GPTQ_VERDICT_V2)
		snprintf(kind, sizeof(kind), "GPTQ %s", gptq_verdict_name(r->verdict));
	else if (r->verdict == GPTQ_VERDICT_MIXED)
		snprintf(kind, sizeof(kind), "GPTQ, v1 and v2 mixed");
	else if (!r->headers_only)
		snprintf(kind, sizeof(kind), "GPTQ, v1 or v2 by label alone");
	used = (size_t)snprintf(text, sizeof(text), "%s, ", kind);
	for (unsigned i = 0; i < r->n_bits; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? "/" : "", r->bits[i].bits);
	used += (size_t)snprintf(text + used, sizeof(text) - used, " bits");
	if (r->group_size > 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", group size %lld",
					 (long long)r->group_size);
	else if (r->group_size < 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", one group a column");
	snprintf(text + used, sizeof(text) - used, "%s%s", yes_no(r->sym_data, ", symmetric", ", asymmetric", ""),
		 yes_no(r->act_order_data, ", act-order", "", ""));
	line(out, "this is", text, width);
}

static void print_label(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[1024];

	if (!r->n_label_sources) {
		line(out, "label", r->n_layers ? "none; loaders take that for v1" : "none", width);
		return;
	}
	for (size_t i = 0; i < r->n_label_sources && i < 6; i++) {
		const struct gptq_label_source *s = &r->label_sources[i];

		snprintf(text, sizeof(text), "%s in %s: %s", s->value, s->file, s->key);
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
	char text[2048], read[32], all[32];

	if (r->headers_only) {
		line(out, "tensors", "not read, headers only", width);
		return;
	}
	if (r->verdict == GPTQ_VERDICT_UNREAD)
		return;
	snprintf(text, sizeof(text), "%s%s", gptq_verdict_name(r->verdict),
		 r->verdict == GPTQ_VERDICT_MIXED
			 ? ": no one label is true"
			 : yes_no(r->agrees_with_label, ", as the label says", ", which contradicts the label", ""));
	line(out, "tensors", text, width);
	if (r->n_layers_read)
		snprintf(text, sizeof(text), "%s; zero points of all layers read, codes of %s of %s", r->evidence,
			 cli_count(read, r->n_layers_read), cli_count(all, r->n_layers));
	else
		snprintf(text, sizeof(text), "%s; zero points of all layers read, no codes needed", r->evidence);
	line(out, "", text, width);
}

static void print_style(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[256], n[32];

	if (r->headers_only || !r->n_layers || r->verdict == GPTQ_VERDICT_V2 ||
	    (r->effective != GPTQ_ZEROS_V1 && r->verdict != GPTQ_VERDICT_MIXED))
		return;
	if (r->v1_style == GPTQ_STYLE_CLEAN) {
		line(out, "v1 style", "clean: every way to store a zero point of 0 reads it alike", width);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s; %s stored lanes are all ones",
		 r->v1_style ? gptq_style_name(r->v1_style) : "open", r->v1_style ? ", by the " : "",
		 r->v1_style ? gptq_style_source_name(r->v1_style_source) : "", cli_count(n, r->lanes_at_max));
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
	snprintf(text, sizeof(text), "%s%s", yes_no(r->sym_data, "yes", "no", "not read"),
		 yes_no(r->sym_label, "; the config says sym: true", "; the config says sym: false",
			"; the config does not say"));
	line(out, "symmetric", text, width);
	snprintf(text, sizeof(text), "%s%s", yes_no(r->act_order_data, "yes", "no", "not read"),
		 yes_no(r->act_order_label, "; the config says desc_act: true", "; the config says desc_act: false",
			"; the config does not say"));
	line(out, "act-order", text, width);
}

/* What headers tell of another format. */
static void print_other(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	const struct gptq_other_format *o = &r->other;
	char text[1024], a[32];
	size_t used;

	snprintf(text, sizeof(text), "%s%s%s%s: %s", o->name, o->layout ? " (" : "", o->layout ? o->layout : "",
		 o->layout ? ")" : "", o->text);
	line(out, "this is", text, width);
	if (!o->n_modules)
		return;
	snprintf(text, sizeof(text), "%s in this format", cli_count(a, o->n_modules));
	line(out, "modules", text, width);
	if (o->bits_max > 0) {
		if (o->bits_max - o->bits_min < 0.005)
			used = (size_t)snprintf(text, sizeof(text), "%.4g", o->bits_max);
		else
			used = (size_t)snprintf(text, sizeof(text), "%.2f to %.2f on average, by module", o->bits_min,
						o->bits_max);
		if (o->widths)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "; groups of");
		for (unsigned b = 1; b <= 8; b++)
			if (o->widths >> b & 1)
				used += (size_t)snprintf(text + used, sizeof(text) - used, " %u", b);
		snprintf(text + used, sizeof(text) - used, "%s", o->widths ? " bits" : "");
		line(out, "bits", text, width);
	}
	if (o->group_size) {
		snprintf(text, sizeof(text), o->group_size < 0 ? "-1 (one group a column)" : "%lld",
			 (long long)o->group_size);
		line(out, "group size", text, width);
	}
	if (o->n_weights) {
		snprintf(text, sizeof(text), "%s at %.2f bits a weight", parameters(a, o->n_weights),
			 (double)o->n_bits / (double)o->n_weights);
		line(out, "quantised", text, width);
	}
}

static void print_size(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[512], a[32], b[32], c[32], d[32];

	if (r->n_layers) {
		snprintf(text, sizeof(text), "%s quantised, %s plain", cli_count(a, r->n_layers),
			 cli_count(b, r->n_plain_modules));
		line(out, "modules", text, width);
		snprintf(text, sizeof(text), "%s, of them %s quantised at %.2f bits a weight",
			 parameters(a, r->parameters), parameters(b, r->quantised_parameters),
			 r->quantised_parameters ? (double)r->quantised_bits / (double)r->quantised_parameters : 0.0);
	} else {
		snprintf(text, sizeof(text), "%s", parameters(a, r->parameters));
	}
	if (!r->other.name)
		line(out, "parameters", text, width);
	snprintf(text, sizeof(text), "%s in %s tensors in %s file%s", cli_size(c, r->tensor_bytes),
		 cli_count(a, r->n_tensors_in_all), cli_count(d, r->n_files), r->n_files == 1 ? "" : "s");
	line(out, "size", text, width);
}

static void print_digest(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	char text[256], n[32];

	if (!r->digest_asked || !r->n_layers)
		return;
	snprintf(text, sizeof(text), "no digest: groups or zero points of %s layer%s cannot be told",
		 cli_count(n, r->n_without_digest), r->n_without_digest == 1 ? "" : "s");
	line(out, "weights", r->weights_digest ? r->weights_digest : text, r->weights_digest ? 200 : width);
}

static const char *paint(const struct inspect_view *view, enum gptq_severity severity)
{
	if (!view->colour)
		return "";
	return severity == GPTQ_ERROR ? "\033[1;31m" : severity == GPTQ_WARNING ? "\033[33m" : "\033[2m";
}

/* "2 errors, 1 note". */
static void count_findings(const struct gptq_inspect_report *r, char *dst, size_t size)
{
	size_t used = 0;

	dst[0] = '\0';
	for (int severity = GPTQ_ERROR; severity >= GPTQ_NOTE; severity--) {
		size_t n = 0;

		for (size_t i = 0; i < r->n_findings; i++)
			n += (int)r->findings[i].severity == severity;
		if (n)
			used += (size_t)snprintf(dst + used, size - used, "%s%zu %s%s", used ? ", " : "", n,
						 gptq_severity_name((enum gptq_severity)severity), n == 1 ? "" : "s");
	}
}

static void print_findings(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	enum { MOST = 5, TEXT = 11 }; /* so many of one code are shown in full */
	char text[256];

	count_findings(r, text, sizeof(text));
	line(out, "findings", r->n_findings ? text : "none", view->width);
	for (size_t i = 0, same = 0; i < r->n_findings; i++) {
		const struct gptq_finding *f = &r->findings[i];

		same = i && strcmp(f->code, r->findings[i - 1].code) == 0 ? same + 1 : 0;
		if (same == MOST)
			fprintf(out, "%*sand more of this code: --json lists them all\n", TEXT, "");
		if (same >= MOST)
			continue;
		fprintf(out, "  %s%-7s%s  %s%s%s\n", paint(view, f->severity), gptq_severity_name(f->severity),
			view->colour ? "\033[0m" : "", f->code, f->where[0] ? "  " : "", f->where);
		fprintf(out, "%*s", TEXT, "");
		cli_wrap(out, f->text, TEXT, TEXT, view->width);
	}
}

/* Is every loader's answer open, for one and the same reason? */
static bool all_open(const struct gptq_inspect_report *r)
{
	for (size_t i = 0; i < r->n_readers; i++)
		if (r->readers[i].answer != GPTQ_READER_UNKNOWN ||
		    strcmp(r->readers[i].reason, r->readers[0].reason) != 0)
			return false;
	return r->n_readers > 0;
}

/* "vLLM gptq, SGLang gptq" for one answer. */
static void print_readers(FILE *out, const struct gptq_inspect_report *r, unsigned width)
{
	static const char *const heads[] = {"read right by", "refused by", "read wrong by", "not known"};
	bool few = r->headers_only; /* most answers are open then: not worth a list */
	char text[1024];

	if (all_open(r)) {
		snprintf(text, sizeof(text), "not judged: %s", r->readers[0].reason);
		line(out, "loaders", few ? "not judged" : text, width);
		return;
	}
	for (int answer = 0; answer < 4 && r->n_readers; answer++) {
		size_t used = 0;

		text[0] = '\0';
		for (size_t i = 0; i < r->n_readers && used < sizeof(text); i++)
			if ((int)r->readers[i].answer == answer)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
							 r->readers[i].loader);
		if (used && !(few && answer == GPTQ_READER_UNKNOWN))
			line(out, heads[answer], text, width);
	}
}

void inspect_print_text(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	bool nothing = r->unreadable && !r->n_tensors_in_all; /* then only the findings say anything */

	fprintf(out, "%s\n", r->path);
	if (r->other.name)
		print_other(out, r, view->width);
	if (r->n_layers)
		print_summary(out, r, view->width);
	else if (!r->other.name && !nothing)
		line(out, "this is",
		     r->n_tensors_in_all ? "a plain checkpoint without any GPTQ layer" : "without tensors",
		     view->width);
	if (r->n_layers || r->n_label_sources)
		print_label(out, r, view->width);
	if (r->n_layers) {
		print_verdict(out, r, view->width);
		print_style(out, r, view->width);
		if (r->producer)
			line(out, "producer", r->producer, view->width);
		print_shape(out, r, view->width);
	}
	if (!nothing)
		print_size(out, r, view->width);
	print_digest(out, r, view->width);
	if (r->n_layers)
		print_readers(out, r, view->width);
	print_findings(out, r, view);
	if (view->stats)
		inspect_print_stats(out, r, view);
	if (view->loaders && r->n_readers)
		inspect_print_loaders(out, r, view);
	if (view->layers)
		inspect_print_layers(out, r);
	if (view->tensors)
		inspect_print_tensors(out, r);
}
