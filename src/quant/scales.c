/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/scales.h"

#include "base/checked.h"

#include <math.h>

/*
 * The three formats differ in their field widths alone:
 *
 *          sign  exponent  fraction
 *   F16     1       5         10
 *   BF16    1       8          7
 *   F32     1       8         23
 */
double gq_scale_value(const void *value, enum gptq_dtype dtype)
{
	unsigned frac_bits = dtype == GPTQ_DTYPE_F16 ? 10 : dtype == GPTQ_DTYPE_BF16 ? 7 : 23;
	unsigned exp_bits = dtype == GPTQ_DTYPE_F16 ? 5 : 8;
	uint32_t bits = (uint32_t)gq_load_le(value, dtype == GPTQ_DTYPE_F32 ? 4 : 2);
	uint32_t frac = bits & ((1u << frac_bits) - 1), exp_max = (1u << exp_bits) - 1;
	uint32_t exp = bits >> frac_bits & exp_max;
	int bias = (int)(exp_max >> 1);
	double v;

	if (exp == exp_max)
		v = frac ? (double)NAN : (double)INFINITY;
	else if (exp == 0)
		v = ldexp((double)frac, 1 - bias - (int)frac_bits);
	else
		v = ldexp((double)(frac | 1u << frac_bits), (int)exp - bias - (int)frac_bits);
	return bits >> (frac_bits + exp_bits) & 1 ? -v : v;
}

void gq_scale_stats_init(struct gq_scale_stats *stats)
{
	*stats = (struct gq_scale_stats){.min = INFINITY, .max = -INFINITY};
}

void gq_scale_stats_add(struct gq_scale_stats *stats, const void *values, size_t n, enum gptq_dtype dtype)
{
	size_t width = dtype == GPTQ_DTYPE_F32 ? 4 : 2;

	stats->n += n;
	for (size_t i = 0; i < n; i++) {
		double v = gq_scale_value((const char *)values + i * width, dtype);

		if (isnan(v)) {
			stats->n_nan++;
			continue;
		}
		if (isinf(v)) {
			stats->n_inf++;
			continue;
		}
		stats->n_zero += v == 0;
		stats->n_negative += v < 0;
		if (v < stats->min)
			stats->min = v;
		if (v > stats->max)
			stats->max = v;
	}
}
