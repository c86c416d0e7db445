/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which style a v1 writer used for z = 0, told from the lanes above an M and the codes of their columns. Pooled over
 * the model, since most layers have few such lanes.
 *
 * Stored lanes above a z = 0, with the true zero point y of that lane:
 *
 *           y = 0   y = 1   y > 1
 *   lane      M       0     y - 1
 *   word    M - 1     M     y - 2   (the word borrows one from it)
 *   smeared   M       M       M
 */
#include "quant/verdict.h"

#include <math.h>
#include <string.h>

/* Figures of one width that the verdict struct has no place for. */
struct pool {
	struct gq_clusters borrow;
	double borrow_units;
	struct gq_moments base;
	uint64_t n_open; /* words with lanes above their lowest M that are not all M: no smear */
	uint64_t n_smear, smear_heaps;
	double smear_sum;
	uint64_t n_unsettled; /* 3 bits: layers that were read and are neither plain nor legacy for sure */
};

static void add_zeros(const struct gq_zero_stats *z, struct gq_style_verdict *out)
{
	out->n_max += z->n_max;
	out->n_telling += z->n_telling;
	out->n_differ += z->n_differ;
	out->n_zero += z->n_first;
	out->n_one += z->n_kept_zero;
	out->tall_words += z->tall_words;
	out->tall_words_full += z->tall_words_full;
	out->damaged_words += z->damaged_words;
	out->unknown_zeros += z->unknown_zeros;
}

static void add_codes(const struct gq_code_stats *s, struct gq_style_verdict *out, struct pool *pool)
{
	out->above_word += s->above_word;
	out->above_lane += s->above_lane;
	out->above_bell += s->above_bell;
	pool->n_smear += s->n_smear;
	pool->smear_sum += s->smear_sum;
	pool->smear_heaps += s->smear_heaps;
	pool->borrow_units += s->borrow_units;
	pool->base.n += s->borrow_base.n;
	pool->base.sumsq += s->borrow_base.sumsq;
	pool->borrow.w += s->borrow.w;
	pool->borrow.wx += s->borrow.wx;
	pool->borrow.sum_xx += s->borrow.sum_xx;
	pool->borrow.sum_xw += s->borrow.sum_xw;
	pool->borrow.sum_ww += s->borrow.sum_ww;
	pool->borrow.n_columns += s->borrow.n_columns;
}

static void add_layer(const struct gq_layer_facts *layer, const struct gq_layer_verdict *verdict,
		      struct gq_style_verdict *out, struct pool *pool)
{
	const struct gq_zero_stats *z = &layer->zeros;
	bool plain = verdict->sentinel == GQ_SENTINEL_V1 || verdict->sentinel == GQ_SENTINEL_V2;

	out->n_layers++;
	if (layer->pack.bits == 3) {
		if (verdict->legacy) {
			out->n_legacy++;
			out->n_max += z->n_max;
			return;
		}
		if (plain || (layer->codes && !verdict->scatter_open))
			out->n_plain++;
		else if (layer->codes)
			pool->n_unsettled++;
	}
	add_zeros(z, out);
	pool->n_open += z->n_open;
	if (layer->codes)
		add_codes(layer->codes, out, pool);
}

/* The mean borrow and its error: over columns, but not less than the spread of unaffected groups makes it. */
static void judge_borrow(struct gq_style_verdict *out, const struct pool *pool)
{
	const struct gq_clusters *c = &pool->borrow;
	double sum, by_base;

	out->t = out->t_se = (double)NAN;
	out->t_count = (uint64_t)c->w;
	if (c->w < 1 || pool->base.n < 8)
		return;
	out->t = c->wx / c->w;
	sum = c->sum_xx - 2 * out->t * c->sum_xw + out->t * out->t * c->sum_ww;
	by_base = sqrt(pool->base.sumsq / pool->base.n * pool->borrow_units) / c->w;
	out->t_se = sqrt(sum > 0 ? sum : 0) / c->w;
	if (!(out->t_se >= by_base))
		out->t_se = by_base;
}

static void finish_figures(struct gq_style_verdict *out, const struct pool *pool)
{
	double one = ((double)out->n_one + 1) / ((double)out->n_zero + (double)out->n_one + 2);

	out->lane_chance = pow(one, (double)out->above_lane);
	out->smear_lanes = pool->n_smear - pool->smear_heaps;
	out->smear_heaps = pool->smear_heaps;
	out->smear_mean = out->smear_lanes > 0 ? pool->smear_sum / (double)out->smear_lanes : (double)NAN;
	judge_borrow(out, pool);
}

/*
 * M - 1 above an M, in a column whose codes heap up at 0, is a z = 0 that the word borrowed from. One in a thousand may
 * be a z = M instead, of a column whose weights are all far below zero; where such columns abound, nothing is said. M
 * there is a z = 0 in `lane`, and in `word` a z = 1.
 */
static enum gptq_v1_style by_lane_above(const struct gq_style_verdict *s, const struct pool *pool)
{
	double zero = ((double)s->n_zero + 1) / ((double)s->n_zero + (double)s->n_one + 2);

	if (2 * s->above_bell > s->above_word + s->above_lane)
		return GPTQ_STYLE_NONE;
	if (s->above_word > 0) {
		double evidence = (double)s->above_word * log(zero / 1e-3) + log(s->lane_chance);

		return s->above_word >= 3 && evidence > log(1e6) ? GPTQ_STYLE_WORD : GPTQ_STYLE_NONE;
	}
	return s->lane_chance < 1e-6 && pool->n_open > 0 ? GPTQ_STYLE_LANE : GPTQ_STYLE_NONE;
}

/* Near 0 lane, near 1 word; far from both it is something else that moved these columns. */
static enum gptq_v1_style by_borrow(const struct gq_style_verdict *s)
{
	double bar = 4 * s->t_se > 0.25 ? 4 * s->t_se : 0.25;

	if (!(fabs(s->t - 0.5) > bar) || fabs(s->t - 0.5) > 1 || s->t_count < 3)
		return GPTQ_STYLE_NONE;
	return s->t < 0.5 ? GPTQ_STYLE_LANE : GPTQ_STYLE_WORD;
}

static enum gptq_v1_style judge_width(const struct gq_style_verdict *s, const struct pool *pool, unsigned bits,
				      bool smeared)
{
	enum gptq_v1_style style;

	if (bits == 3 && s->n_legacy > 0)
		return s->n_plain == 0 && 4 * pool->n_unsettled <= s->n_legacy ? GPTQ_STYLE_GPTQMODEL_3BIT
									       : GPTQ_STYLE_NONE;
	if (bits == 3 && (s->n_plain == 0 || 4 * pool->n_unsettled > s->n_plain))
		return GPTQ_STYLE_NONE;
	if (s->n_telling == 0)
		return GPTQ_STYLE_CLEAN;
	if (smeared && pool->n_open == 0)
		return GPTQ_STYLE_SMEARED;
	if (bits == 3)
		return pool->n_open > 0 ? GPTQ_STYLE_LANE : GPTQ_STYLE_NONE;
	if (bits != 2) {
		style = by_lane_above(s, pool);
		if (style != GPTQ_STYLE_NONE)
			return style;
	}
	return by_borrow(s);
}

/*
 * Ten tall words or more, all of them full, with ordinary codes in enough of the lanes in question. One-sided columns
 * side by side look full, too, but their zero points are 0 in truth and their codes heap up at 0.
 */
static bool looks_smeared(const struct gq_style_verdict *style, const struct pool *pool)
{
	uint64_t tall = 0, open = 0, lanes = 0, heaps = 0, above_word = 0;
	double mean = 0;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		tall += style[w].tall_words;
		open += pool[w].n_open;
		above_word += style[w].above_word;
		lanes += style[w].smear_lanes;
		heaps += style[w].smear_heaps;
		mean += pool[w].smear_sum;
	}
	mean /= (double)lanes;
	return tall >= 10 && open == 0 && above_word == 0 && lanes >= 8 && 3 * lanes >= heaps && mean >= 0.43 &&
	       mean <= 0.65;
}

/* Does the name `style` also say how a width of style `other` was stored? */
static bool covers(enum gptq_v1_style style, enum gptq_v1_style other, unsigned bits)
{
	if (other == style || other == GPTQ_STYLE_CLEAN)
		return style != GPTQ_STYLE_GPTQMODEL_3BIT || bits != 3 || other == style;
	if (style == GPTQ_STYLE_WORD)
		return bits == 3 && other == GPTQ_STYLE_LANE;
	return style == GPTQ_STYLE_GPTQMODEL_3BIT && bits != 3 && other == GPTQ_STYLE_WORD;
}

static enum gptq_v1_style common_style(const struct gq_style_verdict *style)
{
	static const enum gptq_v1_style names[] = {GPTQ_STYLE_CLEAN, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD,
						   GPTQ_STYLE_GPTQMODEL_3BIT, GPTQ_STYLE_SMEARED};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool all = true, any = false;

		for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
			if (style[w].n_layers == 0)
				continue;
			any = true;
			all = all && covers(names[i], style[w].style, gq_widths[w]);
		}
		if (any && all)
			return names[i];
	}
	return GPTQ_STYLE_NONE;
}

enum gptq_v1_style gq_styles_judge(const struct gq_layer_facts *layers, const struct gq_layer_verdict *verdicts,
				   const bool *takes_part, size_t n, struct gq_style_verdict *style)
{
	struct pool pool[GQ_N_WIDTHS];
	bool smeared;

	memset(pool, 0, sizeof(pool));
	memset(style, 0, GQ_N_WIDTHS * sizeof(*style));
	for (size_t i = 0; i < n; i++) {
		unsigned w = gq_width_index(layers[i].pack.bits);

		if (!takes_part || takes_part[i])
			add_layer(&layers[i], &verdicts[i], &style[w], &pool[w]);
	}
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		finish_figures(&style[w], &pool[w]);
	smeared = looks_smeared(style, pool);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		if (style[w].n_layers > 0)
			style[w].style = judge_width(&style[w], &pool[w], gq_widths[w], smeared);
	return common_style(style);
}
