/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tile.h"

/* Unpacks the block of row k: those rows of it that the layer has. */
static void fetch(struct gq_tile *tile, const struct gq_kernels *kernels, size_t k)
{
	const struct gq_weights *w = tile->w;
	unsigned block = gq_layout_stream.block_codes(w->pack);
	size_t i = k / block, rows = w->n_rows - i * block;
	struct gq_word_rows at = {
		.words = (const unsigned char *)w->rows.words +
			 i * gq_layout_stream.block_words(w->pack) * w->rows.row_bytes,
		.row_bytes = w->rows.row_bytes,
	};

	tile->k0 = i * block;
	tile->k1 = tile->k0 + (rows < block ? rows : block);
	(kernels->unpack ? kernels->unpack : gq_layout_stream.unpack_block)(
		at, w->pack, tile->n0, tile->n, (unsigned)(tile->k1 - tile->k0), tile->codes[0], GQ_TILE);
}

bool gq_tile_row(struct gq_tile *tile, const struct gq_kernels *kernels, size_t k, void *out)
{
	const struct gq_weights *w = tile->w;
	size_t cell = (size_t)w->g_of_k[k] * w->n_columns + tile->n0;
	const unsigned char *scales = w->scales;

	if (k < tile->k0 || k >= tile->k1)
		fetch(tile, kernels, k);
	return kernels->row(w->dtype, tile->codes[k - tile->k0], w->z + cell, scales + cell * gq_weight_bytes(w->dtype),
			    tile->n, out);
}

size_t gq_stretch_rows(const struct gq_weights *w, size_t k, size_t k1)
{
	unsigned block = gq_layout_stream.block_codes(w->pack);
	size_t end = k;

	if (k % block != 0)
		return 0;
	while (end < k1 && w->g_of_k[end] == w->g_of_k[k])
		end++;
	return (end - k) / block * block;
}

size_t gq_mixed_rows(const struct gq_weights *w, size_t k, size_t k1)
{
	enum { MOST = 64 };
	unsigned block = gq_layout_stream.block_codes(w->pack);

	if (k % block != 0)
		return 0;
	return (k1 - k < MOST ? k1 - k : MOST) / block * block;
}
