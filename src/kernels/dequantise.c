/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/tile.h"

#define BAND_BYTES ((size_t)256 << 10)

size_t gq_band_rows(struct gq_pack pack, size_t row_bytes)
{
	size_t block = gq_layout_stream.block_codes(pack), rows = BAND_BYTES / row_bytes / block * block;

	return rows ? rows : block;
}

/* One stretch, or one row where there is none; returns the rows that were formed. */
static size_t step(struct gq_tile *tile, const struct gq_kernels *kernels, size_t k, size_t k1, unsigned char *out,
		   size_t stride)
{
	size_t rows = kernels->dequantise ? gq_stretch_rows(tile->w, k, k1) : 0;
	struct gq_stretch at = {k, k + rows, tile->n0, tile->n0 + tile->n, rows == 0, false};

	if (kernels->dequantise && rows == 0) {
		rows = gq_mixed_rows(tile->w, k, k1);
		at.k1 = k + rows;
	}
	if (rows > 0 && kernels->dequantise(tile->w, &at, out, stride))
		return rows;
	if (rows == 0)
		rows = 1;
	for (size_t i = 0; i < rows; i++)
		gq_tile_row(tile, kernels, k + i, out + i * stride);
	return rows;
}

void gq_dequantise(const struct gq_weights *w, size_t k0, size_t k1, size_t n0, size_t n1, void *out, size_t stride)
{
	const struct gq_kernels *kernels = gq_kernels_get();
	size_t nbytes = gq_weight_bytes(w->dtype);
	struct gq_tile tile;

	for (size_t n = n0; n < n1; n += tile.n) {
		unsigned char *p = (unsigned char *)out + (n - n0) * nbytes;

		gq_tile_init(&tile, w, n, n1 - n < GQ_TILE ? n1 - n : GQ_TILE);
		for (size_t k = k0; k < k1;)
			k += step(&tile, kernels, k, k1, p + (k - k0) * stride, stride);
	}
}
