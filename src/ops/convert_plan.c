/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversion will write: the style for z = 0, the texts of configs, and what the reader has to be told. */
#include "base/checked.h"
#include "base/mem.h"
#include "base/slurp.h"
#include "ops/convert_internal.h"

#include <ctype.h>
#include <string.h>

enum gptq_v1_style gq_layer_style(const struct gq_conversion *cv, const struct gq_unit *u, size_t i)
{
	unsigned bits = u->source.layers.items[i].pack.bits;

	if (u->formats[i] == GPTQ_ZEROS_V1)
		return u->styles[gq_width_index(bits)].style;
	return cv->write_style ? gq_style_for_width(cv->write_style, bits) : GPTQ_STYLE_LANE;
}

enum gptq_status gq_new_header(const struct gq_conversion *cv, const struct gq_unit *u, uint32_t shard,
			       struct gq_buf *out, struct gptq_error *err)
{
	const struct gq_source *s = &u->source;
	enum gq_label target = gq_label_of_format(cv->to);

	for (size_t i = 0; i < s->n_metadata; i++) {
		if (s->metadata_shard[i] == shard && s->metadata[i].label != GQ_LABEL_ABSENT &&
		    s->metadata[i].label != target) {
			const struct gq_st *st = s->shards.items[shard].st;

			return gq_header_set_label(st->header, (size_t)st->header_size, s->metadata[i].begin,
						   s->metadata[i].end, target, out, err);
		}
	}
	return GPTQ_OK;
}

/* ---------------------------------------------------------------------------------------- counting zero points */

static struct gptq_convert_width *width_of(struct gptq_convert_report *r, unsigned bits)
{
	for (unsigned i = 0; i < r->n_widths; i++)
		if (r->widths[i].bits == bits)
			return &r->widths[i];
	r->widths[r->n_widths] = (struct gptq_convert_width){.bits = bits, .zero_min = UINT8_MAX};
	return &r->widths[r->n_widths++];
}

/* Adds "LAYER: n" to a list for the refusal, the first few layers only. */
static void list_layer(struct gq_buf *list, const struct gq_layer *l, uint64_t n, uint64_t n_before)
{
	char shown[GQ_LAYER_SHOWN];

	if (n_before < 8)
		gq_buf_printf(list, "\n%s: %llu", gq_layer_shown(shown, l), (unsigned long long)n);
}

/* The first word of a layer, before and after: an example for the report. The best is of a layer that changes. */
static enum gptq_status show_word(struct gq_conversion *cv, const struct gq_unit *u, size_t i, void *words,
				  size_t row_bytes, struct gptq_error *err)
{
	const struct gq_layer *l = &u->source.layers.items[i];
	struct gptq_convert_report *r = cv->report;
	unsigned bytes = l->pack.word_bits / 8;
	enum gptq_status status = GPTQ_OK;
	char shown[GQ_LAYER_SHOWN];

	gq_free(r->first_layer);
	r->first_layer = gq_strdup(gq_layer_shown(shown, l));
	r->word_bits = l->pack.word_bits;
	r->first_word_before = gq_load_le(words, bytes);
	/* A row at a time is what shifting works on; the first row is enough to show the first word. */
	if (gq_layer_changes(cv, u, i))
		status = gptq_zeros_shift(words, 1, row_bytes, l->pack.bits, l->pack.word_bits, u->formats[i], cv->to,
					  gq_layer_style(cv, u, i), err);
	r->first_word_after = gq_load_le(words, bytes);
	return r->first_layer ? status : gq_fail_nomem(err);
}

static enum gptq_status count_layer(struct gq_conversion *cv, struct gq_unit *u, size_t i,
				    struct gq_zero_figures *figures, struct gptq_error *err)
{
	const struct gq_layer *l = &u->source.layers.items[i];
	struct gptq_convert_report *r = cv->report;
	struct gptq_convert_width *w = width_of(r, l->pack.bits);
	enum gptq_v1_style style = gq_layer_style(cv, u, i);
	bool told = gq_zeros_tell(&u->survey.facts[i].zeros, l->pack, u->formats[i], style, figures);
	bool shown = !r->first_layer || (r->n_layers_changed == 0 && gq_layer_changes(cv, u, i));
	enum gptq_status status = GPTQ_OK;
	struct gq_qzeros qz;
	void *words = NULL;

	if (!told || shown)
		status = gq_read_qzeros(&u->source.shards, l, &words, &qz, err);
	if (status == GPTQ_OK && !told)
		status = gq_zeros_figures(&qz, u->formats[i], style, figures, err);
	if (status == GPTQ_OK && shown)
		status = show_word(cv, u, i, words, qz.row_bytes, err);
	gq_free(words);
	if (status != GPTQ_OK)
		return status;
	w->n_layers++;
	w->n_zeros += figures->n_zeros;
	w->n_zeros_at_0 += figures->n_equal_0;
	if (figures->z_min < w->zero_min)
		w->zero_min = figures->z_min;
	if (figures->z_max > w->zero_max)
		w->zero_max = figures->z_max;
	return status;
}

/* Counts everything. v2 -> v1 with a zero point of 0 and no style given ends here. */
static enum gptq_status count_zeros(struct gq_conversion *cv, bool *any_zero, bool *asymmetric, struct gptq_error *err)
{
	struct gptq_convert_report *r = cv->report;
	enum gptq_status status = GPTQ_OK;
	uint64_t n_layers = 0, n_at_0 = 0;
	struct gq_buf list = {0};

	*any_zero = *asymmetric = false;
	for (size_t k = 0; k < cv->n_units && status == GPTQ_OK; k++) {
		struct gq_unit *u = &cv->units[k];

		for (size_t i = 0; i < u->source.layers.n && status == GPTQ_OK; i++) {
			struct gq_zero_figures figures;

			status = gq_check_cancel(cv->options->hooks, err);
			if (status == GPTQ_OK)
				status = count_layer(cv, u, i, &figures, err);
			if (status != GPTQ_OK)
				break;
			*asymmetric = *asymmetric || figures.n_off_mid;
			r->n_layers_changed += gq_layer_changes(cv, u, i);
			if (gq_layer_changes(cv, u, i) && cv->to == GPTQ_ZEROS_V1 && figures.n_equal_0) {
				list_layer(&list, &u->source.layers.items[i], figures.n_equal_0, n_layers++);
				n_at_0 += figures.n_equal_0;
			}
		}
		r->n_layers += u->source.layers.n;
		r->n_layers_read += u->survey.n_sampled;
	}
	if (status == GPTQ_OK && n_layers > 8)
		gq_buf_printf(&list, "\n... and %llu more layers", (unsigned long long)(n_layers - 8));
	*any_zero = n_at_0 > 0;
	if (status == GPTQ_OK && list.failed)
		status = gq_fail_nomem(err);
	if (status == GPTQ_OK && n_at_0 && !cv->options->v1_style)
		status = gq_fail(err, GPTQ_E_REFUSED,
				 "%llu zero points in %llu layers are 0, and v1 has no encoding of 0 that all readers "
				 "agree on%s\n--v1-style lane|word|gptqmodel-3bit chooses one",
				 (unsigned long long)n_at_0, (unsigned long long)n_layers, list.data ? list.data : "");
	gq_buf_free(&list);
	return status;
}

/* --------------------------------------------------------------------------------------------- style and record */

static bool has_width(const struct gq_conversion *cv, unsigned bits)
{
	for (size_t k = 0; k < cv->n_units; k++)
		for (size_t i = 0; i < cv->units[k].source.layers.n; i++)
			if (cv->units[k].source.layers.items[i].pack.bits == bits)
				return true;
	return false;
}

/*
 * The layers that are v1 already, of a mixed model going to v1: they are kept, in the style that they have. All false
 * and NONE elsewhere.
 */
struct kept {
	struct gq_style_choice styles[GQ_N_WIDTHS];
	bool any, written[GQ_N_WIDTHS]; /* layers of that width are written beside them */
};

static enum gptq_status find_kept(struct gq_conversion *cv, struct kept *kept, struct gptq_error *err)
{
	struct gq_unit *u = &cv->units[0];

	*kept = (struct kept){.any = !cv->from && cv->to == GPTQ_ZEROS_V1};
	for (size_t k = 0; k < cv->n_units && kept->any; k++)
		for (size_t i = 0; i < cv->units[k].source.layers.n; i++)
			if (gq_layer_changes(cv, &cv->units[k], i))
				kept->written[gq_width_index(cv->units[k].source.layers.items[i].pack.bits)] = true;
	return kept->any ? gq_best_styles(&u->source, &u->survey, u->formats, kept->styles, err) : GPTQ_OK;
}

static bool keeps_word(const struct kept *kept)
{
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		if (kept->styles[w].n_layers && kept->styles[w].style == GPTQ_STYLE_WORD)
			return true;
	return false;
}

/* In which style v1 is written, and what the configs have to remember of it. */
static enum gptq_status choose_record(struct gq_conversion *cv, const struct kept *kept, bool any_zero,
				      struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gptq_v1_style style = cv->write_style;
	bool refuse, three = has_width(cv, 3);

	cv->record = NULL;
	if (cv->to == GPTQ_ZEROS_V1 && cv->report->n_layers_changed == 0) {
		cv->record = GQ_RECORD_KEEP; /* the lanes are as they were, and so is what is known of them */
		return GPTQ_OK;
	}
	if (cv->to != GPTQ_ZEROS_V1)
		return GPTQ_OK;
	if (style == GPTQ_STYLE_GPTQMODEL_3BIT && !three)
		style = GPTQ_STYLE_WORD;
	if (any_zero || (three && style == GPTQ_STYLE_GPTQMODEL_3BIT))
		cv->record = gptq_style_name(style);
	else if (three && gq_source_producer_style(s, 3, &refuse) == GPTQ_STYLE_GPTQMODEL_3BIT)
		cv->record = gptq_style_name(style ? style : keeps_word(kept) ? GPTQ_STYLE_WORD : GPTQ_STYLE_LANE);
	if (!cv->record && kept->any && s->record)
		cv->record = GQ_RECORD_KEEP; /* it speaks of the layers that stay, and nothing written is against it */
	if (!cv->record || !cv->record[0])
		return GPTQ_OK;
	if (!s->main || s->file) /* no config is written: see warn_readers */
		return GPTQ_OK;
	cv->report->record = gq_strdup(cv->record);
	return cv->report->record ? GPTQ_OK : gq_fail_nomem(err);
}

static enum gptq_status refuse_kept(const struct gq_conversion *cv, const struct gq_style_choice *kept,
				    enum gptq_v1_style now, struct gptq_error *err)
{
	bool legacy = kept->style == GPTQ_STYLE_GPTQMODEL_3BIT && !cv->write_style;

	return gq_fail(
		err, GPTQ_E_REFUSED,
		"the layers that are v1 already are stored in the style %s at %u bits, and the others would be written "
		"as %s: no one style would be true of the model\n%s--to v2 has no such question",
		kept->style ? gptq_style_name(kept->style) : "(open)", kept->bits, gptq_style_name(now),
		legacy ? "--v1-style gptqmodel-3bit writes the others alike; " : "");
}

/*
 * What is written, and what is recorded, must be true of the layers that are kept, too. At 3 bits the styles part at
 * every lane, elsewhere at z = 0 alone.
 */
static enum gptq_status check_kept_layers(const struct gq_conversion *cv, const struct kept *kept, bool any_zero,
					  struct gptq_error *err)
{
	enum gptq_v1_style recorded = cv->record && cv->record[0] ? gq_style_from_name(cv->record) : GPTQ_STYLE_NONE;
	enum gptq_v1_style written = cv->write_style ? cv->write_style : GPTQ_STYLE_LANE;

	for (unsigned w = 0; w < GQ_N_WIDTHS && kept->any; w++) {
		const struct gq_style_choice *c = &kept->styles[w];
		enum gptq_v1_style now = gq_style_for_width(recorded ? recorded : written, c->bits);
		bool matters = any_zero || recorded || (c->bits == 3 && kept->written[w]);

		if (!c->n_layers || !matters || c->style == now)
			continue;
		if (c->style == GPTQ_STYLE_CLEAN && now != GPTQ_STYLE_GPTQMODEL_3BIT)
			continue;
		return refuse_kept(cv, c, now, err);
	}
	return GPTQ_OK;
}

static enum gptq_status warn_readers(struct gq_conversion *cv, bool any_zero, bool asymmetric, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gptq_status status = GPTQ_OK;
	bool refuse, changes = cv->report->n_layers_changed > 0;

	if (cv->to == GPTQ_ZEROS_V1 && changes && asymmetric && !s->gate_open)
		status = gq_report_warn(cv->report, "gptqmodel-gate", err,
					"GPTQModel refuses asymmetric v1 whose meta.quantizer does not name gptqmodel "
					"0.9.0 or later");
	if (status == GPTQ_OK && any_zero && cv->write_style == GPTQ_STYLE_LANE) {
		for (unsigned w = 0; w < GQ_N_WIDTHS && status == GPTQ_OK; w++) {
			if (gq_widths[w] == 3 || !has_width(cv, gq_widths[w]) ||
			    gq_source_producer_style(s, gq_widths[w], &refuse) != GPTQ_STYLE_WORD)
				continue;
			status = gq_report_warn(
				cv->report, "lane-under-word-producer", err,
				"the config names %s %s, which means the style word: GPTQModel will read "
				"these lane zero points wrongly",
				s->producer.name, s->producer.version);
			break;
		}
	}
	if (status == GPTQ_OK && s->labels.auto_round && cv->to == GPTQ_ZEROS_V2)
		status = gq_report_warn(cv->report, "auto-round-v2-readers", err,
					"vLLM loads no packing_format that means v2 (auto_round:gptqmodel)");
	if (status == GPTQ_OK && s->file)
		status = gq_report_warn(cv->report, "no-config-written", err,
					"a lone file: no config was written, so the config beside %s must say "
					"checkpoint_format \"%s\"",
					cv->in_place ? "it" : "OUT", gq_label_word(gq_label_of_format(cv->to)));
	else if (status == GPTQ_OK && !s->main)
		status = gq_report_warn(
			cv->report, "no-config-written", err,
			"the folder has no GPTQ config, so nothing in %s says that it is %s, and loaders "
			"take it for gptq",
			cv->in_place ? "it" : "OUT", gq_label_word(gq_label_of_format(cv->to)));
	if (status == GPTQ_OK && (s->file || !s->main) && cv->record && cv->record[0])
		status = gq_report_warn(
			cv->report, "style-not-recorded", err,
			"nothing records that z = 0 was written in the style %s: pass --v1-style %s on the "
			"way back",
			cv->record, cv->record);
	return status;
}

/* ----------------------------------------------------------------------------------------------------- configs */

static enum gptq_status report_labels(struct gq_conversion *cv, const struct gq_config_file *file,
				      const struct gq_new_text *text, struct gptq_error *err)
{
	struct gq_config_file after;
	enum gptq_status status = gq_config_read(file->name, file->kind, text->data, text->size, &after, err);

	if (status != GPTQ_OK)
		return status;
	for (size_t i = 0; i < after.n_places && status == GPTQ_OK; i++) {
		const struct gq_label_place *is = &after.places[i], *was = NULL;

		for (size_t j = 0; j < file->n_places && !was; j++)
			if (strcmp(file->places[j].key, is->key) == 0)
				was = &file->places[j];
		if (is->label == GQ_LABEL_ABSENT || (was && strcmp(was->value, is->value) == 0))
			continue;
		status = gq_report_label(cv->report, file->name, is->key, was ? was->value : NULL, is->value, err);
	}
	gq_config_free(&after);
	return status;
}

static enum gptq_status make_texts(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gq_label target = gq_label_of_format(cv->to);
	enum gptq_status status = GPTQ_OK;

	cv->texts = gq_calloc(s->n_configs, sizeof(*cv->texts));
	if (!cv->texts)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < s->n_configs && status == GPTQ_OK; i++) {
		const struct gq_config_file *f = &s->configs[i];
		struct gq_new_text *t = &cv->texts[cv->n_texts++];
		struct gq_buf out = {0};

		t->name = f->name;
		status = gq_config_rewrite(f, target, cv->record, &out, err);
		if (status == GPTQ_OK && out.failed)
			status = gq_fail_nomem(err);
		t->data = out.data;
		t->size = out.size;
		t->changed = status == GPTQ_OK && (out.size != f->size || memcmp(out.data, f->text, f->size) != 0);
		if (status == GPTQ_OK && t->changed)
			status = report_labels(cv, f, t, err);
	}
	return status;
}

static enum gptq_status report_metadata(struct gq_conversion *cv, struct gptq_error *err)
{
	const char *word = gq_label_word(gq_label_of_format(cv->to));
	enum gptq_status status = GPTQ_OK;

	for (size_t k = 0; k < cv->n_units; k++) {
		const struct gq_source *s = &cv->units[k].source;

		for (size_t i = 0; i < s->n_metadata && status == GPTQ_OK; i++)
			if (s->metadata[i].label != GQ_LABEL_ABSENT && strcmp(s->metadata[i].value, word) != 0)
				status = gq_report_label(cv->report, s->metadata[i].file, s->metadata[i].key,
							 s->metadata[i].value, word, err);
	}
	return status;
}

/* What opening found that does not stop a conversion. */
static enum gptq_status pass_on_warnings(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_problems *p = &cv->units[0].source.problems;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < p->n && status == GPTQ_OK; i++) {
		char text[1024];

		if (gq_code_severity(p->items[i].code) != GQ_SEVERITY_WARNING)
			continue;
		gptq_error_format(&p->items[i].error, text, sizeof(text));
		status = gq_report_warn(cv->report, gq_code_text(p->items[i].code), err, "%s", text);
	}
	return status;
}

/* Layers whose own strong evidence is against the rest of the model: too few to call it mixed, enough to be looked at.
 */
static enum gptq_status warn_odd_layers(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_unit *u = &cv->units[0];
	struct gq_buf names = {0};
	enum gptq_status status = GPTQ_OK;
	uint64_t n = 0;

	for (size_t i = 0; i < u->source.layers.n && cv->from; i++) {
		char shown[GQ_LAYER_SHOWN];

		if (u->survey.odd[i] && n++ < 3)
			gq_buf_printf(&names, "%s%s", n > 1 ? ", " : "",
				      gq_layer_shown(shown, &u->source.layers.items[i]));
	}
	if (n > 3)
		gq_buf_printf(&names, " and %llu more", (unsigned long long)(n - 3));
	if (names.failed)
		status = gq_fail_nomem(err);
	else if (n)
		status = gq_report_warn(
			cv->report, "layer-odd", err,
			"the tensors of %s say v%c, against the rest of the model; taken for %s as the rest: "
			"look at what made %s",
			names.data, u->survey.model.verdict == GPTQ_VERDICT_V1 ? '2' : '1',
			gptq_zeros_format_name(cv->from), n == 1 ? "it" : "them");
	gq_buf_free(&names);
	return status;
}

enum gptq_status gq_convert_plan(struct gq_conversion *cv, struct gptq_error *err)
{
	bool any_zero, asymmetric;
	enum gptq_status status = GPTQ_OK;
	struct kept kept;

	cv->write_style = cv->to == GPTQ_ZEROS_V1 ? cv->options->v1_style : GPTQ_STYLE_NONE;
	for (size_t i = 0; i < cv->n_units && status == GPTQ_OK; i++)
		status = gq_find_spans(&cv->units[i], err);
	if (status == GPTQ_OK)
		status = count_zeros(cv, &any_zero, &asymmetric, err);
	if (status == GPTQ_OK)
		status = find_kept(cv, &kept, err);
	if (status == GPTQ_OK)
		status = choose_record(cv, &kept, any_zero, err);
	if (status == GPTQ_OK)
		status = check_kept_layers(cv, &kept, any_zero, err);
	if (status == GPTQ_OK && !cv->units[0].source.file)
		status = make_texts(cv, err);
	if (status == GPTQ_OK)
		status = report_metadata(cv, err);
	if (status == GPTQ_OK)
		status = pass_on_warnings(cv, err);
	if (status == GPTQ_OK)
		status = warn_odd_layers(cv, err);
	if (status == GPTQ_OK)
		status = warn_readers(cv, any_zero, asymmetric, err);
	if (status == GPTQ_OK)
		status = gq_convert_plan_files(cv, err);
	return status;
}
