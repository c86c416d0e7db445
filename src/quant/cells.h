/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counting loops behind stats.h. A cell holds the counts of 32 neighbouring columns inside one group, in
 * numbers so narrow that they must be flushed into sums after GQ_CELL_ROWS rows.
 */
#ifndef GQ_QUANT_CELLS_H
#define GQ_QUANT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GQ_CELL_COLUMNS 32
#define GQ_CELL_ROWS 255

/* Squares of codes: 255 of at most 15^2 fit 16 bits, those of 8-bit codes do not. Even and odd columns apart. */
struct gq_cell {
	uint8_t hits[4][GQ_CELL_COLUMNS]; /* codes with q - L = -1, 0, 1, 2 mod 256 */
	uint16_t sum[2][GQ_CELL_COLUMNS / 2];
	union {
		uint16_t narrow[2][GQ_CELL_COLUMNS / 2];  /* squares of up to 4 bits */
		uint32_t squares[4][GQ_CELL_COLUMNS / 4]; /* of 8 bits; every fourth column */
	};
};

/* What cells are flushed into. */
struct gq_cell_sums {
	uint64_t sum[GQ_CELL_COLUMNS];
	uint64_t squares[GQ_CELL_COLUMNS];
	uint8_t other[2][GQ_CELL_COLUMNS]; /* not 0 once a code was seen that is not L, not L + 1 */
};

/* Totals over the columns of one flush. */
struct gq_cell_hits {
	uint64_t spike[4]; /* hits where the lane is far enough from both ends */
	uint64_t kept[2];  /* q = L and q = L + 1 in kept columns */
};

/* Has row r a code that is not L (bad[r][0]), not L + 1 (bad[r][1]), in a kept column? One byte for each residue. */
typedef uint8_t gq_row_flags[2][GQ_CELL_COLUMNS];

/*
 * Adds n_rows rows of codes, all of one group, to n_cells cells. lanes and keep (0xff where kept, else 0) have 32
 * bytes a cell; row r of the codes is at codes + r * stride. bad: of those rows; NULL: nobody wants to know.
 */
typedef void gq_cells_add_fn(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep,
			     const uint8_t *codes, size_t stride, unsigned n_rows, unsigned bits, gq_row_flags *bad);

/* The one for any processor. */
void gq_cells_add(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep,
		  const uint8_t *codes, size_t stride, unsigned n_rows, unsigned bits, gq_row_flags *bad);

/* Empties cells that hold n_rows rows. lanes and keep as above. Adds to sums and hits. */
void gq_cells_flush(struct gq_cell *cells, struct gq_cell_sums *sums, size_t n_cells, const uint8_t *lanes,
		    const uint8_t *keep, unsigned n_rows, unsigned bits, struct gq_cell_hits *hits);

#endif
