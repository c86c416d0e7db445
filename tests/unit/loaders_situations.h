/* SPDX-License-Identifier: Apache-2.0 */
/* The situations of test_loaders.c: each function fills the facts of one checkpoint. */
#ifndef GQ_TESTS_LOADERS_SITUATIONS_H
#define GQ_TESTS_LOADERS_SITUATIONS_H

#include "quant/loaders_table.h"

#include <string.h>

static void add(struct gq_loader_facts *f, const char *name, unsigned bits, uint64_t k, uint64_t n, int64_t gs)
{
	static const struct gq_tensor scales = {.dtype = GPTQ_DTYPE_F16};
	struct gq_layer layer = {.name = name, .name_len = strlen(name), .scales = &scales, .pack = {bits, 32}};

	layer.in_features = k;
	layer.out_features = n;
	layer.group_size = gs;
	layer.groups = gs < 0 ? 1 : (k + (uint64_t)gs - 1) / (uint64_t)gs;
	gq_loader_facts_add(f, &layer, GQ_G_IDX_TRIVIAL);
}

/* Symmetric v1 of so many bits in both files, as GPTQModel's forerunners wrote it: no gate. */
static void sized(struct gq_loader_facts *f, unsigned bits, uint64_t k, uint64_t n, int64_t gs)
{
	struct gq_loader_config config = {
		.present = true,
		.quant_method = "gptq",
		.checkpoint_format = "gptq",
		.bits = {true, bits},
		.group_size = {true, gs},
		.sym = {true, true},
		.desc_act = {true, false},
	};

	*f = (struct gq_loader_facts){.zeros = GPTQ_VERDICT_V1, .midpoint = true};
	f->config[GQ_FILE_CONFIG] = f->config[GQ_FILE_QUANTIZE] = config;
	add(f, "model.layers.0.mlp.down_proj", bits, k, n, gs);
	f->width[gq_width_index(bits)].style = GPTQ_STYLE_CLEAN;
}

static void sym(struct gq_loader_facts *f, unsigned bits)
{
	sized(f, bits, 4096, 4096, 128);
}

/* A situation that is one call. */
#define SITUATION(name, call)                                                                                          \
	static void name(struct gq_loader_facts *f)                                                                    \
	{                                                                                                              \
		call;                                                                                                  \
	}

SITUATION(sym2, sym(f, 2))
SITUATION(sym3, sym(f, 3))
SITUATION(sym4, sym(f, 4))
SITUATION(sym8, sym(f, 8))
SITUATION(group_16, sized(f, 4, 4096, 4096, 16))
SITUATION(group_48, sized(f, 4, 3072, 4096, 48))
SITUATION(one_group, sized(f, 4, 4096, 4096, -1))
SITUATION(ragged, sized(f, 4, 4160, 4096, 128))
SITUATION(narrow, sized(f, 4, 4096, 4100, 128))
SITUATION(tgi_shape, sized(f, 4, 4160, 4096, 32))

static void label(struct gq_loader_facts *f, const char *word)
{
	f->config[GQ_FILE_CONFIG].checkpoint_format = f->config[GQ_FILE_QUANTIZE].checkpoint_format = word;
}

static void tensors_v2(struct gq_loader_facts *f)
{
	f->zeros = GPTQ_VERDICT_V2;
	for (size_t i = 0; i < GQ_N_WIDTHS; i++)
		f->width[i].style = GPTQ_STYLE_NONE;
}

static void sym_flag(struct gq_loader_facts *f, bool value)
{
	f->config[GQ_FILE_CONFIG].sym.value = f->config[GQ_FILE_QUANTIZE].sym.value = value;
}

static void v2(struct gq_loader_facts *f)
{
	sym4(f);
	tensors_v2(f);
	label(f, "gptq_v2");
}

static void v2_under_gptq(struct gq_loader_facts *f)
{
	sym4(f);
	tensors_v2(f);
}

static void v2_without_label(struct gq_loader_facts *f)
{
	v2(f);
	label(f, NULL);
}

static void v1_labelled(struct gq_loader_facts *f, const char *word)
{
	sym4(f);
	label(f, word);
}

SITUATION(v1_under_v2, v1_labelled(f, "gptq_v2"))
SITUATION(v1_without_label, v1_labelled(f, NULL))

static void asym(struct gq_loader_facts *f)
{
	sym4(f);
	sym_flag(f, false);
	f->midpoint = false;
}

static void asym_gate(struct gq_loader_facts *f)
{
	asym(f);
	f->gate_open = true;
}

static void asym_sym_absent(struct gq_loader_facts *f)
{
	asym(f);
	f->config[GQ_FILE_CONFIG].sym.present = f->config[GQ_FILE_QUANTIZE].sym.present = false;
}

static void zero_at_0(struct gq_loader_facts *f, unsigned bits, enum gptq_v1_style style, bool part)
{
	struct gq_loader_width *width = &f->width[gq_width_index(bits)];

	sym(f, bits);
	sym_flag(f, false);
	f->midpoint = false;
	f->gate_open = true;
	width->style = style;
	width->zeros_at_0 = 7;
	width->styles_part = part;
}

SITUATION(lane4, zero_at_0(f, 4, GPTQ_STYLE_LANE, true))
SITUATION(lane8, zero_at_0(f, 8, GPTQ_STYLE_LANE, true))
SITUATION(lane3, zero_at_0(f, 3, GPTQ_STYLE_LANE, true))
SITUATION(word4, zero_at_0(f, 4, GPTQ_STYLE_WORD, true))
SITUATION(word8, zero_at_0(f, 8, GPTQ_STYLE_WORD, true))
SITUATION(top_lane, zero_at_0(f, 4, GPTQ_STYLE_CLEAN, false))
SITUATION(style_open, zero_at_0(f, 4, GPTQ_STYLE_NONE, true))
SITUATION(smeared, zero_at_0(f, 4, GPTQ_STYLE_SMEARED, true))

static void smeared_to_v2(struct gq_loader_facts *f)
{
	zero_at_0(f, 4, GPTQ_STYLE_SMEARED, true);
	gq_loader_facts_converted(f, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE);
}

static void v2_zero_at_0(struct gq_loader_facts *f)
{
	zero_at_0(f, 4, GPTQ_STYLE_NONE, true);
	tensors_v2(f);
	label(f, "gptq_v2");
}

static void v2_asym(struct gq_loader_facts *f)
{
	asym(f);
	tensors_v2(f);
	label(f, "gptq_v2");
}

static void legacy3(struct gq_loader_facts *f)
{
	sym3(f);
	f->width[gq_width_index(3)].style = GPTQ_STYLE_GPTQMODEL_3BIT;
}

static void act_order(struct gq_loader_facts *f)
{
	sym4(f);
	f->act_order = true;
	f->config[GQ_FILE_CONFIG].desc_act.value = f->config[GQ_FILE_QUANTIZE].desc_act.value = true;
}

static void act_order_static(struct gq_loader_facts *f)
{
	act_order(f);
	f->act_order = false;
	f->config[GQ_FILE_CONFIG].static_groups = (struct gq_config_flag){true, true};
}

static void act_order_unequal(struct gq_loader_facts *f)
{
	act_order(f);
	f->unequal_groups = true;
}

static void act_order_unsaid(struct gq_loader_facts *f)
{
	sym4(f);
	f->act_order = true;
}

static void act_order_absent(struct gq_loader_facts *f)
{
	act_order(f);
	f->config[GQ_FILE_CONFIG].desc_act.present = f->config[GQ_FILE_QUANTIZE].desc_act.present = false;
}

static void no_g_idx(struct gq_loader_facts *f)
{
	sym4(f);
	f->g_idx_missing = true;
}

static void g_idx_zero(struct gq_loader_facts *f)
{
	sym4(f);
	f->g_idx_zero = true;
}

static void lie(struct gq_loader_facts *f, unsigned bits)
{
	sym(f, bits);
	f->midpoint = false;
	f->gate_open = true;
}

SITUATION(sym_lies, lie(f, 4))
SITUATION(sym_lies_8, lie(f, 8))

static void two_groups_sizes(struct gq_loader_facts *f)
{
	sym4(f);
	add(f, "model.layers.1.mlp.up_proj", 4, 4096, 4096, 64);
}

static void two_widths(struct gq_loader_facts *f)
{
	sym4(f);
	add(f, "model.layers.1.mlp.up_proj", 8, 4096, 4096, 128);
	f->width[gq_width_index(8)].style = GPTQ_STYLE_CLEAN;
}

static void dynamic(struct gq_loader_facts *f)
{
	two_widths(f);
	f->config[GQ_FILE_CONFIG].dynamic = f->config[GQ_FILE_QUANTIZE].dynamic = true;
}

static void marlin(struct gq_loader_facts *f)
{
	sym4(f);
	label(f, "marlin");
	f->foreign = "Marlin";
}

static void marlin_key(struct gq_loader_facts *f)
{
	sym4(f);
	f->config[GQ_FILE_QUANTIZE].has_marlin_key = true;
}

static void awq(struct gq_loader_facts *f)
{
	sym4(f);
	f->config[GQ_FILE_CONFIG].quant_method = f->config[GQ_FILE_QUANTIZE].quant_method = "awq";
	f->foreign = "AWQ";
}

static void exl2(struct gq_loader_facts *f)
{
	sym4(f);
	f->config[GQ_FILE_CONFIG].quant_method = f->config[GQ_FILE_QUANTIZE].quant_method = "exl2";
	f->foreign = "EXL2";
}

static void planar(struct gq_loader_facts *f)
{
	sym4(f);
	label(f, "gptq_p");
	f->foreign = "planar GPTQ (gptq_p)";
}

static void format_key_only(struct gq_loader_facts *f)
{
	v2(f);
	label(f, NULL);
	f->config[GQ_FILE_CONFIG].format = f->config[GQ_FILE_QUANTIZE].format = "gptq_v2";
}

static void config_json_only(struct gq_loader_facts *f)
{
	v2(f);
	f->config[GQ_FILE_QUANTIZE] = (struct gq_loader_config){0};
}

static void quantize_config_only(struct gq_loader_facts *f)
{
	v2(f);
	f->config[GQ_FILE_CONFIG] = (struct gq_loader_config){0};
}

static void files_differ(struct gq_loader_facts *f)
{
	v2(f);
	f->config[GQ_FILE_QUANTIZE].checkpoint_format = "gptq";
}

static void no_config(struct gq_loader_facts *f)
{
	sym4(f);
	f->config[GQ_FILE_CONFIG] = f->config[GQ_FILE_QUANTIZE] = (struct gq_loader_config){0};
}

static void upper_case(struct gq_loader_facts *f)
{
	v2(f);
	label(f, "GPTQ_V2");
}

static void with_version(struct gq_loader_facts *f)
{
	v2(f);
	f->config[GQ_FILE_QUANTIZE].has_version = true;
}

static void with_version_compatible(struct gq_loader_facts *f)
{
	sym4(f);
	f->config[GQ_FILE_QUANTIZE].has_version = true;
	f->config[GQ_FILE_QUANTIZE].compatible_with_autogptq = true;
}

static void words(struct gq_loader_facts *f, unsigned bits)
{
	sym4(f);
	f->min_word_bits = f->max_word_bits = bits;
}

SITUATION(words_16, words(f, 16))
SITUATION(words_64, words(f, 64))

static void bf16(struct gq_loader_facts *f)
{
	sym4(f);
	f->scales_bf16 = true;
}

static void f32(struct gq_loader_facts *f)
{
	sym4(f);
	f->scales_f32 = true;
}

static void auto_round(struct gq_loader_facts *f, unsigned bits, const char *packing)
{
	struct gq_loader_config *config = &f->config[GQ_FILE_CONFIG];

	sym(f, bits);
	config->quant_method = "auto-round";
	config->packing_format = packing;
	config->checkpoint_format = NULL;
	config->desc_act.present = false;
	f->config[GQ_FILE_QUANTIZATION] = *config;
	f->config[GQ_FILE_QUANTIZE] = (struct gq_loader_config){0};
	f->g_idx_missing = true;
}

SITUATION(ar_v1, auto_round(f, 4, "auto_round:auto_gptq"))
SITUATION(ar_no_packing, auto_round(f, 4, NULL))
SITUATION(ar_alias, auto_round(f, 4, "auto_round:gptq"))
SITUATION(ar_odd_word, auto_round(f, 4, "auto_round:new"))

static void ar_v2(struct gq_loader_facts *f)
{
	auto_round(f, 4, "auto_round:auto_gptq");
	gq_loader_facts_converted(f, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE);
}

static void ar_plain_asym2(struct gq_loader_facts *f)
{
	auto_round(f, 2, "auto_round");
	tensors_v2(f);
	f->config[GQ_FILE_CONFIG].sym.value = f->config[GQ_FILE_QUANTIZATION].sym.value = false;
	f->midpoint = false;
}

static void ar_v1_asym2(struct gq_loader_facts *f)
{
	ar_plain_asym2(f);
	f->zeros = GPTQ_VERDICT_V1;
	f->width[gq_width_index(2)].style = GPTQ_STYLE_CLEAN;
	f->config[GQ_FILE_CONFIG].packing_format = "auto_round:auto_gptq";
	f->config[GQ_FILE_QUANTIZATION].packing_format = "auto_round:auto_gptq";
}

static void ar_extra(struct gq_loader_facts *f)
{
	auto_round(f, 4, "auto_round:auto_gptq");
	f->config[GQ_FILE_CONFIG].extra_config = true;
}

static void experts(struct gq_loader_facts *f)
{
	sym4(f);
	add(f, "model.layers.0.mlp.experts.7.up_proj", 4, 4096, 4096, 128);
}

static void experts_asym(struct gq_loader_facts *f)
{
	asym_gate(f);
	add(f, "model.layers.0.mlp.experts.7.up_proj", 4, 4096, 4096, 128);
}

static void experts_8(struct gq_loader_facts *f)
{
	sym8(f);
	f->experts = true;
}

static void verdict(struct gq_loader_facts *f, enum gptq_verdict value)
{
	sym4(f);
	f->zeros = value;
}

SITUATION(mixed, verdict(f, GPTQ_VERDICT_MIXED))
SITUATION(format_open, verdict(f, GPTQ_VERDICT_UNDETERMINED))

static void lm_head(struct gq_loader_facts *f)
{
	sym4(f);
	add(f, "lm_head", 4, 4096, 32000, 128);
}

static void lm_head_flag(struct gq_loader_facts *f)
{
	lm_head(f);
	f->config[GQ_FILE_CONFIG].lm_head = (struct gq_config_flag){true, true};
}

static void rotated(struct gq_loader_facts *f)
{
	sym4(f);
	f->config[GQ_FILE_CONFIG].rotation = f->config[GQ_FILE_QUANTIZE].rotation = true;
}

static void names(struct gq_loader_facts *f, enum gq_loader_names value)
{
	sym4(f);
	f->names = value;
}

SITUATION(other_name, names(f, GQ_NAMES_OTHER))
SITUATION(legacy_name, names(f, GQ_NAMES_LEGACY))

static void converted_lane(struct gq_loader_facts *f)
{
	v2_zero_at_0(f);
	gq_loader_facts_converted(f, GPTQ_ZEROS_V1, GPTQ_STYLE_LANE);
}

static void converted_word(struct gq_loader_facts *f)
{
	v2_zero_at_0(f);
	gq_loader_facts_converted(f, GPTQ_ZEROS_V1, GPTQ_STYLE_WORD);
}

static void act_order_no_g_idx(struct gq_loader_facts *f)
{
	act_order_static(f);
	f->config[GQ_FILE_CONFIG].static_groups.value = false;
	f->g_idx_missing = true;
}

static void two_bits_by_rule(struct gq_loader_facts *f)
{
	sym4(f);
	add(f, "model.layers.1.mlp.up_proj", 2, 4096, 4096, 128);
	f->width[gq_width_index(2)].style = GPTQ_STYLE_CLEAN;
	f->config[GQ_FILE_CONFIG].dynamic = f->config[GQ_FILE_QUANTIZE].dynamic = true;
}

static void experts_act_order(struct gq_loader_facts *f)
{
	act_order(f);
	f->experts = true;
}

static void method(struct gq_loader_facts *f, const char *word)
{
	sym4(f);
	f->config[GQ_FILE_CONFIG].quant_method = f->config[GQ_FILE_QUANTIZE].quant_method = word;
}

SITUATION(no_method, method(f, NULL))
SITUATION(upper_method, method(f, "GPTQ"))

#endif
