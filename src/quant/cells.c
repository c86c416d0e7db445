/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen codes at a time in the vector types that gcc and clang share, so that speed does not hang on whether an
 * optimiser sees through a loop. A vector of bytes is read as 16-bit numbers to keep even and odd columns apart:
 *
 *   bytes     c0 c1 c2 c3 ... c15
 *   & 00ff    c0    c2    ...         even columns (little-endian; the other way round on big-endian machines)
 *   >> 8         c1    c3 ... c15     odd columns
 */
#include "quant/cells.h"

#include <string.h>

typedef uint8_t bytes __attribute__((vector_size(16)));
typedef uint16_t shorts __attribute__((vector_size(16)));
typedef uint32_t longs __attribute__((vector_size(16)));

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EVEN 0
#else
#define EVEN 1
#endif

static inline bytes load(const uint8_t *p)
{
	bytes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* One cell and all rows: the counts stay in registers. `spikes` and `wide` are constants where this is called. */
static inline __attribute__((always_inline)) void add_cell(struct gq_cell *cell, bytes lanes, bytes keep,
							   const uint8_t *codes, size_t stride, unsigned n_rows,
							   bool spikes, bool wide, gq_row_flags *bad)
{
	bytes hits[4];
	shorts sum[2], narrow[2];
	longs squares[4];

	memcpy(hits, cell->hits, sizeof(hits));
	memcpy(sum, cell->sum, sizeof(sum));
	memcpy(narrow, cell->squares, sizeof(narrow));
	memcpy(squares, cell->squares, sizeof(squares));
	for (unsigned r = 0; r < n_rows; r++, codes += stride) {
		bytes q = load(codes), d = q - lanes, not0, not1;
		shorts even = (shorts)q & 0xff, odd = (shorts)q >> 8;

		if (spikes) {
			hits[0] -= (bytes)(d == 255);
			hits[3] -= (bytes)(d == 2);
		}
		not0 = (bytes)(d == 0);
		not1 = (bytes)(d == 1);
		hits[1] -= not0;
		hits[2] -= not1;
		not0 = load(bad[r][0]) | (~not0 & keep);
		not1 = load(bad[r][1]) | (~not1 & keep);
		memcpy(bad[r][0], &not0, sizeof(not0));
		memcpy(bad[r][1], &not1, sizeof(not1));
		sum[0] += even;
		sum[1] += odd;
		even *= even;
		odd *= odd;
		if (wide) {
			squares[0] += (longs)even & 0xffff;
			squares[1] += (longs)even >> 16;
			squares[2] += (longs)odd & 0xffff;
			squares[3] += (longs)odd >> 16;
		} else {
			narrow[0] += even;
			narrow[1] += odd;
		}
	}
	memcpy(cell->hits, hits, sizeof(hits));
	memcpy(cell->sum, sum, sizeof(sum));
	if (wide)
		memcpy(cell->squares, squares, sizeof(squares));
	else
		memcpy(cell->squares, narrow, sizeof(narrow));
}

void gq_cells_add(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep,
		  const uint8_t *codes, size_t stride, unsigned n_rows, unsigned bits, gq_row_flags *bad)
{
	for (size_t c = 0; c < n_cells; c++) {
		bytes l = load(lanes + c * GQ_CELL_COLUMNS), k = load(keep + c * GQ_CELL_COLUMNS);
		const uint8_t *q = codes + c * GQ_CELL_COLUMNS;

		if (bits == 8)
			add_cell(&cells[c], l, k, q, stride, n_rows, true, true, bad);
		else if (bits == 4)
			add_cell(&cells[c], l, k, q, stride, n_rows, true, false, bad);
		else
			add_cell(&cells[c], l, k, q, stride, n_rows, false, false, bad);
	}
}

static void flush_sums(const struct gq_cell *cell, struct gq_cell_sums *sums, unsigned n_rows, unsigned bits)
{
	uint16_t narrow[2][8];

	memcpy(narrow, cell->squares, sizeof(narrow));
	for (unsigned i = 0; i < 16; i++) {
		unsigned odd = (i & 1) ^ EVEN;

		sums->sum[i] += cell->sum[odd][i / 2];
		if (bits == 8)
			sums->squares[i] += cell->squares[2 * odd + ((i >> 1 & 1) ^ EVEN)][i / 4];
		else
			sums->squares[i] += narrow[odd][i / 2];
		sums->other[0][i] |= cell->hits[1][i] != n_rows;
		sums->other[1][i] |= cell->hits[2][i] != n_rows;
	}
}

/* Adds up 16 bytes of at most 255. */
static uint64_t total(bytes v)
{
	shorts pairs = ((shorts)v & 0xff) + ((shorts)v >> 8);
	uint64_t sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += pairs[i];
	return sum;
}

void gq_cells_flush(struct gq_cell *cells, struct gq_cell_sums *sums, size_t n_cells, const uint8_t *lanes,
		    const uint8_t *keep, unsigned n_rows, unsigned bits, struct gq_cell_hits *hits)
{
	uint8_t last = (uint8_t)((1U << bits) - 4);

	for (size_t c = 0; c < n_cells; c++) {
		bytes l = load(lanes + c * GQ_CELL_COLUMNS), k = load(keep + c * GQ_CELL_COLUMNS);
		bytes far = k & (bytes)(l >= 2) & (bytes)(l <= last);

		flush_sums(&cells[c], &sums[c], n_rows, bits);
		hits->kept[0] += total(load(cells[c].hits[1]) & k);
		hits->kept[1] += total(load(cells[c].hits[2]) & k);
		for (unsigned d = 0; d < 4 && bits >= 4; d++)
			hits->spike[d] += total(load(cells[c].hits[d]) & far);
	}
	memset(cells, 0, n_cells * sizeof(*cells));
}
