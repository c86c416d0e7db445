/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contiguous bit stream. Eight 4-bit codes in a 32-bit word, code 0 in the low bits:
 *
 *   bit  31..28 27..24 23..20 19..16 15..12 11..8  7..4   3..0
 *   code   7      6      5      4      3      2     1      0
 *
 * At 3 bits 32 codes fill three words A, B, C; codes 10 and 21 straddle:
 *
 *   A  bits 0..29 codes 0..9, bits 30..31 the low two bits of code 10
 *   B  bit 0 the high bit of code 10, bits 1..30 codes 11..20, bit 31 the low bit of code 21
 *   C  bits 0..1 the high two bits of code 21, bits 2..31 codes 22..31
 *
 * A line of qzeros is such a stream along N. In qweight each column is a stream of its own along K, its words one
 * row apart.
 */
#include "quant/layout.h"

#include "base/checked.h"

static bool supports(struct gq_pack pack)
{
	if (pack.word_bits != 8 && pack.word_bits != 16 && pack.word_bits != 32 && pack.word_bits != 64)
		return false;
	if (pack.bits == 3)
		return pack.word_bits == 32;
	return pack.bits == 2 || pack.bits == 4 || pack.bits == 8;
}

static unsigned block_words(struct gq_pack pack)
{
	return pack.bits == 3 ? 3 : 1;
}

static unsigned block_codes(struct gq_pack pack)
{
	return pack.bits == 3 ? 32 : pack.word_bits / pack.bits;
}

/* Bit i of a little-endian stream is bit i % 8 of byte i / 8, whatever the words are. */
static unsigned get_lane(const void *line, struct gq_pack pack, size_t lane)
{
	const unsigned char *p = line;
	unsigned value = 0;

	for (unsigned i = 0; i < pack.bits; i++) {
		size_t bit = lane * pack.bits + i;

		value |= (unsigned)(p[bit / 8] >> (bit % 8) & 1) << i;
	}
	return value;
}

static void put_lane(void *line, struct gq_pack pack, size_t lane, unsigned value)
{
	unsigned char *p = line;

	for (unsigned i = 0; i < pack.bits; i++) {
		size_t bit = lane * pack.bits + i;
		unsigned mask = 1U << (bit % 8);

		p[bit / 8] = (unsigned char)((p[bit / 8] & ~mask) | (value >> i & 1 ? mask : 0));
	}
}

static unsigned get_code(struct gq_word_rows rows, struct gq_pack pack, size_t k, size_t n)
{
	unsigned word_bytes = pack.word_bits / 8, value = 0;

	for (unsigned i = 0; i < pack.bits; i++) {
		size_t bit = k * pack.bits + i;
		const unsigned char *row =
			(const unsigned char *)rows.words + bit / pack.word_bits * rows.row_bytes + n * word_bytes;

		value |= (unsigned)(gq_load_le(row, word_bytes) >> (bit % pack.word_bits) & 1) << i;
	}
	return value;
}

/* Bits 2, 4 and 8 never straddle a byte. */
static void unpack_line(const void *line, struct gq_pack pack, size_t n_lanes, uint8_t *lanes)
{
	const unsigned char *p = line;
	size_t i = 0;

	switch (pack.bits) {
	case 2:
		for (; i + 4 <= n_lanes; i += 4, p++) {
			lanes[i] = *p & 3;
			lanes[i + 1] = *p >> 2 & 3;
			lanes[i + 2] = *p >> 4 & 3;
			lanes[i + 3] = *p >> 6;
		}
		break;
	case 3:
		for (; i + 8 <= n_lanes; i += 8, p += 3) {
			uint32_t w = (uint32_t)gq_load_le(p, 3);

			for (unsigned j = 0; j < 8; j++)
				lanes[i + j] = w >> (3 * j) & 7;
		}
		break;
	case 4:
		for (; i + 2 <= n_lanes; i += 2, p++) {
			lanes[i] = *p & 15;
			lanes[i + 1] = *p >> 4;
		}
		break;
	default:
		memcpy(lanes, p, n_lanes);
		return;
	}
	for (; i < n_lanes; i++)
		lanes[i] = (uint8_t)get_lane(line, pack, i);
}

static void pack_line(const uint8_t *lanes, struct gq_pack pack, size_t n_lanes, void *line)
{
	unsigned char *p = line;
	size_t n_words = gq_ceil_div((uint64_t)n_lanes * pack.bits, pack.word_bits);
	size_t n_bytes = n_words * (pack.word_bits / 8), at = 0;
	uint32_t held = 0;
	unsigned n_held = 0;

	for (size_t i = 0; i < n_lanes; i++) {
		held |= (uint32_t)lanes[i] << n_held;
		for (n_held += pack.bits; n_held >= 8; n_held -= 8, held >>= 8)
			p[at++] = (unsigned char)held;
	}
	if (n_held > 0)
		p[at++] = (unsigned char)held;
	memset(p + at, 0, n_bytes - at);
}

/*
 * One row of codes out of one word row. Loading through memcpy allows any alignment; the loop is simple enough for
 * every compiler to vectorise.
 */
#define DEFINE_UNPACK_ROW(TYPE, NAME)                                                                                  \
	static void NAME(const unsigned char *restrict words, size_t n_cols, unsigned shift, unsigned mask,            \
			 uint8_t *restrict codes)                                                                      \
	{                                                                                                              \
		for (size_t n = 0; n < n_cols; n++) {                                                                  \
			TYPE w;                                                                                        \
                                                                                                                       \
			memcpy(&w, words + n * sizeof(w), sizeof(w));                                                  \
			codes[n] = (uint8_t)(w >> shift & mask);                                                       \
		}                                                                                                      \
	}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
DEFINE_UNPACK_ROW(uint8_t, unpack_row_8)
DEFINE_UNPACK_ROW(uint16_t, unpack_row_16)
DEFINE_UNPACK_ROW(uint32_t, unpack_row_32)
DEFINE_UNPACK_ROW(uint64_t, unpack_row_64)

/* A code that begins in one word row (its low `split` bits) and ends in the next. */
static void unpack_straddling(const unsigned char *restrict low, const unsigned char *restrict high, size_t n_cols,
			      unsigned split, uint8_t *restrict codes)
{
	for (size_t n = 0; n < n_cols; n++) {
		uint32_t a, b;

		memcpy(&a, low + n * sizeof(a), sizeof(a));
		memcpy(&b, high + n * sizeof(b), sizeof(b));
		codes[n] = (uint8_t)((a >> (32 - split) | b << split) & 7);
	}
}

static void unpack_block(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols, unsigned n_codes,
			 uint8_t *codes, size_t stride)
{
	const unsigned char *base = (const unsigned char *)rows.words + n0 * (pack.word_bits / 8);
	unsigned mask = (1U << pack.bits) - 1;

	for (unsigned j = 0; j < n_codes; j++, codes += stride) {
		unsigned bit = j * pack.bits, shift = bit % pack.word_bits;
		const unsigned char *row = base + bit / pack.word_bits * rows.row_bytes;

		if (shift + pack.bits > pack.word_bits)
			unpack_straddling(row, row + rows.row_bytes, n_cols, pack.word_bits - shift, codes);
		else if (pack.word_bits == 32)
			unpack_row_32(row, n_cols, shift, mask, codes);
		else if (pack.word_bits == 8)
			unpack_row_8(row, n_cols, shift, mask, codes);
		else if (pack.word_bits == 16)
			unpack_row_16(row, n_cols, shift, mask, codes);
		else
			unpack_row_64(row, n_cols, shift, mask, codes);
	}
}
#else
static void unpack_block(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols, unsigned n_codes,
			 uint8_t *codes, size_t stride)
{
	for (unsigned j = 0; j < n_codes; j++)
		for (size_t n = 0; n < n_cols; n++)
			codes[j * stride + n] = (uint8_t)get_code(rows, pack, j, n0 + n);
}
#endif

const struct gq_layout gq_layout_stream = {
	.name = "stream",
	.supports = supports,
	.block_words = block_words,
	.block_codes = block_codes,
	.get_lane = get_lane,
	.put_lane = put_lane,
	.get_code = get_code,
	.unpack_line = unpack_line,
	.pack_line = pack_line,
	.unpack_block = unpack_block,
};
