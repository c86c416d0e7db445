/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "quant/layout.h"

#include <string.h>

static const struct gq_pack packs[] = {
	{2, 8},  {2, 16}, {2, 32}, {2, 64}, {4, 8},  {4, 16}, {4, 32},
	{4, 64}, {8, 8},  {8, 16}, {8, 32}, {8, 64}, {3, 32},
};

#define N_PACKS (sizeof(packs) / sizeof(packs[0]))

static uint64_t random_state = 1;

static unsigned char random_byte(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned char)(random_state >> 56);
}

static void fill(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = random_byte();
}

START_TEST(supported_widths)
{
	static const struct gq_pack no[] = {{3, 8}, {3, 16}, {3, 64}, {1, 32}, {5, 32}, {4, 24}, {0, 32}, {16, 32}};

	for (size_t i = 0; i < N_PACKS; i++)
		ck_assert(gq_layout_stream.supports(packs[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		ck_assert(!gq_layout_stream.supports(no[i]));
}
END_TEST

/* The drawings of the format's description, word for word. */
START_TEST(known_words)
{
	static const unsigned char word4[4] = {0x05, 0x37, 0x91, 0x42};
	static const uint8_t lanes4[8] = {5, 0, 7, 3, 1, 9, 2, 4};
	/* 32 times 4 at 3 bits: 24924924 49249249 92492492 */
	static const unsigned char sym3[12] = {0x24, 0x49, 0x92, 0x24, 0x49, 0x92, 0x24, 0x49, 0x92, 0x24, 0x49, 0x92};
	uint8_t lanes[32];
	unsigned char line[12];

	gq_layout_stream.unpack_line(word4, (struct gq_pack){4, 32}, 8, lanes);
	ck_assert_mem_eq(lanes, lanes4, 8);
	gq_layout_stream.pack_line(lanes4, (struct gq_pack){4, 32}, 8, line);
	ck_assert_mem_eq(line, word4, 4);

	memset(lanes, 4, sizeof(lanes));
	gq_layout_stream.pack_line(lanes, (struct gq_pack){3, 32}, 32, line);
	ck_assert_mem_eq(line, sym3, sizeof(sym3));

	/* Code 10 straddles the first two words, code 21 the second and the third. */
	memset(line, 0, sizeof(line));
	gq_layout_stream.put_lane(line, (struct gq_pack){3, 32}, 10, 7);
	ck_assert_mem_eq(line, "\0\0\0\xc0\x01\0\0\0\0\0\0\0", 12);
	gq_layout_stream.put_lane(line, (struct gq_pack){3, 32}, 21, 7);
	ck_assert_mem_eq(line, "\0\0\0\xc0\x01\0\0\x80\x03\0\0\0", 12);
}
END_TEST

START_TEST(first_lanes_of_words)
{
	static const size_t at3[] = {0, 11, 22, 32, 43, 54, 64};

	for (size_t w = 0; w < sizeof(at3) / sizeof(at3[0]); w++)
		ck_assert_uint_eq(gq_word_first_lane((struct gq_pack){3, 32}, w), at3[w]);
	ck_assert_uint_eq(gq_word_first_lane((struct gq_pack){4, 32}, 3), 24);
	ck_assert_uint_eq(gq_word_first_lane((struct gq_pack){8, 8}, 3), 3);
}
END_TEST

START_TEST(lines)
{
	const struct gq_layout *layout = &gq_layout_stream;
	const struct gq_pack pack = packs[_i];
	size_t step = (140 / unit_rounds(140)) | 1; /* odd, so that every skew comes */

	for (size_t n_lanes = 0; n_lanes < 140; n_lanes += step) {
		size_t word_bytes = pack.word_bits / 8;
		size_t n_bytes = (n_lanes * pack.bits + pack.word_bits - 1) / pack.word_bits * word_bytes;
		size_t skew = n_lanes % 8;
		/* Exactly as long as the line, so that a sanitizer sees any byte too far. */
		unsigned char *line = malloc(n_bytes + skew + 1), *back = malloc(n_bytes + 1);
		uint8_t *lanes = malloc(n_lanes + 1);

		fill(line, n_bytes + skew);
		layout->unpack_line(line + skew, pack, n_lanes, lanes);
		for (size_t i = 0; i < n_lanes; i++)
			ck_assert_uint_eq(lanes[i], layout->get_lane(line + skew, pack, i));
		layout->pack_line(lanes, pack, n_lanes, back);
		for (size_t i = 0; i < n_bytes * 8 / pack.bits; i++)
			ck_assert_uint_eq(layout->get_lane(back, pack, i), i < n_lanes ? lanes[i] : 0);
		memset(back, 0xff, n_bytes);
		for (size_t i = 0; i < n_lanes; i++)
			layout->put_lane(back, pack, i, lanes[i]);
		for (size_t i = 0; i < n_lanes; i++)
			ck_assert_uint_eq(layout->get_lane(back, pack, i), lanes[i]);
		free(line);
		free(back);
		free(lanes);
	}
}
END_TEST

static void check_block(struct gq_pack pack, size_t n, size_t n0, size_t n_cols, unsigned n_codes, size_t skew)
{
	const struct gq_layout *layout = &gq_layout_stream;
	size_t word_rows = ((size_t)n_codes * pack.bits + pack.word_bits - 1) / pack.word_bits;
	size_t row_bytes = n * pack.word_bits / 8, n_bytes = word_rows * row_bytes;
	unsigned char *words = malloc(n_bytes + skew);
	uint8_t *codes = malloc(n_codes * n_cols);
	struct gq_word_rows rows = {words + skew, row_bytes};

	fill(words, n_bytes + skew);
	layout->unpack_block(rows, pack, n0, n_cols, n_codes, codes, n_cols);
	for (unsigned j = 0; j < n_codes; j++)
		for (size_t i = 0; i < n_cols; i++)
			if (codes[j * n_cols + i] != layout->get_code(rows, pack, j, n0 + i))
				ck_abort_msg("%u bits in %u: code (%u, %zu)", pack.bits, pack.word_bits, j, n0 + i);
	free(words);
	free(codes);
}

START_TEST(blocks)
{
	const struct gq_pack pack = packs[_i];
	unsigned full = gq_layout_stream.block_codes(pack);

	ck_assert_uint_eq(full * pack.bits, gq_layout_stream.block_words(pack) * pack.word_bits);
	for (unsigned n_codes = 1; n_codes <= full; n_codes++)
		for (size_t n = 1; n < 70; n += 17)
			for (size_t n0 = 0; n0 < n; n0 += 16)
				check_block(pack, n, n0, n - n0, n_codes, n % 8);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("layout");
	TCase *tc = tcase_create("stream");

	tcase_add_test(tc, supported_widths);
	tcase_add_test(tc, known_words);
	tcase_add_test(tc, first_lanes_of_words);
	tcase_add_loop_test(tc, lines, 0, N_PACKS);
	tcase_add_loop_test(tc, blocks, 0, N_PACKS);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
