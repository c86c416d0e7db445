/* SPDX-License-Identifier: Apache-2.0 */
/* gptq_convert: opens, settles, plans, writes, checks, renames. */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum gptq_status check_options(const struct gptq_convert_options *o, struct gptq_error *err)
{
	if (o->struct_size != sizeof(*o))
		return gq_fail(err, GPTQ_E_ARG, "options.struct_size is not that of this library's options");
	if (o->relabel ? o->to != GPTQ_ZEROS_NONE : o->to != GPTQ_ZEROS_V1 && o->to != GPTQ_ZEROS_V2)
		return gq_fail(err, GPTQ_E_ARG, "give either a target format, v1 or v2, or relabel");
	if (o->v1_style != GPTQ_STYLE_NONE && o->v1_style != GPTQ_STYLE_LANE && o->v1_style != GPTQ_STYLE_WORD &&
	    o->v1_style != GPTQ_STYLE_GPTQMODEL_3BIT)
		return gq_fail(err, GPTQ_E_ARG, "v1 can be read and written as lane, word and gptqmodel-3bit only");
	if (o->relabel && o->per_layer)
		return gq_fail(err, GPTQ_E_ARG, "relabel and per_layer exclude each other: one label cannot be true of "
						"a mixed model");
	if (o->bits && o->bits != 2 && o->bits != 3 && o->bits != 4 && o->bits != 8)
		return gq_fail(err, GPTQ_E_ARG, "bits must be 2, 3, 4 or 8");
	return GPTQ_OK;
}

static enum gptq_status bad_out(const char *out, struct gptq_error *err, const char *what)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_ARG, "%s", what);

	gq_error_file(err, out);
	return status;
}

/* OUT must not be IN, lie inside it, or hold it. */
static enum gptq_status check_places(const struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	bool exists;
	struct stat in, out;

	if (stat(s->file ? s->file : s->dir, &in) != 0)
		return gq_fail_errno(err, errno, s->path, "cannot look at the input");
	exists = stat(cv->out, &out) == 0;
	if (exists && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		return bad_out(cv->out, err, "the output is the input; choose another place");
	if (!s->file) {
		if (gq_is_inside(cv->out, s->dir) || gq_is_inside(cv->out, s->path))
			return bad_out(cv->out, err, "the output lies inside the input; choose another place");
	}
	if (exists && S_ISDIR(out.st_mode) && gq_is_inside(s->dir, cv->out) && (!s->file || cv->options->force))
		return bad_out(cv->out, err, "the input lies inside the output; choose another place");
	return gq_output_check(cv->out, !s->file, cv->options->force, err);
}

/* What cannot be gone on with: the first error among the problems of opening. */
static enum gptq_status check_problems(const struct gq_source *s, struct gptq_error *err)
{
	const struct gq_problem *p = gq_problems_first(&s->problems, GQ_SEVERITY_ERROR);

	if (!p)
		return GPTQ_OK;
	if (err)
		*err = p->error;
	return p->error.status;
}

/* No layer at all: say what it is instead, if that can be told. */
static enum gptq_status check_layers(const struct gq_source *s, struct gptq_error *err)
{
	enum gptq_status status;

	if (s->layers.n)
		return GPTQ_OK;
	status = gq_fail(err, GPTQ_E_REFUSED,
			 "no GPTQ layer: none of the %zu tensors is a qweight with its qzeros and scales",
			 s->shards.n_tensors);
	gq_error_file(err, s->path);
	return status;
}

/* --bits is a claim about a lone file that its tensors must bear out. */
static enum gptq_status check_bits(const struct gq_source *s, struct gptq_error *err)
{
	for (size_t i = 0; i < s->layers.n && s->bits; i++) {
		const struct gq_layer *l = &s->layers.items[i];

		if (l->pack.bits != s->bits) {
			enum gptq_status status = gq_fail(err, GPTQ_E_ARG, "--bits is not what the tensors say");

			gq_error_file(err, s->path);
			gq_error_tensor(err, l->name, l->name_len);
			gq_error_found(err, "%u bits", l->pack.bits);
			gq_error_expected(err, "%u", s->bits);
			return status;
		}
	}
	return GPTQ_OK;
}

/* Does any layer have the width that one of the configs, or a rule in it, claims for it? True where none claims one. */
static bool some_width_agrees(struct gq_source *s)
{
	bool claimed = false;

	for (size_t i = 0; i < s->n_configs; i++) {
		for (size_t j = 0; j < s->configs[i].n_configs; j++) {
			const struct gq_config *c = &s->configs[i].configs[j];

			if (!c->is_gptq || !c->bits.present)
				continue;
			claimed = true;
			if (c->extra_config) /* auto-round's widths by layer are not looked at here */
				return true;
			for (size_t k = 0; k < s->layers.n; k++)
				if (s->layers.items[k].pack.bits == (uint64_t)c->bits.value)
					return true;
		}
	}
	for (size_t k = 0; k < s->layers.n && claimed; k++) {
		const struct gq_layer *l = &s->layers.items[k];

		if (gq_source_claim(s, l->name, l->name_len).bits == l->pack.bits)
			return true;
	}
	return !claimed;
}

/* Configs may be wrong about single layers, but one whose width no layer has is another model's. */
static enum gptq_status check_config_bits(struct gq_source *s, struct gptq_error *err)
{
	enum gptq_status status;

	if (s->bits || some_width_agrees(s))
		return GPTQ_OK;
	status = gq_fail(err, GPTQ_E_FORMAT,
			 "no layer is packed at the width that the config says: does the config belong "
			 "to this model? Correct its bits");
	gq_error_file(err, s->main_file->name);
	gq_error_found(err, "%u bits in layer %.*s", s->layers.items[0].pack.bits,
		       (int)(s->layers.items[0].name_len < 100 ? s->layers.items[0].name_len : 100),
		       s->layers.items[0].name);
	gq_error_expected(err, "%lld", (long long)s->main->bits.value);
	return status;
}

/* Survey, formats and styles of one unit whose source is open. */
static enum gptq_status settle_unit(struct gq_conversion *cv, struct gq_unit *u, enum gptq_zeros_format format,
				    struct gptq_error *err)
{
	enum gptq_status status;

	u->formats = gq_calloc(u->source.layers.n, sizeof(*u->formats));
	if (!u->formats)
		return gq_fail_nomem(err);
	status = gq_settle_layers(&u->source, &u->survey, format, u->formats, err);
	/* relabel moves no lane, so no style is asked for */
	if (status == GPTQ_OK && !cv->options->relabel && (!format || format != cv->options->to))
		status = gq_settle_styles(&u->source, &u->survey, &cv->wishes, u->formats, u->styles, err);
	return status;
}

static enum gptq_status settle_model(struct gq_conversion *cv, struct gptq_error *err)
{
	struct gq_unit *u = &cv->units[0];
	const char *warning;
	enum gptq_status status = gq_survey_run(&u->source.shards, &u->source.layers, cv->options->per_layer,
						cv->options->hooks, &u->survey, err);

	if (status == GPTQ_OK)
		status = gq_settle_format(&u->source, &u->survey, &cv->wishes, &cv->from, &cv->report->from_reason,
					  &warning, err);
	if (status != GPTQ_OK)
		return status;
	cv->to = cv->options->relabel ? cv->from : cv->options->to;
	if (warning)
		status = gq_report_warn(cv->report, "format", err, "%s", warning);
	return status == GPTQ_OK ? settle_unit(cv, u, cv->from, err) : status;
}

/* ---------------------------------------------------------------------------------------------------- strays */

static bool holds_qzeros(const struct gq_shards *shards)
{
	for (size_t i = 0; i < shards->n_tensors; i++) {
		const struct gq_tensor *t = &shards->tensors[i];

		if ((t->name_len == 6 || (t->name_len > 6 && t->name[t->name_len - 7] == '.')) &&
		    memcmp(t->name + t->name_len - 6, "qzeros", 6) == 0)
			return true;
	}
	return false;
}

/* Looks into a stray: *holds tells whether it has zero points or cannot be read (then with its error). */
static enum gptq_status look_at_stray(const char *path, bool *holds, struct gptq_error *why, bool *unreadable,
				      struct gptq_error *err)
{
	struct gq_problems problems = {0};
	const struct gq_problem *p;
	struct gq_shards shards;
	enum gptq_status status = gq_shards_open_files(NULL, &path, 1, &shards, &problems, err);

	if (status != GPTQ_OK)
		return status;
	p = gq_problems_first(&problems, GQ_SEVERITY_ERROR);
	*unreadable = p != NULL;
	*holds = p || holds_qzeros(&shards);
	if (p)
		*why = p->error;
	gq_shards_close(&shards);
	gq_problems_free(&problems);
	return GPTQ_OK;
}

/* Names every stray with zero points, the first few at least. */
static enum gptq_status refuse_strays(const struct gq_source *s, const char *const *names, size_t n,
				      struct gptq_error *err)
{
	struct gq_buf list = {0};
	enum gptq_status status;

	for (size_t i = 0; i < n && i < 8; i++) {
		char shown[160];

		gptq_mask(shown, sizeof(shown), names[i], strlen(names[i]));
		gq_buf_printf(&list, "%s\n", shown);
	}
	if (n > 8)
		gq_buf_printf(&list, "... and %zu more\n", n - 8);
	status = list.failed ? gq_fail_nomem(err)
			     : gq_fail(err, GPTQ_E_REFUSED,
				       "%zu safetensors file%s outside %s%s hold%s zero points too: part of the model, "
				       "or left "
				       "over?\n%s--strays copy leaves them as they are, --strays convert converts them "
				       "with the "
				       "model",
				       n, n == 1 ? "" : "s", s->shards.index_name ? "the index " : "the model",
				       s->shards.index_name ? s->shards.index_name : "", n == 1 ? "s" : "",
				       list.data ? list.data : "");
	gq_error_file(err, s->path);
	gq_buf_free(&list);
	return status;
}

/* A stray that is to be converted is judged on its own, and must come to the same verdict as the model. */
static enum gptq_status add_stray(struct gq_conversion *cv, const char *path, const char *name, struct gptq_error *err)
{
	struct gq_unit *u = &cv->units[cv->n_units++];
	struct gq_source_options none = {0};
	enum gptq_status status = gq_source_open(path, &none, &u->source, err);
	enum gptq_verdict want = cv->from == GPTQ_ZEROS_V1 ? GPTQ_VERDICT_V1 : GPTQ_VERDICT_V2;

	u->name = name;
	if (status == GPTQ_OK)
		status = check_problems(&u->source, err);
	if (status == GPTQ_OK)
		status = gq_survey_run(&u->source.shards, &u->source.layers, true, cv->options->hooks, &u->survey, err);
	if (status == GPTQ_OK && (!cv->from || u->survey.model.verdict != want)) {
		status = gq_fail(err, GPTQ_E_REFUSED,
				 "--strays convert: the verdict on this file is %s, and on the model it is %s; only a file "
				 "whose own verdict agrees can be converted with it",
				 gptq_verdict_name(u->survey.model.verdict),
				 cv->from ? gptq_zeros_format_name(cv->from) : "mixed");
		gq_error_file(err, name);
	}
	return status == GPTQ_OK ? settle_unit(cv, u, cv->from, err) : status;
}

/* *refused: it holds zero points, and nobody said what to do with it. */
static enum gptq_status handle_stray(struct gq_conversion *cv, const char *name, bool *refused, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	bool holds = false, unreadable = false;
	struct gptq_error why;
	char *path = gq_path_join(s->dir, name);
	enum gptq_status status = path ? look_at_stray(path, &holds, &why, &unreadable, err) : gq_fail_nomem(err);

	*refused = false;
	if (status != GPTQ_OK || !holds) {
		gq_free(path);
		return status;
	}
	if (unreadable && cv->options->strays != GPTQ_STRAYS_COPY) {
		if (err)
			*err = why;
		gq_free(path);
		return why.status;
	}
	switch (cv->options->strays) {
	case GPTQ_STRAYS_REFUSE:
		*refused = true;
		break;
	case GPTQ_STRAYS_COPY:
		status = gq_report_warn(cv->report, "stray-safetensors", err,
					unreadable ? "%s is outside the model and no readable safetensors file; it was "
						     "copied as it is"
						   : "%s is outside the model and keeps its zero points as they are",
					name);
		break;
	case GPTQ_STRAYS_CONVERT:
		status = add_stray(cv, path, name, err);
		break;
	}
	gq_free(path);
	return status;
}

static enum gptq_status handle_strays(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	const char **names = gq_calloc(s->shards.n_stray, sizeof(*names));
	enum gptq_status status = names ? GPTQ_OK : gq_fail_nomem(err);
	size_t n = 0;

	for (size_t i = 0; i < s->shards.n_stray && status == GPTQ_OK; i++) {
		bool refused;

		status = handle_stray(cv, s->shards.stray[i], &refused, err);
		if (status == GPTQ_OK && refused)
			names[n++] = s->shards.stray[i];
	}
	if (status == GPTQ_OK && n)
		status = refuse_strays(s, names, n, err);
	gq_free(names);
	return status;
}

/* ------------------------------------------------------------------------------------------------------- all */

/* The figures behind the verdict, in one line. */
static enum gptq_status fill_evidence(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_model_verdict *m = &cv->units[0].survey.model;
	struct gq_buf text = {0};

	gq_buf_printf(&text, "%s: strong evidence in %llu layers for v1, in %llu for v2", gq_rule_name(m->rule),
		      (unsigned long long)m->strong_v1, (unsigned long long)m->strong_v2);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		if (m->width[w].n_median)
			gq_buf_printf(&text, "; %u bits: mean shift %.3f +- %.3f over %llu layers (v2 0, v1 1)", gq_widths[w],
				      m->width[w].a, m->width[w].bar_a, (unsigned long long)m->width[w].n_median);
	cv->report->evidence = text.data;
	return text.failed ? gq_fail_nomem(err) : GPTQ_OK;
}

static enum gptq_status fill_report(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_unit *u = &cv->units[0];
	struct gptq_convert_report *r = cv->report;
	const struct gq_labels *labels = &u->source.labels;
	enum gptq_status status;

	r->from = cv->from;
	r->to = cv->to;
	r->label_consistent = labels->consistent;
	if (labels->consistent)
		r->label = labels->value == GQ_LABEL_V1 ? GPTQ_ZEROS_V1
			   : labels->value == GQ_LABEL_V2 ? GPTQ_ZEROS_V2
							  : GPTQ_ZEROS_NONE;
	r->verdict = u->survey.model.verdict;
	r->relabelled = cv->options->relabel;
	r->unchanged = r->n_layers_changed == 0;
	r->dry_run = cv->options->dry_run;
	for (unsigned i = 0; i < r->n_widths; i++) {
		struct gptq_convert_width *w = &r->widths[i];
		const struct gq_style_choice *c = &u->styles[gq_width_index(w->bits)];
		const struct gq_style_verdict *v = &u->survey.model.style[gq_width_index(w->bits)];

		w->style = c->style;
		w->style_source = c->source;
		if (c->style == GPTQ_STYLE_SMEARED) {
			w->n_unknown = v->unknown_zeros;
			w->n_damaged_words = v->damaged_words;
			status = gq_report_warn(r, "smeared-zeros", err,
						"not lossless: %llu zero points in %llu words at %u bits are lost since the "
						"checkpoint was written, and were converted as they stand",
						(unsigned long long)w->n_unknown,
						(unsigned long long)w->n_damaged_words, w->bits);
			if (status != GPTQ_OK)
				return status;
		}
		if (!c->style && cv->write_style && r->n_layers_changed) {
			w->style = gq_style_for_width(cv->write_style, w->bits);
			w->style_source = GPTQ_STYLE_GIVEN;
		}
	}
	return fill_evidence(cv, err);
}

static enum gptq_status open_model(struct gq_conversion *cv, struct gptq_error *err)
{
	struct gq_source_options so = {.config_path = cv->options->config, .bits = cv->options->bits};
	struct gq_source *s = &cv->units[0].source;
	enum gptq_status status = gq_source_open(cv->in, &so, s, err);
	struct gq_unit *grown;

	if (status != GPTQ_OK)
		return status;
	cv->n_units = 1;
	grown = gq_realloc_array(cv->units, 1 + s->shards.n_stray, sizeof(*cv->units));
	if (!grown)
		return gq_fail_nomem(err);
	cv->units = grown;
	memset(cv->units + 1, 0, cv->units[0].source.shards.n_stray * sizeof(*cv->units));
	return GPTQ_OK;
}

/* Everything up to the first byte written. */
static enum gptq_status decide(struct gq_conversion *cv, struct gptq_error *err)
{
	enum gptq_status status = open_model(cv, err);
	const struct gq_source *s = &cv->units[0].source;

	if (status == GPTQ_OK)
		status = check_places(cv, err);
	/* A foreign label explains tensors that are none of ours, so it is looked at before them. */
	if (status == GPTQ_OK)
		status = gq_labels_check(&s->labels, true, err);
	if (status == GPTQ_OK)
		status = check_problems(s, err);
	if (status == GPTQ_OK)
		status = check_layers(s, err);
	if (status == GPTQ_OK)
		status = check_bits(s, err);
	if (status == GPTQ_OK)
		status = check_config_bits(&cv->units[0].source, err);
	if (status == GPTQ_OK)
		status = settle_model(cv, err);
	if (status == GPTQ_OK)
		status = handle_strays(cv, err);
	if (status == GPTQ_OK)
		status = gq_convert_plan(cv, err);
	return status == GPTQ_OK ? fill_report(cv, err) : status;
}

/* An error about a file under the temporary name is told about the place that the reader knows. */
static void show_final_name(const struct gq_output *out, struct gptq_error *err)
{
	char temp[sizeof(err->file)], shown[2 * sizeof(err->file)];
	size_t n;

	if (!err || !out->temp_path)
		return;
	gptq_mask(temp, sizeof(temp), out->temp_path, strlen(out->temp_path));
	n = strlen(temp);
	if (strncmp(err->file, temp, n) != 0)
		return;
	gptq_mask(temp, sizeof(temp), out->final_path, strlen(out->final_path));
	snprintf(shown, sizeof(shown), "%s%s", temp, err->file + n);
	err->file[0] = '\0';
	gq_error_file(err, shown);
}

static enum gptq_status carry_out(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gptq_status status = gq_output_begin(cv->out, !s->file, cv->options->force, &cv->output, err);

	if (status == GPTQ_OK)
		status = gq_check_space(cv->output.parent, cv->report->n_bytes, err);
	if (status == GPTQ_OK)
		status = gq_convert_write(cv, err);
	if (status == GPTQ_OK)
		status = gq_convert_check(cv, err);
	if (status == GPTQ_OK)
		status = gq_check_cancel(cv->options->hooks, err);
	if (status == GPTQ_OK)
		status = gq_output_commit(&cv->output, err);
	if (status != GPTQ_OK)
		show_final_name(&cv->output, err);
	gq_output_drop(&cv->output);
	return status;
}

static void free_conversion(struct gq_conversion *cv)
{
	for (size_t i = 0; i < cv->n_units; i++) {
		gq_survey_free(&cv->units[i].survey);
		gq_source_close(&cv->units[i].source);
		gq_free(cv->units[i].formats);
	}
	for (size_t i = 0; i < cv->n_texts; i++)
		gq_free(cv->texts[i].data);
	gq_free(cv->units);
	gq_free(cv->texts);
}

enum gptq_status gptq_convert(const char *in, const char *out, const struct gptq_convert_options *options,
			      struct gptq_convert_report **report, struct gptq_error *err)
{
	struct gq_conversion cv = {.options = options, .in = in, .out = out};
	enum gptq_status status = check_options(options, err);

	if (report)
		*report = NULL;
	if (status != GPTQ_OK)
		return status;
	cv.wishes = (struct gq_wishes){.from = options->from,
				       .v1_style = options->v1_style,
				       .accept_damaged = options->accept_damaged,
				       .per_layer = options->per_layer,
				       .relabel = options->relabel};
	cv.watch.hooks = options->hooks;
	cv.units = gq_calloc(1, sizeof(*cv.units));
	cv.report = gq_calloc(1, sizeof(*cv.report));
	status = cv.units && cv.report ? decide(&cv, err) : gq_fail_nomem(err);
	if (status == GPTQ_OK && !options->dry_run)
		status = carry_out(&cv, err);
	free_conversion(&cv);
	if (status == GPTQ_OK && report)
		*report = cv.report;
	else
		gptq_convert_report_free(cv.report);
	return status;
}
