/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gq_cells_add in vectors of GQ_VECTOR bytes, 16 or 32, in functions with the attribute GQ_CELLS_TARGET: included by
 * whoever defines the two. The vector types are those that gcc and clang share, so that speed does not hang on whether
 * an optimiser sees through a loop. A vector of bytes is read as 16-bit numbers to keep even and odd columns apart:
 *
 *   bytes     c0 c1 c2 c3 ... c15
 *   & 00ff    c0    c2    ...         even columns (little-endian; the other way round on big-endian machines)
 *   >> 8         c1    c3 ... c15     odd columns
 */
#include "quant/cells.h"

#include <string.h>

typedef uint8_t cell_bytes __attribute__((vector_size(GQ_VECTOR)));
typedef uint16_t cell_shorts __attribute__((vector_size(GQ_VECTOR)));
typedef uint32_t cell_longs __attribute__((vector_size(GQ_VECTOR)));

/*
 * GQ_VECTOR columns of a cell, from column `at` on, and all rows: the counts stay in registers. `spikes`, `wide` and
 * `flags` are constants where this is called.
 */
GQ_CELLS_TARGET static inline __attribute__((always_inline)) void
add_columns(struct gq_cell *cell, unsigned at, const uint8_t *lane, const uint8_t *kept, const uint8_t *codes,
	    size_t stride, unsigned n_rows, bool spikes, bool wide, gq_row_flags *bad, bool flags)
{
	cell_bytes hits[4], lanes, keep;
	cell_shorts sum[2], narrow[2];
	cell_longs squares[4];

	memcpy(&lanes, lane + at, sizeof(lanes));
	memcpy(&keep, kept + at, sizeof(keep));
	for (unsigned i = 0; i < 4; i++) {
		memcpy(&hits[i], cell->hits[i] + at, sizeof(hits[i]));
		memcpy(&squares[i], cell->squares[i] + at / 4, sizeof(squares[i]));
	}
	for (unsigned i = 0; i < 2; i++) {
		memcpy(&sum[i], cell->sum[i] + at / 2, sizeof(sum[i]));
		memcpy(&narrow[i], cell->narrow[i] + at / 2, sizeof(narrow[i]));
	}
	for (unsigned r = 0; r < n_rows; r++, codes += stride) {
		cell_bytes q, d, not0, not1;
		cell_shorts even, odd;

		memcpy(&q, codes + at, sizeof(q));
		d = q - lanes;
		even = (cell_shorts)q & 0xff;
		odd = (cell_shorts)q >> 8;
		if (spikes) {
			hits[0] -= (cell_bytes)(d == 255);
			hits[3] -= (cell_bytes)(d == 2);
		}
		not0 = (cell_bytes)(d == 0);
		not1 = (cell_bytes)(d == 1);
		hits[1] -= not0;
		hits[2] -= not1;
		if (flags) {
			cell_bytes was0, was1;

			memcpy(&was0, bad[r][0], sizeof(was0));
			memcpy(&was1, bad[r][1], sizeof(was1));
			was0 |= ~not0 & keep;
			was1 |= ~not1 & keep;
			memcpy(bad[r][0], &was0, sizeof(was0));
			memcpy(bad[r][1], &was1, sizeof(was1));
		}
		sum[0] += even;
		sum[1] += odd;
		even *= even;
		odd *= odd;
		if (wide) {
			squares[0] += (cell_longs)even & 0xffff;
			squares[1] += (cell_longs)even >> 16;
			squares[2] += (cell_longs)odd & 0xffff;
			squares[3] += (cell_longs)odd >> 16;
		} else {
			narrow[0] += even;
			narrow[1] += odd;
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		memcpy(cell->hits[i] + at, &hits[i], sizeof(hits[i]));
		if (wide)
			memcpy(cell->squares[i] + at / 4, &squares[i], sizeof(squares[i]));
	}
	for (unsigned i = 0; i < 2; i++) {
		memcpy(cell->sum[i] + at / 2, &sum[i], sizeof(sum[i]));
		if (!wide)
			memcpy(cell->narrow[i] + at / 2, &narrow[i], sizeof(narrow[i]));
	}
}

GQ_CELLS_TARGET static inline __attribute__((always_inline)) void
add_cells(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep, const uint8_t *codes,
	  size_t stride, unsigned n_rows, unsigned bits, gq_row_flags *bad, bool flags)
{
	for (size_t c = 0; c < n_cells;
	     c++, lanes += GQ_CELL_COLUMNS, keep += GQ_CELL_COLUMNS, codes += GQ_CELL_COLUMNS)
		for (unsigned at = 0; at < GQ_CELL_COLUMNS; at += GQ_VECTOR) {
			if (bits == 8)
				add_columns(&cells[c], at, lanes, keep, codes, stride, n_rows, true, true, bad, flags);
			else if (bits == 4)
				add_columns(&cells[c], at, lanes, keep, codes, stride, n_rows, true, false, bad, flags);
			else
				add_columns(&cells[c], at, lanes, keep, codes, stride, n_rows, false, false, bad,
					    flags);
		}
}

GQ_CELLS_TARGET static void cells_add(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep,
				      const uint8_t *codes, size_t stride, unsigned n_rows, unsigned bits,
				      gq_row_flags *bad)
{
	if (bad)
		add_cells(cells, n_cells, lanes, keep, codes, stride, n_rows, bits, bad, true);
	else
		add_cells(cells, n_cells, lanes, keep, codes, stride, n_rows, bits, NULL, false);
}
