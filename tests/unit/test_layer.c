/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/mem.h"
#include "quant/layer.h"

#include <stdio.h>
#include <string.h>

/* The tensors of one layer by shape alone. */
struct shapes {
	uint64_t qweight[2], qzeros[2], scales[2], g_idx[1];
	struct gq_tensor t[4];
	struct gq_layer layer;
};

static void make(struct shapes *s, enum gptq_dtype words, uint64_t word_rows, uint64_t n, uint64_t groups,
		 uint64_t zero_words, uint64_t k)
{
	*s = (struct shapes){
		.qweight = {word_rows, n}, .qzeros = {groups, zero_words}, .scales = {groups, n}, .g_idx = {k}};
	s->t[0] =
		(struct gq_tensor){.name = "m.qweight", .name_len = 9, .dtype = words, .rank = 2, .shape = s->qweight};
	s->t[1] = (struct gq_tensor){.name = "m.qzeros", .name_len = 8, .dtype = words, .rank = 2, .shape = s->qzeros};
	s->t[2] = (struct gq_tensor){
		.name = "m.scales", .name_len = 8, .dtype = GPTQ_DTYPE_F16, .rank = 2, .shape = s->scales};
	s->t[3] = (struct gq_tensor){
		.name = "m.g_idx", .name_len = 7, .dtype = GPTQ_DTYPE_I32, .rank = 1, .shape = s->g_idx};
	s->layer = (struct gq_layer){.name = "m",
				     .name_len = 1,
				     .qweight = &s->t[0],
				     .qzeros = &s->t[1],
				     .scales = &s->t[2],
				     .g_idx = k ? &s->t[3] : NULL};
}

static const struct {
	enum gptq_dtype dtype;
	unsigned bits;
} words[] = {{GPTQ_DTYPE_I8, 8}, {GPTQ_DTYPE_I16, 16}, {GPTQ_DTYPE_I32, 32}, {GPTQ_DTYPE_I64, 64}};

static uint64_t up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Every width in every word, K and N whole and ragged, with and without g_idx. */
START_TEST(widths_and_words)
{
	static const unsigned widths[] = {2, 3, 4, 8};
	static const uint64_t ks[] = {128, 256, 1000, 4096}, ns[] = {64, 96, 1000};
	struct gptq_error err;

	for (size_t w = 0; w < 4; w++)
		for (size_t i = 0; i < 4; i++)
			for (size_t a = 0; a < 4; a++)
				for (size_t b = 0; b < 3; b++) {
					uint64_t k = ks[a], n = ns[b], g = up(k, 128), p = words[w].bits;
					struct shapes s;
					enum gptq_status status;

					make(&s, words[w].dtype, up(k * widths[i], p), n, g, up(n * widths[i], p), k);
					status = gq_layer_measure(&s.layer, (struct gq_layer_claim){0}, &err);
					if (widths[i] == 3 && p != 32) {
						ck_assert_int_ne(status, GPTQ_OK);
						continue;
					}
					ck_assert_int_eq(status, GPTQ_OK);
					ck_assert_uint_eq(s.layer.pack.bits, widths[i]);
					ck_assert_uint_eq(s.layer.pack.word_bits, p);
					ck_assert_uint_eq(s.layer.in_features, k);
					ck_assert_uint_eq(s.layer.out_features, n);
					ck_assert_uint_eq(s.layer.groups, g);
					ck_assert_uint_eq(s.layer.word_rows, up(k * widths[i], p));
					ck_assert_uint_eq(s.layer.zero_row_bytes, up(n * widths[i], p) * p / 8);
					/* without g_idx K is what the words hold, and N alone tells the width */
					make(&s, words[w].dtype, up(k * widths[i], p), n, g, up(n * widths[i], p), 0);
					ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){0}, &err),
							 GPTQ_OK);
					ck_assert_uint_eq(s.layer.pack.bits, widths[i]);
					ck_assert_uint_eq(s.layer.in_features, up(k * widths[i], p) * p / widths[i]);
				}
}
END_TEST

START_TEST(group_sizes)
{
	static const struct {
		uint64_t k, groups;
		int64_t claim, want;
	} table[] = {
		{128, 4, 32, 32}, {128, 4, 0, 32},     {128, 4, -1, 32},   {128, 4, 48, 32},    {128, 1, -1, -1},
		{128, 1, 0, -1},  {128, 1, 128, 128},  {128, 1, 256, 256}, {1000, 8, 128, 128}, {1000, 8, 0, 125},
		{1000, 7, 0, 0},  {1000, 7, 150, 150}, {128, 128, 0, 1},
	};
	struct gptq_error err;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct shapes s;

		make(&s, GPTQ_DTYPE_I32, up(table[i].k * 4, 32), 64, table[i].groups, 8, table[i].k);
		ck_assert_int_eq(
			gq_layer_measure(&s.layer, (struct gq_layer_claim){.group_size = table[i].claim}, &err),
			GPTQ_OK);
		ck_assert_msg(s.layer.group_size == table[i].want, "row %zu: %lld", i, (long long)s.layer.group_size);
	}
}
END_TEST

/* 1000 codes of 4 bits fill 125 words exactly; 1020 do not: the groups tell where K ends. */
START_TEST(ragged_k_without_g_idx)
{
	struct gptq_error err;
	struct shapes s;

	make(&s, GPTQ_DTYPE_I32, 128, 64, 51, 8, 0); /* 128 words: 1024 codes; 51 groups of 20: 1020 */
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){4, 20}, &err), GPTQ_OK);
	ck_assert_uint_eq(s.layer.in_features, 1020);
	ck_assert_int_eq(s.layer.group_size, 20);
	make(&s, GPTQ_DTYPE_I32, 128, 64, 8, 8, 0); /* 8 groups of 128: whole */
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){4, 128}, &err), GPTQ_OK);
	ck_assert_uint_eq(s.layer.in_features, 1024);
}
END_TEST

START_TEST(small_and_ambiguous)
{
	struct gptq_error err;
	struct shapes s;

	/* 4 x 4: one word row and one word of zero points at 2, 3, 4 and 8 bits */
	for (unsigned bits = 2; bits <= 8; bits++) {
		make(&s, GPTQ_DTYPE_I32, 1, 4, 1, 1, 4);
		if (bits == 2 || bits == 3 || bits == 4 || bits == 8) {
			ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){.bits = bits}, &err),
					 GPTQ_OK);
			ck_assert_uint_eq(s.layer.pack.bits, bits);
		} else {
			ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){.bits = bits}, &err),
					 GPTQ_E_FORMAT);
		}
	}
	make(&s, GPTQ_DTYPE_I32, 1, 4, 1, 1, 4);
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){0}, &err), GPTQ_E_FORMAT);
	ck_assert_ptr_nonnull(strstr(err.message, "several widths"));
	ck_assert_str_eq(err.tensor, "m.qweight");
}
END_TEST

START_TEST(a_wrong_claim_does_not_count)
{
	struct gptq_error err;
	struct shapes s;

	make(&s, GPTQ_DTYPE_I32, 16, 64, 4, 8, 128);
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){8, 17}, &err), GPTQ_OK);
	ck_assert_uint_eq(s.layer.pack.bits, 4);
	ck_assert_int_eq(s.layer.group_size, 32);
}
END_TEST

/* Each break of the law names the tensor at fault and what it should have been. */
START_TEST(broken)
{
	enum {
		WORD_ROWS,
		N,
		GROUPS,
		ZERO_WORDS,
		K,
		SCALES_G,
		SCALES_N,
		DTYPE_W,
		DTYPE_Z,
		DTYPE_S,
		DTYPE_G,
		RANK_W,
		RANK_Z,
		RANK_S,
		RANK_G
	};
	static const struct {
		int what;
		uint64_t value;
		enum gptq_status status;
		const char *tensor, *found;
	} table[] = {
		{ZERO_WORDS, 7, GPTQ_E_FORMAT, "m.qzeros", "I32 [4, 7]"},
		{ZERO_WORDS, 0, GPTQ_E_FORMAT, "m.qzeros", "I32 [4, 0]"},
		{GROUPS, 0, GPTQ_E_FORMAT, "m.qzeros", "I32 [0, 8]"},
		{WORD_ROWS, 0, GPTQ_E_FORMAT, "m.qweight", "I32 [0, 64]"},
		{N, 0, GPTQ_E_FORMAT, "m.qweight", "I32 [16, 0]"},
		{WORD_ROWS, 15, GPTQ_E_FORMAT, "m.qweight", "qweight I32 [15, 64], qzeros I32 [4, 8]"},
		{SCALES_G, 3, GPTQ_E_FORMAT, "m.scales", "F16 [3, 64]"},
		{SCALES_N, 63, GPTQ_E_FORMAT, "m.scales", "F16 [4, 63]"},
		{K, 64, GPTQ_E_FORMAT, "m.qzeros",
		 "I32 [4, 8]"}, /* 64 rows in 16 words are 8 bits, and then 16 words */
		{K, 100, GPTQ_E_FORMAT, "m.qweight", "qweight I32 [16, 64], qzeros I32 [4, 8]"},
		{DTYPE_W, GPTQ_DTYPE_F32, GPTQ_E_FORMAT, "m.qweight", "F32 [16, 64]"},
		{DTYPE_W, GPTQ_DTYPE_U32, GPTQ_E_FORMAT, "m.qweight", "U32 [16, 64]"},
		{DTYPE_Z, GPTQ_DTYPE_I64, GPTQ_E_FORMAT, "m.qzeros", "I64 [4, 8]"},
		{DTYPE_S, GPTQ_DTYPE_I32, GPTQ_E_FORMAT, "m.scales", "I32 [4, 64]"},
		{DTYPE_S, GPTQ_DTYPE_F64, GPTQ_E_FORMAT, "m.scales", "F64 [4, 64]"},
		{DTYPE_G, GPTQ_DTYPE_F32, GPTQ_E_FORMAT, "m.g_idx", "F32 [128]"},
		{RANK_W, 1, GPTQ_E_FORMAT, "m.qweight", "I32 [16]"},
		{RANK_Z, 1, GPTQ_E_FORMAT, "m.qzeros", "I32 [4]"},
		{RANK_S, 1, GPTQ_E_FORMAT, "m.scales", "F16 [4]"},
		{RANK_G, 0, GPTQ_E_FORMAT, "m.g_idx", "I32 []"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct gptq_error err;
		struct shapes s;
		uint64_t v = table[i].value;

		make(&s, GPTQ_DTYPE_I32, 16, 64, 4, 8, 128);
		switch (table[i].what) {
		case WORD_ROWS:
			s.qweight[0] = v;
			break;
		case N:
			s.qweight[1] = v;
			break;
		case GROUPS:
			s.qzeros[0] = v;
			break;
		case ZERO_WORDS:
			s.qzeros[1] = v;
			break;
		case K:
			s.g_idx[0] = v;
			break;
		case SCALES_G:
			s.scales[0] = v;
			break;
		case SCALES_N:
			s.scales[1] = v;
			break;
		case DTYPE_W:
			s.t[0].dtype = (enum gptq_dtype)v;
			break;
		case DTYPE_Z:
			s.t[1].dtype = (enum gptq_dtype)v;
			break;
		case DTYPE_S:
			s.t[2].dtype = (enum gptq_dtype)v;
			break;
		case DTYPE_G:
			s.t[3].dtype = (enum gptq_dtype)v;
			break;
		case RANK_W:
			s.t[0].rank = (uint32_t)v;
			break;
		case RANK_Z:
			s.t[1].rank = (uint32_t)v;
			break;
		case RANK_S:
			s.t[2].rank = (uint32_t)v;
			break;
		case RANK_G:
			s.t[3].rank = (uint32_t)v;
			break;
		}
		ck_assert_msg(gq_layer_measure(&s.layer, (struct gq_layer_claim){0}, &err) == table[i].status,
			      "row %zu", i);
		ck_assert_msg(strcmp(err.tensor, table[i].tensor) == 0, "row %zu: %s", i, err.tensor);
		ck_assert_msg(strcmp(err.found, table[i].found) == 0, "row %zu: %s", i, err.found);
	}
}
END_TEST

START_TEST(three_bits_in_other_words)
{
	struct gptq_error err;
	struct shapes s;

	make(&s, GPTQ_DTYPE_I16, 24, 64, 4, 12, 128);
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){.bits = 3}, &err), GPTQ_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.message, "3-bit codes in 16-bit words"));
}
END_TEST

START_TEST(sizes_without_end)
{
	struct gptq_error err;
	struct shapes s;

	make(&s, GPTQ_DTYPE_I32, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0);
	ck_assert_int_ne(gq_layer_measure(&s.layer, (struct gq_layer_claim){4, 128}, &err), GPTQ_OK);
	make(&s, GPTQ_DTYPE_I32, UINT64_C(1) << 29, 64, 4, 8, 0);
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){4, 128}, &err), GPTQ_E_LIMIT);
}
END_TEST

static void groups_of(struct shapes *s, const int64_t *raw, int32_t *g, enum gptq_status status,
		      enum gq_g_idx_kind kind)
{
	enum gq_g_idx_kind got;
	struct gptq_error err;

	ck_assert_int_eq(gq_layer_groups(&s->layer, raw, g, &got, &err), status);
	if (status == GPTQ_OK)
		ck_assert_int_eq(got, kind);
}

START_TEST(groups)
{
	int64_t raw[128] = {0};
	int32_t g[128];
	struct gptq_error err;
	enum gq_g_idx_kind kind;
	struct shapes s;

	make(&s, GPTQ_DTYPE_I32, 16, 64, 4, 8, 128);
	ck_assert_int_eq(gq_layer_measure(&s.layer, (struct gq_layer_claim){0}, &err), GPTQ_OK);
	groups_of(&s, raw, g, GPTQ_OK, GQ_G_IDX_ZERO); /* all zero with G > 1: k / group size */
	ck_assert(g[31] == 0 && g[32] == 1 && g[127] == 3);
	for (int i = 0; i < 128; i++)
		raw[i] = i / 32;
	groups_of(&s, raw, g, GPTQ_OK, GQ_G_IDX_TRIVIAL);
	raw[0] = 3;
	groups_of(&s, raw, g, GPTQ_OK, GQ_G_IDX_ACT_ORDER);
	ck_assert_int_eq(g[0], 3);
	raw[0] = -4; /* counts from the end: group 0 */
	groups_of(&s, raw, g, GPTQ_OK, GQ_G_IDX_TRIVIAL);
	ck_assert_int_eq(g[0], 0);
	raw[0] = -1;
	groups_of(&s, raw, g, GPTQ_OK, GQ_G_IDX_ACT_ORDER);
	ck_assert_int_eq(g[0], 3);
	raw[127] = 4;
	ck_assert_int_eq(gq_layer_groups(&s.layer, raw, g, &kind, &err), GPTQ_E_FORMAT);
	ck_assert_str_eq(err.tensor, "m.g_idx");
	ck_assert_str_eq(err.found, "4");
	ck_assert_str_eq(err.expected, "-4..3");
	ck_assert_uint_eq(err.offset, 127 * 4);
	raw[127] = -5;
	ck_assert_int_eq(gq_layer_groups(&s.layer, raw, g, &kind, &err), GPTQ_E_FORMAT);
	raw[127] = INT64_MIN;
	ck_assert_int_eq(gq_layer_groups(&s.layer, raw, g, &kind, &err), GPTQ_E_FORMAT);
	s.layer.g_idx = NULL;
	groups_of(&s, NULL, g, GPTQ_OK, GQ_G_IDX_MISSING);
	ck_assert(g[31] == 0 && g[32] == 1 && g[127] == 3);
	s.layer.group_size = 0;
	ck_assert_int_eq(gq_layer_groups(&s.layer, NULL, g, &kind, &err), GPTQ_E_FORMAT);
	ck_assert_ptr_nonnull(strstr(err.message, "no group size fits"));
	s.layer.group_size = -1;
	s.layer.groups = 1;
	groups_of(&s, NULL, g, GPTQ_OK, GQ_G_IDX_MISSING);
	ck_assert(g[0] == 0 && g[127] == 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("layer");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, widths_and_words);
	tcase_add_test(tc, group_sizes);
	tcase_add_test(tc, ragged_k_without_g_idx);
	tcase_add_test(tc, small_and_ambiguous);
	tcase_add_test(tc, a_wrong_claim_does_not_count);
	tcase_add_test(tc, broken);
	tcase_add_test(tc, three_bits_in_other_words);
	tcase_add_test(tc, sizes_without_end);
	tcase_add_test(tc, groups);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
