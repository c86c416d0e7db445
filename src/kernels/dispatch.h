/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which implementation runs: the best that the processor has, found at the first call. In test builds GQ_CPU in the
 * environment names the level instead (an unknown name aborts, so that a slip cannot look like a pass; a level that
 * this processor lacks gives the best that it has).
 */
#ifndef GQ_KERNELS_DISPATCH_H
#define GQ_KERNELS_DISPATCH_H

#include "kernels/kernel.h"
#include "quant/cells.h"

/* Columns of a tile, at most: what drivers keep on the stack is a multiple of it. */
#define GQ_TILE 512

/* Whole blocks of rows, [k0, k1), and columns [n0, n1) of them, at most GQ_TILE. */
struct gq_stretch {
	size_t k0, k1, n0, n1;
	bool mixed; /* rows have any groups; otherwise all have one group, on each side */
	/*
	 * mixed: both sides have the same groups, scales and zero points there, bit by bit, and scales so small that
	 * no product is NaN or infinite.
	 */
	bool same_cells;
};

struct gq_kernels {
	const char *name;
	/* May this processor run it? NULL: always. */
	bool (*usable)(void);
	/* As gq_layout_stream.unpack_block; NULL: use that. */
	gq_unpack_block_fn *unpack;
	/* NULL: gq_cells_add. */
	gq_cells_add_fn *cells_add;
	/*
	 * One row of weights from codes that are one byte each. true: none of them is NaN or infinite; false: somebody
	 * must look.
	 */
	bool (*row)(enum gptq_dtype dtype, const uint8_t *codes, const uint8_t *z, const void *scales, size_t n,
		    void *out);
	/*
	 * Fast ways for a stretch; NULL, or false from them, leaves it to others, who form it row by row.
	 *
	 * dequantise  as gq_dequantise; on false `out` holds anything
	 * same        true: all weights are the same bits on both sides, none is NaN or infinite. false proves nothing
	 */
	bool (*dequantise)(const struct gq_weights *w, const struct gq_stretch *at, void *out, size_t stride);
	bool (*same)(const struct gq_weights *a, const struct gq_weights *b, const struct gq_stretch *at);
};

extern const struct gq_kernels gq_kernels_generic;
#if defined(__x86_64__)
extern const struct gq_kernels gq_kernels_avx2;
extern const struct gq_kernels gq_kernels_avx512;
/* What both have. As `unpack` for whole blocks of 4-bit codes in 32-bit words; false: not for these. */
bool gq_unpack_4_avx2(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols, unsigned n_codes,
		      uint8_t *codes, size_t stride);
gq_cells_add_fn gq_cells_add_avx2;
bool gq_usable_avx2(void);
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define GQ_HAVE_NEON 1
extern const struct gq_kernels gq_kernels_neon;
#endif

const struct gq_kernels *gq_kernels_get(void);

/* Every level of this build, best first, NULL after the last; and whether this processor runs one. */
extern const struct gq_kernels *const gq_kernels_all[];
bool gq_kernels_usable(const struct gq_kernels *kernels);

#ifdef GQ_TEST_HOOKS
/* All later calls use this level; NULL goes back to choosing. */
void gq_kernels_set(const struct gq_kernels *kernels);
#endif

#endif
