/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors files outside the model that hold zero points: refused by name, copied, or converted with it. */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <string.h>

/* Looks into a stray: *holds tells whether it has zero points or cannot be read (then with its error). */
static enum gptq_status look_at_stray(const char *path, bool *holds, struct gptq_error *why, bool *unreadable,
				      struct gptq_error *err)
{
	struct gq_problems problems = {0};
	const struct gq_problem *p;
	struct gq_shards shards;
	enum gptq_status status = gq_shards_open_files(NULL, &path, 1, &shards, &problems, err);

	if (status == GPTQ_OK) {
		p = gq_problems_first(&problems, GQ_SEVERITY_ERROR);
		*unreadable = p != NULL;
		*holds = p || gq_shards_hold_qzeros(&shards);
		if (p)
			*why = p->error;
		gq_shards_close(&shards);
	}
	gq_problems_free(&problems);
	return status;
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
	struct gq_survey_options so = {.read_all = true, .threads = gq_convert_threads(cv->options->jobs), .hooks = cv->options->hooks};
	struct gq_source_options none = {0};
	enum gptq_status status = gq_source_open(path, &none, &u->source, err);

	u->name = name;
	if (status == GPTQ_OK)
		status = gq_convert_check_problems(&u->source, err);
	if (status == GPTQ_OK)
		status = gq_survey_run(&u->source.shards, &u->source.layers, &so, &u->survey, &u->source.problems, err);
	if (status == GPTQ_OK)
		status = gq_convert_check_problems(&u->source, err);
	if (status == GPTQ_OK)
		gq_progress_survey(cv, u->survey.bytes_sampled);
	if (status == GPTQ_OK && (!cv->from || gq_format_of_verdict(u->survey.model.verdict) != cv->from)) {
		status = gq_fail(
			err, GPTQ_E_REFUSED,
			"--strays convert: the verdict on this file is %s, and on the model it is %s; only a file "
			"whose own verdict agrees can be converted with it",
			gptq_verdict_name(u->survey.model.verdict),
			cv->from ? gptq_zeros_format_name(cv->from) : "mixed");
		gq_error_file(err, name);
	}
	return status == GPTQ_OK ? gq_convert_settle_unit(cv, u, cv->from, err) : status;
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

enum gptq_status gq_convert_strays(struct gq_conversion *cv, struct gptq_error *err)
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
