/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of kernels against the specification one weight at a time. Each returns false after saying why on stderr. */
#ifndef GQ_TESTS_KERNEL_CHECKS_H
#define GQ_TESTS_KERNEL_CHECKS_H

#include "layers.h"

/* Every combination that matters, and random ones behind them: the i-th layer to try, at most max_rows x max_columns.
 */
struct layer_spec spec_at(uint64_t i, size_t max_rows, size_t max_columns);
/* Names a layer in messages. */
void spec_print(const struct layer_spec *spec);

/* gq_compare_every by gq_weight_at alone. */
struct gq_comparison compare_one_by_one(const struct gq_weights *a, const struct gq_weights *b, uint64_t k_base);
bool comparisons_equal(const struct gq_comparison *found, const struct gq_comparison *expected);

/* gq_dequantise of the level in use: all of the layer, and some rectangles of it, with nothing written around them. */
bool check_dequantise(const struct layer *layer, uint64_t seed);
/* gq_compare_every, whole and in two calls. */
bool check_compare(const struct layer *a, const struct layer *b, uint64_t seed);

#endif
