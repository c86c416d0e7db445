/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stored zero points mean: lanes of qzeros <-> logical zero points under v2 or a v1 style. The functions on
 * rows of lanes are the plain specification; gptq_zeros_shift() (gptq.h) does the same on packed words, faster.
 *
 * A row here is all lanes of one packed row, padding included, one byte each: borrows and smears run through whole
 * words. n_real is the number of columns, N; lanes from n_real on are padding, shifted but never counted.
 */
#ifndef GQ_QUANT_ZEROS_H
#define GQ_QUANT_ZEROS_H

#include "gptq/gptq.h"
#include "quant/layout.h"

/* Can bits and word size hold zero points at all? */
bool gq_pack_ok(struct gq_pack pack);

/* Whole lanes of a packed row of row_bytes bytes. */
size_t gq_row_lanes(struct gq_pack pack, size_t row_bytes);

/*
 * The style in which a layer of that width is stored when the model's is `style`: word is lane at 3 bits,
 * gptqmodel-3bit is word at others; the rest are the same everywhere.
 */
enum gptq_v1_style gq_style_for_width(enum gptq_v1_style style, unsigned bits);

/* How lanes are read at this width: LANE, WORD or GPTQMODEL_3BIT. What is lost or needs no telling is read as LANE. */
enum gptq_v1_style gq_style_at(struct gq_pack pack, enum gptq_v1_style style);

/* Lanes to zero points and back. SMEARED and CLEAN decode as LANE; encoding them does the same. */
void gq_zeros_decode(const uint8_t *lanes, size_t n_lanes, struct gq_pack pack, enum gptq_zeros_format format,
		     enum gptq_v1_style style, uint8_t *z);
void gq_zeros_encode(const uint8_t *z, size_t n_lanes, struct gq_pack pack, enum gptq_zeros_format format,
		     enum gptq_v1_style style, uint8_t *lanes);

/* Rows of zero points that were stored in one way and are now stored in another. */
struct gq_rewrite {
	struct gq_pack pack;
	size_t row_bytes;
	size_t n; /* real columns */
	enum gptq_zeros_format from, to;
	enum gptq_v1_style style; /* of whichever is v1 */
};

/*
 * Decodes both with the plain loops: the first of n_rows rows that is not the same, or n_rows. scratch has room for
 * three rows of gq_row_lanes() each; afterwards the last two are the zero points of that row, before and after.
 */
size_t gq_zeros_first_change(const struct gq_rewrite *rewrite, const void *before, const void *after, size_t n_rows,
			     uint8_t *scratch);

/* The bits of lane i, as a mask on its value, that lie in the word where it begins. */
unsigned gq_lane_mask(struct gq_pack pack, size_t i);

/* A packed qzeros tensor of one layer, in memory. */
struct gq_qzeros {
	const void *words;
	size_t rows;      /* groups */
	size_t row_bytes; /* a multiple of word_bits / 8, at least ceil(n * bits / word_bits) words */
	size_t n;         /* real columns */
	struct gq_pack pack;
	const struct gq_layout *layout;
};

/* Logical zero points of a layer under one reading. */
struct gq_zero_figures {
	uint64_t n_zeros;   /* rows * n */
	uint64_t n_equal_0; /* z = 0 */
	uint64_t n_off_mid; /* z != 2^(bits-1): 0 in a symmetric layer */
	uint8_t z_min, z_max;
	uint64_t hist[256]; /* how often each z occurs */
};

/* GPTQ_E_NOMEM is the only failure (a row of lanes is held). */
enum gptq_status gq_zeros_figures(const struct gq_qzeros *qz, enum gptq_zeros_format format, enum gptq_v1_style style,
				  struct gq_zero_figures *out, struct gptq_error *err);

/* Real lanes that two v1 styles decode differently; the first of them in row-major order, if there is one. */
struct gq_style_difference {
	uint64_t n_lanes;
	size_t group, column;   /* of the first */
	uint8_t z_a, z_b, lane; /* what both make of it */
};

enum gptq_status gq_zeros_compare_styles(const struct gq_qzeros *qz, enum gptq_v1_style a, enum gptq_v1_style b,
					 struct gq_style_difference *out, struct gptq_error *err);

/* What lanes alone show before any reading is chosen. */
enum gq_sentinel {
	GQ_SENTINEL_NONE = 0,
	GQ_SENTINEL_V1,     /* every lane is 2^(b-1) - 1 */
	GQ_SENTINEL_V2,     /* every lane is 2^(b-1) */
	GQ_SENTINEL_LEGACY, /* 3 bits: every triple of words is 00000000 b6db6db7 49249249 */
	GQ_SENTINEL_HALVES, /* 64-bit words: lower half as V1, upper half as V2 */
};

/*
 * "Above" means towards the high bits of the same pack word; only real lanes count. A lane that
 * straddles two words belongs to the one where it begins; of such a lane "is M" only asks for the bits in that word
 * where it says so. Small: there is one for each layer.
 */
struct gq_zero_stats {
	uint64_t n_lanes;
	uint64_t n_max;                      /* lanes that are M */
	uint64_t n_kept;                     /* lanes below the lowest M of their word */
	uint64_t n_kept_zero;                /* of these, lanes that are 0: z = 1 in v1 */
	uint64_t n_first;                    /* lanes that are the lowest M of their word */
	uint64_t n_telling;                  /* lanes above a lowest M: what the styles are about */
	uint64_t n_differ;                   /* lanes that LANE and WORD decode differently */
	uint64_t tall_words;                 /* words with two lanes or more above their lowest M ... */
	uint64_t tall_words_full;            /* ... all of which are M as far as they lie in the word */
	uint64_t n_open;                     /* words with lanes above their lowest M, not all of which are M */
	uint64_t damaged_words;              /* words with lanes above their lowest M, all of which are M */
	uint64_t unknown_zeros;              /* those lanes */
	uint64_t n_zero, n_mid, n_below_mid; /* lanes that are 0, 2^(bits-1), 2^(bits-1) - 1 */
	uint8_t lane_min, lane_max;
	uint8_t lane_high; /* the highest lane below M; 0 if there is none */
	enum gq_sentinel sentinel;
};

/* One pass over qzeros. GPTQ_E_NOMEM is the only failure. */
enum gptq_status gq_zero_stats_of(const struct gq_qzeros *qz, struct gq_zero_stats *out, struct gptq_error *err);

/*
 * The figures of a layer, but for the histogram, which stays as it is, from its statistics. false where they do not say
 * it, since a lane's zero point hangs on its neighbours: gq_zeros_figures() must look.
 */
bool gq_zeros_tell(const struct gq_zero_stats *stats, struct gq_pack pack, enum gptq_zeros_format format,
		   enum gptq_v1_style style, struct gq_zero_figures *out);

#endif
