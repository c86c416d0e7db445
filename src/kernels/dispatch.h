/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which implementation runs: the best that the processor has, found at the first call. In test builds GQ_CPU in the
 * environment names the level instead (an unknown name aborts, so that a slip cannot look like a pass; a level that
 * this processor lacks falls back to the best it has below).
 */
#ifndef GQ_KERNELS_DISPATCH_H
#define GQ_KERNELS_DISPATCH_H

#include "kernels/kernel.h"

/*
 * A stretch of rows in which each side has one group, and how it lies: rows [k0, k1), columns [n0, n1). k0 is the
 * first row of a block on both sides, k1 the first row of a block or the end.
 */
struct gq_stretch {
	size_t k0, k1, n0, n1;
};

struct gq_kernels {
	const char *name;
	/* May this processor run it? NULL: always. */
	bool (*usable)(void);
	/* One row of weights from codes that are one byte each. */
	void (*row)(enum gptq_dtype dtype, const uint8_t *codes, const uint8_t *z, const void *scales, size_t n,
		    void *out);
	/* As gq_layout.unpack_block, stream layout. */
	void (*unpack)(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols, unsigned n_codes,
		       uint8_t *codes, size_t stride);
	/*
	 * Are all weights of the stretch the same on both sides, and none NaN or infinite? true is a proof; false says
	 * only that somebody else must look. NULL: always somebody else.
	 */
	bool (*same)(const struct gq_weights *a, const struct gq_weights *b, const struct gq_stretch *at);
};

extern const struct gq_kernels gq_kernels_generic;
#if defined(__x86_64__)
extern const struct gq_kernels gq_kernels_avx2;
extern const struct gq_kernels gq_kernels_avx512;
#elif defined(__aarch64__)
extern const struct gq_kernels gq_kernels_neon;
#endif

const struct gq_kernels *gq_kernels_get(void);

/* Every level of this build, best first, NULL after the last. */
extern const struct gq_kernels *const gq_kernels_all[];

#ifdef GQ_TEST_HOOKS
/* Makes all later calls use this level; NULL goes back to choosing. */
void gq_kernels_set(const struct gq_kernels *kernels);
#endif

#endif
