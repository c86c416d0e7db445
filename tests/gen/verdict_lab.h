/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic quantised layers with known zero points, for tests of the verdict. Shares no code with the library: one
 * value at a time, its own packing, its own ways of storing a zero point of 0.
 */
#ifndef GQ_TESTS_GEN_VERDICT_LAB_H
#define GQ_TESTS_GEN_VERDICT_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Families of weights. The last two are known to fool a mean shift; the others must never lead to a wrong verdict. */
enum lab_family {
	LAB_GAUSS,
	LAB_LAPLACE,
	LAB_T3,
	LAB_OUTLIERS,
	LAB_COLUMN_MEANS,
	LAB_MEAN_001,
	LAB_MEAN_003,
	LAB_MEAN_01,
	LAB_MEAN_FIXED,
	LAB_ROW_MEANS,
	LAB_EMBEDDING,
	LAB_LORA,
	LAB_SKEW,
	LAB_SKEW_COLUMNS,
	LAB_SPARSE,
	LAB_TWO_OF_FOUR,
	LAB_DEAD,
	LAB_MEAN_DEAD,
	LAB_PAD_K,
	LAB_PAD_N,
	LAB_SOME_POSITIVE,
	LAB_FP4,
	LAB_TERNARY,
	LAB_MEAN_03,
	LAB_POSITIVE,
	LAB_N_FAMILIES,
};

#define LAB_N_SANE LAB_MEAN_03
extern const char *const lab_families[LAB_N_FAMILIES];

enum lab_quantiser {
	LAB_ASYMMETRIC, /* min-max groups */
	LAB_SYMMETRIC,
	LAB_FULL_RANGE, /* symmetric, the larger end on code 0: half of the scales are negative */
};

enum lab_storage {
	LAB_V2,
	LAB_LANE,
	LAB_WORD,
	LAB_SMEARED,
	LAB_LEGACY, /* 3 bits: two of three constants swapped */
	LAB_HALVES, /* 64-bit words: v1 in the lower half, v2 in the upper */
	LAB_N_STORAGES,
};

struct lab_recipe {
	enum lab_family family;
	enum lab_quantiser quantiser;
	unsigned bits, word_bits;
	size_t k, n;
	size_t group_size; /* 0: one group */
	bool act_order;
	uint64_t seed;
};

struct lab_layer {
	struct lab_recipe recipe;
	size_t groups, qzeros_row_bytes, qweight_row_bytes;
	uint8_t *codes;         /* [k][n] */
	uint8_t *zeros;         /* [groups][n] */
	int32_t *g_of_k;        /* [k] */
	unsigned char *qweight; /* packed */
};

/* Aborts the program when memory runs out. */
struct lab_layer *lab_make(const struct lab_recipe *recipe);
void lab_free(struct lab_layer *layer);

/* Packed zero points, groups rows of qzeros_row_bytes bytes; free() them. Padding lanes are 0 before storing. */
unsigned char *lab_store(const struct lab_layer *layer, enum lab_storage storage);

/* A uniform number below n; a standard normal one. */
uint64_t lab_below(uint64_t *state, uint64_t n);
double lab_normal(uint64_t *state);

#endif
