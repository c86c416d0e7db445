/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shift of packed zero points from one format to the other, on whole words and in place.
 *
 * Adding 1 to each lane of a word without carries between lanes: with H the highest bit of each lane and 1 the
 * lowest, (x & ~H) + 1 cannot leave its lane, and the highest bit is then the exclusive or of what it was and what
 * came up. Subtracting: (x | H) - 1 cannot borrow, and the highest bit is that of x, turned over, and of the
 * difference, in exclusive or.
 */
#include "base/checked.h"
#include "base/error.h"
#include "quant/zeros.h"

static uint64_t lanes_add(uint64_t x, uint64_t high, uint64_t one)
{
	return ((x & ~high) + one) ^ (x & high);
}

static uint64_t lanes_sub(uint64_t x, uint64_t high, uint64_t one)
{
	return ((x | high) - one) ^ (~x & high);
}

/* 1 in the lowest bit of each lane. */
static uint64_t ones(unsigned bits)
{
	return UINT64_MAX / ((1U << bits) - 1);
}

/* Lanes of 2, 4 and 8 bits lie inside bytes, so neither word size nor byte order matters. */
static void shift_lanes(unsigned char *row, size_t n_bytes, unsigned bits, bool add)
{
	uint64_t one = ones(bits), high = one << (bits - 1), x;
	size_t i = 0;

	for (; i + sizeof(x) <= n_bytes; i += sizeof(x)) {
		memcpy(&x, row + i, sizeof(x));
		x = add ? lanes_add(x, high, one) : lanes_sub(x, high, one);
		memcpy(row + i, &x, sizeof(x));
	}
	for (; i < n_bytes; i++) {
		x = add ? lanes_add(row[i], high, one) : lanes_sub(row[i], high, one);
		row[i] = (unsigned char)x;
	}
}

/*
 * 3 bits: six bytes hold sixteen whole lanes, half a triple of words. What a row has left when it ends inside a triple,
 * four bytes or two, is done alone; the fraction of a lane at its end stays. Octal shows the lanes.
 *
 *   | A       | B  : B  |       C |
 *   | 16 lanes     |     16 lanes |
 */
static void shift_lanes_3(unsigned char *row, size_t n_bytes, bool add)
{
	const uint64_t one = 01111111111111111, high = one << 2, half = UINT64_C(0xffffffffffff);
	size_t i = 0;

	for (; i + 8 <= n_bytes; i += 6) {
		uint64_t x = gq_load_le(row + i, 8), y;

		y = add ? lanes_add(x, high, one) : lanes_sub(x, high, one);
		gq_store_le(row + i, (y & half) | (x & ~half), 8);
	}
	for (; i < n_bytes; i += 6) {
		unsigned n = n_bytes - i < 6 ? (unsigned)(n_bytes - i) : 6;
		uint64_t whole = (UINT64_C(1) << (n * 8 / 3 * 3)) - 1;
		uint64_t x = gq_load_le(row + i, n), y;

		y = add ? lanes_add(x, high, one) : lanes_sub(x, high, one);
		gq_store_le(row + i, (y & whole) | (x & ~whole), n);
	}
}

/* The word style: one addition, carries running up to the end of the word. */
#define DEFINE_SHIFT_WORDS(TYPE, NAME)                                                                                 \
	static void NAME(unsigned char *row, size_t n_words, TYPE addend)                                              \
	{                                                                                                              \
		for (size_t i = 0; i < n_words; i++) {                                                                 \
			TYPE w = (TYPE)gq_load_le(row + i * sizeof(w), sizeof(w));                                     \
                                                                                                                       \
			gq_store_le(row + i * sizeof(w), (TYPE)(w + addend), sizeof(w));                               \
		}                                                                                                      \
	}

DEFINE_SHIFT_WORDS(uint8_t, shift_words_8)
DEFINE_SHIFT_WORDS(uint16_t, shift_words_16)
DEFINE_SHIFT_WORDS(uint32_t, shift_words_32)
DEFINE_SHIFT_WORDS(uint64_t, shift_words_64)

static void shift_words(unsigned char *row, size_t n_bytes, struct gq_pack pack, bool add)
{
	uint64_t addend = add ? ones(pack.bits) : -ones(pack.bits);

	/* -1111 cut to a shorter word is the negative of the constant cut to that word. */
	switch (pack.word_bits) {
	case 8:
		shift_words_8(row, n_bytes, (uint8_t)addend);
		break;
	case 16:
		shift_words_16(row, n_bytes / 2, (uint16_t)addend);
		break;
	case 32:
		shift_words_32(row, n_bytes / 4, (uint32_t)addend);
		break;
	default:
		shift_words_64(row, n_bytes / 8, addend);
		break;
	}
}

/* The constants of step_legacy() in zeros.c, which says what they are. */
static void shift_legacy(unsigned char *row, size_t n_words, bool add)
{
	static const uint32_t constants[3] = {0x24924924, 0x92492492, 0x49249249};

	for (size_t i = 0; i < n_words; i++) {
		uint32_t w = (uint32_t)gq_load_le(row + 4 * i, 4), c = constants[i % 3];

		gq_store_le(row + 4 * i, add ? w + c : w - c, 4);
	}
}

static enum gptq_status check(size_t row_bytes, struct gq_pack pack, enum gptq_zeros_format from,
			      enum gptq_zeros_format to, enum gptq_v1_style style, struct gptq_error *err)
{
	if (!gq_pack_ok(pack))
		return gq_fail(err, GPTQ_E_UNSUPPORTED, "zero points of %u bits in words of %u bits are not supported",
			       pack.bits, pack.word_bits);
	if (row_bytes % (pack.word_bits / 8) != 0)
		return gq_fail(err, GPTQ_E_ARG, "rows of %zu bytes are no whole number of %u-bit words", row_bytes,
			       pack.word_bits);
	if ((from != GPTQ_ZEROS_V1 && from != GPTQ_ZEROS_V2) || (to != GPTQ_ZEROS_V1 && to != GPTQ_ZEROS_V2))
		return gq_fail(err, GPTQ_E_ARG, "zero points can only be shifted between v1 and v2");
	if (from == to)
		return GPTQ_OK;
	if (style <= GPTQ_STYLE_NONE || style > GPTQ_STYLE_CLEAN)
		return gq_fail(err, GPTQ_E_ARG, "how v1 stores a zero point of 0 must be known");
	if (to == GPTQ_ZEROS_V1 && style == GPTQ_STYLE_SMEARED)
		return gq_fail(err, GPTQ_E_ARG, "smeared v1 loses zero points and is never written");
	return GPTQ_OK;
}

enum gptq_status gptq_zeros_shift(void *qzeros, size_t rows, size_t row_bytes, unsigned bits, unsigned word_bits,
				  enum gptq_zeros_format from, enum gptq_zeros_format to, enum gptq_v1_style style,
				  struct gptq_error *err)
{
	struct gq_pack pack = {bits, word_bits};
	bool add = to == GPTQ_ZEROS_V2;
	enum gptq_status status = check(row_bytes, pack, from, to, style, err);

	if (status != GPTQ_OK || from == to)
		return status;
	style = gq_style_at(pack, style);
	for (size_t g = 0; g < rows; g++) {
		unsigned char *row = (unsigned char *)qzeros + g * row_bytes;

		if (style == GPTQ_STYLE_WORD)
			shift_words(row, row_bytes, pack, add);
		else if (style == GPTQ_STYLE_GPTQMODEL_3BIT)
			shift_legacy(row, row_bytes / 4, add);
		else if (bits == 3)
			shift_lanes_3(row, row_bytes, add);
		else
			shift_lanes(row, row_bytes, bits, add);
	}
	return GPTQ_OK;
}
