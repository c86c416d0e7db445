/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How codes lie in words. A layout is one table of functions; what a stored zero point means is none of its
 * business (zeros.h). Layouts know lines and blocks:
 *
 *   line   the words of one packed row of qzeros: lanes 0, 1, 2, ... along N
 *   block  the fewest word rows of qweight that hold whole codes: block_words word rows give block_codes rows of
 *          codes (4 bits in 32-bit words: 1 and 8; 3 bits: 3 and 32). Block i begins at word row i * block_words.
 *
 * In every layout 32 lanes of a line fill 4 * bits bytes, so that a line can be unpacked from any multiple of 32 on.
 * Pointers need no alignment. Sizes are the caller's to check: nothing here can fail.
 */
#ifndef GQ_QUANT_LAYOUT_H
#define GQ_QUANT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The width of a code and of the word that codes are packed in. */
struct gq_pack {
	unsigned bits;      /* 2, 3, 4, 8 */
	unsigned word_bits; /* 8, 16, 32, 64 */
};

/* Word rows of qweight, as far as the caller has them in memory. */
struct gq_word_rows {
	const void *words; /* column 0 of the first word row of a block */
	size_t row_bytes;  /* from one word row to the next */
};

/*
 * Code rows 0..n_codes-1 (n_codes <= block_codes) of one block, columns n0..n0+n_cols-1: row j goes to
 * codes[j * stride ...]. Reads only the word rows that these codes touch.
 */
typedef void gq_unpack_block_fn(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols,
				unsigned n_codes, uint8_t *codes, size_t stride);

struct gq_layout {
	const char *name;

	bool (*supports)(struct gq_pack pack);
	unsigned (*block_words)(struct gq_pack pack);
	unsigned (*block_codes)(struct gq_pack pack);

	/* One value at a time: the specification that the others are tested against. */
	unsigned (*get_lane)(const void *line, struct gq_pack pack, size_t lane);
	void (*put_lane)(void *line, struct gq_pack pack, size_t lane, unsigned value);
	/* The code of row k (counted from the first row of rows.words) and column n. */
	unsigned (*get_code)(struct gq_word_rows rows, struct gq_pack pack, size_t k, size_t n);

	/* Lanes 0..n_lanes-1 of a line, one byte each. */
	void (*unpack_line)(const void *line, struct gq_pack pack, size_t n_lanes, uint8_t *lanes);
	/* The way back; bits behind the last lane, up to the end of its word, become 0. */
	void (*pack_line)(const uint8_t *lanes, struct gq_pack pack, size_t n_lanes, void *line);
	gq_unpack_block_fn *unpack_block;
};

/*
 * The contiguous bit stream of "gptq" and "gptq_v2": lane i of a line is bits [b*i, b*i + b) of the little-endian
 * words, low bits first.
 */
extern const struct gq_layout gq_layout_stream;

/* Lanes that begin in one word, which at 3 bits is 11, 11, 10, ...; the first lane of word w. */
static inline size_t gq_word_first_lane(struct gq_pack pack, size_t word)
{
	return (word * pack.word_bits + pack.bits - 1) / pack.bits;
}

#endif
