/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the codes of a layer say about its zero points: sums that verdict.h draws conclusions from. One pass over
 * qweight, in column tiles so that memory stays bounded:
 *
 *   gq_stats_new
 *   for each tile of columns:            gq_stats_tile_begin
 *       for each run of blocks, k rising:    gq_stats_rows
 *                                        gq_stats_tile_end
 *   gq_stats_finish, gq_stats_free
 *
 * A layer whose zero statistics show a sentinel (zeros.h) needs none of this.
 */
#ifndef GQ_QUANT_STATS_H
#define GQ_QUANT_STATS_H

#include "quant/cells.h"
#include "quant/zeros.h"

/* Tiles begin at multiples of this many columns, so that they begin with a pack word (at 3 bits: three words). */
#define GQ_STATS_ALIGN 32

/* Sums for a mean and a variance. */
struct gq_moments {
	double n, sum, sumsq;
};

/* Sums for a weighted mean whose error is taken over columns, since groups of a column are alike. */
struct gq_clusters {
	double w, wx;                  /* weights; weight times value */
	double sum_xx, sum_xw, sum_ww; /* over columns, of X^2, X W and W^2, X and W being the column's own sums */
	double n_columns;
};

/* Sums for a correlation. */
struct gq_pairs {
	double n, x, y, xx, yy, xy;
};

enum gq_decode {
	GQ_DECODE_PLAIN = 0, /* the lane itself, kept lanes only: v1 and v2 alike but for a constant */
	GQ_DECODE_V2,        /* all lanes, from here on */
	GQ_DECODE_LANE,
	GQ_DECODE_WORD,
	GQ_DECODE_LEGACY, /* gptqmodel-3bit; 3 bits only */
	GQ_N_DECODES,
};

/*
 * Below, m is the mean code of a (group, column), L its stored lane, M = 2^bits - 1; "kept" are lanes below the
 * lowest M of their word, "first" those that are it. Groups without rows count nowhere.
 */
struct gq_code_stats {
	uint64_t n_codes;
	struct gq_moments scatter[GQ_N_DECODES]; /* m - z under each reading */
	uint64_t rows_v2, rows_v1; /* rows of K whose codes are L (L + 1) in every kept column, 16 at least */
	double rows_chance_v2, rows_chance_v1; /* ... chance gives, estimated high */
	uint64_t groups_v2, groups_v1;    /* groups of 16 rows or more of the one code L (L + 1), neither 0 nor M */
	uint64_t n_first;                 /* first lanes ... */
	uint64_t first_heaps;             /* ... whose codes heap up at one end ... */
	double first_to_max;              /* ... sum of (M - m)^2 ... */
	double first_to_zero;             /* ... and of m^2 */
	uint64_t spike[4];                /* codes with q - L = -1, 0, 1, 2 where no end clips */
	struct gq_clusters shift_a;       /* m - L over kept lanes 1..M-2 */
	struct gq_clusters shift_b;       /* m - L - 1 over kept lanes up to M-2 */
	struct gq_clusters half[2];       /* m - L over kept lanes 1..M-2 in the lower and upper half of 64-bit words */
	struct gq_moments in_group;       /* n and sum: variances of codes inside their (group, column) */
	uint64_t n_lanes, n_kept, n_ends; /* lanes with rows; how many are kept; how many are 0 or M */
	struct gq_pairs match;            /* m and L, kept lanes */
	struct gq_pairs match_legacy;     /* m and z by gptqmodel-3bit */
	uint64_t above_word;              /* lanes right above an M that are M-1 while 16 codes or more heap up at 0 */
	uint64_t above_lane;              /* the same, M */
	uint64_t above_bell;              /* either, while codes are low but do not heap up at 0: no evidence */
	struct gq_clusters borrow;        /* m - z_lane where LANE and WORD part, less the column's other groups */
	double borrow_units;              /* variance of the sum borrow.wx, in units of borrow_base's variance */
	struct gq_moments borrow_base;    /* n, sumsq: those other groups about their column's mean */
	uint64_t n_smear;                 /* lanes in question in words that look smeared ... */
	uint64_t smear_heaps;             /* ... of these, those whose codes heap up at 0: z is 0 indeed ... */
	double smear_sum;                 /* ... and the sum of m / M over the others */
};

/* One layer as it lies in memory or in a file; everything is borrowed until gq_stats_free(). */
struct gq_stats_layer {
	struct gq_qzeros qzeros; /* the whole tensor; its pack and layout hold for qweight, too */
	size_t k;                /* rows of codes */
	const int32_t *g_of_k;   /* k group numbers, each in [0, qzeros.rows) */
	/* What this processor is fast at; NULL: as everywhere. The layout's unpack_block, by other means. */
	gq_unpack_block_fn *unpack_block;
	gq_cells_add_fn *cells_add;
};

struct gq_stats;

/* max_columns: the widest tile that will come. GPTQ_E_NOMEM or GPTQ_E_UNSUPPORTED. */
enum gptq_status gq_stats_new(const struct gq_stats_layer *layer, size_t max_columns, struct gq_stats **out,
			      struct gptq_error *err);

/* Bytes that gq_stats_new() takes for a tile of so many columns, for callers with a budget. */
uint64_t gq_stats_footprint(const struct gq_stats_layer *layer, size_t max_columns);

/* Starts columns n0..n0+n_cols-1; n0 is a multiple of GQ_STATS_ALIGN. Tiles must not overlap. */
void gq_stats_tile_begin(struct gq_stats *st, size_t n0, size_t n_cols);

/*
 * Code rows k0..k0+n_rows-1 of the tile; k0 is a multiple of the layout's block_codes. rows.words is the first word
 * row of k0, at the tile's first column.
 */
void gq_stats_rows(struct gq_stats *st, size_t k0, size_t n_rows, struct gq_word_rows rows);

void gq_stats_tile_end(struct gq_stats *st);

void gq_stats_finish(struct gq_stats *st, struct gq_code_stats *out);
void gq_stats_free(struct gq_stats *st);

/* All of the above for a layer that is in memory. qweight has rows of row_bytes bytes. */
enum gptq_status gq_stats_of(const struct gq_stats_layer *layer, struct gq_word_rows qweight, struct gq_code_stats *out,
			     struct gptq_error *err);

#endif
