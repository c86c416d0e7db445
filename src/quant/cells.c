/* SPDX-License-Identifier: Apache-2.0 */
#define GQ_VECTOR 16
#define GQ_CELLS_TARGET
#include "quant/cells_vector.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EVEN 0
#else
#define EVEN 1
#endif

void gq_cells_add(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep,
		  const uint8_t *codes, size_t stride, unsigned n_rows, unsigned bits, gq_row_flags *bad)
{
	cells_add(cells, n_cells, lanes, keep, codes, stride, n_rows, bits, bad);
}

static void flush_sums(const struct gq_cell *cell, struct gq_cell_sums *sums, unsigned n_rows, unsigned bits)
{
	for (unsigned i = 0; i < GQ_CELL_COLUMNS; i++) {
		unsigned odd = (i & 1) ^ EVEN;

		sums->sum[i] += cell->sum[odd][i / 2];
		if (bits == 8)
			sums->squares[i] += cell->squares[2 * odd + ((i >> 1 & 1) ^ EVEN)][i / 4];
		else
			sums->squares[i] += cell->narrow[odd][i / 2];
		sums->other[0][i] |= cell->hits[1][i] != n_rows;
		sums->other[1][i] |= cell->hits[2][i] != n_rows;
	}
}

/* Adds up the bytes of a cell where `in` is 0xff. */
static uint64_t total(const uint8_t *hits, const uint8_t *in)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < GQ_CELL_COLUMNS; i++)
		sum += hits[i] & in[i];
	return sum;
}

void gq_cells_flush(struct gq_cell *cells, struct gq_cell_sums *sums, size_t n_cells, const uint8_t *lanes,
		    const uint8_t *keep, unsigned n_rows, unsigned bits, struct gq_cell_hits *hits)
{
	uint8_t last = (uint8_t)((1U << bits) - 4), far[GQ_CELL_COLUMNS];

	for (size_t c = 0; c < n_cells; c++, lanes += GQ_CELL_COLUMNS, keep += GQ_CELL_COLUMNS) {
		for (unsigned i = 0; i < GQ_CELL_COLUMNS; i++)
			far[i] = lanes[i] >= 2 && lanes[i] <= last ? keep[i] : 0;
		flush_sums(&cells[c], &sums[c], n_rows, bits);
		hits->kept[0] += total(cells[c].hits[1], keep);
		hits->kept[1] += total(cells[c].hits[2], keep);
		for (unsigned d = 0; d < 4 && bits >= 4; d++)
			hits->spike[d] += total(cells[c].hits[d], far);
	}
	memset(cells, 0, n_cells * sizeof(*cells));
}
