/* SPDX-License-Identifier: Apache-2.0 */
/* Random layers in memory for tests and benchmarks of the kernels. Exits when memory runs out. */
#ifndef GQ_TESTS_LAYERS_H
#define GQ_TESTS_LAYERS_H

#include "kernels/kernel.h"

enum group_kind {
	GROUPS_TRIVIAL,   /* k / group_size; the last group may be ragged */
	GROUPS_ACT_ORDER, /* as a random permutation of the rows leaves them */
	GROUPS_RUNS,      /* runs of random length */
};

enum scale_kind {
	SCALES_USUAL,     /* around 0.01, some negative */
	SCALES_ANY_BITS,  /* every bit pattern, NaN and infinity too */
	SCALES_SUBNORMAL, /* products near and below the smallest normal number */
	SCALES_LARGE,     /* products near and above the largest number */
	SCALES_SPECIAL,   /* 0, -0, smallest, largest, infinite and NaN among usual ones */
};

struct layer_spec {
	struct gq_pack pack;
	enum gptq_dtype dtype;
	size_t n_rows, n_columns, group_size;
	size_t padding; /* bytes behind each word row */
	enum group_kind groups;
	enum scale_kind scales;
};

/* The five parts, each in an allocation of exactly its size, so that tools see every step outside. */
struct layer {
	struct layer_spec spec;
	struct gq_weights w;
	unsigned char *words, *scales;
	uint8_t *z;
	int32_t *g_of_k;
	size_t words_size, scales_size;
};

/* A small generator, the same everywhere. */
uint64_t random_next(uint64_t *state);
size_t random_below(uint64_t *state, size_t n);

struct layer layer_make(const struct layer_spec *spec, uint64_t seed);
struct layer layer_copy(const struct layer *layer);
/* The same codes, zero points and groups in words of another size or in wider codes. */
struct layer layer_repack(const struct layer *layer, struct gq_pack pack);
void layer_free(struct layer *layer);

/* Flips random bits of codes, zero points, scales or groups. */
void layer_damage(struct layer *layer, unsigned n_flips, uint64_t seed);

#endif
