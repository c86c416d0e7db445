/* SPDX-License-Identifier: Apache-2.0 */
/* The proof `every`: all weights of both sides, bit by bit. */
#include "kernels/tile.h"

#include "base/checked.h"

/* The same columns of both sides. */
struct pair {
	const struct gq_kernels *kernels;
	struct gq_tile tiles[2];
	uint32_t weights[2][GQ_TILE]; /* room for float32 */
	uint64_t k_base;
	bool same_cells; /* as in gq_stretch, for these columns and all rows that are asked for */
	struct gq_comparison *out;
};

/* Two loops, so that compilers see loads of one width. */
static void count_special(enum gptq_dtype dtype, const void *weights, size_t n, uint64_t *n_nan, uint64_t *n_inf)
{
	const unsigned char *p = weights;
	uint32_t infinity = dtype == GPTQ_DTYPE_F16 ? 0x7c00 : 0x7f80, nan = 0, inf = 0;

	if (dtype == GPTQ_DTYPE_F32) {
		for (size_t i = 0; i < n; i++) {
			uint32_t bits = (uint32_t)gq_load_le(p + 4 * i, 4) & 0x7fffffff;

			nan += bits > 0x7f800000;
			inf += bits == 0x7f800000;
		}
	} else {
		for (size_t i = 0; i < n; i++) {
			uint32_t bits = (uint32_t)gq_load_le(p + 2 * i, 2) & 0x7fff;

			nan += bits > infinity;
			inf += bits == infinity;
		}
	}
	*n_nan += nan;
	*n_inf += inf;
}

/* Stretches come tile by tile, so that a later one can hold an earlier row. */
static void note_difference(struct pair *pair, size_t k, size_t n)
{
	struct gq_comparison *out = pair->out;
	uint64_t at = pair->k_base + k;

	if (out->n_differ++ > 0 && (at > out->first_k || (at == out->first_k && n >= out->first_n)))
		return;
	out->first_k = at;
	out->first_n = n;
	for (unsigned side = 0; side < 2; side++)
		out->first[side] = gq_weight_at(pair->tiles[side].w, k, n);
}

static void compare_row(struct pair *pair, size_t k)
{
	const struct gq_tile *tile = &pair->tiles[0];
	enum gptq_dtype dtype = tile->w->dtype;
	size_t nbytes = gq_weight_bytes(dtype);
	const unsigned char *a = (const unsigned char *)pair->weights[0], *b = (const unsigned char *)pair->weights[1];

	for (unsigned side = 0; side < 2; side++) {
		void *weights = pair->weights[side];

		if (!gq_tile_row(&pair->tiles[side], pair->kernels, k, weights))
			count_special(dtype, weights, tile->n, &pair->out->n_nan[side], &pair->out->n_inf[side]);
	}
	if (memcmp(a, b, tile->n * nbytes) == 0)
		return;
	for (size_t i = 0; i < tile->n; i++)
		if (memcmp(a + i * nbytes, b + i * nbytes, nbytes) != 0)
			note_difference(pair, k, tile->n0 + i);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A stretch that is shown to be the same, or rows one by one; returns the rows that were compared. */
static size_t step(struct pair *pair, size_t k, size_t k1)
{
	const struct gq_weights *a = pair->tiles[0].w, *b = pair->tiles[1].w;
	size_t n0 = pair->tiles[0].n0, rows = 0;
	bool mixed = false;

	if (pair->kernels->same) {
		rows = least(gq_stretch_rows(a, k, k1), gq_stretch_rows(b, k, k1));
		mixed = rows == 0;
		if (mixed)
			rows = least(gq_mixed_rows(a, k, k1), gq_mixed_rows(b, k, k1));
	}
	if (rows > 0) {
		struct gq_stretch at = {k, k + rows, n0, n0 + pair->tiles[0].n, mixed, pair->same_cells};

		if (pair->kernels->same(a, b, &at))
			return rows;
	}
	rows = rows > 0 ? rows : 1;
	for (size_t i = 0; i < rows; i++)
		compare_row(pair, k + i);
	return rows;
}

/*
 * Are all scales so small that products with codes of that many bits stay below infinity? Below 2^(16 - bits) in F16
 * and 2^(128 - bits) otherwise, a comparison of exponents, none is above 2^16 - 2^8 or 2^128 - 2^120. Two loops, so
 * that compilers see loads of one width.
 */
static bool all_tame(enum gptq_dtype dtype, unsigned bits, const unsigned char *scales, size_t n)
{
	uint32_t limit = dtype == GPTQ_DTYPE_F16 ? (31 - bits) << 10 : (255 - bits) << 7, over = 0;

	if (dtype == GPTQ_DTYPE_F32)
		for (size_t i = 0; i < n; i++)
			over |= ((uint32_t)gq_load_le(scales + 4 * i, 4) & 0x7fffffff) >= limit << 16;
	else
		for (size_t i = 0; i < n; i++)
			over |= ((uint32_t)gq_load_le(scales + 2 * i, 2) & 0x7fff) >= limit;
	return !over;
}

/* Looked for where rows are many beside groups, so that looking costs little. */
static bool cells_are_same(const struct gq_weights *a, const struct gq_weights *b, size_t k0, size_t k1, size_t n0,
			   size_t n)
{
	const unsigned char *sa = a->scales, *sb = b->scales;
	size_t nbytes = gq_weight_bytes(a->dtype);

	if (a->n_groups != b->n_groups || (k1 - k0) / 4 < a->n_groups ||
	    memcmp(a->g_of_k + k0, b->g_of_k + k0, (k1 - k0) * sizeof(a->g_of_k[0])) != 0)
		return false;
	for (size_t g = 0; g < a->n_groups; g++) {
		size_t cell = g * a->n_columns + n0;

		if (memcmp(a->z + cell, b->z + cell, n) != 0 ||
		    memcmp(sa + cell * nbytes, sb + cell * nbytes, n * nbytes) != 0 ||
		    !all_tame(a->dtype, a->pack.bits, sa + cell * nbytes, n))
			return false;
	}
	return true;
}

void gq_compare_every(const struct gq_weights *a, const struct gq_weights *b, size_t k0, size_t k1, uint64_t k_base,
		      struct gq_comparison *out)
{
	struct pair pair = {.kernels = gq_kernels_get(), .k_base = k_base, .out = out};
	size_t n_columns = a->n_columns, n;

	for (size_t n0 = 0; n0 < n_columns; n0 += n) {
		n = n_columns - n0 < GQ_TILE ? n_columns - n0 : GQ_TILE;
		gq_tile_init(&pair.tiles[0], a, n0, n);
		gq_tile_init(&pair.tiles[1], b, n0, n);
		pair.same_cells = cells_are_same(a, b, k0, k1, n0, n);
		for (size_t k = k0; k < k1;)
			k += step(&pair, k, k1);
	}
	out->n_weights += (uint64_t)(k1 - k0) * n_columns;
}
