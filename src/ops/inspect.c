/* SPDX-License-Identifier: Apache-2.0 */
/* gptq_inspect: opens tolerantly, surveys, and puts everything that is found into a report. */
#include "base/mem.h"
#include "format/dtype.h"
#include "format/words.h"
#include "ops/inspect_internal.h"
#include "quant/foreign.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --------------------------------------------------------------------------------------------------- findings */

static bool is_opening_trouble(enum gq_code code)
{
	return code == GQ_CODE_SHARD_MISSING || code == GQ_CODE_SHARD_SHORT || code == GQ_CODE_SHARD_TRAILING_BYTES ||
	       code == GQ_CODE_LFS_POINTER || code == GQ_CODE_NOT_SAFETENSORS || code == GQ_CODE_SHARD_UNREADABLE ||
	       code == GQ_CODE_INDEX_INVALID;
}

static enum gptq_status add_finding(struct gq_inspection *in, enum gq_code code, const char *where, const char *text,
				    struct gptq_error *err)
{
	static const enum gptq_severity severities[] = {GPTQ_NOTE, GPTQ_WARNING, GPTQ_ERROR};
	struct gptq_inspect_report *r = in->report;
	void *grown = gq_array_more(r->findings, r->n_findings, sizeof(*r->findings));
	struct gptq_finding *f;

	if (!grown)
		return gq_fail_nomem(err);
	r->findings = grown;
	f = &r->findings[r->n_findings++];
	*f = (struct gptq_finding){.severity = severities[gq_code_severity(code)],
				   .code = gq_code_text(code),
				   .where = gq_strdup(where ? where : ""),
				   .text = gq_strdup(text),
				   .unreadable = is_opening_trouble(code)};
	return f->where && f->text ? GPTQ_OK : gq_fail_nomem(err);
}

enum gptq_status gq_find(struct gq_inspection *in, enum gq_code code, const char *where, struct gptq_error *err,
			 const char *fmt, ...)
{
	char raw[4096], text[4096], place[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	gq_mask(text, sizeof(text), raw, strlen(raw), true);
	gq_mask(place, sizeof(place), where ? where : "", where ? strlen(where) : 0, false);
	return add_finding(in, code, place, text, err);
}

enum gptq_status gq_find_layer(struct gq_inspection *in, enum gq_code code, const struct gq_layer *layer,
			       struct gptq_error *err, const char *fmt, ...)
{
	char raw[4096], text[4096], place[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	gq_mask(text, sizeof(text), raw, strlen(raw), true);
	gq_mask(place, sizeof(place), layer->name, layer->name_len, false);
	return add_finding(in, code, place, text, err);
}

/* Errors first, then by code and place: the order means nothing but must not depend on how things were found. */
static int by_weight(const void *a, const void *b)
{
	const struct gptq_finding *x = a, *y = b;
	int c;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	c = strcmp(x->code, y->code);
	if (!c)
		c = strcmp(x->where, y->where);
	return c ? c : strcmp(x->text, y->text);
}

const char *gptq_severity_name(enum gptq_severity severity)
{
	return severity == GPTQ_ERROR ? "error" : severity == GPTQ_WARNING ? "warning" : "note";
}

const char *gptq_finding_code(size_t i, enum gptq_severity *severity)
{
	static const enum gptq_severity severities[] = {GPTQ_NOTE, GPTQ_WARNING, GPTQ_ERROR};

	if (i >= GQ_N_CODES)
		return NULL;
	if (severity)
		*severity = severities[gq_code_severity((enum gq_code)i)];
	return gq_code_text((enum gq_code)i);
}

/* ----------------------------------------------------------------------------------------------------- label */

static enum gptq_status fill_label(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_labels *labels = &in->source.labels;
	struct gptq_inspect_report *r = in->report;

	r->label_consistent = labels->consistent;
	if (labels->word && labels->consistent)
		r->label = gq_strdup(labels->word);
	r->label_sources = gq_calloc(labels->n_sources, sizeof(*r->label_sources));
	if ((labels->word && labels->consistent && !r->label) || !r->label_sources)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < labels->n_sources; i++) {
		struct gptq_label_source *to = &r->label_sources[r->n_label_sources++];
		const char *file = labels->sources[i]->file;
		char masked[512];

		gq_mask(masked, sizeof(masked), file, strlen(file), false); /* a shard may have any name */
		to->file = gq_strdup(masked);
		to->key = gq_strdup(labels->sources[i]->key);
		to->value = gq_strdup(labels->sources[i]->value);
		if (!to->file || !to->key || !to->value)
			return gq_fail_nomem(err);
	}
	return GPTQ_OK;
}

static enum gptq_tristate flag_of(const struct gq_config_flag *flag)
{
	return !flag->present ? GPTQ_UNKNOWN : flag->value ? GPTQ_YES : GPTQ_NO;
}

static enum gptq_status fill_config(struct gq_inspection *in, struct gptq_error *err)
{
	struct gptq_inspect_report *r = in->report;
	const struct gq_source *s = &in->source;

	r->sym_label = s->main ? flag_of(&s->main->sym) : GPTQ_UNKNOWN;
	r->act_order_label = s->main ? flag_of(&s->main->desc_act) : GPTQ_UNKNOWN;
	if (s->main && s->main->bits.present && s->main->bits.value > 0)
		r->config_bits = (uint64_t)s->main->bits.value;
	if (s->has_producer) {
		char text[128], masked[256];

		snprintf(text, sizeof(text), "%s%s%s", s->producer.name, s->producer.version[0] ? " " : "",
			 s->producer.version);
		gq_mask(masked, sizeof(masked), text, strlen(text), false);
		r->producer = gq_strdup(masked);
		if (!r->producer)
			return gq_fail_nomem(err);
	}
	return GPTQ_OK;
}

/* A checkpoint in another format: named by its label, else by its tensors. */
static enum gptq_status name_other_format(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_label_place *culprit = in->source.labels.culprit;
	struct gptq_other_format *o = &in->report->other;
	const struct gq_foreign_format *by_label = NULL, *by_tensors = NULL, *f;
	struct gq_foreign found = {0};
	enum gptq_status status;

	if (culprit && culprit->label == GQ_LABEL_FOREIGN)
		by_label = culprit->format;
	if (in->source.layers.n == 0) {
		gq_foreign_find(&in->source.shards, &found);
		by_tensors = found.word ? gq_word_foreign(found.word, strlen(found.word)) : NULL;
	}
	f = by_label ? by_label : by_tensors;
	if (!f)
		return GPTQ_OK;
	status = by_tensors && !in->report->headers_only ? gq_foreign_read(&in->source.shards, &found, err) : GPTQ_OK;
	if (status != GPTQ_OK)
		return status;
	o->name = gq_strdup(f->name);
	o->text = gq_strdup(f->sentence);
	if (!o->name || !o->text)
		return gq_fail_nomem(err);
	if (by_tensors && strcmp(by_tensors->name, f->name) == 0) {
		o->by_tensors = true;
		o->layout = found.layout;
		o->n_modules = found.n_modules;
		o->n_weights = found.n_weights;
		o->n_bits = found.n_bits;
		o->bits_min = found.bits_min;
		o->bits_max = found.bits_max;
		o->group_size = found.group_size;
		o->widths = found.widths;
	}
	if (by_label)
		return GPTQ_OK; /* inspect_config.c says it */
	return gq_find(in, GQ_CODE_NOT_GPTQ, "", err,
		       "the tensors are %s, by their names and shapes, in %llu modules: %s", f->name,
		       (unsigned long long)found.n_modules, f->sentence);
}

/* --------------------------------------------------------------------------------------------------- verdict */

static enum gptq_zeros_format format_of_label(const struct gq_labels *labels)
{
	return labels->consistent ? gq_format_of_label(labels->value) : GPTQ_ZEROS_NONE;
}

/* By which format each layer's zero points are shown: the model's verdict, the layer's if mixed, the label, v1. */
static void choose_formats(struct gq_inspection *in)
{
	enum gptq_verdict verdict = in->report->verdict;
	enum gptq_zeros_format label = format_of_label(&in->source.labels), fallback = label ? label : GPTQ_ZEROS_V1;
	enum gptq_zeros_format model = gq_format_of_verdict(verdict);

	model = model ? model : fallback;
	in->report->effective = model;
	for (size_t i = 0; i < in->source.layers.n; i++) {
		enum gptq_zeros_format own = gq_format_of_verdict(in->survey.verdicts[i].verdict);

		in->formats[i] = verdict == GPTQ_VERDICT_MIXED && own ? own : model;
	}
}

static enum gptq_tristate agreement(const struct gq_inspection *in)
{
	enum gptq_zeros_format label = format_of_label(&in->source.labels);
	enum gptq_verdict v = in->report->verdict;

	if (v == GPTQ_VERDICT_MIXED)
		return GPTQ_NO;
	if (!label || (v != GPTQ_VERDICT_V1 && v != GPTQ_VERDICT_V2))
		return GPTQ_UNKNOWN;
	return (label == GPTQ_ZEROS_V1) == (v == GPTQ_VERDICT_V1) ? GPTQ_YES : GPTQ_NO;
}

static enum gptq_status survey(struct gq_inspection *in, struct gptq_error *err)
{
	struct gptq_inspect_report *r = in->report;
	struct gq_survey_options so = {.scales = true, .hooks = gq_step_begin(in, 0)};
	struct gq_source *s = &in->source;
	enum gptq_status status = gq_survey_run(&s->shards, &s->layers, &so, &in->survey, &s->problems, err);

	if (status != GPTQ_OK)
		return status;
	in->surveyed = true;
	r->verdict = in->survey.model.verdict;
	r->rule = gq_rule_name(in->survey.model.rule);
	r->n_layers_read = in->survey.n_sampled;
	r->strong_v1 = in->survey.model.strong_v1;
	r->strong_v2 = in->survey.model.strong_v2;
	r->agrees_with_label = agreement(in);
	r->evidence = gq_describe_evidence(&in->survey);
	if (!r->evidence)
		return gq_fail_nomem(err);
	choose_formats(in);
	status = gq_best_styles(s, &in->survey, in->formats, in->styles, err);
	if (status == GPTQ_OK && (r->effective == GPTQ_ZEROS_V1 || r->verdict == GPTQ_VERDICT_MIXED) &&
	    r->verdict != GPTQ_VERDICT_V2) {
		r->v1_style = gq_model_style(in->styles);
		for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
			if (in->styles[w].source > r->v1_style_source && r->v1_style)
				r->v1_style_source = in->styles[w].source;
	}
	return status;
}

/* ---------------------------------------------------------------------------------------------------- tensors */

static enum gptq_status fill_tensor(const struct gq_inspection *in, const struct gq_tensor *t,
				    struct gptq_tensor_info *info, struct gptq_error *err)
{
	char name[2048], *kept = gq_shards_kept_name(&in->source.shards, t);

	/* Names are most of what tensors take: end() moves those that need no mask over to the report. */
	if (!kept || t->name_len >= sizeof(name) || !gq_is_plain(kept, t->name_len)) {
		gq_mask(name, sizeof(name), t->name, t->name_len, false);
		kept = gq_arena_text(in->arena, name);
	}
	*info = (struct gptq_tensor_info){.name = kept,
					  .dtype = gptq_dtype_name(t->dtype),
					  .shape = gq_arena_take(in->arena, t->rank, sizeof(*info->shape)),
					  .rank = t->rank,
					  .nbytes = t->nbytes,
					  .offset = t->offset,
					  .shard = in->shard_names[t->shard]};
	if (!info->name || !info->shape)
		return gq_fail_nomem(err);
	memcpy(info->shape, t->shape, t->rank * sizeof(*info->shape));
	return GPTQ_OK;
}

/* Totals over all tensors, and the list if it was asked for. */
static enum gptq_status fill_tensors(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_shards *shards = &in->source.shards;
	struct gptq_inspect_report *r = in->report;
	enum gptq_status status = GPTQ_OK;

	r->n_tensors_in_all = shards->n_tensors;
	r->n_files = shards->n;
	if (in->options->tensors) {
		r->tensors = gq_calloc(shards->n_tensors, sizeof(*r->tensors));
		if (!r->tensors)
			return gq_fail_nomem(err);
	}
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++) {
		const struct gq_tensor *t = &shards->tensors[i];
		bool weight = t->name_len > 7 && memcmp(t->name + t->name_len - 7, ".weight", 7) == 0;

		r->tensor_bytes += t->nbytes;
		if (gq_dtype_kind(t->dtype) == GQ_KIND_FLOAT) {
			r->parameters += t->nbytes * 8 / gptq_dtype_bits(t->dtype);
			r->n_plain_modules += weight && t->rank == 2;
		}
		if (in->options->tensors)
			status = fill_tensor(in, t, &r->tensors[r->n_tensors++], err);
	}
	/* scales are float tensors, but not parameters of their own */
	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		r->parameters -= l->groups * l->out_features;
		r->parameters += l->in_features * l->out_features;
	}
	return status;
}

/* ------------------------------------------------------------------------------------------------------- all */

static enum gptq_status run(struct gq_inspection *in, struct gptq_error *err)
{
	struct gptq_inspect_report *r = in->report;
	struct gq_source *s = &in->source;
	enum gptq_status status;

	in->formats = gq_calloc(s->layers.n, sizeof(*in->formats));
	if (!in->formats)
		return gq_fail_nomem(err);
	r->rule = gq_rule_name(GQ_RULE_NONE);
	r->agrees_with_label = r->sym_data = r->act_order_data = GPTQ_UNKNOWN;
	status = fill_label(in, err);
	if (status == GPTQ_OK)
		status = fill_config(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_name_shards(in, err);
	if (status == GPTQ_OK)
		status = gq_steps_init(in, err);
	if (status == GPTQ_OK && s->layers.n && !r->headers_only)
		status = survey(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_layers(in, err);
	if (status == GPTQ_OK)
		status = fill_tensors(in, err);
	if (status == GPTQ_OK)
		status = name_other_format(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_checksums(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_digests(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_config_findings(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_tensor_findings(in, err);
	for (size_t i = 0; i < r->n_findings; i++)
		r->unreadable = r->unreadable || r->findings[i].unreadable;
	if (status == GPTQ_OK)
		status = gq_inspect_readers(in, err);
	if (status == GPTQ_OK)
		status = gq_shards_unchanged(&s->shards, err);
	if (status == GPTQ_OK)
		status = gq_dynamic_check(s->dynamic, err);
	if (status == GPTQ_OK && r->n_findings) /* else the last one may be half filled */
		qsort(r->findings, r->n_findings, sizeof(*r->findings), by_weight);
	return status;
}

static enum gptq_status end(struct gq_inspection *in, enum gptq_status status, struct gptq_inspect_report **report)
{
	if (in->surveyed)
		gq_survey_free(&in->survey);
	if (in->report)
		((struct gq_report *)in->report)->names = gq_shards_take_names(&in->source.shards);
	gq_source_close(&in->source);
	gq_free(in->formats);
	gq_free(in->notes);
	if (status == GPTQ_OK)
		*report = in->report;
	else
		gptq_inspect_report_free(in->report);
	return status;
}

static enum gptq_status begin(struct gq_inspection *in, const char *path, struct gptq_error *err)
{
	struct gq_report *own;
	char masked[4096];

	if (in->options->struct_size != sizeof(*in->options))
		return gq_fail(err, GPTQ_E_ARG, "options.struct_size is not that of this library's options");
	gq_mask(masked, sizeof(masked), path, strlen(path), false);
	own = gq_calloc(1, sizeof(*own));
	if (!own)
		return gq_fail_nomem(err);
	in->report = &own->report;
	in->arena = &own->arena;
	in->report->path = gq_strdup(masked);
	return in->report->path ? GPTQ_OK : gq_fail_nomem(err);
}

enum gptq_status gptq_inspect(const char *path, const struct gptq_inspect_options *options,
			      struct gptq_inspect_report **report, struct gptq_error *err)
{
	struct gq_inspection in = {.options = options};
	struct gq_source_options so = {.tolerant = true};
	enum gptq_status status = begin(&in, path, err);

	*report = NULL;
	if (status == GPTQ_OK)
		status = gq_source_open(path, &so, &in.source, err);
	if (status == GPTQ_OK) {
		in.report->kind = in.source.file ? GPTQ_KIND_FILE : GPTQ_KIND_FOLDER;
		in.report->headers_only = options->headers;
		status = run(&in, err);
	}
	return end(&in, status, report);
}

/* ----------------------------------------------------------------------------------------------------- streams */

/* Reads up to n bytes, fewer only at the end. */
static enum gptq_status read_up_to(int fd, void *buf, size_t n, size_t *got, struct gptq_error *err)
{
	*got = 0;
	while (*got < n) {
		ssize_t r = read(fd, (char *)buf + *got, n - *got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return gq_fail_errno(err, errno, "-", "cannot read the stream");
		if (r == 0)
			break;
		*got += (size_t)r;
	}
	return GPTQ_OK;
}

static enum gptq_status read_stream_header(int fd, struct gq_st **st, struct gptq_error *err)
{
	struct gq_st_diagnosis diagnosis = {.fault = GQ_ST_NONE};
	unsigned char first[GQ_SNIFF_BYTES];
	size_t got, have, more = 0;
	uint64_t n;
	char *header;
	enum gptq_status status = read_up_to(fd, first, sizeof(first), &got, err);

	if (status == GPTQ_OK)
		status = gq_st_header_size(first, got, got < sizeof(first) ? got : GQ_ST_ANY_SIZE, NULL, &n, NULL, err);
	if (status != GPTQ_OK)
		return status;
	header = gq_malloc_array((size_t)n, 1);
	if (!header)
		return gq_fail_nomem(err);
	have = got - 8 < n ? got - 8 : (size_t)n;
	memcpy(header, first + 8, have);
	status = read_up_to(fd, header + have, (size_t)n - have, &more, err);
	if (status == GPTQ_OK && have + more < n)
		status = gq_fail(err, GPTQ_E_FORMAT, "the stream ends inside its header, after %llu of %llu bytes",
				 (unsigned long long)(have + more), (unsigned long long)n);
	if (status == GPTQ_OK)
		status = gq_st_parse(header, (size_t)n, GQ_ST_ANY_SIZE, NULL, st, &diagnosis, err);
	gq_free(header);
	return gq_st_sniff_again(status, first, got, &diagnosis, err);
}

enum gptq_status gptq_inspect_stream(int fd, const struct gptq_inspect_options *options,
				     struct gptq_inspect_report **report, struct gptq_error *err)
{
	struct gq_inspection in = {.options = options};
	enum gptq_status status = begin(&in, "-", err);
	const struct gq_source_options none = {0};
	struct gq_st *st = NULL;

	*report = NULL;
	if (status == GPTQ_OK)
		status = read_stream_header(fd, &st, err);
	if (status == GPTQ_OK)
		status = gq_source_adopt(st, "-", &none, &in.source, err);
	if (status == GPTQ_OK) {
		in.report->kind = GPTQ_KIND_STREAM;
		in.report->headers_only = true;
		status = run(&in, err);
	}
	gq_error_file(status == GPTQ_OK ? NULL : err, "-");
	return end(&in, status, report);
}
