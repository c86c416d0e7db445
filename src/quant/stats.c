/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a layer's codes tile by tile into cells; see stats.h for the order of calls. */
#include "quant/stats_private.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/mem.h"

#include <math.h>

static size_t cells_for(size_t n_cols)
{
	return n_cols / GQ_CELL_COLUMNS + (n_cols % GQ_CELL_COLUMNS != 0);
}

uint64_t gq_stats_footprint(const struct gq_stats_layer *layer, size_t max_columns)
{
	size_t n_cells = cells_for(max_columns);
	uint64_t pairs, total;

	if (!gq_mul_u64(layer->qzeros.rows, n_cells, &pairs) ||
	    !gq_mul_u64(pairs, sizeof(struct gq_cell) + sizeof(struct gq_cell_sums) + 2 * GQ_CELL_COLUMNS, &total))
		return UINT64_MAX;
	total += (uint64_t)n_cells * GQ_CELL_COLUMNS * (sizeof(struct gq_stats_column) + 2);
	total += layer->qzeros.rows * sizeof(struct gq_stats_group) + layer->k;
	return total + 32 * GQ_STATS_STRIP + sizeof(struct gq_stats);
}

static bool allocate(struct gq_stats *st)
{
	const struct gq_stats_layer *layer = &st->layer;
	size_t groups = layer->qzeros.rows, block = layer->qzeros.layout->block_codes(layer->qzeros.pack);
	uint64_t n_cells;

	if (!gq_mul_u64(groups, st->max_cells, &n_cells) || n_cells > SIZE_MAX)
		return false;
	st->groups = gq_calloc(groups, sizeof(*st->groups));
	st->row_bad = gq_calloc(layer->k, 1);
	st->lanes = gq_calloc(n_cells, GQ_CELL_COLUMNS);
	st->keep = gq_calloc(n_cells, GQ_CELL_COLUMNS);
	st->cells = gq_calloc(n_cells, sizeof(*st->cells));
	st->sums = gq_calloc(n_cells, sizeof(*st->sums));
	st->columns = gq_calloc(st->max_cells, GQ_CELL_COLUMNS * sizeof(*st->columns));
	st->codes = gq_calloc(block, GQ_STATS_STRIP);
	st->z[0] = gq_calloc(st->max_cells, GQ_CELL_COLUMNS);
	st->z[1] = gq_calloc(st->max_cells, GQ_CELL_COLUMNS);
	return st->groups && st->row_bad && st->lanes && st->keep && st->cells && st->sums && st->columns &&
	       st->codes && st->z[0] && st->z[1];
}

enum gptq_status gq_stats_new(const struct gq_stats_layer *layer, size_t max_columns, struct gq_stats **out,
			      struct gptq_error *err)
{
	struct gq_pack pack = layer->qzeros.pack;
	struct gq_stats *st;

	*out = NULL;
	if (!layer->qzeros.layout->supports(pack))
		return gq_fail(err, GPTQ_E_UNSUPPORTED, "codes of %u bits in words of %u bits are not supported",
			       pack.bits, pack.word_bits);
	st = gq_calloc(1, sizeof(*st));
	if (!st)
		return gq_fail_nomem(err);
	st->layer = *layer;
	st->cells_add = layer->cells_add ? layer->cells_add : gq_cells_add;
	st->unpack = layer->unpack_block ? layer->unpack_block : layer->qzeros.layout->unpack_block;
	st->max = (1U << pack.bits) - 1;
	st->max_cells = cells_for(max_columns);
	if (!allocate(st)) {
		gq_stats_free(st);
		return gq_fail_nomem(err);
	}
	for (size_t k = 0; k < layer->k; k++)
		st->groups[layer->g_of_k[k]].n_rows++;
	*out = st;
	return GPTQ_OK;
}

void gq_stats_free(struct gq_stats *st)
{
	if (!st)
		return;
	gq_free(st->groups);
	gq_free(st->row_bad);
	gq_free(st->lanes);
	gq_free(st->keep);
	gq_free(st->cells);
	gq_free(st->sums);
	gq_free(st->columns);
	gq_free(st->codes);
	gq_free(st->z[0]);
	gq_free(st->z[1]);
	gq_free(st);
}

/* Marks the lanes below the lowest M of their word. Returns how many there are. */
static size_t mark_kept(const uint8_t *lanes, size_t n_cols, struct gq_pack pack, uint8_t max, uint8_t *keep)
{
	size_t n_kept = 0;

	memset(keep, 0, n_cols);
	for (size_t w = 0, first = 0; first < n_cols; w++, first = gq_word_first_lane(pack, w)) {
		size_t end = gq_word_first_lane(pack, w + 1);

		for (size_t n = first; n < end && n < n_cols && lanes[n] != max; n++) {
			keep[n] = 0xff;
			n_kept++;
		}
	}
	return n_kept;
}

void gq_stats_tile_begin(struct gq_stats *st, size_t n0, size_t n_cols)
{
	const struct gq_qzeros *qz = &st->layer.qzeros;
	size_t n_cells;

	st->n0 = n0;
	st->n_cols = n_cols;
	st->n_cells = cells_for(n_cols);
	st->styles_part = false;
	n_cells = qz->rows * st->n_cells;
	memset(st->cells, 0, n_cells * sizeof(*st->cells));
	memset(st->sums, 0, n_cells * sizeof(*st->sums));
	memset(st->columns, 0, st->n_cells * GQ_CELL_COLUMNS * sizeof(*st->columns));
	memset(st->keep, 0, n_cells * GQ_CELL_COLUMNS);
	for (size_t g = 0; g < qz->rows; g++) {
		const unsigned char *line = (const unsigned char *)qz->words + g * qz->row_bytes;
		uint8_t *lanes = st->lanes + g * st->n_cells * GQ_CELL_COLUMNS;
		uint8_t *keep = st->keep + g * st->n_cells * GQ_CELL_COLUMNS;
		size_t n_kept;

		qz->layout->unpack_line(line + n0 / 8 * qz->pack.bits, qz->pack, n_cols, lanes);
		n_kept = mark_kept(lanes, n_cols, qz->pack, (uint8_t)st->max, keep);
		st->groups[g].n_kept += n_kept;
		st->groups[g].pending = 0;
		st->styles_part = st->styles_part || (n_kept < n_cols && qz->pack.bits != 3);
	}
}

static void flush_group(struct gq_stats *st, size_t g)
{
	struct gq_stats_group *group = &st->groups[g];
	size_t cell = g * st->n_cells, column = cell * GQ_CELL_COLUMNS;
	struct gq_cell_hits hits = {{0}, {0}};

	if (group->pending == 0)
		return;
	gq_cells_flush(st->cells + cell, st->sums + cell, st->n_cells, st->lanes + column, st->keep + column,
		       group->pending, st->layer.qzeros.pack.bits, &hits);
	group->pending = 0;
	group->hits[0] += hits.kept[0];
	group->hits[1] += hits.kept[1];
	for (unsigned d = 0; d < 4; d++)
		st->out.spike[d] += hits.spike[d];
}

/* The number of rows from k on, of n_rows, that belong to one group. */
static unsigned run_length(const int32_t *g_of_k, unsigned n_rows)
{
	unsigned n = 1;

	while (n < n_rows && g_of_k[n] == g_of_k[0])
		n++;
	return n;
}

/* Adds one strip of columns of one block of rows. */
static void add_strip(struct gq_stats *st, const int32_t *g_of_k, unsigned n_rows, size_t cell0, size_t n_cells,
		      gq_row_flags *bad)
{
	for (unsigned r = 0, n; r < n_rows; r += n) {
		size_t cell = (size_t)g_of_k[r] * st->n_cells + cell0, column = cell * GQ_CELL_COLUMNS;

		n = run_length(g_of_k + r, n_rows - r);
		st->cells_add(st->cells + cell, n_cells, st->lanes + column, st->keep + column,
			      st->codes + r * GQ_STATS_STRIP, GQ_STATS_STRIP, n, st->layer.qzeros.pack.bits,
			      bad ? bad + r : NULL);
	}
}

/* Cells hold at most GQ_CELL_ROWS rows: makes room for the rows of a block, and books them. */
static void reserve(struct gq_stats *st, const int32_t *g_of_k, unsigned n_rows)
{
	for (unsigned r = 0; r < n_rows; r++) {
		size_t g = (size_t)g_of_k[r];

		/* A block has at most 32 rows; flushing before the first of them is enough. */
		if (st->groups[g].pending + n_rows - r > GQ_CELL_ROWS)
			flush_group(st, g);
	}
	for (unsigned r = 0; r < n_rows; r++)
		st->groups[g_of_k[r]].pending++;
}

static bool any(const uint8_t flags[GQ_CELL_COLUMNS])
{
	uint64_t x[GQ_CELL_COLUMNS / 8], all = 0;

	memcpy(x, flags, sizeof(x));
	for (unsigned i = 0; i < GQ_CELL_COLUMNS / 8; i++)
		all |= x[i];
	return all != 0;
}

/* Books what was found of rows k0.. on. Returns whether there is more to be found. */
static bool book_rows(struct gq_stats *st, size_t k0, unsigned n_rows, gq_row_flags *bad)
{
	bool open = false;

	for (unsigned r = 0; r < n_rows; r++) {
		st->row_bad[k0 + r] |= (uint8_t)(any(bad[r][0]) | any(bad[r][1]) << 1);
		open = open || st->row_bad[k0 + r] != 3;
	}
	return open;
}

static void add_block(struct gq_stats *st, size_t k0, unsigned n_rows, struct gq_word_rows rows)
{
	const struct gq_qzeros *qz = &st->layer.qzeros;
	const int32_t *g_of_k = st->layer.g_of_k + k0;
	gq_row_flags bad[32];
	bool open;

	memset(bad, 0, n_rows * sizeof(bad[0]));
	open = book_rows(st, k0, n_rows, bad);
	reserve(st, g_of_k, n_rows);
	for (size_t n = 0; n < st->n_cols; n += GQ_STATS_STRIP) {
		size_t n_cols = st->n_cols - n < GQ_STATS_STRIP ? st->n_cols - n : GQ_STATS_STRIP;

		st->unpack(rows, qz->pack, n, n_cols, n_rows, st->codes, GQ_STATS_STRIP);
		add_strip(st, g_of_k, n_rows, n / GQ_CELL_COLUMNS, cells_for(n_cols), open ? bad : NULL);
		/* Few rows sit on z: of most all is known after the first strip. */
		open = open && book_rows(st, k0, n_rows, bad);
	}
}

void gq_stats_rows(struct gq_stats *st, size_t k0, size_t n_rows, struct gq_word_rows rows)
{
	const struct gq_qzeros *qz = &st->layer.qzeros;
	unsigned block = qz->layout->block_codes(qz->pack), block_words = qz->layout->block_words(qz->pack);

	for (size_t k = 0; k < n_rows; k += block) {
		add_block(st, k0 + k, n_rows - k < block ? (unsigned)(n_rows - k) : block, rows);
		rows.words = (const unsigned char *)rows.words + block_words * rows.row_bytes;
	}
	st->out.n_codes += (uint64_t)n_rows * st->n_cols;
}

void gq_stats_tile_end(struct gq_stats *st)
{
	for (size_t g = 0; g < st->layer.qzeros.rows; g++)
		flush_group(st, g);
	gq_stats_evaluate_tile(st);
}

/*
 * Rows that sit on the lane by chance: at most the product of each column's own frequency, which is at most the
 * power of their mean. Columns of a row are not quite independent, so half of the power is taken.
 */
static double chance(const struct gq_stats_group *group, unsigned side)
{
	double n = (double)group->n_rows * (double)group->n_kept;

	return n > 0 ? (double)group->n_rows * pow((double)group->hits[side] / n, (double)group->n_kept / 2) : 0;
}

void gq_stats_finish(struct gq_stats *st, struct gq_code_stats *out)
{
	const struct gq_stats_layer *layer = &st->layer;
	struct gq_code_stats *s = &st->out;
	struct gq_moments plain = s->scatter[GQ_DECODE_PLAIN];

	for (size_t k = 0; k < layer->k; k++) {
		if (st->groups[layer->g_of_k[k]].n_kept < 16)
			continue;
		s->rows_v2 += !(st->row_bad[k] & 1);
		s->rows_v1 += !(st->row_bad[k] & 2);
	}
	for (size_t g = 0; g < layer->qzeros.rows; g++) {
		if (st->groups[g].n_kept < 16)
			continue;
		s->rows_chance_v2 += chance(&st->groups[g], 0);
		s->rows_chance_v1 += chance(&st->groups[g], 1);
	}
	/* So far the other readings hold only lanes that are not kept. */
	for (unsigned d = GQ_DECODE_V2; d <= GQ_DECODE_WORD; d++) {
		double shift = d == GQ_DECODE_V2 ? 0 : 1;

		s->scatter[d].n += plain.n;
		s->scatter[d].sum += plain.sum - shift * plain.n;
		s->scatter[d].sumsq += plain.sumsq - 2 * shift * plain.sum + shift * plain.n;
	}
	*out = *s;
}

enum gptq_status gq_stats_of(const struct gq_stats_layer *layer, struct gq_word_rows qweight, struct gq_code_stats *out,
			     struct gptq_error *err)
{
	size_t n = layer->qzeros.n, width = n < 2048 ? n : 2048;
	struct gq_stats *st;
	enum gptq_status status = gq_stats_new(layer, width, &st, err);

	if (status != GPTQ_OK)
		return status;
	for (size_t n0 = 0; n0 < n; n0 += width) {
		struct gq_word_rows tile = qweight;

		tile.words = (const unsigned char *)qweight.words + n0 * (layer->qzeros.pack.word_bits / 8);
		gq_stats_tile_begin(st, n0, n - n0 < width ? n - n0 : width);
		gq_stats_rows(st, 0, layer->k, tile);
		gq_stats_tile_end(st);
	}
	gq_stats_finish(st, out);
	gq_stats_free(st);
	return GPTQ_OK;
}
