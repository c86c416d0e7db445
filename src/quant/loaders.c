/* SPDX-License-Identifier: Apache-2.0 */
/* How each loader looks a checkpoint up, and the walk through the table. */
#include "quant/loaders_table.h"

#include "format/words.h"

#include <string.h>

/* How a loader takes the label. */
enum sees { SEES_NOTHING, SEES_V1, SEES_V2, SEES_OTHER };

typedef enum sees (*sees_fn)(const struct gq_loader_config *config);

static bool same(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

static enum sees known_word(const char *word)
{
	if (!word || same(word, "gptq"))
		return SEES_V1;
	return same(word, "gptq_v2") ? SEES_V2 : SEES_OTHER;
}

/* Exactly "gptq_v2" is v2, everything else v1. */
static enum sees sees_exact(const struct gq_loader_config *config)
{
	return same(config->checkpoint_format, "gptq_v2") ? SEES_V2 : SEES_V1;
}

/* The same, but an auto-round config has a reader of its own that takes one packing_format. */
static enum sees sees_vllm(const struct gq_loader_config *config)
{
	if (!gq_loader_config_is_auto_round(config))
		return sees_exact(config);
	return !config->packing_format || same(config->packing_format, "auto_round:auto_gptq") ? SEES_V1 : SEES_OTHER;
}

static enum sees sees_always_v1(const struct gq_loader_config *config)
{
	(void)config;
	return SEES_V1;
}

/* Marlin kernels: no label, but for the packing_format that vLLM refuses. */
static enum sees sees_vllm_marlin(const struct gq_loader_config *config)
{
	return gq_loader_config_is_auto_round(config) ? sees_vllm(config) : SEES_V1;
}

/* Exactly "gptq" or nothing is v1, everything else v2. */
static enum sees sees_llama_cpp(const struct gq_loader_config *config)
{
	return !config->checkpoint_format || same(config->checkpoint_format, "gptq") ? SEES_V1 : SEES_V2;
}

static enum sees sees_checkpoint_format_first(const struct gq_loader_config *config)
{
	return known_word(config->checkpoint_format ? config->checkpoint_format : config->format);
}

static enum sees sees_format_first(const struct gq_loader_config *config)
{
	return known_word(config->format ? config->format : config->checkpoint_format);
}

static enum sees sees_checkpoint_format_only(const struct gq_loader_config *config)
{
	return known_word(config->checkpoint_format);
}

static enum sees sees_auto_round(const struct gq_loader_config *config)
{
	const char *word = config->packing_format;
	const struct gq_foreign_format *format;

	if (!gq_loader_config_is_auto_round(config))
		return SEES_V1;
	if (!word)
		return SEES_NOTHING;
	switch (gq_word_label(GQ_KEY_PACKING_FORMAT, word, strlen(word), &format)) {
	case GQ_LABEL_V1:
		return SEES_V1;
	case GQ_LABEL_V2:
		return SEES_V2;
	case GQ_LABEL_ABSENT:
	case GQ_LABEL_FOREIGN:
	case GQ_LABEL_UNKNOWN:
		break;
	}
	return SEES_OTHER;
}

/* Any `version` is v2. */
static enum sees sees_qllm(const struct gq_loader_config *config)
{
	return config->compatible_with_autogptq || !config->has_version ? SEES_V1 : SEES_V2;
}

#define FILES(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__, GQ_N_LOADER_FILES                                                                         \
	}
#define CONFIG_ONLY FILES(GQ_FILE_CONFIG)
#define CONFIG_FIRST FILES(GQ_FILE_CONFIG, GQ_FILE_QUANTIZE)
#define CONFIG_FIRST_VLLM FILES(GQ_FILE_CONFIG, GQ_FILE_QUANTIZE, GQ_FILE_QUANTIZATION)

static const struct loader {
	const char *name, *note, *read_at;
	enum gq_loader_file files[GQ_N_LOADER_FILES + 1]; /* the first that is there counts */
	bool order_open;                                  /* it is not known which one counts */
	bool merges;                                      /* keys that one lacks are taken from the next */
	sees_fn sees;
} loaders[GQ_N_LOADERS] = {
	[GQ_LOADER_VLLM] = {"vLLM gptq", "vLLM's plain GPTQ kernel: chosen for what Marlin cannot run, or by option",
			    "after pull request 26092 of October 2025", CONFIG_FIRST_VLLM, false, false, sees_vllm},
	[GQ_LOADER_VLLM_MARLIN] = {"vLLM gptq_marlin", "vLLM's Marlin kernel: chosen by itself where it can run",
				   "00161ce01fe6, 2026", CONFIG_FIRST_VLLM, false, false, sees_vllm_marlin},
	[GQ_LOADER_VLLM_OLD] = {"vLLM gptq (older)", "the plain GPTQ kernel of vLLM before it knew gptq_v2",
				"e5dd90be38fa, 2024", CONFIG_FIRST, true, false, sees_always_v1},
	[GQ_LOADER_SGLANG] = {"SGLang gptq", "SGLang's plain GPTQ kernel", "0cdfa2f8363e", CONFIG_FIRST, true, false,
			      sees_exact},
	[GQ_LOADER_SGLANG_MARLIN] = {"SGLang gptq_marlin", "SGLang's Marlin kernel", "0cdfa2f8363e", CONFIG_FIRST, true,
				     false, sees_always_v1},
	[GQ_LOADER_SGLANG_OLD] = {"SGLang gptq (older)", "the plain GPTQ kernel of SGLang before it knew gptq_v2",
				  "006d09616c51", CONFIG_FIRST, true, false, sees_always_v1},
	[GQ_LOADER_EXLLAMAV2] = {"ExLlamaV2", "ExLlamaV2's own loader, by the names of tensors",
				 "da07facd10b5, 2025-12-09", CONFIG_ONLY, false, false, sees_exact},
	[GQ_LOADER_OPTIMUM] = {"transformers", "transformers with optimum and GPTQModel",
			       "optimum 83c88b8fc51e, 2026-05-29", CONFIG_ONLY, false, false,
			       sees_checkpoint_format_first},
	[GQ_LOADER_GPTQMODEL] = {"GPTQModel", "GPTQModel's own loader", "7.3.4, f4c327a17eb3, 2026-08-23",
				 FILES(GQ_FILE_QUANTIZE, GQ_FILE_QUANT, GQ_FILE_CONFIG), false, false,
				 sees_format_first},
	[GQ_LOADER_AUTOGPTQ] = {"AutoGPTQ", "AutoGPTQ 0.7, alone or below an older transformers",
				"9f7d37072917, 2025-04-11", FILES(GQ_FILE_QUANTIZE, GQ_FILE_QUANT, GQ_FILE_CONFIG),
				true, false, sees_checkpoint_format_only},
	[GQ_LOADER_TGI] = {"TGI", "text-generation-inference's ExLlama and Triton kernels", "0229c71b21e4",
			   FILES(GQ_FILE_CONFIG, GQ_FILE_QUANTIZE, GQ_FILE_QUANT), false, true, sees_always_v1},
	[GQ_LOADER_TGI_MARLIN] = {"TGI marlin", "text-generation-inference's Marlin kernel", "1629d0bb6d04",
				  FILES(GQ_FILE_CONFIG, GQ_FILE_QUANTIZE, GQ_FILE_QUANT), false, true, sees_always_v1},
	[GQ_LOADER_LLAMA_CPP] = {"llama.cpp convert", "llama.cpp's convert_hf_to_gguf.py", "0024aa7417ef, 2026",
				 CONFIG_ONLY, false, false, sees_llama_cpp},
	[GQ_LOADER_AUTO_ROUND] = {"auto-round", "auto-round's loader, also from within transformers",
				  "b9f3d0079d01, 2026-08-22", FILES(GQ_FILE_CONFIG, GQ_FILE_QUANTIZATION), true, false,
				  sees_auto_round},
	[GQ_LOADER_QLLM] = {"QLLM", "QLLM's loader", "df20c15920bf, 2025-03-07",
			    FILES(GQ_FILE_QUANT, GQ_FILE_QUANTIZE, GQ_FILE_CONFIG), false, false, sees_qllm},
};

static bool same_int(struct gq_config_int a, struct gq_config_int b)
{
	return a.present == b.present && (!a.present || a.value == b.value);
}

static bool same_flag(struct gq_config_flag a, struct gq_config_flag b)
{
	return a.present == b.present && (!a.present || a.value == b.value);
}

static bool configs_differ(const struct loader *loader, const struct gq_loader_config *a,
			   const struct gq_loader_config *b)
{
	return loader->sees(a) != loader->sees(b) || !same_int(a->bits, b->bits) ||
	       !same_int(a->group_size, b->group_size) || !same_flag(a->sym, b->sym) ||
	       !same_flag(a->desc_act, b->desc_act);
}

static void merge(struct gq_loader_config *into, const struct gq_loader_config *from)
{
	if (!into->quant_method)
		into->quant_method = from->quant_method;
	if (!into->bits.present)
		into->bits = from->bits;
	if (!into->group_size.present)
		into->group_size = from->group_size;
	if (!into->sym.present)
		into->sym = from->sym;
	if (!into->desc_act.present)
		into->desc_act = from->desc_act;
	into->dynamic |= from->dynamic;
	into->extra_config |= from->extra_config;
	into->rotation |= from->rotation;
}

/* The config as the loader finds it; not present if it finds none. */
static struct gq_loader_config look_up(const struct gq_loader_facts *facts, const struct loader *loader, bool *differ)
{
	struct gq_loader_config found = {0};

	*differ = false;
	for (size_t i = 0; loader->files[i] != GQ_N_LOADER_FILES; i++) {
		const struct gq_loader_config *config = &facts->config[loader->files[i]];

		if (!config->present)
			continue;
		if (!found.present)
			found = *config;
		else if (loader->merges)
			merge(&found, config);
		else if (loader->order_open && configs_differ(loader, &found, config))
			*differ = true;
	}
	return found;
}

#define SET(name, when) ((when) ? GQ_COND_BIT(name) : 0)

static uint64_t label_conds(const struct gq_loader_config *c, enum sees sees)
{
	bool keys = c->bits.present && c->group_size.present && c->desc_act.present;

	return SET(NO_CONFIG, !c->present) | SET(SEES_V2, sees == SEES_V2) | SET(SEES_OTHER, sees == SEES_OTHER) |
	       SET(SEES_NOTHING, sees == SEES_NOTHING) | SET(AUTO_ROUND, gq_loader_config_is_auto_round(c)) |
	       SET(METHOD_NOT_GPTQ, !same(c->quant_method, "gptq")) | SET(KEYS_MISSING, !keys) |
	       SET(MARLIN_KEYS_MISSING, !keys || !c->quant_method || !c->sym.present) |
	       SET(MARLIN_LABEL, c->marlin || same(c->checkpoint_format, "marlin")) |
	       SET(MARLIN_KEY, c->has_marlin_key) | SET(SYM, c->sym.present && c->sym.value) |
	       SET(SYM_FALSE, c->sym.present && !c->sym.value) |
	       SET(DESC_ACT, c->desc_act.present && c->desc_act.value) | SET(DESC_ACT_ABSENT, !c->desc_act.present) |
	       SET(STATIC_GROUPS, c->static_groups.present && c->static_groups.value) |
	       SET(LM_HEAD_FLAG, c->lm_head.present && c->lm_head.value) | SET(DYNAMIC, c->dynamic) |
	       SET(EXTRA_CONFIG, c->extra_config) | SET(ROTATED, c->rotation);
}

/* Do bits and group_size of the config hold for all layers? Rules may say why not. */
static uint64_t misfit_conds(const struct gq_loader_facts *f, const struct gq_loader_config *c)
{
	int64_t gs = c->group_size.value;
	bool rules = c->dynamic || c->extra_config, bits = c->bits.present, group = c->group_size.present;
	bool whole = f->one_group && (gs == -1 || (gs > 0 && (uint64_t)gs >= f->max_in_features));
	bool marlin = !group || gs == -1 || gs == 32 || gs == 64 || gs == 128;

	for (size_t i = 0; i < GQ_N_WIDTHS; i++)
		bits &= f->width[i].n_layers == 0 || c->bits.value == (int64_t)gq_widths[i];
	group &= !f->group_sizes_differ && (whole || (gs == f->group_size && gs != 0));
	return SET(BITS_MISFIT, !rules && !bits) | SET(GROUP_MISFIT, !rules && !group) |
	       SET(GROUP_NOT_MARLIN, !marlin || f->bad_marlin_group);
}

static uint64_t width_conds(const struct gq_loader_width *width, unsigned bits, bool v1)
{
	bool open = width->style == GPTQ_STYLE_NONE && (width->styles_part || bits == 3);
	bool part = width->styles_part && bits != 3;

	if (width->n_layers == 0)
		return 0;
	return SET(HAS_3, bits == 3) | SET(HAS_4, bits == 4) | SET(HAS_8, bits == 8) | SET(NOT_4, bits != 4) |
	       SET(NOT_4_8, bits != 4 && bits != 8) | SET(Z0, width->zeros_at_0 > 0) |
	       SET(CARRY, v1 && part && width->style == GPTQ_STYLE_LANE) |
	       SET(BORROW, v1 && part && gq_style_at((struct gq_pack){bits, 32}, width->style) == GPTQ_STYLE_WORD) |
	       SET(LEGACY_3BIT, v1 && bits == 3 && width->style == GPTQ_STYLE_GPTQMODEL_3BIT) |
	       SET(DAMAGED, v1 && width->style == GPTQ_STYLE_SMEARED) | SET(STYLE_OPEN, v1 && open);
}

static uint64_t zero_conds(const struct gq_loader_facts *f)
{
	bool v1 = f->zeros == GPTQ_VERDICT_V1, v2 = f->zeros == GPTQ_VERDICT_V2, mixed = f->zeros == GPTQ_VERDICT_MIXED;
	uint64_t conds = 0;

	for (size_t i = 0; i < GQ_N_WIDTHS; i++)
		conds |= width_conds(&f->width[i], gq_widths[i], v1);
	return conds | SET(FOREIGN, f->foreign) | SET(AWQ, same(f->foreign, "AWQ")) |
	       SET(EXL2, same(f->foreign, "EXL2")) | SET(PLANAR, f->foreign && strncmp(f->foreign, "planar", 6) == 0) |
	       SET(V1, v1) | SET(V2, v2) | SET(MIXED, mixed) | SET(FORMAT_OPEN, !v1 && !v2 && !mixed) |
	       SET(DAMAGED, f->damaged) | SET(OFF_MID, !f->midpoint);
}

static uint64_t layer_conds(const struct gq_loader_facts *f)
{
	return SET(RAGGED, f->ragged) | SET(UNEQUAL_GROUPS, f->unequal_groups || (f->ragged && f->act_order)) |
	       SET(ODD_GROUP, f->odd_group_size) | SET(UNLISTED_GROUP, f->unlisted_group) |
	       SET(BAD_GEMM_SHAPE, f->bad_gemm_shape) | SET(BAD_MARLIN_SHAPE, f->bad_marlin_shape) |
	       SET(BAD_TGI_SHAPE, f->bad_tgi_shape) | SET(BAD_SHAPE_32, f->bad_shape_32) |
	       SET(NO_G_IDX, f->g_idx_missing) | SET(G_IDX_ZERO, f->g_idx_zero) | SET(ACT_ORDER, f->act_order) |
	       SET(WORDS_NOT_32, f->min_word_bits != 32 || f->max_word_bits != 32) |
	       SET(WORDS_64, f->max_word_bits == 64) | SET(SCALES_BF16, f->scales_bf16) |
	       SET(SCALES_F32, f->scales_f32) | SET(LM_HEAD, f->lm_head) | SET(EXPERTS, f->experts) |
	       SET(GATE_CLOSED, !f->gate_open) |
	       SET(NAME_OTHER, f->names == GQ_NAMES_OTHER || f->names == GQ_NAMES_BASE);
}

uint64_t gq_loader_conditions(const struct gq_loader_facts *facts, enum gq_loader_id id)
{
	const struct loader *loader = &loaders[id];
	bool differ;
	struct gq_loader_config config = look_up(facts, loader, &differ);

	return SET(FILES_DIFFER, differ) | label_conds(&config, loader->sees(&config)) | misfit_conds(facts, &config) |
	       zero_conds(facts) | layer_conds(facts);
}

const char *gq_cond_name(size_t cond)
{
	static const char *const names[] = {
#define GQ_COND_NAME(name) #name,
		GQ_CONDS(GQ_COND_NAME)
#undef GQ_COND_NAME
	};

	return cond < GQ_N_CONDS ? names[cond] : NULL;
}

const char *gq_answer_name(enum gq_answer answer)
{
	static const char *const names[] = {"reads-right", "refuses", "silently-wrong", "unknown"};

	return (size_t)answer < sizeof(names) / sizeof(names[0]) ? names[answer] : "unknown";
}

size_t gq_loaders_count(void)
{
	return GQ_N_LOADERS;
}

const char *gq_loader_note(size_t loader)
{
	return loader < GQ_N_LOADERS ? loaders[loader].note : NULL;
}

void gq_loader_judge(const struct gq_loader_facts *facts, size_t loader, struct gq_loader_result *result)
{
	uint64_t conds = gq_loader_conditions(facts, (enum gq_loader_id)loader);

	*result = (struct gq_loader_result){loaders[loader].name, loaders[loader].read_at, GQ_READER_UNKNOWN, ""};
	for (size_t i = 0; i < gq_n_loader_rows; i++) {
		const struct gq_loader_row *row = &gq_loader_rows[i];

		if (row->loader != (enum gq_loader_id)loader || (conds & row->need) != row->need ||
		    (conds & row->without))
			continue;
		result->answer = row->answer;
		result->reason = row->reason;
		return;
	}
}
