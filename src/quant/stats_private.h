/* SPDX-License-Identifier: Apache-2.0 */
/* What stats.c (reading) and stats_tile.c (evaluation) share. */
#ifndef GQ_QUANT_STATS_PRIVATE_H
#define GQ_QUANT_STATS_PRIVATE_H

#include "quant/stats.h"

/* One group, over all tiles. */
struct gq_stats_group {
	uint64_t n_rows;
	uint64_t n_kept;  /* kept columns */
	uint64_t hits[2]; /* codes of kept columns that are L, L + 1 */
	unsigned pending; /* rows in this tile's cells */
};

/* One column of the tile, over all groups. */
struct gq_stats_column {
	double a_w, a_wx, b_w, b_wx;         /* the shifts' weights and sums */
	double base_n, base_sum, base_sumsq; /* m - z_lane where LANE and WORD agree */
	double borrow_n, borrow_sum;         /* m - z_lane where they part */
};

struct gq_stats {
	struct gq_stats_layer layer;
	struct gq_code_stats out;
	unsigned max;               /* 2^bits - 1 */
	size_t max_cells;           /* cells in the widest tile */
	size_t n0, n_cols, n_cells; /* the tile */
	bool styles_part;           /* LANE and WORD decode some lane of the tile differently */
	struct gq_stats_group *groups;
	uint8_t *row_bad; /* for each k: bit 0 a kept code was not L, bit 1 not L + 1 */
	/* For each group and column of the tile, GQ_CELL_COLUMNS to a cell: */
	uint8_t *lanes, *keep;
	struct gq_cell *cells;
	struct gq_cell_sums *sums;
	struct gq_stats_column *columns;
	uint8_t *codes; /* a block of codes, GQ_STATS_STRIP columns wide */
	uint8_t *z[2];  /* a row of zero points, twice */
	gq_unpack_block_fn *unpack;
	gq_cells_add_fn *cells_add;
};

/* Columns that are unpacked at a time, so that codes and cells stay in the first-level cache. */
#define GQ_STATS_STRIP 512

/* Adds the finished tile to the layer's figures. */
void gq_stats_evaluate_tile(struct gq_stats *st);

#endif
