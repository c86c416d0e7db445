/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/mem.h"
#include "quant/dynamic.h"

#include <stdio.h>
#include <string.h>

static struct gq_config_file file;
static struct gq_dynamic *rules;

static void set_up(const char *text)
{
	ck_assert_int_eq(gq_config_read("quantize_config.json", GQ_CONFIG_STANDALONE, text, strlen(text), &file, NULL),
			 GPTQ_OK);
	ck_assert_uint_eq(file.n_configs, 1);
	ck_assert_int_eq(gq_dynamic_new(&file, &file.configs[0], &rules, NULL), GPTQ_OK);
}

static void tear_down(void)
{
	gq_dynamic_free(rules);
	gq_config_free(&file);
}

/* The index of the rule that decides, with the result that is expected; -1 for none. */
static int ask(const char *module, enum gq_dynamic_result result)
{
	size_t index;

	ck_assert_int_eq(gq_dynamic_match(rules, module, strlen(module), &index), result);
	return index == SIZE_MAX ? -1 : (int)index;
}

START_TEST(exclusions_first_then_order)
{
	const struct gq_dynamic_rule *rule;

	set_up("{\"bits\": 4, \"group_size\": 32, \"dynamic\": {"
	       "\"+:.*\\\\.mlp\\\\.down_proj$\": {\"bits\": 8, \"sym\": true, \"pack_dtype\": \"int16\"},"
	       "\"model\\\\.layers\\\\.1\\\\.\": {\"bits\": 2, \"group_size\": 64, \"desc_act\": 1},"
	       "\"-:.*k_proj.*\": {},"
	       "\"\\u002d:lm_head\": null}}");
	ck_assert_uint_eq(gq_dynamic_count(rules), 4);
	ck_assert_int_eq(ask("model.layers.1.self_attn.k_proj", GQ_DYNAMIC_EXCLUDE), 0);
	ck_assert_int_eq(ask("lm_head", GQ_DYNAMIC_EXCLUDE), 1);
	ck_assert_int_eq(ask("model.layers.1.mlp.down_proj", GQ_DYNAMIC_OVERRIDE), 2);
	ck_assert_int_eq(ask("model.layers.1.mlp.up_proj", GQ_DYNAMIC_OVERRIDE), 3);
	ck_assert_int_eq(ask("model.layers.0.mlp.down_proj_x", GQ_DYNAMIC_NONE), -1);
	/* anchored at the start, open at the end */
	ck_assert_int_eq(ask("x.model.layers.1.mlp.up_proj", GQ_DYNAMIC_NONE), -1);
	rule = gq_dynamic_rule_at(rules, 2);
	ck_assert_str_eq(rule->text, "+:.*\\.mlp\\.down_proj$");
	ck_assert(rule->bits.present && rule->bits.value == 8 && !rule->group_size.present);
	ck_assert(rule->sym.present && rule->sym.value && !rule->desc_act.present);
	ck_assert_str_eq(rule->pack_dtype, "int16");
	rule = gq_dynamic_rule_at(rules, 3);
	ck_assert(rule->desc_act.present && rule->desc_act.value && rule->group_size.value == 64);
	ck_assert_ptr_null(rule->problem);
	ck_assert_ptr_null(gq_dynamic_rule_at(rules, 4));
	tear_down();
}
END_TEST

START_TEST(extra_config_names_and_patterns)
{
	set_up("{\"quant_method\": \"auto-round\", \"bits\": 4, \"extra_config\": {"
	       "\".*mlp\\\\.gate.*\": {\"bits\": 16, \"data_type\": \"float\"},"
	       "\"model.layers.0.mlp.gate\": {\"bits\": 8},"
	       "\"lm_head\": {\"bits\": 16},"
	       "\"layers.1.up$\": {\"group_size\": 64}}}");
	ck_assert_int_eq(ask("model.layers.0.mlp.gate", GQ_DYNAMIC_OVERRIDE), 1);
	ck_assert_int_eq(ask("model.layers.1.mlp.gate", GQ_DYNAMIC_EXCLUDE), 0);
	ck_assert_int_eq(ask("lm_head", GQ_DYNAMIC_EXCLUDE), 2);
	/* a plain name is no pattern, a pattern is searched for anywhere */
	ck_assert_int_eq(ask("lm_head.x", GQ_DYNAMIC_NONE), -1);
	ck_assert_int_eq(ask("model.layers.1.up", GQ_DYNAMIC_OVERRIDE), 3);
	ck_assert(gq_dynamic_rule_at(rules, 0)->from_extra_config);
	tear_down();
}
END_TEST

START_TEST(bad_pattern_is_its_own_problem)
{
	const struct gq_dynamic_rule *rule;

	set_up("{\"bits\": 4, \"group_size\": 32, \"dynamic\": {\"+:(unclosed\": {\"bits\": 8},"
	       "\"+:\\u001b[a\": {\"bits\": 2}, \"+:\\ud800\": {}, \"+:layer\": {\"bits\": 3}}}");
	rule = gq_dynamic_rule_at(rules, 0);
	ck_assert_str_eq(rule->text, "+:(unclosed");
	ck_assert_ptr_nonnull(rule->problem);
	ck_assert_ptr_nonnull(strstr(rule->problem, "byte 9"));
	ck_assert_str_eq(gq_dynamic_rule_at(rules, 1)->text, "+:\\x1b[a");
	ck_assert_ptr_nonnull(gq_dynamic_rule_at(rules, 1)->problem);
	ck_assert_ptr_nonnull(gq_dynamic_rule_at(rules, 2)->problem);
	ck_assert_int_eq(ask("layer.0", GQ_DYNAMIC_OVERRIDE), 3);
	ck_assert_int_eq(ask("\xff\xfe", GQ_DYNAMIC_NONE), -1);
	tear_down();
}
END_TEST

START_TEST(hostile_pattern_hits_the_limit)
{
	char module[4096];

	set_up("{\"bits\": 4, \"group_size\": 32, \"dynamic\": {\"+:(a+)+$\": {\"bits\": 8},"
	       "\"+:model\": {\"bits\": 2}}}");
	memset(module, 'a', sizeof(module) - 2);
	module[sizeof(module) - 2] = 'b';
	module[sizeof(module) - 1] = '\0';
	ck_assert_int_eq(ask("aaa", GQ_DYNAMIC_OVERRIDE), 0);
	ck_assert_int_eq(ask("model.x", GQ_DYNAMIC_OVERRIDE), 1);
	ck_assert_int_eq(ask(module, GQ_DYNAMIC_LIMIT), 0);
	/* From then on it is not run, so 100,000 paths cost nothing. */
	for (int i = 0; i < 100000; i++)
		ck_assert_int_eq(ask(module, GQ_DYNAMIC_LIMIT), 0);
	tear_down();
}
END_TEST

/* Short patterns that compile to much, and deep ones: bounded in memory, never a crash. */
START_TEST(large_patterns_are_bounded)
{
	struct gq_buf text = {0};
	bool too_large = false;

	gq_buf_puts(&text, "{\"bits\": 4, \"group_size\": 32, \"dynamic\": {\"deep\": {}");
	for (int i = 0; i < 2000; i++)
		gq_buf_printf(&text, ",\"(x%d(abcdefghij){1,50}){1,25}\": {}", i);
	gq_buf_puts(&text, ",\"");
	for (int i = 0; i < 200; i++)
		gq_buf_puts(&text, "(");
	gq_buf_puts(&text, "\": {}}}");
	set_up(text.data);
	for (size_t i = 0; i < gq_dynamic_count(rules); i++) {
		const char *problem = gq_dynamic_rule_at(rules, i)->problem;

		too_large = too_large || (problem && strstr(problem, "too large together"));
	}
	ck_assert(too_large);
	ck_assert_ptr_nonnull(gq_dynamic_rule_at(rules, 2001)->problem);
	tear_down();
	gq_buf_free(&text);
}
END_TEST

START_TEST(rules_are_counted_and_memory_may_run_out)
{
	struct gq_buf text = {0};
	struct gptq_error err;

	set_up("{\"bits\": 4, \"group_size\": 32}");
	ck_assert_uint_eq(gq_dynamic_count(rules), 0);
	ck_assert_int_eq(ask("x", GQ_DYNAMIC_NONE), -1);
	tear_down();

	set_up("{\"bits\": 4, \"group_size\": 32, \"dynamic\": {\"-:a.*\": {\"pack_dtype\": \"x\"}, \"(\": {}}}");
	gq_dynamic_free(rules);
	for (long n = 0;; n++) {
		enum gptq_status st;

		gq_mem_fail_after(n);
		st = gq_dynamic_new(&file, &file.configs[0], &rules, &err);
		gq_mem_fail_after(-1);
		if (st == GPTQ_OK)
			break;
		ck_assert_int_eq(st, GPTQ_E_NOMEM);
		ck_assert_int_lt(n, 200);
	}
	tear_down();

	gq_buf_puts(&text, "{\"bits\": 4, \"group_size\": 32, \"dynamic\": {\"a\": 0");
	for (int i = 0; i < 65536; i++)
		gq_buf_printf(&text, ",\"%d\":0", i);
	gq_buf_puts(&text, "}}");
	ck_assert_int_eq(gq_config_read("q.json", GQ_CONFIG_STANDALONE, text.data, text.size, &file, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_dynamic_new(&file, &file.configs[0], &rules, &err), GPTQ_E_LIMIT);
	ck_assert_ptr_null(rules);
	gq_config_free(&file);
	gq_buf_free(&text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dynamic");
	TCase *tc = tcase_create("dynamic");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, exclusions_first_then_order);
	tcase_add_test(tc, extra_config_names_and_patterns);
	tcase_add_test(tc, bad_pattern_is_its_own_problem);
	tcase_add_test(tc, hostile_pattern_hits_the_limit);
	tcase_add_test(tc, large_patterns_are_bounded);
	tcase_add_test(tc, rules_are_counted_and_memory_may_run_out);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
