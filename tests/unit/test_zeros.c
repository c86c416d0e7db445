/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/checked.h"
#include "base/mem.h"
#include "quant/zeros.h"

#include <string.h>

static const struct gq_pack packs[] = {
	{2, 8},  {2, 16}, {2, 32}, {2, 64}, {4, 8},  {4, 16}, {4, 32},
	{4, 64}, {8, 8},  {8, 16}, {8, 32}, {8, 64}, {3, 32},
};

#define N_PACKS (sizeof(packs) / sizeof(packs[0]))

static const enum gptq_v1_style exact[] = {GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, GPTQ_STYLE_GPTQMODEL_3BIT};
static const enum gptq_v1_style all[] = {GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, GPTQ_STYLE_GPTQMODEL_3BIT,
					 GPTQ_STYLE_SMEARED, GPTQ_STYLE_CLEAN};

static uint64_t random_state = 7;

static unsigned random_below(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

/* Words with many lanes at either end, where carries happen. */
static void fill(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned kind = random_below(4);

		p[i] = (unsigned char)(kind == 0 ? 0 : kind == 1 ? 0xff : random_below(256));
	}
}

static struct gq_qzeros as_qzeros(const void *words, size_t rows, size_t row_bytes, size_t n, struct gq_pack pack)
{
	return (struct gq_qzeros){words, rows, row_bytes, n, pack, &gq_layout_stream};
}

/* The words of the format's description: zero points 5 0 7 3 1 9 2 4 at 4 bits under each style. */
START_TEST(described_words)
{
	static const uint8_t z[8] = {5, 0, 7, 3, 1, 9, 2, 4};
	static const struct {
		enum gptq_v1_style style;
		uint8_t lanes[8];
		unsigned char word[4];
	} cases[] = {
		{GPTQ_STYLE_WORD, {4, 15, 5, 2, 0, 8, 1, 3}, {0xf4, 0x25, 0x80, 0x31}},
		{GPTQ_STYLE_LANE, {4, 15, 6, 2, 0, 8, 1, 3}, {0xf4, 0x26, 0x80, 0x31}},
	};
	const struct gq_pack pack = {4, 32};
	uint8_t lanes[8];
	unsigned char word[4];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gq_zeros_encode(z, 8, pack, GPTQ_ZEROS_V1, cases[i].style, lanes);
		ck_assert_mem_eq(lanes, cases[i].lanes, 8);
		gq_zeros_decode(lanes, 8, pack, GPTQ_ZEROS_V1, cases[i].style, lanes);
		ck_assert_mem_eq(lanes, z, 8);
		gq_layout_stream.pack_line(z, pack, 8, word);
		ck_assert_int_eq(
			gptq_zeros_shift(word, 1, 4, 4, 32, GPTQ_ZEROS_V2, GPTQ_ZEROS_V1, cases[i].style, NULL),
			GPTQ_OK);
		ck_assert_mem_eq(word, cases[i].word, 4);
	}
	/* A reader that adds to the word takes the 7 of a lane-style file for an 8. */
	gq_zeros_decode(cases[1].lanes, 8, pack, GPTQ_ZEROS_V1, GPTQ_STYLE_WORD, lanes);
	ck_assert_mem_eq(lanes, "\5\0\10\3\1\11\2\4", 8);
	/* Smeared: fffffff4. */
	gq_zeros_decode((const uint8_t *)"\4\17\17\17\17\17\17\17", 8, pack, GPTQ_ZEROS_V1, GPTQ_STYLE_SMEARED, lanes);
	ck_assert_mem_eq(lanes, "\5\0\0\0\0\0\0\0", 8);
}
END_TEST

START_TEST(symmetric_words)
{
	static const struct {
		struct gq_pack pack;
		enum gptq_v1_style style;
		enum gq_sentinel sentinel;
		uint32_t v1[3], v2[3];
	} cases[] = {
		{{2, 32},
		 GPTQ_STYLE_LANE,
		 GQ_SENTINEL_V1,
		 {0x55555555, 0x55555555, 0x55555555},
		 {0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa}},
		{{4, 32},
		 GPTQ_STYLE_WORD,
		 GQ_SENTINEL_V1,
		 {0x77777777, 0x77777777, 0x77777777},
		 {0x88888888, 0x88888888, 0x88888888}},
		{{8, 32},
		 GPTQ_STYLE_LANE,
		 GQ_SENTINEL_V1,
		 {0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f},
		 {0x80808080, 0x80808080, 0x80808080}},
		{{3, 32},
		 GPTQ_STYLE_LANE,
		 GQ_SENTINEL_V1,
		 {0xdb6db6db, 0xb6db6db6, 0x6db6db6d},
		 {0x24924924, 0x49249249, 0x92492492}},
		{{3, 32},
		 GPTQ_STYLE_GPTQMODEL_3BIT,
		 GQ_SENTINEL_LEGACY,
		 {0x00000000, 0xb6db6db7, 0x49249249},
		 {0x24924924, 0x49249249, 0x92492492}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gq_pack pack = cases[i].pack;
		struct gq_qzeros qz;
		struct gq_zero_stats stats;
		struct gq_zero_figures figures;
		uint32_t words[3];

		memcpy(words, cases[i].v1, sizeof(words));
		qz = as_qzeros(words, 1, 12, 96 / pack.bits, pack);
		ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_OK);
		ck_assert_int_eq(stats.sentinel, cases[i].sentinel);
		ck_assert_int_eq(gq_zeros_figures(&qz, GPTQ_ZEROS_V1, cases[i].style, &figures, NULL), GPTQ_OK);
		ck_assert_uint_eq(figures.n_off_mid, 0);
		gptq_zeros_shift(words, 1, 12, pack.bits, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, cases[i].style, NULL);
		ck_assert_mem_eq(words, cases[i].v2, sizeof(words));
		ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_OK);
		ck_assert_int_eq(stats.sentinel, GQ_SENTINEL_V2);
		gptq_zeros_shift(words, 1, 12, pack.bits, 32, GPTQ_ZEROS_V2, GPTQ_ZEROS_V1, cases[i].style, NULL);
		ck_assert_mem_eq(words, cases[i].v1, sizeof(words));
	}
}
END_TEST

START_TEST(half_shifted_words)
{
	const uint64_t words[2] = {UINT64_C(0x8888888877777777), UINT64_C(0x8888888877777777)};
	struct gq_qzeros qz = as_qzeros(words, 2, 8, 16, (struct gq_pack){4, 64});
	struct gq_zero_stats stats;

	ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_OK);
	ck_assert_int_eq(stats.sentinel, GQ_SENTINEL_HALVES);
	qz.n = 8;
	ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_OK);
	ck_assert_int_eq(stats.sentinel, GQ_SENTINEL_V1);
}
END_TEST

/* Both directions of the fast shift against the one that goes lane by lane. */
static void check_shift(struct gq_pack pack, size_t row_bytes, enum gptq_v1_style style, size_t skew)
{
	const struct gq_layout *layout = &gq_layout_stream;
	size_t n_lanes = gq_row_lanes(pack, row_bytes), rows = 3, n_bytes = rows * row_bytes;
	unsigned char *words = malloc(n_bytes + skew + 1), *before = malloc(n_bytes + 1);
	uint8_t *lanes = malloc(2 * n_lanes + 1);

	for (int add = 0; add < 2; add++) {
		enum gptq_zeros_format from = add ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
		enum gptq_zeros_format to = add ? GPTQ_ZEROS_V2 : GPTQ_ZEROS_V1;

		if (style == GPTQ_STYLE_SMEARED && !add)
			continue;
		fill(words, n_bytes + skew);
		memcpy(before, words + skew, n_bytes);
		ck_assert_int_eq(gptq_zeros_shift(words + skew, rows, row_bytes, pack.bits, pack.word_bits, from, to,
						  style, NULL),
				 GPTQ_OK);
		for (size_t g = 0; g < rows; g++) {
			layout->unpack_line(before + g * row_bytes, pack, n_lanes, lanes);
			if (add)
				gq_zeros_decode(lanes, n_lanes, pack, GPTQ_ZEROS_V1, style, lanes);
			else
				gq_zeros_encode(lanes, n_lanes, pack, GPTQ_ZEROS_V1, style, lanes);
			layout->unpack_line(words + skew + g * row_bytes, pack, n_lanes, lanes + n_lanes);
			ck_assert_mem_eq(lanes, lanes + n_lanes, n_lanes);
		}
		if (style == GPTQ_STYLE_SMEARED)
			continue;
		gptq_zeros_shift(words + skew, rows, row_bytes, pack.bits, pack.word_bits, to, from, style, NULL);
		ck_assert_mem_eq(words + skew, before, n_bytes);
	}
	free(words);
	free(before);
	free(lanes);
}

START_TEST(fast_is_plain)
{
	const struct gq_pack pack = packs[_i];

	for (size_t n_words = 0; n_words < 40; n_words++)
		for (size_t s = 0; s < sizeof(all) / sizeof(all[0]); s++)
			check_shift(pack, n_words * (pack.word_bits / 8), all[s], n_words % 8);
}
END_TEST

/* At 3 bits a row of one or two words ends in a fraction of a lane, which no lane-wise reader can see. */
START_TEST(fractions_stay)
{
	unsigned char row[4] = {0xff, 0xff, 0xff, 0x7f};

	gptq_zeros_shift(row, 1, 4, 3, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_STYLE_LANE, NULL);
	ck_assert_mem_eq(row, "\0\0\0\x40", 4);
}
END_TEST

START_TEST(every_lane_round_trips)
{
	for (size_t p = 0; p < N_PACKS; p++)
		for (size_t s = 0; s < sizeof(exact) / sizeof(exact[0]); s++) {
			size_t n = 200;
			uint8_t z[200], lanes[200];

			for (size_t i = 0; i < n; i++)
				z[i] = (uint8_t)(random_below(2) ? random_below(1U << packs[p].bits) : 0);
			gq_zeros_encode(z, n, packs[p], GPTQ_ZEROS_V1, exact[s], lanes);
			gq_zeros_decode(lanes, n, packs[p], GPTQ_ZEROS_V1, exact[s], lanes);
			ck_assert_mem_eq(z, lanes, n);
		}
}
END_TEST

START_TEST(refusals)
{
	unsigned char row[8] = {1, 2, 3, 4, 5, 6, 7, 8}, same[8];
	struct gptq_error err;

	memcpy(same, row, 8);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 8, 5, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_STYLE_LANE, &err),
			 GPTQ_E_UNSUPPORTED);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 8, 3, 64, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_STYLE_LANE, &err),
			 GPTQ_E_UNSUPPORTED);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 6, 4, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_STYLE_LANE, &err),
			 GPTQ_E_ARG);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 8, 4, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_NONE, GPTQ_STYLE_LANE, &err),
			 GPTQ_E_ARG);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 8, 4, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE, &err),
			 GPTQ_E_ARG);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 8, 4, 32, GPTQ_ZEROS_V2, GPTQ_ZEROS_V1, GPTQ_STYLE_SMEARED, &err),
			 GPTQ_E_ARG);
	ck_assert_int_eq(gptq_zeros_shift(row, 1, 8, 4, 32, GPTQ_ZEROS_V2, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE, &err),
			 GPTQ_OK);
	ck_assert_mem_eq(row, same, 8);
	ck_assert_str_eq(gptq_style_name(GPTQ_STYLE_GPTQMODEL_3BIT), "gptqmodel-3bit");
	ck_assert_str_eq(gptq_zeros_format_name(GPTQ_ZEROS_V2), "v2");
}
END_TEST

/* Two rows of ten 4-bit columns in 32-bit words; six lanes of each second word are padding. */
START_TEST(counts)
{
	static const unsigned char words[16] = {
		0xf4, 0xff, 0xff, 0xff, 0xf0, 0xff, 0xff, 0xff, /* 4 F F F F F F F | 0 F (F F F F F F) */
		0x10, 0x3f, 0x00, 0x00, 0x22, 0xff, 0xff, 0xff, /* 0 1 F 3 0 0 0 0 | 2 2 (F F ...) */
	};
	struct gq_qzeros qz = as_qzeros(words, 2, 8, 10, (struct gq_pack){4, 32});
	struct gq_zero_stats stats;
	struct gq_zero_figures figures;
	struct gq_style_difference difference;

	ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_OK);
	ck_assert_uint_eq(stats.n_lanes, 20);
	ck_assert_uint_eq(stats.n_max, 9);
	ck_assert_uint_eq(stats.n_kept, 6);
	ck_assert_uint_eq(stats.n_kept_zero, 2);
	ck_assert_uint_eq(stats.n_first, 3);
	ck_assert_uint_eq(stats.n_telling, 11);
	ck_assert_uint_eq(stats.tall_words, 2);
	ck_assert_uint_eq(stats.tall_words_full, 1);
	ck_assert_uint_eq(stats.damaged_words, 1);
	ck_assert_uint_eq(stats.unknown_zeros, 6);
	ck_assert_uint_eq(stats.lane_min, 0);
	ck_assert_uint_eq(stats.lane_max, 15);
	ck_assert_int_eq(stats.sentinel, GQ_SENTINEL_NONE);
	ck_assert_uint_eq(stats.n_differ, 7);

	ck_assert_int_eq(gq_zeros_figures(&qz, GPTQ_ZEROS_V1, GPTQ_STYLE_LANE, &figures, NULL), GPTQ_OK);
	ck_assert_uint_eq(figures.n_equal_0, 9);
	ck_assert_uint_eq(figures.z_min, 0);
	ck_assert_uint_eq(figures.z_max, 5);
	ck_assert_int_eq(gq_zeros_compare_styles(&qz, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, &difference, NULL), GPTQ_OK);
	ck_assert_uint_eq(difference.n_lanes, 7);
	ck_assert_uint_eq(difference.group, 0);
	ck_assert_uint_eq(difference.column, 2);
	ck_assert_uint_eq(difference.lane, 15);
	ck_assert_uint_eq(difference.z_a, 0);
	ck_assert_uint_eq(difference.z_b, 1);
}
END_TEST

/* More than 255 times 16 lanes, and more than twice that: so many are counted before counts are added up. */
#define LONG_ROW 4100
#define LONGER_ROW 8200

enum filling { RANDOM, LITTLE_MAX, CONSTANT, N_FILLINGS };

/* Three rows. CONSTANT: lanes of a row have one value, so that each of the counts comes to its most. */
static void fill_rows(unsigned char *words, size_t row, struct gq_pack pack, enum filling filling)
{
	static uint8_t lanes[LONGER_ROW + 64];
	size_t n = gq_row_lanes(pack, row);
	unsigned mid = 1U << (pack.bits - 1);
	const unsigned values[] = {0, mid - 1, mid};

	for (size_t i = 0; i < 3 * row; i++)
		words[i] = (unsigned char)(filling == LITTLE_MAX ? random_below(256) & 0x55 : random_below(256));
	for (size_t g = 0; g < 3 && filling == CONSTANT; g++) {
		memset(lanes, (int)values[random_below(3)], n);
		gq_layout_stream.pack_line(lanes, pack, n, words + g * row);
	}
}

/* Compares the figures of some rows with those that come of decoding one lane after the other. Were they told? */
static bool check_figures(struct gq_pack pack, enum gptq_zeros_format format, enum gptq_v1_style style, size_t n,
			  enum filling filling)
{
	static unsigned char words[3 * (LONGER_ROW + 64)];
	static uint8_t lanes[LONGER_ROW + 64], z[LONGER_ROW + 64];
	size_t row = gq_ceil_div(n * pack.bits, pack.word_bits) * pack.word_bits / 8;
	struct gq_zero_figures figures, told;
	struct gq_zero_stats stats;
	struct gq_qzeros qz;
	uint64_t hist[256] = {0};

	row = pack.bits == 3 ? gq_ceil_div(row, 12) * 12 : row;
	fill_rows(words, row, pack, filling);
	qz = as_qzeros(words, 3, row, n, pack);
	for (size_t g = 0; g < 3; g++) {
		for (size_t i = 0; i < gq_row_lanes(pack, row); i++)
			lanes[i] = (uint8_t)gq_layout_stream.get_lane(words + g * row, pack, i);
		gq_zeros_decode(lanes, gq_row_lanes(pack, row), pack, format, style, z);
		for (size_t i = 0; i < n; i++)
			hist[z[i]]++;
	}
	ck_assert_int_eq(gq_zeros_figures(&qz, format, style, &figures, NULL), GPTQ_OK);
	ck_assert_mem_eq(figures.hist, hist, sizeof(hist));
	ck_assert_uint_eq(figures.n_zeros, 3 * n);
	ck_assert_uint_eq(figures.n_equal_0, hist[0]);
	ck_assert_uint_eq(figures.n_off_mid, 3 * n - hist[(size_t)1 << (pack.bits - 1)]);
	ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_OK);
	if (!gq_zeros_tell(&stats, pack, format, style, &told))
		return false;
	ck_assert_uint_eq(told.n_zeros, figures.n_zeros);
	ck_assert_uint_eq(told.n_equal_0, figures.n_equal_0);
	ck_assert_uint_eq(told.n_off_mid, figures.n_off_mid);
	ck_assert_uint_eq(told.z_min, figures.z_min);
	ck_assert_uint_eq(told.z_max, figures.z_max);
	return true;
}

/* All but words with M, and the legacy style at 3 bits, must be told. */
static bool must_tell(struct gq_pack pack, enum gptq_zeros_format format, enum gptq_v1_style style,
		      enum filling filling)
{
	if (format == GPTQ_ZEROS_V2)
		return true;
	style = gq_style_at(pack, style);
	if (style == GPTQ_STYLE_GPTQMODEL_3BIT)
		return false;
	return style != GPTQ_STYLE_WORD || filling == CONSTANT;
}

/* Zero points counted by bytes, by rows and by lanes: the same as one lane at a time. */
START_TEST(figures_are_plain)
{
	const enum gptq_v1_style style = all[_i];

	for (unsigned turn = 0; turn < N_PACKS * 4 * 12; turn++) {
		struct gq_pack pack = packs[turn % N_PACKS];
		enum gptq_zeros_format format = turn / N_PACKS % 4 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
		enum filling filling = (enum filling)(turn / N_PACKS % N_FILLINGS);
		bool told = check_figures(pack, format, style, 1 + random_below(96 * 8 / pack.bits), filling);

		ck_assert(told || !must_tell(pack, format, style, filling));
	}
	for (unsigned turn = 0; turn < N_PACKS * 2 * N_FILLINGS; turn++) {
		struct gq_pack pack = packs[turn % N_PACKS];
		enum gptq_zeros_format format = turn / N_PACKS % 2 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
		enum filling filling = (enum filling)(turn / N_PACKS / 2);

		check_figures(pack, format, style, LONG_ROW, filling);
		check_figures(pack, format, style, LONGER_ROW, filling);
	}
}
END_TEST

START_TEST(allocation_fails)
{
	static const unsigned char words[8] = {0};
	struct gq_qzeros qz = as_qzeros(words, 2, 4, 8, (struct gq_pack){4, 32});
	struct gq_zero_stats stats;
	struct gq_zero_figures figures;
	struct gq_style_difference difference;

	gq_mem_fail_after(0);
	ck_assert_int_eq(gq_zero_stats_of(&qz, &stats, NULL), GPTQ_E_NOMEM);
	gq_mem_fail_after(0);
	ck_assert_int_eq(gq_zeros_figures(&qz, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE, &figures, NULL), GPTQ_E_NOMEM);
	gq_mem_fail_after(0);
	ck_assert_int_eq(gq_zeros_compare_styles(&qz, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, &difference, NULL),
			 GPTQ_E_NOMEM);
	gq_mem_fail_after(-1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("zeros");
	TCase *tc = tcase_create("styles");

	tcase_add_test(tc, described_words);
	tcase_add_test(tc, symmetric_words);
	tcase_add_test(tc, half_shifted_words);
	tcase_add_loop_test(tc, fast_is_plain, 0, N_PACKS);
	tcase_add_test(tc, fractions_stay);
	tcase_add_test(tc, every_lane_round_trips);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, counts);
	tcase_add_loop_test(tc, figures_are_plain, 0, sizeof(all) / sizeof(all[0]));
	tcase_add_test(tc, allocation_fails);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
