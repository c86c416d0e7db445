/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/weights.h"

#include "base/checked.h"
#include "base/mem.h"
#include "ops/survey.h"

#include <string.h>

#define CHUNK ((size_t)1 << 20) /* bytes of scales or qzeros at once */
#define STEP ((size_t)64)       /* rows and columns are taken in multiples of it */

enum gptq_status gq_side_open(const struct gq_reading *at, struct gq_side *side, struct gptq_error *err)
{
	enum gq_g_idx_kind kind;

	*side = (struct gq_side){.at = *at};
	return gq_read_groups(at->shards, at->layer, &side->g_of_k, &kind, err);
}

void gq_side_close(struct gq_side *side)
{
	gq_free(side->g_of_k);
	gq_free(side->scales);
	gq_free(side->z);
	gq_free(side->words);
	*side = (struct gq_side){0};
}

/* The largest multiple of STEP whose units fit the bytes, at least STEP, at most all. */
static size_t fit(uint64_t all, uint64_t unit, size_t bytes)
{
	uint64_t n = bytes / (unit ? unit : 1) / STEP * STEP;

	n = n ? n : STEP;
	return (size_t)(n < all ? n : all);
}

size_t gq_side_columns(const struct gq_side *side, size_t bytes)
{
	const struct gq_layer *l = side->at.layer;

	return fit(l->out_features, l->groups * (gq_weight_bytes(l->scales->dtype) + 1), bytes);
}

size_t gq_side_rows(const struct gq_side *side, size_t n_columns, size_t bytes)
{
	const struct gq_layer *l = side->at.layer;

	return fit(l->in_features, gq_ceil_div((uint64_t)n_columns * l->pack.bits, 8), bytes);
}

/* ---------------------------------------------------------------------------------------- scales and zero points */

static void count_special(struct gq_side *side, const unsigned char *scales, size_t n)
{
	enum gptq_dtype dtype = side->at.layer->scales->dtype;
	unsigned nbytes = (unsigned)gq_weight_bytes(dtype);
	uint32_t infinity = dtype == GPTQ_DTYPE_F16 ? 0x7c00 : dtype == GPTQ_DTYPE_F32 ? 0x7f800000 : 0x7f80;
	uint32_t magnitude = nbytes == 4 ? 0x7fffffff : 0x7fff;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)gq_load_le(scales + i * nbytes, nbytes) & magnitude;

		side->n_nan += bits > infinity;
		side->n_inf += bits == infinity;
	}
}

/* Rows of scales, whole where the tile is as wide as the layer. */
static enum gptq_status read_scales(struct gq_side *side, struct gptq_error *err)
{
	const struct gq_layer *l = side->at.layer;
	size_t nbytes = gq_weight_bytes(l->scales->dtype), n = side->n1 - side->n0, row = n * nbytes;
	size_t groups = (size_t)l->groups;
	enum gptq_status status = GPTQ_OK;

	if (n == l->out_features) {
		status = gq_tensor_read_at(side->at.shards, l->scales, 0, side->scales, groups * row, err);
	} else {
		for (size_t g = 0; g < groups && status == GPTQ_OK; g++)
			status =
				gq_tensor_read_at(side->at.shards, l->scales, (g * l->out_features + side->n0) * nbytes,
						  side->scales + g * row, row, err);
	}
	if (status == GPTQ_OK)
		count_special(side, side->scales, groups * n);
	return status;
}

/* Borrows run through pack words, so that rows of qzeros are decoded whole. `rows` has room for a row of lanes twice.
 */
static enum gptq_status decode_zeros(struct gq_side *side, unsigned char *chunk, size_t at_once, uint8_t *rows,
				     size_t n_lanes, struct gptq_error *err)
{
	const struct gq_layer *l = side->at.layer;
	size_t row_bytes = (size_t)l->zero_row_bytes, groups = (size_t)l->groups, n = side->n1 - side->n0;
	enum gptq_status status = GPTQ_OK;

	for (size_t g0 = 0; g0 < groups && status == GPTQ_OK; g0 += at_once) {
		size_t here = groups - g0 < at_once ? groups - g0 : at_once;

		status = gq_tensor_read_at(side->at.shards, l->qzeros, (uint64_t)g0 * row_bytes, chunk,
					   here * row_bytes, err);
		for (size_t g = 0; g < here && status == GPTQ_OK; g++) {
			gq_layout_stream.unpack_line(chunk + g * row_bytes, l->pack, n_lanes, rows);
			gq_zeros_decode(rows, n_lanes, l->pack, side->at.format, side->at.style, rows + n_lanes);
			memcpy(side->z + (g0 + g) * n, rows + n_lanes + side->n0, n);
		}
	}
	return status;
}

static enum gptq_status read_zeros(struct gq_side *side, struct gptq_error *err)
{
	const struct gq_layer *l = side->at.layer;
	size_t row_bytes = (size_t)l->zero_row_bytes, n_lanes = gq_row_lanes(l->pack, row_bytes);
	size_t at_once = row_bytes < CHUNK ? CHUNK / row_bytes : 1;
	unsigned char *chunk;
	uint8_t *rows = gq_malloc_array(n_lanes, 2);
	enum gptq_status status;

	at_once = at_once < l->groups ? at_once : (size_t)l->groups;
	chunk = gq_malloc_array(at_once, row_bytes);
	status = chunk && rows ? decode_zeros(side, chunk, at_once, rows, n_lanes, err) : gq_fail_nomem(err);
	gq_free(chunk);
	gq_free(rows);
	return status;
}

enum gptq_status gq_side_tile(struct gq_side *side, size_t n0, size_t n1, struct gptq_error *err)
{
	const struct gq_layer *l = side->at.layer;
	size_t n = n1 - n0, groups = (size_t)l->groups;
	enum gptq_status status;

	gq_free(side->scales);
	gq_free(side->z);
	side->scales = gq_malloc_array(groups, n * gq_weight_bytes(l->scales->dtype));
	side->z = gq_malloc_array(groups, n);
	side->n0 = n0;
	side->n1 = n1;
	if (!side->scales || !side->z)
		return gq_fail_nomem(err);
	status = read_scales(side, err);
	return status == GPTQ_OK ? read_zeros(side, err) : status;
}

/* ------------------------------------------------------------------------------------------------------- words */

void gq_side_cells(const struct gq_side *side, struct gq_weights *w)
{
	const struct gq_layer *l = side->at.layer;

	*w = (struct gq_weights){.pack = l->pack,
				 .dtype = l->scales->dtype,
				 .scales = side->scales,
				 .z = side->z,
				 .g_of_k = side->g_of_k,
				 .n_rows = (size_t)l->in_features,
				 .n_columns = side->n1 - side->n0,
				 .n_groups = (size_t)l->groups};
}

enum gptq_status gq_side_run(struct gq_side *side, size_t k0, size_t k1, struct gq_weights *w, struct gptq_error *err)
{
	const struct gq_layer *l = side->at.layer;
	size_t word = l->pack.word_bits / 8, n = side->n1 - side->n0, row = n * word;
	uint64_t r0 = (uint64_t)k0 / gq_layout_stream.block_codes(l->pack) * gq_layout_stream.block_words(l->pack);
	uint64_t r1 = gq_ceil_div((uint64_t)k1 * l->pack.bits, l->pack.word_bits);
	enum gptq_status status = GPTQ_OK;
	size_t n_rows = (size_t)(r1 - r0);

	if (n_rows * row > side->room) {
		gq_free(side->words);
		side->words = gq_malloc_array(n_rows, row);
		side->room = side->words ? n_rows * row : 0;
		if (!side->words)
			return gq_fail_nomem(err);
	}
	if (n == l->out_features) {
		status = gq_tensor_read_at(side->at.shards, l->qweight, r0 * row, side->words, n_rows * row, err);
	} else {
		for (size_t r = 0; r < n_rows && status == GPTQ_OK; r++)
			status = gq_tensor_read_at(side->at.shards, l->qweight,
						   ((r0 + r) * l->out_features + side->n0) * word,
						   side->words + r * row, row, err);
	}
	gq_side_cells(side, w);
	w->rows = (struct gq_word_rows){.words = side->words, .row_bytes = row};
	w->g_of_k += k0;
	w->n_rows = k1 - k0;
	return status;
}
