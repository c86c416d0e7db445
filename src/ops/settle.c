/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/settle.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum gptq_v1_style gq_style_for_width(enum gptq_v1_style style, unsigned bits)
{
	if (style == GPTQ_STYLE_WORD && bits == 3)
		return GPTQ_STYLE_LANE;
	if (style == GPTQ_STYLE_GPTQMODEL_3BIT && bits != 3)
		return GPTQ_STYLE_WORD;
	return style;
}

enum gptq_v1_style gq_style_from_name(const char *name)
{
	static const enum gptq_v1_style named[] = {GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, GPTQ_STYLE_GPTQMODEL_3BIT};

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (name && strcmp(name, gptq_style_name(named[i])) == 0)
			return named[i];
	return GPTQ_STYLE_NONE;
}

enum gptq_v1_style gq_source_producer_style(const struct gq_source *source, unsigned bits, bool *refuse)
{
	*refuse = false;
	if (!source->has_producer)
		return GPTQ_STYLE_NONE;
	switch (gq_producer_style(&source->producer, bits, source->main && source->main->is_auto_round)) {
	case GQ_PSTYLE_LANE:
		return GPTQ_STYLE_LANE;
	case GQ_PSTYLE_WORD:
		return GPTQ_STYLE_WORD;
	case GQ_PSTYLE_GPTQMODEL_3BIT:
		return GPTQ_STYLE_GPTQMODEL_3BIT;
	case GQ_PSTYLE_SMEARED:
		return GPTQ_STYLE_SMEARED;
	case GQ_PSTYLE_REFUSE:
		*refuse = true;
		return GPTQ_STYLE_NONE;
	case GQ_PSTYLE_OPEN:
		break;
	}
	return GPTQ_STYLE_NONE;
}

/* -------------------------------------------------------------------------------------------------- format */

static enum gptq_zeros_format format_of_verdict(enum gptq_verdict v)
{
	return v == GPTQ_VERDICT_V1 ? GPTQ_ZEROS_V1 : v == GPTQ_VERDICT_V2 ? GPTQ_ZEROS_V2 : GPTQ_ZEROS_NONE;
}

static enum gptq_zeros_format format_of_label(enum gq_label label)
{
	return label == GQ_LABEL_V1 ? GPTQ_ZEROS_V1 : label == GQ_LABEL_V2 ? GPTQ_ZEROS_V2 : GPTQ_ZEROS_NONE;
}

char *gq_describe_evidence(const struct gq_survey *sv)
{
	const struct gq_model_verdict *m = &sv->model;
	struct gq_buf text = {0};

	gq_buf_printf(&text, "by %s: strong evidence in %llu of %llu layers for v1, in %llu for v2", gq_rule_name(m->rule),
		      (unsigned long long)m->strong_v1, (unsigned long long)m->n_layers,
		      (unsigned long long)m->strong_v2);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		const struct gq_width_verdict *v = &m->width[w];

		if (v->n_median)
			gq_buf_printf(&text, "; %u bits: mean(code - lane) = %.3f +- %.3f over %llu layers (v2: 0, v1: 1)",
				      gq_widths[w], v->a, v->bar_a, (unsigned long long)v->n_median);
	}
	if (text.failed) {
		gq_buf_free(&text);
		return NULL;
	}
	return text.data;
}

/* Up to three names of layers of one verdict: "a, b, c and 4 more". */
static void name_layers(const struct gq_source *s, const struct gq_survey *sv, enum gptq_verdict verdict, char *dst,
			size_t size)
{
	char shown[GQ_LAYER_SHOWN];
	size_t n = 0, used = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];

		if (sv->verdicts[i].verdict != verdict)
			continue;
		if (n++ < 3 && used < size)
			used += (size_t)snprintf(dst + used, size - used, "%s%s", n > 1 ? ", " : "",
						 gq_layer_shown(shown, l));
	}
	if (n > 3 && used < size)
		snprintf(dst + used, size - used, " and %zu more", n - 3);
}

static enum gptq_status refuse_mixed(const struct gq_source *s, const struct gq_survey *sv, struct gptq_error *err)
{
	char v1[512], v2[512];

	name_layers(s, sv, GPTQ_VERDICT_V1, v1, sizeof(v1));
	name_layers(s, sv, GPTQ_VERDICT_V2, v2, sizeof(v2));
	return gq_fail(err, GPTQ_E_REFUSED,
		       "the model is mixed: some layers are v1, others v2, so no one label is true\n"
		       "v1: %s\nv2: %s\n--per-layer converts each layer by its own verdict",
		       v1, v2);
}

static enum gptq_status refuse_contradiction(const struct gq_source *s, const struct gq_survey *sv,
					     enum gptq_zeros_format label, enum gptq_zeros_format verdict,
					     struct gptq_error *err)
{
	const struct gq_label_place *p = s->labels.sources[0];
	char *figures = gq_describe_evidence(sv);
	enum gptq_status status;

	if (!figures)
		return gq_fail_nomem(err);
	status = gq_fail(err, GPTQ_E_REFUSED,
		       "the label says %s, but the tensors are %s\n"
		       "label: %s: %s is \"%s\"\ntensors: %s\n"
		       "--from %s goes by the tensors, --from %s by the label; --relabel makes the label say what the "
		       "tensors are and changes no tensor",
		       gptq_zeros_format_name(label), gptq_zeros_format_name(verdict), p->file, p->key, p->value, figures,
		       gptq_zeros_format_name(verdict), gptq_zeros_format_name(label));
	gq_free(figures);
	return status;
}

static enum gptq_status refuse_open_relabel(const struct gq_survey *sv, struct gptq_error *err)
{
	char *figures = gq_describe_evidence(sv);
	enum gptq_status status;

	if (!figures)
		return gq_fail_nomem(err);
	status = gq_fail(err, GPTQ_E_REFUSED,
		       "--relabel goes by the tensors, and they leave it open whether they are v1 or v2\n"
		       "tensors: %s\n--from v1 or --from v2 settles it",
		       figures);
	gq_free(figures);
	return status;
}

enum gptq_status gq_settle_format(const struct gq_source *s, const struct gq_survey *sv, const struct gq_wishes *wishes,
				  enum gptq_zeros_format *from, const char **why, const char **warning,
				  struct gptq_error *err)
{
	enum gptq_zeros_format label = s->labels.consistent ? format_of_label(s->labels.value) : GPTQ_ZEROS_NONE;
	enum gptq_zeros_format verdict = format_of_verdict(sv->model.verdict);
	enum gptq_status status = gq_labels_check(&s->labels, wishes->from || wishes->relabel, err);

	*from = GPTQ_ZEROS_NONE;
	*warning = NULL;
	if (status != GPTQ_OK)
		return status;
	if (sv->model.verdict == GPTQ_VERDICT_MIXED) {
		*why = "each layer's own verdict";
		return wishes->per_layer && !wishes->relabel ? GPTQ_OK : refuse_mixed(s, sv, err);
	}
	if (wishes->from) {
		*from = wishes->from;
		*why = "given with --from";
		if (verdict && verdict != wishes->from)
			*warning = wishes->from == GPTQ_ZEROS_V1
					   ? "--from says v1, but the tensors say v2: if they are right, every zero "
					     "point is one too high now"
					   : "--from says v2, but the tensors say v1: if they are right, every zero "
					     "point is one too low now";
		return GPTQ_OK;
	}
	if (wishes->relabel) {
		*from = verdict;
		*why = "the tensors";
		return verdict ? GPTQ_OK : refuse_open_relabel(sv, err);
	}
	if (label && verdict && label != verdict)
		return refuse_contradiction(s, sv, label, verdict, err);
	if (label) {
		*from = label;
		*why = verdict ? "label and tensors agree" : "the label; the tensors leave it open";
		return GPTQ_OK;
	}
	if (verdict) {
		*from = verdict;
		*why = "the tensors; no label";
		return GPTQ_OK;
	}
	if (s->labels.auto_round)
		return gq_fail(err, GPTQ_E_REFUSED,
			       "an auto-round config without packing_format, and the tensors leave it open whether they "
			       "are v1 or v2; --from settles it");
	*from = GPTQ_ZEROS_V1;
	*why = "no label: taken for v1, as every loader does";
	*warning = "no label, and the tensors leave it open: taken for v1, as every loader does";
	return GPTQ_OK;
}

enum gptq_status gq_settle_layers(const struct gq_source *s, const struct gq_survey *sv, enum gptq_zeros_format model,
				  enum gptq_zeros_format *formats, struct gptq_error *err)
{
	for (size_t i = 0; i < s->layers.n; i++) {
		enum gptq_zeros_format own = format_of_verdict(sv->verdicts[i].verdict);

		formats[i] = model ? model : own;
		if (!formats[i]) {
			enum gptq_status status =
				gq_fail(err, GPTQ_E_REFUSED,
					"--per-layer needs a verdict for each layer, and the tensors of this one leave "
					"it open whether it is v1 or v2");

			gq_error_tensor(err, s->layers.items[i].name, s->layers.items[i].name_len);
			return status;
		}
	}
	return GPTQ_OK;
}
