/* SPDX-License-Identifier: Apache-2.0 */
/* gptq_convert: opens, settles, plans, writes, checks, renames. */
#include "base/mem.h"
#include "ops/convert_internal.h"
#include "ops/readers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum gptq_status gq_convert_check_options(const struct gptq_convert_options *o, struct gptq_error *err)
{
	if (o->struct_size != sizeof(*o))
		return gq_fail(err, GPTQ_E_ARG, "options.struct_size is not that of this library's options");
	if (o->from != GPTQ_ZEROS_NONE && o->from != GPTQ_ZEROS_V1 && o->from != GPTQ_ZEROS_V2)
		return gq_fail(err, GPTQ_E_ARG, "options.from is no format");
	if (o->strays != GPTQ_STRAYS_REFUSE && o->strays != GPTQ_STRAYS_COPY && o->strays != GPTQ_STRAYS_CONVERT)
		return gq_fail(err, GPTQ_E_ARG, "options.strays is none of its values");
	if (o->relabel ? o->to != GPTQ_ZEROS_NONE : o->to != GPTQ_ZEROS_V1 && o->to != GPTQ_ZEROS_V2)
		return gq_fail(err, GPTQ_E_ARG, "give either a target format, v1 or v2, or relabel");
	if (o->v1_style != GPTQ_STYLE_NONE && o->v1_style != GPTQ_STYLE_LANE && o->v1_style != GPTQ_STYLE_WORD &&
	    o->v1_style != GPTQ_STYLE_GPTQMODEL_3BIT)
		return gq_fail(err, GPTQ_E_ARG, "v1 can be read and written as lane, word and gptqmodel-3bit only");
	if (o->relabel && o->per_layer)
		return gq_fail(err, GPTQ_E_ARG,
			       "relabel and per_layer exclude each other: one label cannot be true of "
			       "a mixed model");
	if (o->jobs > 256)
		return gq_fail(err, GPTQ_E_ARG, "jobs must be at most 256");
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
	if (gq_source_reaches(s, cv->out, cv->options->config))
		return bad_out(cv->out, err, "the output is, or lies in, something that the input leads to; choose another place");
	return gq_output_check(cv->out, !s->file, cv->options->force, err);
}

/* What cannot be gone on with: the first error among the problems of opening. */
enum gptq_status gq_convert_check_problems(const struct gq_source *s, struct gptq_error *err)
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
		return gq_dynamic_check(s->dynamic, err);
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

enum gptq_status gq_convert_check_layers(struct gq_source *s, struct gptq_error *err)
{
	enum gptq_status status = check_layers(s, err);

	if (status == GPTQ_OK)
		status = check_bits(s, err);
	return status == GPTQ_OK ? check_config_bits(s, err) : status;
}

/* Survey, formats and styles of one unit whose source is open. */
enum gptq_status gq_convert_settle_unit(struct gq_conversion *cv, struct gq_unit *u, enum gptq_zeros_format format,
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
	struct gq_survey_options so = {.read_all = cv->options->per_layer, .threads = gq_convert_threads(cv->options->jobs),
				       .hooks = cv->options->hooks};
	enum gptq_status status;

	gq_progress_survey(cv, 0);
	status = gq_survey_run(&u->source.shards, &u->source.layers, &so, &u->survey, &u->source.problems, err);
	gq_progress_survey(cv, u->survey.bytes_sampled);
	if (status == GPTQ_OK)
		status = gq_convert_check_problems(&u->source, err);
	if (status == GPTQ_OK)
		status = gq_settle_format(&u->source, &u->survey, &cv->wishes, &cv->from, &cv->report->from_reason,
					  &warning, err);
	if (status != GPTQ_OK)
		return status;
	cv->to = cv->options->relabel ? cv->from : cv->options->to;
	if (warning)
		status = gq_report_warn(cv->report, "format", err, "%s", warning);
	return status == GPTQ_OK ? gq_convert_settle_unit(cv, u, cv->from, err) : status;
}

/* ------------------------------------------------------------------------------------------------------- all */

/* Who reads IN right, and who will read OUT: a change of format is a change of readers. */
static enum gptq_status fill_readers(struct gq_conversion *cv, struct gptq_error *err)
{
	struct gq_unit *u = &cv->units[0];
	struct gptq_convert_report *r = cv->report;
	struct gq_style_choice styles[GQ_N_WIDTHS];
	struct gq_readers_after after = {.to = cv->to, .style = GPTQ_STYLE_CLEAN};
	enum gptq_verdict now = cv->from == GPTQ_ZEROS_V1   ? GPTQ_VERDICT_V1
				: cv->from == GPTQ_ZEROS_V2 ? GPTQ_VERDICT_V2
							    : GPTQ_VERDICT_MIXED;
	enum gptq_status status = gq_best_styles(&u->source, &u->survey, u->formats, styles, err);

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		if (u->styles[w].style)
			styles[w] = u->styles[w];
		if (cv->to == GPTQ_ZEROS_V1 && r->n_layers_changed == 0 && styles[w].style)
			after.style = styles[w].style;
	}
	for (unsigned i = 0; i < r->n_widths; i++)
		if (cv->to == GPTQ_ZEROS_V1 && r->n_layers_changed && r->widths[i].n_zeros_at_0)
			after.style = cv->write_style ? cv->write_style : GPTQ_STYLE_LANE;
	if (status == GPTQ_OK)
		status = gq_readers_of(&u->source, &u->survey, u->formats, styles, now, &after, &r->readers_in,
				       &r->readers_out, &r->n_readers, err);
	return status;
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
		r->label = gq_format_of_label(labels->value);
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
			status = gq_report_warn(
				r, "smeared-zeros", err,
				"not lossless: %llu zero points in %llu words at %u bits are lost since the "
				"checkpoint was written, and were converted as they stand",
				(unsigned long long)w->n_unknown, (unsigned long long)w->n_damaged_words, w->bits);
			if (status != GPTQ_OK)
				return status;
		}
		if (!c->style && cv->write_style && r->n_layers_changed) {
			w->style = gq_style_for_width(cv->write_style, w->bits);
			w->style_source = GPTQ_STYLE_GIVEN;
		}
	}
	r->evidence = gq_describe_evidence(&u->survey);
	if (!r->evidence)
		return gq_fail_nomem(err);
	return u->source.file ? GPTQ_OK : fill_readers(cv, err);
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

enum gptq_status gq_convert_unchanged(const struct gq_conversion *cv, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < cv->n_units && status == GPTQ_OK; i++)
		status = gq_shards_unchanged(&cv->units[i].source.shards, err);
	return status;
}

enum gptq_status gq_convert_decide(struct gq_conversion *cv, struct gptq_error *err)
{
	enum gptq_status status = open_model(cv, err);
	const struct gq_source *s = &cv->units[0].source;

	if (status == GPTQ_OK)
		status = gq_source_uninterrupted(s, err);
	if (status == GPTQ_OK && cv->out)
		status = check_places(cv, err);
	if (status == GPTQ_OK && cv->out)
		status = gq_manifest_place(cv, cv->out, err);
	/* A foreign label explains tensors that are none of ours, so it is looked at before them. */
	if (status == GPTQ_OK)
		status = gq_labels_check(&s->labels, true, err);
	if (status == GPTQ_OK)
		status = gq_convert_check_problems(s, err);
	if (status == GPTQ_OK)
		status = gq_convert_check_layers(&cv->units[0].source, err);
	gq_phase(cv, GPTQ_PHASE_SURVEY);
	if (status == GPTQ_OK)
		status = settle_model(cv, err);
	if (status == GPTQ_OK)
		status = gq_convert_strays(cv, err);
	if (status == GPTQ_OK)
		status = gq_convert_plan(cv, err);
	if (status == GPTQ_OK)
		status = fill_report(cv, err);
	return status == GPTQ_OK ? gq_convert_unchanged(cv, err) : status;
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
	const char *lone_name;
	enum gptq_status status;

	gq_phase(cv, GPTQ_PHASE_WRITE);
	status = gq_output_begin(cv->out, !s->file, cv->options->force, &cv->output, err);
	if (status == GPTQ_OK)
		status = gq_check_space(cv->output.parent, cv->report->n_bytes, err);
	if (status == GPTQ_OK)
		status = gq_convert_write(cv, err);
	if (status == GPTQ_OK)
		status = gq_convert_check(cv, err);
	gq_phase(cv, GPTQ_PHASE_FINISH);
	lone_name = s->file && cv->output.final_path ? gq_path_base(cv->output.final_path) : NULL;
	if (status == GPTQ_OK)
		status = gq_manifest_write(cv, lone_name, err);
	if (status == GPTQ_OK)
		status = gq_check_cancel(cv->options->hooks, err);
	if (status == GPTQ_OK)
		status = gq_output_commit(&cv->output, err);
	if (status == GPTQ_OK)
		status = gq_manifest_commit(cv, err);
	if (status != GPTQ_OK) {
		show_final_name(&cv->output, err);
		show_final_name(&cv->manifest, err);
	}
	gq_output_drop(&cv->output);
	gq_output_drop(&cv->manifest);
	return status;
}

void gq_convert_free(struct gq_conversion *cv)
{
	for (size_t i = 0; i < cv->n_units; i++) {
		gq_survey_free(&cv->units[i].survey);
		gq_source_close(&cv->units[i].source);
		gq_free(cv->units[i].formats);
		gq_free(cv->units[i].spans);
		gq_free(cv->units[i].first_span);
	}
	for (size_t i = 0; i < cv->n_texts; i++)
		gq_free(cv->texts[i].data);
	gq_free(cv->written);
	gq_free(cv->manifest_path);
	gq_free(cv->units);
	gq_free(cv->texts);
}

enum gptq_status gq_convert_start(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gptq_convert_options *o = cv->options;

	cv->wishes = (struct gq_wishes){.from = o->from,
					.v1_style = o->v1_style,
					.accept_damaged = o->accept_damaged,
					.per_layer = o->per_layer,
					.relabel = o->relabel};
	cv->units = gq_calloc(1, sizeof(*cv->units));
	cv->report = gq_calloc(1, sizeof(*cv->report));
	if (!cv->units || !cv->report)
		return gq_fail_nomem(err);
	gq_phase(cv, GPTQ_PHASE_OPEN);
	return GPTQ_OK;
}

enum gptq_status gptq_convert(const char *in, const char *out, const struct gptq_convert_options *options,
			      struct gptq_convert_report **report, struct gptq_error *err)
{
	struct gq_conversion cv = {.in = in, .out = out};
	struct gptq_convert_options own;
	enum gptq_status status;

	if (report)
		*report = NULL;
	if (!in || !out || !options)
		return gq_fail(err, GPTQ_E_ARG, "in, out and options must not be NULL");
	status = gq_convert_check_options(options, err);
	if (status != GPTQ_OK)
		return status;
	gq_progress_begin(&cv.progress, options->hooks);
	own = *options;
	own.hooks = &cv.progress.hooks;
	cv.options = &own;
	status = gq_convert_start(&cv, err);
	if (status == GPTQ_OK)
		status = gq_convert_decide(&cv, err);
	if (status == GPTQ_OK && options->verify_weights && !options->dry_run) {
		status = gq_prover_open(GPTQ_METHOD_AUTO, options->device, options->device_number, &cv.prover, err);
		if (status == GPTQ_OK)
			status = carry_out(&cv, err);
		gq_prover_close(&cv.prover);
	} else if (status == GPTQ_OK && !options->dry_run) {
		status = carry_out(&cv, err);
	}
	if (cv.report)
		gq_phase(&cv, GPTQ_PHASE_FINISH);
	gq_convert_free(&cv);
	if (status == GPTQ_OK && report)
		*report = cv.report;
	else
		gptq_convert_report_free(cv.report);
	return status;
}
