/* SPDX-License-Identifier: Apache-2.0 */
/* What the drivers share: rows of weights out of packed codes, a tile of columns at a time. */
#ifndef GQ_KERNELS_TILE_H
#define GQ_KERNELS_TILE_H

#include "kernels/dispatch.h"

/* The block of codes that holds the row last asked for. */
struct gq_tile {
	const struct gq_weights *w;
	size_t n0, n;  /* columns */
	size_t k0, k1; /* rows of codes that are unpacked; none if equal */
	uint8_t codes[32][GQ_TILE];
};

static inline void gq_tile_init(struct gq_tile *tile, const struct gq_weights *w, size_t n0, size_t n)
{
	tile->w = w;
	tile->n0 = n0;
	tile->n = n;
	tile->k0 = tile->k1 = 0;
}

/* The weights of row k in the tile's columns. true: none of them is NaN or infinite. */
bool gq_tile_row(struct gq_tile *tile, const struct gq_kernels *kernels, size_t k, void *out);

/*
 * Rows from k on, at most up to k1, that make a stretch: k begins a block and the rows are whole blocks of one group.
 * 0 if there is none.
 */
size_t gq_stretch_rows(const struct gq_weights *w, size_t k, size_t k1);
/* The same for a stretch whose rows have any groups. It is short: all of it is done again where it is not plain. */
size_t gq_mixed_rows(const struct gq_weights *w, size_t k, size_t k1);

#endif
