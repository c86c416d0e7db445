/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on one layer, rule by rule. */
#include "quant/verdict.h"

#include <math.h>
#include <string.h>

const unsigned gq_widths[GQ_N_WIDTHS] = {2, 3, 4, 8};

unsigned gq_width_index(unsigned bits)
{
	return bits == 8 ? 3 : bits - 2;
}

const char *gptq_verdict_name(enum gptq_verdict verdict)
{
	switch (verdict) {
	case GPTQ_VERDICT_UNREAD:
		return "unread";
	case GPTQ_VERDICT_V1:
		return "v1";
	case GPTQ_VERDICT_V2:
		return "v2";
	case GPTQ_VERDICT_MIXED:
		return "mixed";
	case GPTQ_VERDICT_UNDETERMINED:
		break;
	}
	return "undetermined";
}

const char *gq_rule_name(enum gq_rule rule)
{
	static const char *const names[] = {
		[GQ_RULE_NONE] = "none",
		[GQ_RULE_SCATTER] = "scatter",
		[GQ_RULE_SENTINEL] = "sentinel",
		[GQ_RULE_EXACT_ROWS] = "exact-rows",
		[GQ_RULE_EXACT_GROUPS] = "exact-groups",
		[GQ_RULE_LOWEST_MAX] = "lowest-max",
		[GQ_RULE_SPIKE] = "spike",
		[GQ_RULE_MEAN_SHIFT] = "mean-shift",
		[GQ_RULE_MAJORITY] = "majority",
		[GQ_RULE_MEDIAN] = "median",
	};

	return rule <= GQ_RULE_MEDIAN ? names[rule] : "none";
}

bool gq_codes_wanted(const struct gq_zero_stats *zeros, struct gq_pack pack)
{
	switch (zeros->sentinel) {
	case GQ_SENTINEL_V1:
	case GQ_SENTINEL_V2:
		return pack.bits < 4;
	case GQ_SENTINEL_LEGACY:
	case GQ_SENTINEL_HALVES:
		return false;
	case GQ_SENTINEL_NONE:
		break;
	}
	return true;
}

static double variance(const struct gq_moments *m)
{
	double v;

	if (m->n < 2)
		return (double)NAN;
	v = m->sumsq / m->n - m->sum / m->n * (m->sum / m->n);
	return v > 0 ? v : 0;
}

static double cluster_mean(const struct gq_clusters *c)
{
	return c->w > 0 ? c->wx / c->w : (double)NAN;
}

/* The error of that mean if only columns are independent. NAN below two columns. */
static double cluster_error(const struct gq_clusters *c)
{
	double mean = cluster_mean(c), sum;

	if (c->n_columns < 2)
		return (double)NAN;
	sum = c->sum_xx - 2 * mean * c->sum_xw + mean * mean * c->sum_ww;
	return sqrt((sum > 0 ? sum : 0) * c->n_columns / (c->n_columns - 1)) / c->w;
}

static double correlation(const struct gq_pairs *p)
{
	double xx, yy, xy;

	if (p->n <= 10)
		return (double)NAN;
	xx = p->xx - p->x * p->x / p->n;
	yy = p->yy - p->y * p->y / p->n;
	xy = p->xy - p->x * p->y / p->n;
	return xx > 1e-9 * p->n && yy > 1e-9 * p->n ? xy / sqrt(xx * yy) : (double)NAN;
}

/* Counts far above what chance gives: beyond four standard deviations over four times its mean. */
static bool beyond_chance(uint64_t count, double chance)
{
	return (double)count > 4 * chance + 4 * sqrt(chance);
}

static enum gptq_verdict sided(bool v1, bool v2)
{
	return v1 == v2 ? GPTQ_VERDICT_UNDETERMINED : v1 ? GPTQ_VERDICT_V1 : GPTQ_VERDICT_V2;
}

static enum gptq_verdict by_rows(const struct gq_code_stats *s)
{
	return sided(beyond_chance(s->rows_v1, s->rows_chance_v1), beyond_chance(s->rows_v2, s->rows_chance_v2));
}

static enum gptq_verdict by_groups(const struct gq_code_stats *s)
{
	if (s->groups_v1 > 0 && s->groups_v2 > 0)
		return GPTQ_VERDICT_UNDETERMINED;
	return sided(s->groups_v1 >= 4, s->groups_v2 >= 4);
}

/*
 * The lowest M of a word is z = 0 in v1 and z = M in v2; the codes say near which end they lie. Columns with a mean of
 * several deviations lie near the other end: with too many of those, nothing is said.
 */
static enum gptq_verdict by_lowest_max(const struct gq_code_stats *s)
{
	if (s->n_first < 4 || 2 * s->first_heaps < s->n_first)
		return GPTQ_VERDICT_UNDETERMINED;
	return sided(s->first_to_max > 3 * s->first_to_zero, s->first_to_zero > 3 * s->first_to_max);
}

static bool is_spike(const uint64_t *h)
{
	return h[0] >= 100 && (double)h[0] >= 2.5 * (double)h[-1] && (double)h[0] >= 2.5 * (double)h[1];
}

static enum gptq_verdict by_spike(const struct gq_code_stats *s, unsigned bits)
{
	if (bits < 4)
		return GPTQ_VERDICT_UNDETERMINED;
	return sided(is_spike(&s->spike[2]), is_spike(&s->spike[1]));
}

static enum gptq_verdict by_mean_shift(const struct gq_layer_verdict *out)
{
	if (!out->shift_usable)
		return GPTQ_VERDICT_UNDETERMINED;
	return sided(fabs(out->b) + out->bar < 0.5, fabs(out->a) + out->bar < 0.5);
}

static void take_figures(const struct gq_layer_facts *layer, struct gq_layer_verdict *out)
{
	const struct gq_code_stats *s = layer->codes;
	double se_b = cluster_error(&s->shift_b);

	for (unsigned d = 0; d < GQ_N_DECODES; d++)
		out->v[d] = variance(&s->scatter[d]);
	out->rows_v1 = s->rows_v1;
	out->rows_v2 = s->rows_v2;
	out->groups_v1 = s->groups_v1;
	out->groups_v2 = s->groups_v2;
	out->n_lowest_max = s->n_first;
	out->ratio = s->n_first > 0 ? s->first_to_max / s->first_to_zero : (double)NAN;
	memcpy(out->spike, s->spike, sizeof(out->spike));
	out->a = cluster_mean(&s->shift_a);
	out->b = cluster_mean(&s->shift_b);
	out->se = cluster_error(&s->shift_a);
	if (se_b > out->se)
		out->se = se_b;
	out->sd = s->in_group.n > 0 ? sqrt(s->in_group.sum / s->in_group.n) : (double)NAN;
	out->bar = 3 * out->se + 0.05 * out->sd;
	out->shift_usable = isfinite(out->bar) && s->n_codes >= 2048 && s->shift_a.n_columns >= 8 &&
			    2 * s->n_kept >= s->n_lanes &&
			    (layer->pack.bits < 3 || (double)s->n_ends <= 0.3 * (double)s->n_lanes);
	out->correlation = correlation(out->legacy ? &s->match_legacy : &s->match);
}

/*
 * 3 bits: which constants were subtracted. A shift of the whole layer cannot disturb a variance, while reading one
 * kind as the other moves whole runs of lanes by different amounts. All lanes are compared, since the wrong reading
 * hides in the few that it keeps; those alone speak for the plain reading of smeared layers.
 */
static void judge_scatter(const struct gq_layer_facts *layer, struct gq_layer_verdict *out)
{
	const struct gq_code_stats *s = layer->codes;
	double kept = variance(&s->scatter[GQ_DECODE_PLAIN]), legacy = variance(&s->scatter[GQ_DECODE_LEGACY]);
	double plain = fmin(variance(&s->scatter[GQ_DECODE_V2]), variance(&s->scatter[GQ_DECODE_LANE]));
	/* A hundred lanes have seen accidents; thousands have not. */
	double factor = s->n_lanes < 256 ? 5 : 3;
	bool is_legacy = factor * legacy < plain && !(kept <= legacy);
	bool is_plain = 3 * plain < legacy || (3 * kept < legacy && 2 * s->n_kept >= s->n_lanes);

	out->legacy = is_legacy && !is_plain;
	out->scatter_open = is_legacy == is_plain;
}

static void settle(struct gq_layer_verdict *out, enum gq_rule rule, enum gptq_verdict verdict)
{
	if (verdict != GPTQ_VERDICT_V1 && verdict != GPTQ_VERDICT_V2)
		return;
	if (out->rule == GQ_RULE_NONE) {
		out->verdict = verdict;
		out->rule = rule;
	} else if (verdict != out->verdict) {
		out->contradicted = true;
	}
}

/*
 * Rules that look at codes, strongest first. Two strong ones at odds settle nothing; at 2 and 3 bits, where a level is
 * a large part of a code's deviation, neither do a few lowest M against a sure mean shift.
 */
static void judge_codes(const struct gq_layer_facts *layer, struct gq_layer_verdict *out)
{
	const struct gq_code_stats *s = layer->codes;
	enum gptq_verdict shift = out->scatter_open ? GPTQ_VERDICT_UNDETERMINED : by_mean_shift(out);

	settle(out, GQ_RULE_EXACT_ROWS, by_rows(s));
	if (!out->scatter_open) {
		settle(out, GQ_RULE_EXACT_GROUPS, by_groups(s));
		settle(out, GQ_RULE_LOWEST_MAX, by_lowest_max(s));
		settle(out, GQ_RULE_SPIKE, by_spike(s, layer->pack.bits));
	}
	if (out->rule == GQ_RULE_NONE || (out->rule == GQ_RULE_LOWEST_MAX && layer->pack.bits < 4))
		settle(out, GQ_RULE_MEAN_SHIFT, shift);
	if (out->contradicted) {
		out->verdict = GPTQ_VERDICT_UNDETERMINED;
		out->rule = GQ_RULE_NONE;
	}
}

/*
 * Every lane is the midpoint, or one less. Codes may only object at small widths, where all zero points of a layer
 * can be alike by chance; full-range symmetric layers with negative scales shift the mean at the larger ones.
 */
static void judge_sentinel(const struct gq_layer_facts *layer, struct gq_layer_verdict *out)
{
	bool v1 = out->sentinel == GQ_SENTINEL_V1;
	enum gptq_verdict shift = layer->codes ? by_mean_shift(out) : GPTQ_VERDICT_UNDETERMINED;

	if (!layer->codes && gq_codes_wanted(&layer->zeros, layer->pack))
		return;
	out->verdict = v1 ? GPTQ_VERDICT_V1 : GPTQ_VERDICT_V2;
	out->rule = GQ_RULE_SENTINEL;
	if (layer->pack.bits <= 4 && shift == (v1 ? GPTQ_VERDICT_V2 : GPTQ_VERDICT_V1)) {
		out->verdict = GPTQ_VERDICT_UNDETERMINED;
		out->rule = GQ_RULE_NONE;
		out->contradicted = true;
	}
}

static void clear(struct gq_layer_verdict *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned d = 0; d < GQ_N_DECODES; d++)
		out->v[d] = (double)NAN;
	out->ratio = out->a = out->b = out->se = out->sd = out->bar = out->correlation = (double)NAN;
}

void gq_layer_judge(const struct gq_layer_facts *layer, struct gq_layer_verdict *out)
{
	clear(out);
	out->sentinel = layer->zeros.sentinel;
	out->legacy = out->sentinel == GQ_SENTINEL_LEGACY;
	out->verdict = layer->codes ? GPTQ_VERDICT_UNDETERMINED : GPTQ_VERDICT_UNREAD;
	if (layer->codes && layer->pack.bits == 3 && out->sentinel == GQ_SENTINEL_NONE)
		judge_scatter(layer, out);
	if (layer->codes)
		take_figures(layer, out);
	switch (out->sentinel) {
	case GQ_SENTINEL_V1:
	case GQ_SENTINEL_V2:
		judge_sentinel(layer, out);
		return;
	case GQ_SENTINEL_LEGACY:
		settle(out, GQ_RULE_SENTINEL, GPTQ_VERDICT_V1);
		return;
	case GQ_SENTINEL_HALVES:
		out->verdict = GPTQ_VERDICT_UNDETERMINED;
		return;
	case GQ_SENTINEL_NONE:
		break;
	}
	if (out->legacy)
		settle(out, GQ_RULE_SCATTER, GPTQ_VERDICT_V1);
	else if (layer->codes)
		judge_codes(layer, out);
}
