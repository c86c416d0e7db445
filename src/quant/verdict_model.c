/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a model, out of those on its layers. */
#include "quant/verdict.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judge {
	const struct gq_layer_facts *layers;
	const struct gq_layer_verdict *verdicts;
	size_t n;
	double *scratch; /* n */
	bool *flags;     /* n */
	struct shard *shards;
	size_t n_shards; /* numbers of shards go so far */
	struct gq_model_verdict *out;
};

static bool is_strong(const struct gq_layer_verdict *v)
{
	return v->rule != GQ_RULE_NONE && v->rule < GQ_RULE_MEAN_SHIFT;
}

static bool is_settled(enum gptq_verdict verdict)
{
	return verdict == GPTQ_VERDICT_V1 || verdict == GPTQ_VERDICT_V2;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts x. */
static double median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare_doubles);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double deviation(const double *x, size_t n)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return n > 1 ? sqrt(sum / (double)(n - 1)) : 0;
}

/*
 * The share of a code's deviation that a mean of the weights may amount to. Layers lean different ways, so that it
 * shrinks with their number, but never below what a whole model may have in common.
 */
static double bias(size_t n)
{
	double b = (n < 4 ? 0.05 : 0.02) / sqrt((double)n);

	return b > 0.005 ? b : 0.005;
}

/*
 * The median of n shifts x, which it sorts, and its bar from their scatter and from the layers' own errors. The
 * median absolute deviation of a handful of layers is too lucky; there the plain deviation has a say, too.
 */
static double median_with_bar(double *x, size_t n, double se, double sd, double *bar)
{
	double plain = n < 8 ? deviation(x, n) : 0, m = median(x, n), spread;
	double *away = x;

	for (size_t i = 0; i < n; i++)
		away[i] = fabs(x[i] - m);
	spread = 1.48 * median(away, n);
	if (spread < plain)
		spread = plain;
	if (spread < se)
		spread = se;
	*bar = 3 * 1.25 * spread / sqrt((double)n) + bias(n) * sd;
	return m;
}

/* Collects one figure of the layers of width w whose mean shifts are usable. */
static size_t collect(const struct judge *j, unsigned w, double (*figure)(const struct gq_layer_verdict *), double *x)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		if (gq_width_index(j->layers[i].pack.bits) == w && j->verdicts[i].shift_usable &&
		    !j->verdicts[i].legacy && !j->verdicts[i].scatter_open)
			x[n++] = figure(&j->verdicts[i]);
	return n;
}

static double get_a(const struct gq_layer_verdict *v)
{
	return v->a;
}

static double get_b(const struct gq_layer_verdict *v)
{
	return v->b;
}

static double get_se(const struct gq_layer_verdict *v)
{
	return v->se;
}

static double get_sd(const struct gq_layer_verdict *v)
{
	return v->sd;
}

static enum gptq_verdict judge_median(const struct judge *j, unsigned w, struct gq_width_verdict *out)
{
	double *x = j->scratch, se, sd;
	bool v1, v2;

	out->a = out->b = out->bar_a = out->bar_b = (double)NAN;
	out->n_median = collect(j, w, get_se, x);
	if (out->n_median == 0)
		return GPTQ_VERDICT_UNDETERMINED;
	se = median(x, out->n_median);
	sd = median(x, collect(j, w, get_sd, x));
	out->a = median_with_bar(x, collect(j, w, get_a, x), se, sd, &out->bar_a);
	out->b = median_with_bar(x, collect(j, w, get_b, x), se, sd, &out->bar_b);
	v1 = fabs(out->b) + out->bar_b < 0.5;
	v2 = fabs(out->a) + out->bar_a < 0.5;
	/* Layers that are sure of the opposite, one by one, are no noise. */
	v1 = v1 && !(out->weak_v2 >= 2 && out->weak_v2 * 10 >= out->n_read);
	v2 = v2 && !(out->weak_v1 >= 2 && out->weak_v1 * 10 >= out->n_read);
	return v1 == v2 ? GPTQ_VERDICT_UNDETERMINED : v1 ? GPTQ_VERDICT_V1 : GPTQ_VERDICT_V2;
}

static void count_layers(const struct judge *j)
{
	for (size_t i = 0; i < j->n; i++) {
		struct gq_width_verdict *w = &j->out->width[gq_width_index(j->layers[i].pack.bits)];
		const struct gq_layer_verdict *v = &j->verdicts[i];
		bool strong = is_strong(v), v1 = v->verdict == GPTQ_VERDICT_V1, v2 = v->verdict == GPTQ_VERDICT_V2;

		w->n_layers++;
		w->n_read += v->verdict != GPTQ_VERDICT_UNREAD;
		w->strong_v1 += strong && v1;
		w->strong_v2 += strong && v2;
		w->weak_v1 += !strong && v1;
		w->weak_v2 += !strong && v2;
	}
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		j->out->n_layers += j->out->width[w].n_layers;
		j->out->n_read += j->out->width[w].n_read;
		j->out->strong_v1 += j->out->width[w].strong_v1;
		j->out->strong_v2 += j->out->width[w].strong_v2;
	}
}

/* Strong rules first. A lone layer may not overrule medians that are sure of the opposite. */
static void judge_width(const struct judge *j, unsigned w)
{
	struct gq_width_verdict *out = &j->out->width[w];
	enum gptq_verdict by_median = judge_median(j, w, out), strong = GPTQ_VERDICT_UNDETERMINED;
	uint64_t all = out->strong_v1 + out->strong_v2;

	out->verdict = out->n_read > 0 ? GPTQ_VERDICT_UNDETERMINED : GPTQ_VERDICT_UNREAD;
	if (all > 0 && out->strong_v1 * 10 >= all * 9)
		strong = GPTQ_VERDICT_V1;
	else if (all > 0 && out->strong_v2 * 10 >= all * 9)
		strong = GPTQ_VERDICT_V2;
	if (is_settled(strong)) {
		if (all < 3 && is_settled(by_median) && by_median != strong)
			return;
		out->verdict = strong;
		out->rule = GQ_RULE_MAJORITY;
	} else if (all == 0 && is_settled(by_median)) {
		out->verdict = by_median;
		out->rule = GQ_RULE_MEDIAN;
	}
}

/* What the layers of a shard that were read say. */
struct shard {
	uint32_t strong[2], weak[2], open;
};

/* All of them together, if there are enough. */
static enum gptq_verdict shard_verdict(const struct shard *s)
{
	for (unsigned side = 0; side < 2; side++) {
		if (s->strong[!side] + s->weak[!side] > 0)
			continue;
		if (s->strong[side] >= 2 || (s->open == 0 && s->strong[side] + s->weak[side] >= 4))
			return side ? GPTQ_VERDICT_V2 : GPTQ_VERDICT_V1;
	}
	return GPTQ_VERDICT_UNDETERMINED;
}

static void count_shards(const struct judge *j)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct gq_layer_verdict *v = &j->verdicts[i];
		struct shard *s = &j->shards[j->layers[i].shard];
		unsigned side = v->verdict == GPTQ_VERDICT_V2;

		if (v->verdict == GPTQ_VERDICT_UNREAD)
			continue;
		if (!is_settled(v->verdict))
			s->open++;
		else if (is_strong(v))
			s->strong[side]++;
		else
			s->weak[side]++;
	}
}

/* Is there a whole shard of v1 and a whole shard of v2? */
static bool shards_part(const struct judge *j)
{
	bool v1 = false, v2 = false;

	count_shards(j);
	for (size_t s = 0; s < j->n_shards && !(v1 && v2); s++) {
		enum gptq_verdict v = shard_verdict(&j->shards[s]);

		v1 = v1 || v == GPTQ_VERDICT_V1;
		v2 = v2 || v == GPTQ_VERDICT_V2;
	}
	return v1 && v2;
}

/*
 * Layers of both kinds: by strong evidence two layers and 5% of those read; by mean shifts alone, and only at small
 * widths, where one level is a large part of a code's deviation, three layers and a quarter on either side.
 */
static bool is_mixed(const struct judge *j, enum gq_rule *rule)
{
	const struct gq_model_verdict *out = j->out;
	uint64_t fewer = out->strong_v1 < out->strong_v2 ? out->strong_v1 : out->strong_v2;

	*rule = GQ_RULE_MAJORITY;
	if (fewer >= 2 && fewer * 20 >= out->n_read)
		return true;
	*rule = GQ_RULE_MEAN_SHIFT;
	for (unsigned w = 0; w < GQ_N_WIDTHS && gq_widths[w] <= 4; w++) {
		const struct gq_width_verdict *v = &out->width[w];
		uint64_t v1 = v->strong_v1 + v->weak_v1, v2 = v->strong_v2 + v->weak_v2;

		fewer = v1 < v2 ? v1 : v2;
		if (fewer >= 3 && fewer * 4 >= v->n_read)
			return true;
	}
	return shards_part(j);
}

/* The widths together: one verdict, the strongest rule behind it. Any contradiction leaves all open. */
static void combine_widths(const struct judge *j)
{
	struct gq_model_verdict *out = j->out;

	out->verdict = out->n_read > 0 ? GPTQ_VERDICT_UNDETERMINED : GPTQ_VERDICT_UNREAD;
	out->rule = GQ_RULE_NONE;
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		const struct gq_width_verdict *v = &out->width[w];

		if (!is_settled(v->verdict))
			continue;
		if (is_settled(out->verdict) && out->verdict != v->verdict) {
			out->verdict = GPTQ_VERDICT_UNDETERMINED;
			out->rule = GQ_RULE_NONE;
			return;
		}
		out->verdict = v->verdict;
		if (out->rule == GQ_RULE_NONE || v->rule < out->rule)
			out->rule = v->rule;
	}
}

static void add_clusters(struct gq_clusters *sum, const struct gq_clusters *c)
{
	sum->w += c->w;
	sum->wx += c->wx;
	sum->sum_xx += c->sum_xx;
	sum->sum_xw += c->sum_xw;
	sum->sum_ww += c->sum_ww;
	sum->n_columns += c->n_columns;
}

/* The mean of clusters, and its error added in squares to *square. */
static double half_mean(const struct gq_clusters *c, double *square)
{
	double mean = c->wx / c->w;

	*square += (c->sum_xx - 2 * mean * c->sum_xw + mean * mean * c->sum_ww) / (c->w * c->w);
	return mean;
}

/* 64-bit words of which only the lower half was shifted: whatever the layers have in common cancels. */
static void judge_halves(const struct judge *j)
{
	struct gq_clusters half[2];
	double square = 0;

	memset(half, 0, sizeof(half));
	j->out->half_shift = j->out->half_se = (double)NAN;
	for (size_t i = 0; i < j->n; i++) {
		if (j->layers[i].zeros.sentinel == GQ_SENTINEL_HALVES)
			j->out->half_words = true;
		if (j->layers[i].pack.word_bits != 64 || !j->layers[i].codes)
			continue;
		add_clusters(&half[0], &j->layers[i].codes->half[0]);
		add_clusters(&half[1], &j->layers[i].codes->half[1]);
	}
	if (half[0].n_columns < 8 || half[1].n_columns < 8)
		return;
	j->out->half_shift = half_mean(&half[0], &square) - half_mean(&half[1], &square);
	j->out->half_se = sqrt(square > 0 ? square : 0);
	if (j->out->half_shift - 4 * j->out->half_se > 0.5)
		j->out->half_words = true;
}

static void judge_correlation(const struct judge *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n; i++)
		if (isfinite(j->verdicts[i].correlation) && j->verdicts[i].sentinel == GQ_SENTINEL_NONE)
			j->scratch[n++] = j->verdicts[i].correlation;
	j->out->n_correlated = n;
	j->out->correlation = n > 0 ? median(j->scratch, n) : (double)NAN;
}

/* Styles are about the layers that are v1: in a mixed model, those that are not v2. */
static void judge_styles(const struct judge *j)
{
	enum gptq_v1_style style;
	bool mixed = j->out->verdict == GPTQ_VERDICT_MIXED;

	for (size_t i = 0; i < j->n; i++)
		j->flags[i] = !mixed || j->verdicts[i].verdict == GPTQ_VERDICT_V1;
	style = gq_styles_judge(j->layers, j->verdicts, j->flags, j->n, j->out->style);
	j->out->model_style = j->out->verdict == GPTQ_VERDICT_V2 ? GPTQ_STYLE_NONE : style;
}

static void find_odd(const struct judge *j, bool *odd)
{
	for (size_t i = 0; i < j->n; i++) {
		bool is_odd = is_settled(j->out->verdict) && is_strong(&j->verdicts[i]) &&
			      j->verdicts[i].verdict != j->out->verdict;

		j->out->n_odd += is_odd;
		if (odd)
			odd[i] = is_odd;
	}
}

static void judge_model(const struct judge *j)
{
	enum gq_rule rule;

	count_layers(j);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		judge_width(j, w);
	judge_halves(j);
	combine_widths(j);
	if (is_mixed(j, &rule)) {
		j->out->verdict = GPTQ_VERDICT_MIXED;
		j->out->rule = rule;
	}
	if (j->out->half_words) {
		j->out->verdict = GPTQ_VERDICT_UNDETERMINED;
		j->out->rule = GQ_RULE_NONE;
	}
	judge_correlation(j);
	judge_styles(j);
}

enum gptq_status gq_model_judge(const struct gq_layer_facts *layers, size_t n, struct gq_layer_verdict *verdicts,
				bool *odd, struct gq_model_verdict *out, struct gptq_error *err)
{
	struct judge j = {.layers = layers, .verdicts = verdicts, .n = n, .out = out};
	enum gptq_status status = GPTQ_OK;

	memset(out, 0, sizeof(*out));
	j.scratch = gq_malloc_array(n, sizeof(*j.scratch));
	j.flags = gq_malloc_array(n, sizeof(*j.flags));
	for (size_t i = 0; i < n; i++)
		if (layers[i].shard >= j.n_shards)
			j.n_shards = (size_t)layers[i].shard + 1;
	j.shards = gq_calloc(j.n_shards, sizeof(*j.shards));
	if (!j.scratch || !j.flags || !j.shards) {
		status = gq_fail_nomem(err);
		goto done;
	}
	for (size_t i = 0; i < n; i++)
		gq_layer_judge(&layers[i], &verdicts[i]);
	judge_model(&j);
	find_odd(&j, odd);
done:
	gq_free(j.scratch);
	gq_free(j.flags);
	gq_free(j.shards);
	return status;
}
