/* SPDX-License-Identifier: Apache-2.0 */
/* What the scales of a layer hold. */
#ifndef GQ_QUANT_SCALES_H
#define GQ_QUANT_SCALES_H

#include "gptq/gptq.h"

struct gq_scale_stats {
	uint64_t n, n_nan, n_inf, n_zero, n_negative;
	double min, max; /* over finite values; min > max if there is none */
};

void gq_scale_stats_init(struct gq_scale_stats *stats);
/* Adds n values of dtype F16, BF16 or F32, little-endian, at any alignment. */
void gq_scale_stats_add(struct gq_scale_stats *stats, const void *values, size_t n, enum gptq_dtype dtype);

/* The value of one of them; exact in double. */
double gq_scale_value(const void *value, enum gptq_dtype dtype);

#endif
