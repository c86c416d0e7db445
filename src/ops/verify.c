/* SPDX-License-Identifier: Apache-2.0 */
/* gptq_verify: opens and settles both sides as a conversion does, and compares. */
#include "base/buf.h"
#include "base/copy.h"
#include "base/mem.h"
#include "ops/verify_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static enum gptq_status check_options(const struct gptq_verify_options *o, struct gptq_error *err)
{
	if (o->struct_size != sizeof(*o))
		return gq_fail(err, GPTQ_E_ARG, "options.struct_size is not that of this library's options");
	for (unsigned s = 0; s < 2; s++) {
		if (o->v1_style[s] == GPTQ_STYLE_SMEARED || o->v1_style[s] == GPTQ_STYLE_CLEAN)
			return gq_fail(err, GPTQ_E_ARG, "v1 can be read as lane, word and gptqmodel-3bit only");
		if (o->from[s] && o->by_layer[s])
			return gq_fail(err, GPTQ_E_ARG, "one format and one a layer exclude each other");
	}
	return GPTQ_OK;
}

/* ------------------------------------------------------------------------------------------------ what is settled */

/* Is text[at] the beginning of a line? */
static bool begins_line(const char *text, const char *at)
{
	return at == text || at[-1] == '\n';
}

/*
 * Refusals are worded for conversions. Here options carry the letter of the side, and ways out that are none here give
 * way to the one there is.
 */
static void reword(struct gptq_error *err, char side)
{
	const char *p = err->message;
	struct gq_buf text = {0};

	while (*p) {
		size_t line = strcspn(p, "\n");

		if (strncmp(p, "--from", 6) == 0 || strncmp(p, "--v1-style", 10) == 0) {
			size_t n = p[2] == 'f' ? 6 : 10;

			gq_buf_add(&text, p, n);
			gq_buf_printf(&text, "-%c", side);
			p += n;
		} else if (begins_line(err->message, p) && strncmp(p, "--per-layer", 11) == 0) {
			gq_buf_printf(&text, "--from-%c by-layer reads each layer by its own verdict", side);
			p += line;
		} else if (begins_line(err->message, p) && strncmp(p, "--accept-damaged", 16) == 0) {
			gq_buf_puts(&text, "what weights they were meant to be cannot be told");
			p += line;
		} else if (strncmp(p, "; --relabel", 11) == 0) {
			p += line;
		} else {
			gq_buf_add(&text, p++, 1);
		}
	}
	if (!text.failed && text.data)
		snprintf(err->message, sizeof(err->message), "%s", text.data);
	gq_buf_free(&text);
}

/* The warning begins with --from where that was given. */
static enum gptq_status keep_warning(struct gptq_verify_side *said, const char *warning, char side,
				     struct gptq_error *err)
{
	struct gq_buf text = {0};

	if (strncmp(warning, "--from", 6) == 0) {
		gq_buf_printf(&text, "--from-%c", side);
		warning += 6;
	}
	gq_buf_puts(&text, warning);
	said->warning = text.failed ? NULL : gq_strdup(text.data);
	gq_buf_free(&text);
	return said->warning ? GPTQ_OK : gq_fail_nomem(err);
}

static enum gptq_status settle_formats(struct gq_verification *v, unsigned i, struct gptq_error *err)
{
	struct gq_checkpoint *c = &v->sides[i];
	struct gq_wishes wishes = {
		.from = v->options->from[i], .v1_style = v->options->v1_style[i], .per_layer = v->options->by_layer[i]};
	struct gptq_verify_side *said = &v->report->sides[i];
	const char *warning;
	enum gptq_status status =
		gq_settle_format(&c->source, &c->survey, &wishes, &said->format, &said->reason, &warning, err);

	if (status == GPTQ_OK && v->options->from[i])
		said->reason = "as given";
	if (status == GPTQ_OK && warning)
		status = keep_warning(said, warning, "ab"[i], err);
	if (status == GPTQ_OK)
		status = gq_settle_layers(&c->source, &c->survey, said->format, c->formats, err);
	if (status == GPTQ_OK)
		status = gq_settle_styles(&c->source, &c->survey, &wishes, c->formats, c->styles, err);
	if (status != GPTQ_OK)
		return status;
	said->v1_style = gq_model_style(c->styles);
	for (unsigned w = 0; w < GQ_N_WIDTHS && said->v1_style; w++)
		if (c->styles[w].n_layers && c->styles[w].source > said->v1_style_source)
			said->v1_style_source = c->styles[w].source;
	return GPTQ_OK;
}

/* The first error among the problems of opening and surveying. */
static enum gptq_status check_problems(const struct gq_source *s, struct gptq_error *err)
{
	const struct gq_problem *p = gq_problems_first(&s->problems, GQ_SEVERITY_ERROR);

	if (p && err)
		*err = p->error;
	return p ? p->error.status : GPTQ_OK;
}

static enum gptq_status open_side(struct gq_verification *v, unsigned i, const char *path, struct gptq_error *err)
{
	struct gq_source_options so = {.tolerant = true};
	struct gq_survey_options survey = {.read_all = v->options->by_layer[i], .hooks = v->options->hooks};
	struct gq_checkpoint *c = &v->sides[i];
	enum gptq_status status = gq_source_open(path, &so, &c->source, err);

	if (status != GPTQ_OK)
		return status;
	c->path = path; /* from here on it is closed at the end */
	status = gq_source_uninterrupted(&c->source, err);
	if (status != GPTQ_OK)
		return status;
	/* A foreign label explains tensors that are none of ours, so it is looked at before them. */
	if (c->source.layers.n || c->source.problems.n)
		status = gq_labels_check(&c->source.labels, true, err);
	if (status == GPTQ_OK)
		status = check_problems(&c->source, err);
	/* Without quantised layers there is nothing to settle: bytes are bytes. */
	if (status != GPTQ_OK || !c->source.layers.n)
		return status;
	c->formats = gq_calloc(c->source.layers.n, sizeof(*c->formats));
	if (!c->formats)
		return gq_fail_nomem(err);
	status = gq_survey_run(&c->source.shards, &c->source.layers, &survey, &c->survey, &c->source.problems, err);
	c->surveyed = status == GPTQ_OK;
	if (status == GPTQ_OK)
		status = check_problems(&c->source, err);
	return status == GPTQ_OK ? settle_formats(v, i, err) : status;
}

static enum gptq_status open_sides(struct gq_verification *v, const char *const paths[2], struct gptq_error *err)
{
	for (unsigned i = 0; i < 2; i++) {
		struct gptq_error e;
		enum gptq_status status = open_side(v, i, paths[i], &e);

		if (status == GPTQ_OK)
			continue;
		e.status = status;
		reword(&e, "ab"[i]);
		gq_error_file(&e, paths[i]);
		if (err)
			*err = e;
		return status;
	}
	return GPTQ_OK;
}

/* --------------------------------------------------------------------------------------------------- comparing */

static struct gq_reading reading_of(struct gq_checkpoint *c, const struct gq_layer *l)
{
	return (struct gq_reading){.shards = &c->source.shards,
				   .layer = l,
				   .format = c->formats[l - c->source.layers.items],
				   .style = c->styles[gq_width_index(l->pack.bits)].style};
}

static enum gptq_status compare_pair(void *ctx, size_t item, struct gq_work *work, unsigned worker,
				     struct gptq_error *err)
{
	struct gq_verification *v = ctx;
	struct gq_pair *p = &v->pairs[v->todo[item]];
	enum gptq_status status;

	if (p->layers[0]) {
		struct gq_reading at[2] = {reading_of(&v->sides[0], p->layers[0]),
					   reading_of(&v->sides[1], p->layers[1])};

		status = gq_prove_layer(&v->prover, at, work, worker, &p->layer_proof, err);
		p->outcome = p->layer_proof.found.n_differ ? GPTQ_DIFFERENT : GPTQ_SAME;
	} else {
		struct gq_shards *shards[2] = {&v->sides[0].source.shards, &v->sides[1].source.shards};

		status = gq_prove_tensor(shards, p->tensors, work, worker, &p->tensor_proof, err);
		p->outcome = p->tensor_proof.n_differ ? GPTQ_DIFFERENT : GPTQ_SAME;
	}
	return status;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static enum gptq_status compare(struct gq_verification *v, struct gptq_error *err)
{
	struct gptq_verify_report *r = v->report;
	double begin = now();
	enum gptq_status status;

	r->threads = gq_work_threads(v->options->jobs, v->n_todo);
	status = gq_work_run(v->n_todo, r->threads, compare_pair, v, v->options->hooks, v->bytes, err);
	for (unsigned i = 0; i < 2 && status == GPTQ_OK; i++)
		status = gq_shards_unchanged(&v->sides[i].source.shards, err);
	r->seconds = now() - begin;
	r->n_bytes = v->bytes;
	r->device = v->prover.device;
	r->device_name = gq_strdup(gq_prover_name(&v->prover));
	r->device_note = v->prover.note ? gq_strdup(v->prover.note) : NULL;
	if (status == GPTQ_OK && (!r->device_name || (v->prover.note && !r->device_note)))
		status = gq_fail_nomem(err);
	return status == GPTQ_OK ? gq_verify_fill_report(v, err) : status;
}

static enum gptq_status verify(struct gq_verification *v, const char *const paths[2], struct gptq_error *err)
{
	const struct gptq_verify_options *o = v->options;
	enum gptq_status status = gq_prover_open(o->method, o->device, o->device_number, &v->prover, err);

	if (status == GPTQ_OK)
		status = open_sides(v, paths, err);
	if (status == GPTQ_OK)
		status = gq_verify_pair_up(v, err);
	if (status == GPTQ_OK)
		status = compare(v, err);
	gq_prover_close(&v->prover);
	return status;
}

enum gptq_status gptq_verify(const char *a, const char *b, const struct gptq_verify_options *options,
			     struct gptq_verify_report **report, struct gptq_error *err)
{
	struct gq_verification v = {.options = options};
	const char *const paths[2] = {a, b};
	enum gptq_status status = check_options(options, err);

	*report = NULL;
	if (status != GPTQ_OK)
		return status;
	v.report = gq_calloc(1, sizeof(*v.report));
	status = v.report ? verify(&v, paths, err) : gq_fail_nomem(err);
	for (unsigned i = 0; i < 2; i++) {
		if (v.sides[i].surveyed)
			gq_survey_free(&v.sides[i].survey);
		if (v.sides[i].path)
			gq_source_close(&v.sides[i].source);
		gq_free(v.sides[i].formats);
	}
	gq_free(v.pairs);
	gq_free(v.todo);
	if (status == GPTQ_OK)
		*report = v.report;
	else
		gptq_verify_report_free(v.report);
	return status;
}
