/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const lab_families[LAB_N_FAMILIES] = {
	[LAB_GAUSS] = "gauss",
	[LAB_LAPLACE] = "laplace",
	[LAB_T3] = "t3",
	[LAB_OUTLIERS] = "outlier-ch",
	[LAB_COLUMN_MEANS] = "colmean.3",
	[LAB_MEAN_001] = "mean.01",
	[LAB_MEAN_003] = "mean.03",
	[LAB_MEAN_01] = "mean.1",
	[LAB_MEAN_FIXED] = "mean/fixed",
	[LAB_ROW_MEANS] = "rowmean",
	[LAB_EMBEDDING] = "embed",
	[LAB_LORA] = "lora",
	[LAB_SKEW] = "skew",
	[LAB_SKEW_COLUMNS] = "skew-col",
	[LAB_SPARSE] = "sparse50",
	[LAB_TWO_OF_FOUR] = "2:4",
	[LAB_DEAD] = "dead10",
	[LAB_MEAN_DEAD] = "mean.1+dead",
	[LAB_PAD_K] = "padK",
	[LAB_PAD_N] = "padN",
	[LAB_SOME_POSITIVE] = "pos5%",
	[LAB_FP4] = "fp4grid",
	[LAB_TERNARY] = "ternary",
	[LAB_MEAN_03] = "mean.3",
	[LAB_POSITIVE] = "positive",
};

/* ------------------------------------------------------------------------------------------- numbers */

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t lab_below(uint64_t *state, uint64_t n)
{
	return (next(state) >> 16) % n;
}

/* In (0, 1). */
static double uniform(uint64_t *state)
{
	return ((double)(next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Sum of 12 uniforms would have no tails; the polar method has. */
double lab_normal(uint64_t *state)
{
	for (;;) {
		double u = 2 * uniform(state) - 1, v = 2 * uniform(state) - 1, s = u * u + v * v;

		if (s > 0 && s < 1)
			return u * sqrt(-2 * log(s) / s);
	}
}

static double sign(uint64_t *state)
{
	return next(state) >> 63 ? 1 : -1;
}

static double laplace(uint64_t *state)
{
	return sign(state) * -log(uniform(state)) / 1.414;
}

/* Student t with 3 degrees of freedom, scaled to a deviation of 1. */
static double t3(uint64_t *state)
{
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		double x = lab_normal(state);

		sum += x * x;
	}
	return lab_normal(state) / sqrt(sum / 3) / 1.73;
}

/* Gamma of shape 2 less its mean: mean 0, mode at -0.7 deviations. */
static double skewed(uint64_t *state)
{
	return (-log(uniform(state)) - log(uniform(state)) - 2) / 1.414;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* ------------------------------------------------------------------------------------------- weights */

struct weights {
	size_t k, n;
	double *w;         /* [n][k] */
	double *sigma;     /* [n] */
	double *of_row;    /* [k] what rows have in common */
	double *of_column; /* [n] what columns have in common */
	uint64_t *state;
};

/* One weight in units of its column's deviation, before what whole rows or groups have in common. */
static double draw(enum lab_family family, uint64_t *state)
{
	if (family == LAB_LAPLACE)
		return laplace(state);
	if (family == LAB_T3)
		return t3(state);
	if (family == LAB_SKEW || family == LAB_SKEW_COLUMNS)
		return skewed(state);
	if (family == LAB_TERNARY) {
		double u = uniform(state);

		return u < 0.3 ? -1 : u < 0.7 ? 0 : 1;
	}
	return lab_normal(state);
}

static double layer_mean(enum lab_family family)
{
	if (family == LAB_MEAN_001)
		return 0.01;
	if (family == LAB_MEAN_003)
		return 0.03;
	if (family == LAB_MEAN_01 || family == LAB_MEAN_DEAD)
		return 0.1;
	return family == LAB_MEAN_03 ? 0.3 : 0;
}

static void draw_common(struct weights *x, enum lab_family family)
{
	for (size_t k = 0; k < x->k; k++) {
		x->of_row[k] = family == LAB_ROW_MEANS ? 0.5 * lab_normal(x->state) : 0;
		if (family == LAB_EMBEDDING)
			x->of_row[k] = exp(0.4 * lab_normal(x->state));
		if (family == LAB_OUTLIERS)
			x->of_row[k] = lab_below(x->state, 64) == 0 ? 12 : 1;
		if (family == LAB_DEAD || family == LAB_MEAN_DEAD)
			x->of_row[k] = lab_below(x->state, 10) != 0;
	}
	for (size_t n = 0; n < x->n; n++) {
		x->sigma[n] = 0.02 * exp(0.3 * lab_normal(x->state));
		x->of_column[n] = family == LAB_COLUMN_MEANS ? 0.3 * lab_normal(x->state) : 0;
		if (family == LAB_EMBEDDING)
			x->of_column[n] = 0.15 * lab_normal(x->state) + (n < 4 ? 3 * sign(x->state) : 0);
		if (family == LAB_SKEW_COLUMNS)
			x->of_column[n] = sign(x->state);
		if (family == LAB_MEAN_FIXED)
			x->sigma[n] *= exp(0.7 * lab_normal(x->state));
	}
}

/* The closest of the magnitudes that four-bit floating point has, x being in units of the largest divided by 6. */
static double fp4(double x)
{
	static const double grid[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
	double best = 0;

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		if (fabs(fabs(x) - grid[i]) < fabs(fabs(x) - best))
			best = grid[i];
	return x < 0 ? -best : best;
}

static void to_fp4(double *w, size_t n)
{
	for (size_t i = 0; i < n; i += 32) {
		double largest = 0;

		for (size_t j = i; j < i + 32 && j < n; j++)
			largest = fmax(largest, fabs(w[j]));
		for (size_t j = i; j < i + 32 && j < n; j++)
			w[j] = fp4(w[j] / largest * 6) * largest / 6;
	}
}

/* Keeps the two largest of four. */
static void two_of_four(double *w, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4)
		for (int dropped = 0; dropped < 2; dropped++) {
			size_t least = i;

			while (w[least] == 0)
				least++;
			for (size_t j = i; j < i + 4; j++)
				if (w[j] != 0 && fabs(w[j]) < fabs(w[least]))
					least = j;
			w[least] = 0;
		}
}

static void shape_column(struct weights *x, enum lab_family family, size_t n)
{
	double *w = x->w + n * x->k;

	for (size_t k = 0; k < x->k; k++) {
		double v = draw(family, x->state);

		if (family == LAB_SPARSE && fabs(v) < 0.674)
			v = 0;
		if (family == LAB_SKEW_COLUMNS)
			v *= x->of_column[n];
		else if (family == LAB_EMBEDDING)
			v = v * x->of_row[k] + x->of_column[n];
		else if (family == LAB_OUTLIERS)
			v *= x->of_row[k];
		else
			v += x->of_column[n];
		v += family == LAB_ROW_MEANS ? x->of_row[k] : layer_mean(family);
		if (family == LAB_DEAD || family == LAB_MEAN_DEAD)
			v *= x->of_row[k];
		if ((family == LAB_PAD_K && k + 64 >= x->k) || (family == LAB_PAD_N && n + 16 >= x->n))
			v = 0;
		if (family == LAB_POSITIVE || (family == LAB_SOME_POSITIVE && n < x->n / 20))
			v = fabs(v);
		w[k] = x->sigma[n] * v + (family == LAB_MEAN_FIXED ? 0.002 : 0);
	}
	if (family == LAB_TWO_OF_FOUR)
		two_of_four(w, x->k);
	if (family == LAB_FP4)
		to_fp4(w, x->k);
}

/* Sixteen directions that all columns share. */
static void add_lora(struct weights *x)
{
	double *b = must(calloc(16 * x->k, sizeof(*b)));

	for (size_t i = 0; i < 16 * x->k; i++)
		b[i] = lab_normal(x->state);
	for (size_t n = 0; n < x->n; n++)
		for (size_t r = 0; r < 16; r++) {
			double a = 0.01 / 4 * lab_normal(x->state);

			for (size_t k = 0; k < x->k; k++)
				x->w[n * x->k + k] += a * b[r * x->k + k];
		}
	free(b);
}

/* ---------------------------------------------------------------------------------------- quantising */

struct grid {
	double scale;
	int zero;
};

static struct grid make_grid(double low, double high, enum lab_quantiser quantiser, int max)
{
	struct grid g;

	low = fmin(low, 0);
	high = fmax(high, 0);
	if (quantiser == LAB_FULL_RANGE) {
		double far = -low > high ? low : high;

		g.scale = -far / ((max + 1) / 2);
		g.zero = (max + 1) / 2;
		if (fabs(g.scale) < 1e-5)
			g.scale = 1e-5;
		return g;
	}
	if (quantiser == LAB_SYMMETRIC) {
		high = fmax(-low, high);
		low = low < 0 ? -high : low;
	}
	if (low == 0 && high == 0) {
		low = -1;
		high = 1;
	}
	g.scale = (high - low) / max;
	g.zero = quantiser == LAB_SYMMETRIC ? (max + 1) / 2 : (int)nearbyint(-low / g.scale);
	return g;
}

static void quantise_column(struct lab_layer *layer, const double *w, size_t n)
{
	const struct lab_recipe *r = &layer->recipe;
	int max = (1 << r->bits) - 1;

	for (size_t g = 0; g < layer->groups; g++) {
		double low = 0, high = 0;
		struct grid grid;

		for (size_t k = 0; k < r->k; k++)
			if (layer->g_of_k[k] == (int32_t)g) {
				low = fmin(low, w[k]);
				high = fmax(high, w[k]);
			}
		grid = make_grid(low, high, r->quantiser, max);
		layer->zeros[g * r->n + n] = (uint8_t)grid.zero;
		for (size_t k = 0; k < r->k; k++)
			if (layer->g_of_k[k] == (int32_t)g) {
				double q = nearbyint(w[k] / grid.scale) + grid.zero;

				layer->codes[k * r->n + n] = (uint8_t)(q < 0 ? 0 : q > max ? max : q);
			}
	}
}

static void assign_groups(struct lab_layer *layer, uint64_t *state)
{
	const struct lab_recipe *r = &layer->recipe;

	for (size_t k = 0; k < r->k; k++)
		layer->g_of_k[k] = r->group_size ? (int32_t)(k / r->group_size) : 0;
	for (size_t k = r->k; r->act_order && k-- > 1;) {
		size_t other = (size_t)lab_below(state, k + 1);
		int32_t t = layer->g_of_k[k];

		layer->g_of_k[k] = layer->g_of_k[other];
		layer->g_of_k[other] = t;
	}
}

/* ------------------------------------------------------------------------------------------- packing */

static void set_bit(unsigned char *p, size_t bit, unsigned value)
{
	if (value)
		p[bit / 8] = (unsigned char)(p[bit / 8] | 1U << bit % 8);
}

static void pack_qweight(struct lab_layer *layer)
{
	const struct lab_recipe *r = &layer->recipe;
	size_t word_bytes = r->word_bits / 8, rows = (r->k * r->bits + r->word_bits - 1) / r->word_bits;

	layer->qweight_row_bytes = r->n * word_bytes;
	layer->qweight = must(calloc(rows, layer->qweight_row_bytes));
	for (size_t k = 0; k < r->k; k++)
		for (unsigned i = 0; i < r->bits; i++) {
			size_t bit = k * r->bits + i;
			unsigned char *row = layer->qweight + bit / r->word_bits * layer->qweight_row_bytes;

			for (size_t n = 0; n < r->n; n++)
				set_bit(row + n * word_bytes, bit % r->word_bits, layer->codes[k * r->n + n] >> i & 1);
		}
}

struct lab_layer *lab_make(const struct lab_recipe *recipe)
{
	struct lab_layer *layer = must(calloc(1, sizeof(*layer)));
	uint64_t state = recipe->seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
	struct weights x = {.k = recipe->k, .n = recipe->n, .state = &state};

	layer->recipe = *recipe;
	layer->groups = recipe->group_size ? (recipe->k + recipe->group_size - 1) / recipe->group_size : 1;
	layer->qzeros_row_bytes =
		(recipe->n * recipe->bits + recipe->word_bits - 1) / recipe->word_bits * (recipe->word_bits / 8);
	layer->codes = must(calloc(recipe->k, recipe->n));
	layer->zeros = must(calloc(layer->groups, recipe->n));
	layer->g_of_k = must(calloc(recipe->k, sizeof(*layer->g_of_k)));
	x.w = must(calloc(x.k * x.n, sizeof(*x.w)));
	x.sigma = must(calloc(x.n, sizeof(*x.sigma)));
	x.of_row = must(calloc(x.k, sizeof(*x.of_row)));
	x.of_column = must(calloc(x.n, sizeof(*x.of_column)));

	draw_common(&x, recipe->family);
	assign_groups(layer, &state);
	for (size_t n = 0; n < x.n; n++)
		shape_column(&x, recipe->family, n);
	if (recipe->family == LAB_LORA)
		add_lora(&x);
	for (size_t n = 0; n < x.n; n++)
		quantise_column(layer, x.w + n * x.k, n);
	pack_qweight(layer);
	free(x.w);
	free(x.sigma);
	free(x.of_row);
	free(x.of_column);
	return layer;
}

void lab_free(struct lab_layer *layer)
{
	if (!layer)
		return;
	free(layer->codes);
	free(layer->zeros);
	free(layer->g_of_k);
	free(layer->qweight);
	free(layer);
}

/* ------------------------------------------------------------------------------------------- storing */

/* Lanes of one row, each 1 less, or less than that by what the lane below borrowed in the same word. */
static void borrow_row(unsigned *lanes, size_t n_lanes, unsigned bits, unsigned word_bits)
{
	for (size_t i = 0, borrow = 0; i < n_lanes; i++) {
		if (i % (word_bits / bits) == 0)
			borrow = 0;
		if (lanes[i] >= 1 + borrow) {
			lanes[i] -= 1 + (unsigned)borrow;
			borrow = 0;
		} else {
			lanes[i] += (1U << bits) - 1 - (unsigned)borrow;
			borrow = 1;
		}
	}
}

/* z - 1 as an unsigned 32-bit number, or-ed into its place: a -1 fills the word upwards. */
static void smear_row(const unsigned *zeros, size_t n_lanes, unsigned bits, unsigned char *row)
{
	for (size_t i = 0; i < n_lanes; i++) {
		size_t bit = i * bits, word = bit / 32;
		uint32_t v = zeros[i] - 1;

		for (size_t b = 0; bit + b < 32 * (word + 1); b++)
			set_bit(row, bit + b, v >> b & 1);
		for (size_t b = 32 * (word + 1) - bit; b < bits; b++)
			set_bit(row, bit + b, v >> b & 1);
	}
}

static void subtract_legacy(unsigned char *row, size_t n_bytes)
{
	static const uint32_t swapped[3] = {0x24924924, 0x92492492, 0x49249249};

	for (size_t i = 0; i < n_bytes; i += 4) {
		uint32_t w =
			row[i] | (uint32_t)row[i + 1] << 8 | (uint32_t)row[i + 2] << 16 | (uint32_t)row[i + 3] << 24;

		w -= swapped[i / 4 % 3];
		for (unsigned b = 0; b < 4; b++)
			row[i + b] = (unsigned char)(w >> (8 * b));
	}
}

static void store_row(const struct lab_recipe *r, unsigned *lanes, size_t n_lanes, enum lab_storage storage,
		      unsigned char *row, size_t n_bytes)
{
	unsigned max = (1U << r->bits) - 1;

	if (storage == LAB_SMEARED) {
		smear_row(lanes, n_lanes, r->bits, row);
		return;
	}
	if (storage == LAB_WORD && r->bits != 3)
		borrow_row(lanes, n_lanes, r->bits, r->word_bits);
	for (size_t i = 0; i < n_lanes; i++) {
		bool upper = i * r->bits % 64 >= 32;

		if (storage == LAB_LANE || (storage == LAB_WORD && r->bits == 3) || (storage == LAB_HALVES && !upper))
			lanes[i] = (lanes[i] - 1) & max;
		for (unsigned b = 0; b < r->bits; b++)
			set_bit(row, i * r->bits + b, lanes[i] >> b & 1);
	}
	if (storage == LAB_LEGACY)
		subtract_legacy(row, n_bytes);
}

unsigned char *lab_store(const struct lab_layer *layer, enum lab_storage storage)
{
	const struct lab_recipe *r = &layer->recipe;
	size_t row_bytes = layer->qzeros_row_bytes, n_lanes = row_bytes * 8 / r->bits;
	unsigned char *qzeros = must(calloc(layer->groups, row_bytes));
	unsigned *lanes = must(calloc(n_lanes, sizeof(*lanes)));

	for (size_t g = 0; g < layer->groups; g++) {
		for (size_t i = 0; i < n_lanes; i++)
			lanes[i] = i < r->n ? layer->zeros[g * r->n + i] : 0;
		store_row(r, lanes, n_lanes, storage, qzeros + g * row_bytes, row_bytes);
	}
	free(lanes);
	return qzeros;
}
