/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "common/kernel_checks.h"
#include "kernels/dispatch.h"
#include "kernels/half.h"

#include <math.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------------------ half.h */

static double f16_value(unsigned h)
{
	double sign = h & 0x8000 ? -1 : 1, fraction = h & 1023;
	int exponent = h >> 10 & 31;

	if (exponent == 31)
		return (h & 1023) ? (double)NAN : sign * (double)INFINITY;
	return exponent > 0 ? sign * ldexp(1024 + fraction, exponent - 25) : sign * ldexp(fraction, -24);
}

static double bf16_value(unsigned h)
{
	double sign = h & 0x8000 ? -1 : 1, fraction = h & 127;
	int exponent = h >> 7 & 255;

	if (exponent == 255)
		return (h & 127) ? (double)NAN : sign * (double)INFINITY;
	return exponent > 0 ? sign * ldexp(128 + fraction, exponent - 134) : sign * ldexp(fraction, -133);
}

/* Every number there is, by arithmetic in double precision, and back. */
START_TEST(all_halves)
{
	for (unsigned h = 0; h < 0x10000; h++) {
		float f = gq_f16_to_f32((uint16_t)h), b = gq_bf16_to_f32((uint16_t)h);

		if (isnan(f16_value(h))) {
			ck_assert(isnan(f));
			ck_assert_uint_eq(gq_f32_to_f16(f), GQ_F16_NAN);
		} else {
			ck_assert((double)f == f16_value(h) && !!signbit(f) == h >> 15);
			ck_assert_uint_eq(gq_f32_to_f16(f), h);
		}
		if (isnan(bf16_value(h))) {
			ck_assert(isnan(b));
			ck_assert_uint_eq(gq_f32_to_bf16(b), GQ_BF16_NAN);
		} else {
			ck_assert((double)b == bf16_value(h) && !!signbit(b) == h >> 15);
			ck_assert_uint_eq(gq_f32_to_bf16(b), h);
		}
	}
}
END_TEST

/* Halfway between each number and the next: to the even one; a float32 step below and above: to the nearer one. */
static void check_ties(uint16_t (*narrow)(float), double (*value)(unsigned), unsigned largest)
{
	for (unsigned h = 0; h <= largest; h++) {
		double below = value(h), above = h < largest ? value(h + 1) : 2 * below - value(h - 1);
		float tie = (float)((below + above) / 2);

		/* The middle of the two smallest bfloat16 numbers is a float32 number, too. */
		ck_assert((double)tie == (below + above) / 2);
		ck_assert_uint_eq(narrow(tie), h & 1 ? h + 1 : h);
		ck_assert_uint_eq(narrow(-tie), 0x8000 | (h & 1 ? h + 1 : h));
		ck_assert_uint_eq(narrow(nextafterf(tie, 0)), h);
		ck_assert_uint_eq(narrow(nextafterf(tie, INFINITY)), h + 1);
		ck_assert_uint_eq(narrow(-nextafterf(tie, INFINITY)), 0x8000 | (h + 1));
	}
}

START_TEST(ties_of_f16)
{
	check_ties(gq_f32_to_f16, f16_value, 0x7bff);
	ck_assert_uint_eq(gq_f32_to_f16(0x1p-149f), 0);
	ck_assert_uint_eq(gq_f32_to_f16(-0x1p-26f), 0x8000);
	ck_assert_uint_eq(gq_f32_to_f16(1e30f), 0x7c00);
}
END_TEST

START_TEST(ties_of_bf16)
{
	check_ties(gq_f32_to_bf16, bf16_value, 0x7f7f);
	ck_assert_uint_eq(gq_f32_to_bf16(0x1p-149f), 0);
	ck_assert_uint_eq(gq_f32_to_bf16(3.4028235e38f), 0x7f80);
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- weights */

static uint32_t weight(enum gptq_dtype dtype, uint32_t scale, unsigned q, unsigned z)
{
	unsigned char bytes[4] = {(unsigned char)scale, (unsigned char)(scale >> 8), (unsigned char)(scale >> 16),
				  (unsigned char)(scale >> 24)};

	return gq_weight(dtype, bytes, q, z);
}

START_TEST(known_weights)
{
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x3c00, 7, 8), 0xbc00);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x3c00, 8, 8), 0x0000);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0xbc00, 8, 8), 0x8000);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x0001, 3, 0), 0x0003);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x7bff, 2, 0), 0x7c00);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x7c00, 8, 8), 0x7e00);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x7c00, 7, 8), 0xfc00);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0xfd01, 7, 8), 0x7e00);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_BF16, 0xff81, 7, 8), 0x7fc0);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_BF16, 0x3f80, 255, 0), 0x437f);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F32, 0xff800001, 7, 8), 0x7fc00000);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F32, 0x3f800000, 0, 3), 0xc0400000);
	/* 1 + 2^-10 times 3 and 5: a tie each, down and up to the even number */
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x3c01, 3, 0), 0x4202);
	ck_assert_uint_eq(weight(GPTQ_DTYPE_F16, 0x3c01, 5, 0), 0x4501);
}
END_TEST

/* --------------------------------------------------------------------------------------------- levels and drivers */

enum { N_SPECS = 400, N_LARGE = 20 };

START_TEST(dequantise)
{
	for (uint64_t i = 0; i < N_SPECS; i++) {
		struct layer_spec spec = spec_at(i, 300, 70);
		struct layer layer = layer_make(&spec, i);

		ck_assert(check_dequantise(&layer, i));
		layer_free(&layer);
	}
	for (uint64_t i = 0; i < N_LARGE; i++) {
		struct layer_spec spec = spec_at(7 * i, 64, 1200);
		struct layer layer = layer_make(&spec, i);

		ck_assert(check_dequantise(&layer, i));
		layer_free(&layer);
	}
}
END_TEST

START_TEST(compare_flips)
{
	for (uint64_t i = 0; i < N_SPECS; i++) {
		struct layer_spec spec = spec_at(i, 300, i % 16 == 0 ? 1100 : 70);
		struct layer a = layer_make(&spec, i), b = layer_copy(&a);
		unsigned n_flips = (unsigned)(i / 7 % 4);

		layer_damage(&b, n_flips * n_flips, i);
		ck_assert(check_compare(&a, &b, i));
		layer_free(&a);
		layer_free(&b);
	}
}
END_TEST

START_TEST(compare_strangers)
{
	for (uint64_t i = 0; i < 60; i++) {
		struct layer_spec spec = spec_at(i, 100, 70);
		struct layer a = layer_make(&spec, i), b = layer_make(&spec, i + 1);

		ck_assert(check_compare(&a, &b, i));
		layer_free(&a);
		layer_free(&b);
	}
}
END_TEST

/* 4-bit codes in 8-bit ones, words of other sizes: the same weights are the same. */
START_TEST(compare_repacked)
{
	static const struct gq_pack packs[] = {{8, 32}, {4, 8}, {4, 16}, {4, 64}, {8, 8}};

	for (uint64_t i = 0; i < 60; i++) {
		struct layer_spec spec = spec_at(i, 150, 70);
		struct layer a, b;
		struct gq_comparison found = {0};

		spec.pack = (struct gq_pack){4, 32};
		a = layer_make(&spec, i);
		b = layer_repack(&a, packs[i % 5]);
		gq_compare_every(&a.w, &b.w, 0, spec.n_rows, 0, &found);
		ck_assert_uint_eq(found.n_differ, 0);
		ck_assert(!gq_codes_equal(&a.w, &b.w));
		layer_damage(&b, (unsigned)(i % 3), i);
		ck_assert(check_compare(&a, &b, i));
		layer_free(&a);
		layer_free(&b);
	}
}
END_TEST

/* A proof must never hold where `every` sees a difference, and must hold for copies. */
START_TEST(table)
{
	for (uint64_t i = 0; i < N_SPECS; i++) {
		struct layer_spec spec = spec_at(i, 200, 40);
		struct layer a = layer_make(&spec, i), b = layer_copy(&a);
		size_t n_cells = a.w.n_groups * a.w.n_columns, nbytes = gq_weight_bytes(spec.dtype);
		uint64_t n_special, expected = 0;

		ck_assert(gq_codes_equal(&a.w, &b.w));
		ck_assert_uint_eq(gq_tables_differ(&a.w, &b.w, &n_special), 0);
		layer_damage(&b, (unsigned)(i % 4), i);
		memcpy(b.g_of_k, a.g_of_k, spec.n_rows * sizeof(*a.g_of_k));
		for (size_t c = 0; c < n_cells; c++)
			for (unsigned q = 0; q < 1U << spec.pack.bits; q++)
				if (gq_weight(spec.dtype, a.scales + c * nbytes, q, a.z[c]) !=
				    gq_weight(spec.dtype, b.scales + c * nbytes, q, b.z[c])) {
					expected++;
					break;
				}
		ck_assert_uint_eq(gq_tables_differ(&a.w, &b.w, &n_special), expected);
		if (expected == 0 && gq_codes_equal(&a.w, &b.w))
			ck_assert_uint_eq(compare_one_by_one(&a.w, &b.w, 0).n_differ, 0);
		layer_free(&a);
		layer_free(&b);
	}
}
END_TEST

/* Codes behind the last row carry no weight; every other bit of qweight does. */
START_TEST(codes_equal_bit_by_bit)
{
	static const struct gq_pack packs[] = {{4, 32}, {2, 32}, {3, 32}, {8, 32}, {4, 64}, {2, 8}};

	for (size_t i = 0; i < sizeof(packs) / sizeof(packs[0]); i++) {
		struct layer_spec spec = {.pack = packs[i],
					  .dtype = GPTQ_DTYPE_F16,
					  .n_rows = 43,
					  .n_columns = 3,
					  .group_size = 16,
					  .padding = i % 2};
		struct layer a = layer_make(&spec, i), b = layer_copy(&a);
		size_t n_bits = 0;

		for (size_t bit = 0; bit < 8 * a.words_size; bit++) {
			b.words[bit / 8] ^= (unsigned char)(1U << bit % 8);
			n_bits += !gq_codes_equal(&a.w, &b.w);
			b.words[bit / 8] ^= (unsigned char)(1U << bit % 8);
		}
		ck_assert_uint_eq(n_bits, spec.n_rows * spec.n_columns * spec.pack.bits);
		layer_free(&a);
		layer_free(&b);
	}
}
END_TEST

/* Whole and cut blocks of every width, from any column on, against one code at a time; nothing is written beside. */
START_TEST(unpack)
{
	static const struct gq_pack packs[] = {{4, 32}, {2, 32}, {3, 32}, {8, 32}, {4, 64}, {2, 8}, {8, 16}};
	static unsigned char words[3 * 300 * 8];
	static uint8_t codes[32 * 320], want[32 * 320];
	const struct gq_kernels *level = gq_kernels_get();
	uint32_t state = 1;

	for (size_t i = 0; i < sizeof(words); i++, state = state * 1664525 + 1013904223)
		words[i] = (unsigned char)(state >> 24);
	for (size_t i = 0; i < sizeof(packs) / sizeof(packs[0]) && level->unpack; i++) {
		struct gq_pack pack = packs[i];
		struct gq_word_rows rows = {words, 300 * pack.word_bits / 8};
		unsigned block = gq_layout_stream.block_codes(pack);

		for (size_t n = 1; n < 140; n++) {
			unsigned n_codes = n % 5 ? block : 1 + (unsigned)n % block;
			size_t n0 = n * 7 % 150;

			memset(codes, 0xee, sizeof(codes));
			memset(want, 0xee, sizeof(want));
			for (size_t k = 0; k < n_codes; k++)
				for (size_t c = 0; c < n; c++)
					want[k * 320 + c] = (uint8_t)gq_layout_stream.get_code(rows, pack, k, n0 + c);
			level->unpack(rows, pack, n0, n, n_codes, codes, 320);
			ck_assert_mem_eq(codes, want, sizeof(codes));
		}
	}
}
END_TEST

START_TEST(level_is_the_one_asked_for)
{
	const char *name = getenv("GQ_CPU");

	if (!name)
		return;
	for (const struct gq_kernels *const *k = gq_kernels_all; *k; k++)
		if (strcmp((*k)->name, name) == 0 && gq_kernels_usable(*k))
			ck_assert_str_eq(gq_kernels_name(), name);
	fprintf(stderr, "GQ_CPU=%s runs %s\n", name, gq_kernels_name());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels");
	TCase *half = tcase_create("half"), *levels = tcase_create("levels");

	tcase_add_test(half, all_halves);
	tcase_add_test(half, ties_of_f16);
	tcase_add_test(half, ties_of_bf16);
	tcase_add_test(half, known_weights);
	tcase_set_timeout(levels, 0);
	tcase_add_test(levels, level_is_the_one_asked_for);
	tcase_add_test(levels, unpack);
	tcase_add_test(levels, dequantise);
	tcase_add_test(levels, compare_flips);
	tcase_add_test(levels, compare_strangers);
	tcase_add_test(levels, compare_repacked);
	tcase_add_test(levels, table);
	tcase_add_test(levels, codes_equal_bit_by_bit);
	suite_add_tcase(suite, half);
	suite_add_tcase(suite, levels);
	return unit_main(suite);
}
