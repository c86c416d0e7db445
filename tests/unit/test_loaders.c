/* SPDX-License-Identifier: Apache-2.0 */
/* What each loader does in each situation, and the form of the table. */
#include "unit.h"

#include "loaders_situations.h"

#include <stdio.h>

/*
 * R reads right, E refuses, X silently wrong, U unknown. "5" and so on are sections of the fact sheet on loaders: 1
 * the arithmetic of z = 0, 2 each loader, 3 auto-round, 5 the table of verdicts.
 * vLLM, Marlin, older; SGLang, Marlin, older; ExLlamaV2, transformers, GPTQModel, AutoGPTQ; TGI, Marlin; llama.cpp,
 * auto-round, QLLM.
 */
static const struct {
	const char *name;
	void (*set)(struct gq_loader_facts *f);
	const char *answers;
} situations[] = {
	/* 5: symmetric v1 */
	{"sym 4", sym4, "RRR RRR RRRR RR RRR"},
	{"sym 8", sym8, "RRR RRR ERRX RR RRR"}, /* AutoGPTQ: end of 1 */
	{"sym 2", sym2, "RER RER ERRR RE RRR"},
	{"sym 3", sym3, "RER RER ERRR EE ERR"},
	{"no label", v1_without_label, "RRR RRR RRRR RR RRR"},
	/* 5: symmetric v2, and labels that lie */
	{"v2", v2, "RRX RRX RRRE XR RXX"},
	{"v2 under gptq", v2_under_gptq, "XRX XRX XXXX XR XXX"},
	{"v2, no label", v2_without_label, "XRX XRX XXXX XR XXX"},
	{"v1 under gptq_v2", v1_under_v2, "XRR XRR XXXE RR XRR"},
	/* 5: asymmetric; 2: the gate of GPTQModel */
	{"asym, no gate", asym, "RER RER RRER RE RUR"},
	{"asym, gate", asym_gate, "RER RER RRRR RE RUR"},
	{"asym, sym absent", asym_sym_absent, "RER RER RUUR RE RUR"},
	{"asym v2", v2_asym, "REX REX RRRE XE RXX"},
	/* 1 and 5: zero points of 0 */
	{"lane, 4 bits", lane4, "XEX XEX XXXU UE XXR"},
	{"lane, 8 bits", lane8, "XEX XEX EXXX RE XER"},
	{"lane, 3 bits", lane3, "XEX XEX ERRU EE EER"},
	{"word, 4 bits", word4, "XEX XEX XRRX XE XUX"},
	{"word, 8 bits", word8, "XEX XEX ERRX XE XEX"},
	{"top lane only", top_lane, "XEX XEX XRRU UE XUR"},
	{"style open", style_open, "XEX XEX XUUU UE XUU"},
	{"smeared", smeared, "XEX XEX XXXX XE XXX"},
	{"smeared, then v2", smeared_to_v2, "XEX XEX XXXE XE XXX"},
	{"v2 with a 0", v2_zero_at_0, "REX REX XRRE XE RXX"},
	{"written as lane", converted_lane, "XEX XEX XXXU UE XXR"},
	{"written as word", converted_word, "XEX XEX XRRX XE XUX"},
	{"swapped constants", legacy3, "XEX XEX EXXX EE EXX"},
	/* 2: act-order and g_idx */
	{"act-order", act_order, "RRR RRR RRRR RR RER"},
	{"static groups", act_order_static, "RRR RRR RRRR RR RRR"},
	{"groups of several sizes", act_order_unequal, "XUX XUX URRR RR REU"},
	{"act-order, not said", act_order_unsaid, "XUX XUX RRRX UU RUR"},
	{"act-order, no key", act_order_absent, "EEX XUX RRRU UU RUR"},
	{"no g_idx", no_g_idx, "RRR RRR RUUU EE ERR"},
	{"g_idx of zeros", g_idx_zero, "RRR RRR RUUU UU XUR"},
	/* 2: vLLM's Marlin (e) */
	{"sym lies", sym_lies, "RXR RXR RUUR RX RUR"},
	/* 2: sizes */
	{"group 16", group_16, "RER RER RRRR RE RRR"},
	{"group 48", group_48, "RER RER XUUR RE RRR"},
	{"one group", one_group, "RRR RRR RRRR RR RRR"},
	{"ragged", ragged, "EEE EEE UURU UU RUU"},
	{"N of 4100", narrow, "EEE EEE URRU RE RER"},
	{"K of 64", tgi_shape, "RER RER RRRR RR RRR"},
	{"two group sizes", two_groups_sizes, "UUU UUU RUUU UU RUU"},
	{"two widths", two_widths, "UUU UUU EUUX UU UUU"},
	{"dynamic", dynamic, "RRU UUU EURX UU UUU"},
	/* 2 and 5: other formats */
	{"Marlin", marlin, "UUU UEU UUUU UU UUU"},
	{"is_marlin_format", marlin_key, "RRR RRR RRER RR RRR"}, /* GPTQModel: format sheet, 4.2 */
	{"AWQ", awq, "UUU UUU EUUU UU EUU"},
	{"EXL2", exl2, "UUU UUU RUUU UU EUU"},
	{"planar", planar, "UUU UUU UURU UU UUU"},
	/* 2: where the label stands */
	{"format key only", format_key_only, "XRX XRX XRRX XR XXX"},
	{"config.json only", config_json_only, "RRX RRX RRRE XR RXX"},
	{"quantize_config.json only", quantize_config_only, "RRX RRX XURE XR UUX"},
	{"files differ", files_differ, "RRX URX RRXU XR RXX"},
	{"no config", no_config, "UUU UUU RUUU UU UUU"},
	{"GPTQ_V2", upper_case, "XRX XRX XEUE XR RXX"},
	{"v2 with version", with_version, "RRX RRX RRRE XR RXR"},
	{"v1 with version", with_version_compatible, "RRR RRR RRRR RR RRR"},
	/* 2: words and scales */
	{"words of 16 bits", words_16, "UUU UUU EURU UU UUU"},
	{"words of 64 bits", words_64, "UUU UUU EUUU UU UUU"},
	{"BF16", bf16, "RRR RRR RUUU UU UUU"},
	{"F32", f32, "RUR RUR RUUU RR UUU"},
	/* 3: auto-round */
	{"auto-round v1", ar_v1, "RRU UUU RUUU UU ERU"},
	{"auto-round v2", ar_v2, "EEU UUU XUUU UU ERU"},
	{"auto-round, asym, 2 bits", ar_plain_asym2, "EEU UUU EUUU UU ERU"},
	{"auto-round, asym v1, 2 bits", ar_v1_asym2, "REU UUU EUUU UU EEU"},
	{"auto-round, no packing_format", ar_no_packing, "RRU UUU RUUU UU EUU"},
	{"auto_round:gptq", ar_alias, "EEU UUU RUUU UU ERU"},
	{"auto_round:new", ar_odd_word, "EEU UUU RUUU UU EUU"},
	{"auto-round, extra_config", ar_extra, "UUU UUU RUUU UU ERU"},
	/* 2: experts, lm_head, the rest */
	{"experts", experts, "RRU ERU RRRR RR RRR"},
	{"experts, asym", experts_asym, "XEU EEU RRRR RE RUR"},
	{"experts, 8 bits", experts_8, "UUU ERU ERRX RR RRR"},
	{"mixed", mixed, "XRX XRX XXXX XR XXX"},
	{"undetermined", format_open, "URU URU UUUU UR UUU"},
	{"lm_head", lm_head, "UUU UUU RURU UU RUU"},
	{"lm_head, flag", lm_head_flag, "RUU UUU RURU UU RUU"},
	{"rotated", rotated, "UUU UUU UURU UU UUU"},
	{"sym lies, 8 bits", sym_lies_8, "RXR RXR EUUX RX RUR"},
	{"no g_idx, desc_act", act_order_no_g_idx, "UUU UUU RUUU EE EER"},
	{"2 bits by rule", two_bits_by_rule, "RUU UUU EURU UU UUU"},
	{"experts, act-order", experts_act_order, "UUU ERU RRRR RR RER"},
	{"no quant_method", no_method, "RER RUR RRRR RR ERR"},
	{"quant_method GPTQ", upper_method, "RER RRR RRRR RR ERR"},
	{"another name", other_name, "RRR RRR RRER RR RRR"},
	{"legacy name", legacy_name, "RRR RRR RRRR RR RRR"},
};

START_TEST(situation)
{
	struct gq_loader_facts facts;
	const char *p = situations[_i].answers;
	char got[64] = "";
	struct gq_loader_result result;
	size_t n = 0;

	situations[_i].set(&facts);
	for (size_t i = 0; i < gq_loaders_count(); i++) {
		while (*p == ' ')
			got[n++] = *p++;
		gq_loader_judge(&facts, i, &result);
		got[n++] = "REXU"[result.answer];
		if (*p && got[n - 1] != *p)
			printf("%s: %s: %s (%s)\n", situations[_i].name, result.loader, gq_answer_name(result.answer),
			       result.reason);
		p += *p != '\0';
	}
	got[n] = '\0';
	ck_assert_str_eq(got, situations[_i].answers);
}
END_TEST

/* ----------------------------------------------------------------------------------------- the table's form */

START_TEST(each_loader_is_whole)
{
	enum gq_loader_id last = gq_loader_rows[0].loader;
	size_t changes = 0;

	ck_assert_uint_eq(gq_loaders_count(), GQ_N_LOADERS);
	for (size_t i = 0; i < gq_n_loader_rows; i++) {
		const struct gq_loader_row *row = &gq_loader_rows[i];
		bool ends = i + 1 == gq_n_loader_rows || gq_loader_rows[i + 1].loader != row->loader;

		changes += row->loader != last;
		last = row->loader;
		/* The last row needs nothing and reads right; no row before it does without a condition. */
		ck_assert_msg(ends == (row->need == 0 && row->without == 0), "row %zu", i);
		if (ends)
			ck_assert_int_eq(row->answer, GQ_READS_RIGHT);
		ck_assert_uint_eq(row->need & row->without, 0);
	}
	ck_assert_uint_eq(changes, GQ_N_LOADERS - 1);
}
END_TEST

START_TEST(reasons_are_short_sentences)
{
	for (size_t i = 0; i < gq_n_loader_rows; i++) {
		const char *s = gq_loader_rows[i].reason;
		size_t n = strlen(s);

		ck_assert_msg(n <= 100, "%zu characters: %s", n, s);
		ck_assert_msg(n > 0 || gq_loader_rows[i].answer == GQ_READS_RIGHT, "row %zu", i);
		ck_assert_msg(n == 0 || (s[n - 1] != '.' && s[n - 1] != ' '), "%s", s);
	}
}
END_TEST

START_TEST(each_condition_is_used)
{
	uint64_t used = 0;

	for (size_t i = 0; i < gq_n_loader_rows; i++)
		used |= gq_loader_rows[i].need | gq_loader_rows[i].without;
	for (size_t i = 0; i < GQ_N_CONDS; i++)
		ck_assert_msg(used >> i & 1, "%s", gq_cond_name(i));
	ck_assert_ptr_null(gq_cond_name(GQ_N_CONDS));
}
END_TEST

START_TEST(loaders_have_names)
{
	struct gq_loader_facts facts;
	struct gq_loader_result result;

	sym4(&facts);
	for (size_t i = 0; i < gq_loaders_count(); i++) {
		gq_loader_judge(&facts, i, &result);
		ck_assert_str_ne(result.loader, "");
		ck_assert_str_ne(result.read_at, "");
		ck_assert_uint_le(strlen(result.loader), 20);
		ck_assert_ptr_nonnull(gq_loader_note(i));
		ck_assert_uint_le(strlen(gq_loader_note(i)), 79);
	}
	ck_assert_ptr_null(gq_loader_note(gq_loaders_count()));
	ck_assert_str_eq(gq_answer_name(GQ_SILENTLY_WRONG), "silently-wrong");
	ck_assert_str_eq(gq_answer_name((enum gq_answer)99), "unknown");
}
END_TEST

/* ------------------------------------------------------------------------------------------------ the facts */

START_TEST(facts_from_a_config)
{
	static const char text[] = "{\"bits\": 4, \"group_size\": 128, \"sym\": false, \"desc_act\": true, "
				   "\"quant_method\": \"gptq\", \"checkpoint_format\": \"GPTQ_V2\", \"format\": \"\", "
				   "\"is_marlin_format\": false, \"lm_head\": true, \"dynamic\": {\"-:x\": {}}}";
	struct gq_config_file file;
	struct gq_loader_config config;

	ck_assert_int_eq(
		gq_config_read("quantize_config.json", GQ_CONFIG_STANDALONE, text, sizeof(text) - 1, &file, NULL),
		GPTQ_OK);
	gq_loader_config_of(&file, 0, &config);
	ck_assert(config.present && config.has_marlin_key && !config.marlin && !config.has_version);
	ck_assert_str_eq(config.quant_method, "gptq");
	ck_assert_str_eq(config.checkpoint_format, "GPTQ_V2");
	ck_assert_ptr_null(config.format);
	ck_assert_ptr_null(config.packing_format);
	ck_assert(config.bits.present && config.bits.value == 4 && config.group_size.value == 128);
	ck_assert(config.sym.present && !config.sym.value && config.desc_act.value && config.lm_head.value);
	ck_assert(config.dynamic && !config.extra_config && !config.rotation);
	ck_assert(!gq_loader_config_is_auto_round(&config));
	gq_config_free(&file);
}
END_TEST

START_TEST(facts_from_layers)
{
	struct gq_loader_facts facts = {0};

	add(&facts, "model.layers.0.a", 4, 4096, 4096, 128);
	ck_assert_int_eq(facts.group_size, 128);
	add(&facts, "model.layers.0.experts.0.a", 3, 4160, 4112, 96);
	ck_assert(facts.group_sizes_differ && facts.group_size == 0 && !facts.one_group);
	ck_assert(facts.ragged && facts.odd_group_size && facts.bad_marlin_group && facts.unlisted_group);
	ck_assert(facts.bad_gemm_shape && facts.bad_marlin_shape && facts.bad_tgi_shape && facts.bad_shape_32);
	ck_assert(facts.experts && !facts.lm_head);
	ck_assert_uint_eq(facts.max_in_features, 4160);
	ck_assert_uint_eq(facts.width[gq_width_index(3)].n_layers, 1);
	add(&facts, "lm_head", 4, 4096, 4096, 128);
	ck_assert(facts.lm_head && facts.group_size == 0);
	ck_assert_uint_eq(facts.n_layers, 3);
}
END_TEST

START_TEST(facts_of_a_conversion)
{
	struct gq_loader_facts facts;

	sym4(&facts);
	facts.config[GQ_FILE_CONFIG].checkpoint_format = NULL;
	facts.config[GQ_FILE_CONFIG].format = "gptq";
	gq_loader_facts_converted(&facts, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE);
	ck_assert_str_eq(facts.config[GQ_FILE_CONFIG].checkpoint_format, "gptq_v2");
	ck_assert_str_eq(facts.config[GQ_FILE_CONFIG].format, "gptq_v2");
	ck_assert_ptr_null(facts.config[GQ_FILE_QUANTIZE].format);
	ck_assert_ptr_null(facts.config[GQ_FILE_QUANT].checkpoint_format);
	ck_assert_int_eq(facts.zeros, GPTQ_VERDICT_V2);
	gq_loader_facts_converted(&facts, GPTQ_ZEROS_V1, GPTQ_STYLE_GPTQMODEL_3BIT);
	ck_assert_int_eq(facts.width[gq_width_index(4)].style, GPTQ_STYLE_WORD);
	ck_assert_int_eq(facts.width[gq_width_index(3)].style, GPTQ_STYLE_GPTQMODEL_3BIT);
	gq_loader_facts_converted(&facts, GPTQ_ZEROS_V1, GPTQ_STYLE_NONE);
	ck_assert_int_eq(facts.width[gq_width_index(4)].style, GPTQ_STYLE_WORD);
	ar_v2(&facts);
	ck_assert_str_eq(facts.config[GQ_FILE_CONFIG].packing_format, "auto_round:gptqmodel");
	ck_assert_ptr_null(facts.config[GQ_FILE_CONFIG].checkpoint_format);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loaders");
	TCase *tc = tcase_create("loaders");

	tcase_add_loop_test(tc, situation, 0, sizeof(situations) / sizeof(situations[0]));
	tcase_add_test(tc, each_loader_is_whole);
	tcase_add_test(tc, reasons_are_short_sentences);
	tcase_add_test(tc, each_condition_is_used);
	tcase_add_test(tc, loaders_have_names);
	tcase_add_test(tc, facts_from_a_config);
	tcase_add_test(tc, facts_from_layers);
	tcase_add_test(tc, facts_of_a_conversion);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
