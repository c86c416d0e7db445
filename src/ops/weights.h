/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of a layer out of its files, piece by piece: tiles of columns, whose scales and zero points are in memory
 * for all groups, and inside a tile runs of rows, whose words are.
 */
#ifndef GQ_OPS_WEIGHTS_H
#define GQ_OPS_WEIGHTS_H

#include "kernels/kernel.h"
#include "quant/layer.h"

/* A layer and how its zero points are stored. */
struct gq_reading {
	struct gq_shards *shards;
	const struct gq_layer *layer;
	enum gptq_zeros_format format;
	enum gptq_v1_style style; /* of v1; CLEAN and SMEARED are read lane by lane */
};

struct gq_side {
	struct gq_reading at;
	int32_t *g_of_k; /* [K] */
	size_t n0, n1;   /* the tile */
	unsigned char *scales;
	uint8_t *z;
	unsigned char *words;
	size_t room;           /* bytes of words */
	uint64_t n_nan, n_inf; /* scales of the tiles so far that are NaN or infinite */
};

/* Reads the groups. GPTQ_E_FORMAT: g_idx out of range, or no group size fits. gq_side_close in any case. */
enum gptq_status gq_side_open(const struct gq_reading *at, struct gq_side *side, struct gptq_error *err);
void gq_side_close(struct gq_side *side);

/* Columns of a tile whose scales and zero points take about so many bytes, and rows of a run in it that take about so
 * many bytes of words; at least 64 columns or all, and 64 rows. Runs are multiples of 64 rows, so of every block. */
size_t gq_side_columns(const struct gq_side *side, size_t bytes);
size_t gq_side_rows(const struct gq_side *side, size_t n_columns, size_t bytes);

/* Reads scales and zero points of columns [n0, n1). */
enum gptq_status gq_side_tile(struct gq_side *side, size_t n0, size_t n1, struct gptq_error *err);

/* Reads the words of rows [k0, k1) of the tile, k0 a multiple of 64. w borrows everything until the next call. */
enum gptq_status gq_side_run(struct gq_side *side, size_t k0, size_t k1, struct gq_weights *w, struct gptq_error *err);

/* The weights of the tile without words: enough for tables. */
void gq_side_cells(const struct gq_side *side, struct gq_weights *w);

#endif
