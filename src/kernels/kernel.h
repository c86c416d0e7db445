/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of a GPTQ layer from its parts, and two proofs that the weights of two layers are equal. Pure computation:
 * no files, no allocation, nothing here can fail. Sizes, groups and dtypes are the caller's to check.
 *
 *   W[k][n] = s * (q - z)      q the code, s and z those of group g_of_k[k] and column n
 *
 * F16 and BF16: the product is exact in float32 and rounded once, to nearest even. F32: the multiplication rounds.
 * A zero keeps the sign that the multiplication gives, subnormals are kept, a NaN becomes 7E00, 7FC0 or 7FC00000.
 * The floating-point environment must be the default one (nearest even, nothing flushed).
 */
#ifndef GQ_KERNELS_KERNEL_H
#define GQ_KERNELS_KERNEL_H

#include "gptq/gptq.h"
#include "quant/layout.h"

/*
 * One side of a layer in memory, or a stretch of its rows that begins with a block (layout.h): then k counts from
 * there. Pointers to words and scales need no alignment; numbers are little-endian as in files.
 */
struct gq_weights {
	struct gq_word_rows rows; /* qweight; stream layout, row_bytes at least N * word_bits / 8 */
	struct gq_pack pack;
	enum gptq_dtype dtype;              /* of scales and weights: F16, BF16 or F32 */
	const void *scales;                 /* [n_groups][n_columns] */
	const uint8_t *z;                   /* [n_groups][n_columns], logical zero points, at most 2^bits - 1 */
	const int32_t *g_of_k;              /* [n_rows], each 0..n_groups-1 */
	size_t n_rows, n_columns, n_groups; /* K, N, G */
};

/* Bytes of one weight: 2 or 4. */
static inline size_t gq_weight_bytes(enum gptq_dtype dtype)
{
	return dtype == GPTQ_DTYPE_F32 ? 4 : 2;
}

/* The weight of one code, bits in the low half for F16 and BF16. scale points at the stored scale. The specification.
 */
uint32_t gq_weight(enum gptq_dtype dtype, const void *scale, unsigned q, unsigned z);

/* Code, zero point and weight at row k, column n. One at a time: for reports. */
struct gq_weight_at {
	uint32_t value;
	uint8_t code, z;
};
struct gq_weight_at gq_weight_at(const struct gq_weights *w, size_t k, size_t n);

/*
 * Rows [k0, k1), columns [n0, n1) as numbers of the dtype, little-endian: row k begins at
 * out + (k - k0) * stride, stride in bytes. k0 may lie inside a block.
 */
void gq_dequantise(const struct gq_weights *w, size_t k0, size_t k1, size_t n0, size_t n1, void *out, size_t stride);

/*
 * How many rows to form at once where they are only passed on (to a digest, say): whole blocks, and so few that what
 * was written is still in the second-level cache when it is read.
 */
size_t gq_band_rows(struct gq_pack pack, size_t row_bytes);

/* What `every` found. Start from all zero; calls on other stretches of rows add up. */
struct gq_comparison {
	uint64_t n_weights; /* compared, of one side */
	uint64_t n_differ;
	uint64_t n_nan[2], n_inf[2];  /* weights that are NaN or infinite, of both sides */
	uint64_t first_k, first_n;    /* if n_differ > 0: the first difference in row-major order */
	struct gq_weight_at first[2]; /* and what both sides have there */
};

/*
 * `every`: forms each weight of rows [k0, k1) of both sides and compares bits. Both sides have the same dtype, rows
 * and columns; packing, groups and group order may differ. k_base is added to rows as they are reported.
 */
void gq_compare_every(const struct gq_weights *a, const struct gq_weights *b, size_t k0, size_t k1, uint64_t k_base,
		      struct gq_comparison *out);

/*
 * The first half of `table`: are the codes of all rows the same bytes? false also where the packings differ. Bits
 * behind the last row, up to the end of its block, do not count.
 */
bool gq_codes_equal(const struct gq_weights *a, const struct gq_weights *b);

/*
 * The second half: how many (group, column) pairs have, for some code, other weights on the two sides; 0 proves the
 * weights equal if codes, g_of_k and dtype are equal too. Not 0 proves nothing: no row may have that code, or be in
 * that group. *n_special: pairs whose scale is NaN or infinite on either side.
 */
uint64_t gq_tables_differ(const struct gq_weights *a, const struct gq_weights *b, uint64_t *n_special);

/* The level that runs here: "generic", "avx2", "avx512" or "neon". */
const char *gq_kernels_name(void);

#endif
