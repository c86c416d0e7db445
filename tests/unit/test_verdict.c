/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule alone, on figures made by hand. */
#include "unit.h"

#include "base/mem.h"
#include "quant/verdict.h"

#include <math.h>
#include <string.h>

/* Columns whose shift is x each, with a spread of e about it. */
static struct gq_clusters clusters(double n, double x, double e)
{
	return (struct gq_clusters){n, n * x, n * (x * x + e * e), n * x, n, n};
}

/* An unremarkable layer of 4 bits, whose mean shift is `shift` (0: v2, 1: v1). */
static struct gq_code_stats plain_codes(double shift)
{
	struct gq_code_stats s;

	memset(&s, 0, sizeof(s));
	s.n_codes = 100000;
	s.n_lanes = s.n_kept = 1000;
	s.in_group = (struct gq_moments){1000, 9000, 0};
	s.shift_a = clusters(100, shift, 0.2);
	s.shift_b = clusters(100, shift - 1, 0.2);
	s.scatter[GQ_DECODE_PLAIN] = s.scatter[GQ_DECODE_V2] = s.scatter[GQ_DECODE_LANE] =
		(struct gq_moments){100, 0, 10};
	s.scatter[GQ_DECODE_LEGACY] = (struct gq_moments){100, 0, 400};
	return s;
}

static struct gq_layer_facts facts(unsigned bits, const struct gq_code_stats *codes)
{
	return (struct gq_layer_facts){.pack = {bits, 32}, .zeros = {.n_lanes = 1000}, .codes = codes};
}

static void check(const struct gq_layer_facts *layer, enum gptq_verdict verdict, enum gq_rule rule)
{
	struct gq_layer_verdict out;

	gq_layer_judge(layer, &out);
	ck_assert_str_eq(gptq_verdict_name(out.verdict), gptq_verdict_name(verdict));
	ck_assert_str_eq(gq_rule_name(out.rule), gq_rule_name(rule));
}

START_TEST(mean_shift)
{
	struct gq_code_stats s = plain_codes(0);
	struct gq_layer_facts layer = facts(4, &s);

	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_MEAN_SHIFT);
	s = plain_codes(1);
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	s = plain_codes(0.5);
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	/* A tenth of the codes' deviation may be a mean of the weights: hopeless where that is more than a level. */
	s = plain_codes(0);
	s.in_group.sum = 1000 * 2500.0;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	s = plain_codes(0);
	s.n_kept = 400;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	s = plain_codes(0);
	s.n_ends = 400;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	layer.codes = NULL;
	check(&layer, GPTQ_VERDICT_UNREAD, GQ_RULE_NONE);
}
END_TEST

START_TEST(strong_rules)
{
	struct gq_code_stats s = plain_codes(1);
	struct gq_layer_facts layer = facts(4, &s);

	/* Each speaks for v2 against a mean shift of v1. */
	s.rows_v2 = 1;
	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_EXACT_ROWS);
	s.rows_chance_v2 = 0.2;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	s = plain_codes(1);
	s.groups_v2 = 4;
	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_EXACT_GROUPS);
	s.groups_v1 = 1;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	s = plain_codes(1);
	s.n_first = s.first_heaps = 4;
	s.first_to_max = 10;
	s.first_to_zero = 31;
	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_LOWEST_MAX);
	s.first_heaps = 1;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	s.first_heaps = 4;
	s.first_to_zero = 29;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	s = plain_codes(1);
	memcpy(s.spike, (uint64_t[4]){100, 250, 100, 50}, sizeof(s.spike));
	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_SPIKE);
	memcpy(s.spike, (uint64_t[4]){100, 249, 100, 50}, sizeof(s.spike));
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	memcpy(s.spike, (uint64_t[4]){10, 99, 10, 5}, sizeof(s.spike));
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_MEAN_SHIFT);
	/* At 2 bits a sure mean shift counts as much as a few lowest M. */
	s = plain_codes(1);
	s.n_first = s.first_heaps = 4;
	s.first_to_zero = 40;
	s.first_to_max = 10;
	layer.pack.bits = 2;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	layer.pack.bits = 4;
	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_LOWEST_MAX);
	/* Two at odds settle nothing. */
	s = plain_codes(1);
	s.rows_v1 = 3;
	s.groups_v2 = 5;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
}
END_TEST

START_TEST(sentinels)
{
	struct gq_code_stats s = plain_codes(0);
	struct gq_layer_facts layer = facts(4, NULL);

	layer.zeros.sentinel = GQ_SENTINEL_V1;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_SENTINEL);
	layer.zeros.sentinel = GQ_SENTINEL_V2;
	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_SENTINEL);
	layer.zeros.sentinel = GQ_SENTINEL_HALVES;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	/* At 2 bits all zero points of a layer may be 1 by chance: codes must not object. */
	layer = facts(2, NULL);
	layer.zeros.sentinel = GQ_SENTINEL_V1;
	check(&layer, GPTQ_VERDICT_UNREAD, GQ_RULE_NONE);
	layer.codes = &s;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	s = plain_codes(1);
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_SENTINEL);
	ck_assert(gq_codes_wanted(&layer.zeros, layer.pack));
	layer = facts(3, NULL);
	layer.zeros.sentinel = GQ_SENTINEL_LEGACY;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_SENTINEL);
	ck_assert(!gq_codes_wanted(&layer.zeros, layer.pack));
}
END_TEST

START_TEST(scatter)
{
	struct gq_code_stats s = plain_codes(0);
	struct gq_layer_facts layer = facts(3, &s);

	check(&layer, GPTQ_VERDICT_V2, GQ_RULE_MEAN_SHIFT);
	s.scatter[GQ_DECODE_LEGACY].sumsq = 20;
	check(&layer, GPTQ_VERDICT_UNDETERMINED, GQ_RULE_NONE);
	s.scatter[GQ_DECODE_LEGACY].sumsq = 3;
	check(&layer, GPTQ_VERDICT_V1, GQ_RULE_SCATTER);
}
END_TEST

/* n layers of 4 bits with shifts given, as one model in shards of `per_shard`. */
static struct gq_model_verdict judge(const struct gq_code_stats *codes, size_t n, size_t per_shard, bool *odd)
{
	struct gq_layer_facts *layers = calloc(n, sizeof(*layers));
	struct gq_layer_verdict *verdicts = calloc(n, sizeof(*verdicts));
	struct gq_model_verdict out;

	for (size_t i = 0; i < n; i++) {
		layers[i] = facts(4, &codes[i]);
		layers[i].shard = (uint32_t)(i / per_shard);
	}
	ck_assert_int_eq(gq_model_judge(layers, n, verdicts, odd, &out, NULL), GPTQ_OK);
	free(layers);
	free(verdicts);
	return out;
}

START_TEST(models)
{
	struct gq_code_stats codes[40];
	bool odd[40];
	struct gq_model_verdict m;

	for (unsigned i = 0; i < 40; i++) {
		codes[i] = plain_codes(1);
		codes[i].rows_v1 = i % 4 == 0;
	}
	m = judge(codes, 40, 40, odd);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_V1);
	ck_assert_int_eq(m.rule, GQ_RULE_MAJORITY);
	/* One odd layer is no mixture. */
	codes[4].rows_v1 = 0;
	codes[4].rows_v2 = 5;
	m = judge(codes, 40, 40, odd);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_V1);
	ck_assert_uint_eq(m.n_odd, 1);
	ck_assert(odd[4]);
	/* Two are one, being 5%. */
	codes[8].rows_v1 = 0;
	codes[8].rows_v2 = 5;
	m = judge(codes, 40, 40, odd);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_MIXED);
	ck_assert_uint_eq(m.strong_v2, 2);
	/* Mean shifts alone: the median decides. */
	for (unsigned i = 0; i < 40; i++)
		codes[i] = plain_codes(i == 7 ? 0.6 : 0);
	m = judge(codes, 40, 40, NULL);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_V2);
	ck_assert_int_eq(m.rule, GQ_RULE_MEDIAN);
	/* A shard of its own kind. */
	for (unsigned i = 0; i < 4; i++)
		codes[i] = plain_codes(1);
	m = judge(codes, 40, 4, NULL);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_MIXED);
	m = judge(codes, 40, 40, NULL);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_UNDETERMINED);
	m = judge(codes, 0, 1, NULL);
	ck_assert_int_eq(m.verdict, GPTQ_VERDICT_UNREAD);
}
END_TEST

/* The style of a v1 model of two 4-bit layers with the figures given. */
static enum gptq_v1_style style(struct gq_zero_stats zeros, struct gq_code_stats codes)
{
	struct gq_layer_facts layers[2] = {facts(4, &codes), facts(4, &codes)};
	struct gq_layer_verdict verdicts[2];
	struct gq_model_verdict m;

	layers[0].zeros = layers[1].zeros = zeros;
	ck_assert_int_eq(gq_model_judge(layers, 2, verdicts, NULL, &m, NULL), GPTQ_OK);
	return m.model_style;
}

START_TEST(styles)
{
	struct gq_zero_stats z = {.n_lanes = 1000,
				  .n_first = 20,
				  .n_kept_zero = 20,
				  .n_max = 30,
				  .n_telling = 60,
				  .n_differ = 60,
				  .tall_words = 15,
				  .tall_words_full = 2,
				  .n_open = 13};
	struct gq_code_stats s = plain_codes(1);

	ck_assert_int_eq(style((struct gq_zero_stats){.n_lanes = 1000}, s), GPTQ_STYLE_CLEAN);
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_NONE);
	s.above_word = 2;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_WORD);
	s.above_bell = 10;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_NONE);
	s = plain_codes(1);
	s.above_lane = 20;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_LANE);
	s.above_lane = 3;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_NONE);
	s.borrow = clusters(20, 1, 0.3);
	s.borrow_base = (struct gq_moments){100, 0, 9};
	s.borrow_units = 25;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_WORD);
	s.borrow = clusters(20, 0, 0.3);
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_LANE);
	s.borrow = clusters(20, 0.4, 0.3);
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_NONE);

	z.tall_words_full = z.damaged_words = 15;
	z.n_open = 0;
	s = plain_codes(1);
	s.above_lane = 20;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_NONE);
	s.n_smear = 30;
	s.smear_sum = 15;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_SMEARED);
	s.smear_sum = 9;
	ck_assert_int_eq(style(z, s), GPTQ_STYLE_NONE);
}
END_TEST

START_TEST(allocation_fails)
{
	struct gq_model_verdict m;

	for (long i = 0; i < 2; i++) {
		gq_mem_fail_after(i);
		ck_assert_int_eq(gq_model_judge(NULL, 0, NULL, NULL, &m, NULL), GPTQ_E_NOMEM);
	}
	gq_mem_fail_after(-1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verdict");
	TCase *tc = tcase_create("rules");

	tcase_add_test(tc, mean_shift);
	tcase_add_test(tc, strong_rules);
	tcase_add_test(tc, sentinels);
	tcase_add_test(tc, scatter);
	tcase_add_test(tc, models);
	tcase_add_test(tc, styles);
	tcase_add_test(tc, allocation_fails);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
