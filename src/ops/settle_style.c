/* SPDX-License-Identifier: Apache-2.0 */
/* Which v1 style the lanes were written in: given, recorded, shown by the tensors, or meant by the producer. */
#include "base/mem.h"
#include "ops/settle.h"

#include <stdio.h>
#include <string.h>

/* How much hangs on the style of one width. */
struct stake {
	uint64_t n_zeros;     /* zero points that the styles decode differently */
	double weights;       /* weights under them */
	double all_weights;   /* of all layers of the model */
	const struct gq_layer *layer; /* the first of them: its layer, place, lane and what either makes of it */
	struct gq_style_difference first;
};

static enum gptq_status weigh(struct gq_source *s, const enum gptq_zeros_format *formats, unsigned bits,
			      enum gptq_v1_style a, enum gptq_v1_style b, struct stake *stake, struct gptq_error *err)
{
	*stake = (struct stake){0};
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];
		struct gq_style_difference d;
		struct gq_qzeros qz;
		enum gptq_status status;
		void *words;

		stake->all_weights += (double)l->in_features * (double)l->out_features;
		if (l->pack.bits != bits || formats[i] != GPTQ_ZEROS_V1)
			continue;
		status = gq_read_qzeros(&s->shards, l, &words, &qz, err);
		if (status != GPTQ_OK)
			return status;
		status = gq_zeros_compare_styles(&qz, a, b, &d, err);
		gq_free(words);
		if (status != GPTQ_OK)
			return status;
		if (d.n_lanes && !stake->layer) {
			stake->layer = l;
			stake->first = d;
		}
		stake->n_zeros += d.n_lanes;
		stake->weights += (double)d.n_lanes * (double)l->in_features / (double)l->groups;
	}
	return GPTQ_OK;
}

/* "at 4 bits the style decides 22 zero points, 0.01% of the weights; the first, LAYER group 3 column 17: ..." */
static enum gptq_status describe_stake(struct gq_source *s, const enum gptq_zeros_format *formats, unsigned bits,
				       char *dst, size_t size, struct gptq_error *err)
{
	enum gptq_v1_style a = GPTQ_STYLE_LANE, b = bits == 3 ? GPTQ_STYLE_GPTQMODEL_3BIT : GPTQ_STYLE_WORD;
	struct stake st;
	enum gptq_status status = weigh(s, formats, bits, a, b, &st, err);
	char shown[GQ_LAYER_SHOWN];

	if (status != GPTQ_OK)
		return status;
	if (!st.layer) {
		snprintf(dst, size, "at %u bits %s and %s read every zero point alike", bits, gptq_style_name(a),
			 gptq_style_name(b));
		return GPTQ_OK;
	}
	snprintf(dst, size,
		 "at %u bits the style decides %llu zero points, %.3g%% of the weights; the first is %s, group %zu, "
		 "column %zu, stored lane %u: %s makes it %u, %s %u%s",
		 bits, (unsigned long long)st.n_zeros, st.all_weights > 0 ? 100.0 * st.weights / st.all_weights : 0.0,
		 gq_layer_shown(shown, st.layer), st.first.group, st.first.column, st.first.lane, gptq_style_name(a),
		 st.first.z_a, gptq_style_name(b), st.first.z_b, bits == 3 ? "" : ", smeared makes it unknown");
	return GPTQ_OK;
}

/* Do two names at one width mean different bits? `clean` is at odds with gptqmodel-3bit alone. */
static bool at_odds(enum gptq_v1_style shown, enum gptq_v1_style claimed, unsigned bits)
{
	claimed = gq_style_for_width(claimed, bits);
	if (shown == GPTQ_STYLE_NONE || claimed == GPTQ_STYLE_NONE)
		return false;
	if (shown == GPTQ_STYLE_CLEAN)
		return claimed == GPTQ_STYLE_GPTQMODEL_3BIT;
	return shown != claimed;
}

static void describe_evidence(const struct gq_style_verdict *v, unsigned bits, char *dst, size_t size)
{
	if (v->style == GPTQ_STYLE_SMEARED)
		snprintf(dst, size, "%llu of %llu words are all M from their lowest M on, mean code %.2f M",
			 (unsigned long long)v->tall_words_full, (unsigned long long)v->tall_words, v->smear_mean);
	else if (bits == 3)
		snprintf(dst, size, "%llu layers follow their codes read plainly, %llu read as gptqmodel-3bit",
			 (unsigned long long)v->n_plain, (unsigned long long)v->n_legacy);
	else
		snprintf(dst, size,
			 "above an M: %llu lanes are M, %llu are M-1 under low codes; mean borrow %.2f over %llu lanes "
			 "(lane: 0, word: 1)",
			 (unsigned long long)v->above_lane, (unsigned long long)v->above_word, v->t,
			 (unsigned long long)v->t_count);
}

static enum gptq_status refuse_odds(struct gq_source *s, const struct gq_style_verdict *v, unsigned bits,
				    enum gptq_v1_style claimed, bool by_record, const enum gptq_zeros_format *formats,
				    struct gptq_error *err)
{
	char evidence[320], stake[512], who[160];
	enum gptq_status status = describe_stake(s, formats, bits, stake, sizeof(stake), err);

	if (status != GPTQ_OK)
		return status;
	describe_evidence(v, bits, evidence, sizeof(evidence));
	if (by_record)
		snprintf(who, sizeof(who), "the record gptq_tools.v1_style in the config");
	else
		snprintf(who, sizeof(who), "the producer, %s %s,", s->producer.name, s->producer.version);
	return gq_fail(err, GPTQ_E_REFUSED,
		       "at %u bits the tensors show the v1 style %s, but %s means %s\ntensors: %s\n%s\n"
		       "--v1-style settles it",
		       bits, gptq_style_name(v->style), who, gptq_style_name(gq_style_for_width(claimed, bits)), evidence, stake);
}

static enum gptq_status refuse_open(struct gq_source *s, const struct gq_style_verdict *v, unsigned bits,
				    const enum gptq_zeros_format *formats, struct gptq_error *err)
{
	char evidence[320], stake[512];
	enum gptq_status status = describe_stake(s, formats, bits, stake, sizeof(stake), err);

	if (status != GPTQ_OK)
		return status;
	describe_evidence(v, bits, evidence, sizeof(evidence));
	return gq_fail(err, GPTQ_E_REFUSED,
		       "how this v1 checkpoint stores zero points of 0 is open: neither tensors nor config tell its style\n"
		       "%s\ntensors: %s\n--v1-style lane|word|gptqmodel-3bit settles it",
		       stake, evidence);
}

/* The producer smeared, but in a smeared file every lane above an M of the same word is M. */
static enum gptq_status refuse_not_smeared(struct gq_source *s, const struct gq_style_verdict *v, unsigned bits,
					   const enum gptq_zeros_format *formats, struct gptq_error *err)
{
	char stake[512];
	enum gptq_status status = describe_stake(s, formats, bits, stake, sizeof(stake), err);

	if (status != GPTQ_OK)
		return status;
	return gq_fail(
		err, GPTQ_E_REFUSED,
		"at %u bits the producer, %s %s, means the v1 style smeared, but the tensors are not smeared: of %llu "
		"words with lanes above an M those lanes are all M in %llu only\n%s\n--v1-style settles it",
		bits, s->producer.name, s->producer.version, (unsigned long long)v->tall_words,
		(unsigned long long)v->tall_words_full, stake);
}

static enum gptq_status refuse_smeared(const struct gq_survey *sv, const struct gq_style_choice *c,
				       const struct gq_source *s, struct gptq_error *err)
{
	uint64_t words = 0, zeros = 0;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		words += sv->model.style[w].damaged_words;
		zeros += sv->model.style[w].unknown_zeros;
	}
	return gq_fail(err, GPTQ_E_REFUSED,
		       "the zero points are damaged (v1 style smeared, %s%s%s%s): a zero point of 0 overwrote those above "
		       "it in its word\n%llu words are damaged and %llu zero points are not known, lost when the "
		       "checkpoint was written; no --v1-style brings them back\n"
		       "--accept-damaged converts all the same, lane by lane",
		       c->source == GPTQ_STYLE_BY_PRODUCER ? "by its producer, " : "by the tensors",
		       c->source == GPTQ_STYLE_BY_PRODUCER ? s->producer.name : "",
		       c->source == GPTQ_STYLE_BY_PRODUCER ? " " : "",
		       c->source == GPTQ_STYLE_BY_PRODUCER ? s->producer.version : "", (unsigned long long)words,
		       (unsigned long long)zeros);
}

/* What the evidence says about one width, in the order of the man page. */
static enum gptq_status settle_width(struct gq_source *s, const struct gq_style_verdict *v,
				     const struct gq_wishes *wishes, enum gptq_v1_style record,
				     const enum gptq_zeros_format *formats, struct gq_style_choice *c,
				     struct gptq_error *err)
{
	bool refuse;
	enum gptq_v1_style producer = gq_source_producer_style(s, c->bits, &refuse);

	if (refuse && v->n_max && !wishes->accept_damaged)
		return gq_fail(err, GPTQ_E_REFUSED,
			       "auto-round's 3-bit v1 writer mixes borrows and smears where a zero point is 0, and %llu "
			       "lanes here are such: what it wrote cannot be read back\n--accept-damaged converts all the "
			       "same, lane by lane",
			       (unsigned long long)v->n_max);
	if (v->style == GPTQ_STYLE_SMEARED) { /* damage is a fact, whatever was asked for or claimed */
		if (record && at_odds(v->style, record, c->bits))
			return refuse_odds(s, v, c->bits, record, true, formats, err);
		if (!record && !wishes->v1_style && at_odds(v->style, producer, c->bits))
			return refuse_odds(s, v, c->bits, producer, false, formats, err);
		c->style = GPTQ_STYLE_SMEARED;
		c->source = GPTQ_STYLE_BY_TENSORS;
	} else if (wishes->v1_style) {
		c->style = gq_style_for_width(wishes->v1_style, c->bits);
		c->source = GPTQ_STYLE_GIVEN;
	} else if (record) {
		if (at_odds(v->style, record, c->bits))
			return refuse_odds(s, v, c->bits, record, true, formats, err);
		c->style = gq_style_for_width(record, c->bits);
		c->source = GPTQ_STYLE_BY_RECORD;
	} else if (v->style) {
		if (at_odds(v->style, producer, c->bits))
			return refuse_odds(s, v, c->bits, producer, false, formats, err);
		c->style = v->style;
		c->source = GPTQ_STYLE_BY_TENSORS;
	} else if (producer == GPTQ_STYLE_SMEARED && v->tall_words_full < v->tall_words) {
		return refuse_not_smeared(s, v, c->bits, formats, err);
	} else if (producer) {
		c->style = gq_style_for_width(producer, c->bits);
		c->source = GPTQ_STYLE_BY_PRODUCER;
	} else {
		return refuse_open(s, v, c->bits, formats, err);
	}
	return GPTQ_OK;
}

/* Layers that are read as v1, by width; false if there is none. */
static bool count_widths(const struct gq_source *s, const enum gptq_zeros_format *formats,
			 struct gq_style_choice choices[GQ_N_WIDTHS])
{
	bool any = false;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		choices[w] = (struct gq_style_choice){.bits = gq_widths[w]};
	for (size_t i = 0; i < s->layers.n; i++) {
		if (formats[i] == GPTQ_ZEROS_V1) {
			choices[gq_width_index(s->layers.items[i].pack.bits)].n_layers++;
			any = true;
		}
	}
	return any;
}

enum gptq_status gq_best_styles(struct gq_source *s, const struct gq_survey *sv, const enum gptq_zeros_format *formats,
				struct gq_style_choice choices[GQ_N_WIDTHS], struct gptq_error *err)
{
	enum gptq_v1_style record;
	struct gptq_error e;

	if (!count_widths(s, formats, choices))
		return GPTQ_OK;
	if (gq_labels_record(s->configs, s->n_configs, &s->record, &e) == GPTQ_E_NOMEM)
		return gq_fail_nomem(err);
	record = gq_style_from_name(s->record);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		struct gq_style_choice *c = &choices[w];
		bool refuse;
		enum gptq_v1_style shown = sv->model.style[w].style,
				   claimed = record ? record : gq_source_producer_style(s, c->bits, &refuse);

		if (!c->n_layers || (shown && at_odds(shown, claimed, c->bits) && shown != GPTQ_STYLE_SMEARED))
			continue; /* at odds: open */
		if (shown) {
			c->style = shown;
			c->source = GPTQ_STYLE_BY_TENSORS;
		} else if (claimed) {
			c->style = gq_style_for_width(claimed, c->bits);
			c->source = record ? GPTQ_STYLE_BY_RECORD : GPTQ_STYLE_BY_PRODUCER;
		}
	}
	return GPTQ_OK;
}

/* Does reading every layer of this width in the model style `name` give the same zero points? */
static bool covers(enum gptq_v1_style name, const struct gq_style_choice *c)
{
	enum gptq_v1_style at = gq_style_for_width(name, c->bits);

	return !c->n_layers || c->style == at ||
	       (c->style == GPTQ_STYLE_CLEAN && at != GPTQ_STYLE_GPTQMODEL_3BIT && at != GPTQ_STYLE_SMEARED);
}

enum gptq_v1_style gq_model_style(const struct gq_style_choice choices[GQ_N_WIDTHS])
{
	/* in this order: a name is only taken where a plainer one does not do */
	static const enum gptq_v1_style names[] = {GPTQ_STYLE_CLEAN, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD,
						   GPTQ_STYLE_GPTQMODEL_3BIT, GPTQ_STYLE_SMEARED};
	uint64_t n = 0;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		n += choices[w].n_layers;
	for (size_t i = 0; n && i < sizeof(names) / sizeof(names[0]); i++) {
		bool all = true;

		for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
			all = all && covers(names[i], &choices[w]);
		if (all)
			return names[i];
	}
	/* smeared at one width, clean or smeared at the others */
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		if (choices[w].n_layers && choices[w].style != GPTQ_STYLE_SMEARED && choices[w].style != GPTQ_STYLE_CLEAN)
			return GPTQ_STYLE_NONE;
	return n ? GPTQ_STYLE_SMEARED : GPTQ_STYLE_NONE;
}

enum gptq_status gq_settle_styles(struct gq_source *s, const struct gq_survey *sv, const struct gq_wishes *wishes,
				  const enum gptq_zeros_format *formats, struct gq_style_choice choices[GQ_N_WIDTHS],
				  struct gptq_error *err)
{
	const struct gq_style_choice *smeared = NULL;
	enum gptq_v1_style record = GPTQ_STYLE_NONE;
	enum gptq_status status = GPTQ_OK;
	if (!count_widths(s, formats, choices))
		return GPTQ_OK;
	if (sv->model.half_words)
		return gq_fail(err, GPTQ_E_REFUSED,
			       "the lower and the upper half of the 64-bit pack words are shifted differently (by %.2f), as "
			       "GPTQModel's v1 writer leaves them: neither v1 nor v2",
			       sv->model.half_shift);
	if (!wishes->v1_style) {
		status = gq_labels_record(s->configs, s->n_configs, &s->record, err);
		if (status != GPTQ_OK)
			return status;
		record = gq_style_from_name(s->record);
	}
	for (unsigned w = 0; w < GQ_N_WIDTHS && status == GPTQ_OK; w++) {
		if (!choices[w].n_layers)
			continue;
		status = settle_width(s, &sv->model.style[w], wishes, record, formats, &choices[w], err);
		if (choices[w].style == GPTQ_STYLE_SMEARED && !smeared)
			smeared = &choices[w];
	}
	if (status == GPTQ_OK && smeared && !wishes->accept_damaged)
		return refuse_smeared(sv, smeared, s, err);
	return status;
}
