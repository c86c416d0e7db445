/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "format/producer.h"

static const struct {
	const char *older, *newer;
} ordered[] = {
	{"6.0.0", "7.0.0"},     {"7.0.0", "7.0.1"},         {"0.9.0", "0.13.0"},
	{"7.0.0-dev", "7.0.0"}, {"7.0.0.dev3", "7.0.0"},    {"7.0.0rc1", "7.0.0"},
	{"6.9.9", "7.0.0-dev"}, {"4.0.0-dev", "4.0.1"},     {"0.7.1", "0.8.0.dev1"},
	{"1", "1.0.1"},         {"1.0.0.1", "1.0.0.2"},     {"7.0.0a1", "7.0.0+cu121"},
	{"0.1", "0.2"},         {"9.99999999999999", "10"}, {"7.0.0-beta", "7.0.0"},
};

START_TEST(versions_compare_by_number)
{
	struct gq_version a = gq_version_parse(ordered[_i].older), b = gq_version_parse(ordered[_i].newer);

	ck_assert(a.known && b.known);
	ck_assert_int_lt(gq_version_compare(a, b), 0);
	ck_assert_int_gt(gq_version_compare(b, a), 0);
	ck_assert_int_eq(gq_version_compare(a, a), 0);
}
END_TEST

START_TEST(some_versions_are_equal_or_none)
{
	ck_assert_int_eq(gq_version_compare(gq_version_parse("7.0"), gq_version_parse("v7.0.0")), 0);
	ck_assert_int_eq(gq_version_compare(gq_version_parse("0.7.1+cu118"), gq_version_parse("0.7.1.post1")), 0);
	ck_assert(!gq_version_parse("").known);
	ck_assert(!gq_version_parse("unknown").known);
	ck_assert(!gq_version_parse("dev").known);
}
END_TEST

/* What each entry of meta.quantizer means at 2, 3, 4 and 8 bits under quant_method gptq and auto-round. */
static const struct {
	const char *entry;
	bool auto_round;
	enum gq_producer_style b2, b3, b4, b8;
} styles[] = {
#define SAME(s) GQ_PSTYLE_##s, GQ_PSTYLE_##s, GQ_PSTYLE_##s, GQ_PSTYLE_##s
#define PLAIN(s, three) GQ_PSTYLE_##s, GQ_PSTYLE_##three, GQ_PSTYLE_##s, GQ_PSTYLE_##s
	{"gptqmodel:0.8.9", false, SAME(OPEN)},
	{"gptqmodel:0.9.0-dev", false, SAME(OPEN)},
	{"gptqmodel:0.9.0", false, PLAIN(WORD, GPTQMODEL_3BIT)},
	{"gptqmodel:1.9.0", true, PLAIN(WORD, GPTQMODEL_3BIT)},
	{"GPTQModel:4.0.0-dev", false, PLAIN(WORD, GPTQMODEL_3BIT)},
	{"gptqmodel:6.9.9", false, PLAIN(WORD, GPTQMODEL_3BIT)},
	{"gptqmodel:7.0.0-dev", false, PLAIN(WORD, OPEN)},
	{"gptqmodel:7.0.0", false, PLAIN(WORD, LANE)},
	{"gptqmodel:7.3.4", false, PLAIN(WORD, LANE)},
	{"gptqmodel:7.3.4:extra", false, PLAIN(WORD, LANE)},
	{"gptqmodel:main", false, SAME(OPEN)},
	{"intel/auto-round:0.1", false, PLAIN(SMEARED, REFUSE)},
	{"auto-round:0.12.3", false, PLAIN(SMEARED, REFUSE)},
	{"auto_round:0.13.0.dev1", false, PLAIN(OPEN, REFUSE)},
	{"auto-round:0.13.0", false, PLAIN(WORD, REFUSE)},
	{"auto-round:0.5.9", true, PLAIN(SMEARED, REFUSE)},
	{"auto-round:0.6.0rc1", true, PLAIN(OPEN, REFUSE)},
	{"auto-round:0.6.0", true, PLAIN(WORD, REFUSE)},
	{"auto-round:", true, PLAIN(OPEN, REFUSE)},
	{"autogptq:0.7.1", false, SAME(SMEARED)},
	{"auto_gptq:0.2.0", false, SAME(SMEARED)},
	{"auto_gptq:0.7.1+cu121", false, SAME(SMEARED)},
	{"autogptq:0.7.2.dev0", false, SAME(OPEN)},
	{"autogptq:0.8.0.dev1", false, SAME(OPEN)},
	{"tgi:2.0", false, SAME(SMEARED)},
	{"text-generation-inference:x", false, SAME(SMEARED)},
	{"qllm:0.2.2", false, SAME(LANE)},
	{"optimum:1.17.0", false, SAME(OPEN)},
};

START_TEST(table_of_styles)
{
	struct gq_producer p;

	ck_assert(gq_producer_from_entry(styles[_i].entry, &p));
	ck_assert_int_eq(gq_producer_style(&p, 2, styles[_i].auto_round), styles[_i].b2);
	ck_assert_int_eq(gq_producer_style(&p, 3, styles[_i].auto_round), styles[_i].b3);
	ck_assert_int_eq(gq_producer_style(&p, 4, styles[_i].auto_round), styles[_i].b4);
	ck_assert_int_eq(gq_producer_style(&p, 8, styles[_i].auto_round), styles[_i].b8);
	ck_assert_int_eq(gq_producer_style(&p, 5, styles[_i].auto_round), GQ_PSTYLE_OPEN);
	ck_assert_int_eq(gq_producer_style(&p, 16, styles[_i].auto_round), GQ_PSTYLE_OPEN);
}
END_TEST

START_TEST(entries_and_versions_are_taken_apart)
{
	struct gq_producer p;

	ck_assert(!gq_producer_from_entry("gptqmodel", &p));
	ck_assert(!gq_producer_from_entry(":1.0", &p));
	ck_assert(gq_producer_from_entry(" Intel/Auto-Round:0.1 ", &p));
	ck_assert_str_eq(p.name, "intel/auto-round");
	ck_assert_str_eq(p.version, "0.1");
	ck_assert(gq_producer_from_entry("a\x1b[31m\xc3\xa9:1\x01", &p));
	ck_assert_str_eq(p.name, "a?[31m??");
	ck_assert_str_eq(p.version, "1?");
	gq_producer_from_version(GQ_PRODUCER_KEY_METADATA, "0.7.1", &p);
	ck_assert_int_eq(gq_producer_style(&p, 4, false), GQ_PSTYLE_SMEARED);
	ck_assert_str_eq(p.name, "autogptq");
	gq_producer_from_version(GQ_PRODUCER_KEY_AUTOROUND, "0.17.0", &p);
	ck_assert_int_eq(gq_producer_style(&p, 4, true), GQ_PSTYLE_WORD);
	ck_assert_str_eq(gq_producer_style_name(GQ_PSTYLE_GPTQMODEL_3BIT), "gptqmodel-3bit");
	ck_assert_ptr_null(gq_producer_style_name(GQ_PSTYLE_OPEN));
}
END_TEST

START_TEST(first_known_producer_counts)
{
	struct gq_producer p[3];

	ck_assert(gq_producer_from_entry("mine:1", &p[0]));
	ck_assert(gq_producer_from_entry("gptqmodel:0.9.0", &p[1]));
	ck_assert(gq_producer_from_entry("gptqmodel:0.1.0", &p[2]));
	ck_assert_ptr_eq(gq_producer_first(p, 3), &p[1]);
	ck_assert_ptr_eq(gq_producer_first(p, 1), &p[0]);
	ck_assert_ptr_null(gq_producer_first(p, 0));
	ck_assert(gq_producer_passes_gptqmodel_gate(p, 3));
	ck_assert(!gq_producer_passes_gptqmodel_gate(&p[2], 1));
	ck_assert(!gq_producer_passes_gptqmodel_gate(p, 1));
	ck_assert(gq_producer_from_entry("gptqmodel:0.9.0-dev", &p[1]));
	ck_assert(!gq_producer_passes_gptqmodel_gate(p, 3));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("producer");
	TCase *tc = tcase_create("producer");

	tcase_add_loop_test(tc, versions_compare_by_number, 0, sizeof(ordered) / sizeof(ordered[0]));
	tcase_add_test(tc, some_versions_are_equal_or_none);
	tcase_add_loop_test(tc, table_of_styles, 0, sizeof(styles) / sizeof(styles[0]));
	tcase_add_test(tc, entries_and_versions_are_taken_apart);
	tcase_add_test(tc, first_known_producer_counts);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
