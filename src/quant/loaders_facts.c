/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the facts that loaders are judged by. */
#include "format/words.h"
#include "quant/loaders.h"

#include <string.h>

static void take_place(const struct gq_label_place *place, struct gq_loader_config *out)
{
	bool there = place->label != GQ_LABEL_ABSENT;

	switch (place->what) {
	case GQ_KEY_CHECKPOINT_FORMAT:
		out->checkpoint_format = there ? place->value : NULL;
		break;
	case GQ_KEY_FORMAT:
		out->format = there ? place->value : NULL;
		break;
	case GQ_KEY_PACKING_FORMAT:
		out->packing_format = there ? place->value : NULL;
		break;
	case GQ_KEY_IS_MARLIN_FORMAT:
		out->has_marlin_key = true;
		out->marlin = place->label == GQ_LABEL_FOREIGN;
		break;
	case GQ_KEY_METHOD:
	case GQ_KEY_VERSION:
	case GQ_KEY_METADATA:
		break;
	}
}

void gq_loader_config_of(const struct gq_config_file *file, size_t index, struct gq_loader_config *out)
{
	const struct gq_config *config = &file->configs[index];

	*out = (struct gq_loader_config){
		.present = true,
		.quant_method = config->quant_method && config->quant_method[0] ? config->quant_method : NULL,
		.has_version = config->version != NULL,
		.compatible_with_autogptq =
			config->compatible_with_autogptq.present && config->compatible_with_autogptq.value,
		.bits = config->bits,
		.group_size = config->group_size,
		.sym = config->sym,
		.desc_act = config->desc_act,
		.static_groups = config->static_groups,
		.lm_head = config->lm_head,
		.dynamic = config->dynamic != 0,
		.extra_config = config->extra_config != 0,
		.rotation = config->rotation && config->rotation[0],
	};
	for (size_t i = 0; i < file->n_places; i++)
		if (file->places[i].config == index)
			take_place(&file->places[i], out);
}

bool gq_loader_config_is_auto_round(const struct gq_loader_config *config)
{
	const struct gq_foreign_format *format;

	return config->quant_method &&
	       gq_word_method(config->quant_method, strlen(config->quant_method), &format) == GQ_METHOD_AUTO_ROUND;
}

static bool contains(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if (memcmp(s + i, word, len) == 0)
			return true;
	return false;
}

static bool ends_in(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);

	return n >= len && memcmp(s + n - len, word, len) == 0;
}

static void add_shape(struct gq_loader_facts *f, uint64_t k, uint64_t n, unsigned bits)
{
	bool marlin = k % 128 == 0 && n % 64 == 0;

	f->bad_gemm_shape |= n % (bits == 3 ? 32 : 32 / bits) != 0;
	f->bad_marlin_shape |= !marlin;
	f->bad_tgi_shape |= !marlin && (k % 64 || n % 128);
	f->bad_shape_32 |= k % 32 || n % 32;
	if (k > f->max_in_features)
		f->max_in_features = k;
}

static void add_groups(struct gq_loader_facts *f, const struct gq_layer *layer)
{
	int64_t gs = layer->group_size;
	bool first = f->n_layers == 0, several = layer->groups > 1;
	bool power = gs > 0 && (gs & (gs - 1)) == 0;

	f->group_sizes_differ |= !first && gs != f->group_size;
	f->group_size = f->group_sizes_differ ? 0 : gs;
	f->one_group = (first || f->one_group) && !several;
	if (!several)
		return;
	f->ragged |= gs > 0 && layer->in_features % (uint64_t)gs != 0;
	f->odd_group_size |= !power;
	f->bad_marlin_group |= gs != 32 && gs != 64 && gs != 128;
	f->unlisted_group |= !power || gs < 16 || gs > 1024;
}

void gq_loader_facts_add(struct gq_loader_facts *facts, const struct gq_layer *layer, enum gq_g_idx_kind g_idx)
{
	unsigned words = layer->pack.word_bits;
	enum gptq_dtype scales = layer->scales->dtype;

	add_groups(facts, layer);
	add_shape(facts, layer->in_features, layer->out_features, layer->pack.bits);
	if (facts->n_layers == 0 || words < facts->min_word_bits)
		facts->min_word_bits = words;
	if (words > facts->max_word_bits)
		facts->max_word_bits = words;
	facts->g_idx_missing |= g_idx == GQ_G_IDX_MISSING;
	facts->g_idx_zero |= g_idx == GQ_G_IDX_ZERO;
	facts->act_order |= g_idx == GQ_G_IDX_ACT_ORDER;
	facts->scales_bf16 |= scales == GPTQ_DTYPE_BF16;
	facts->scales_f32 |= scales == GPTQ_DTYPE_F32;
	facts->lm_head |= ends_in(layer->name, layer->name_len, "lm_head");
	facts->experts |= contains(layer->name, layer->name_len, ".experts.");
	facts->width[gq_width_index(layer->pack.bits)].n_layers++;
	facts->n_layers++;
}

void gq_loader_facts_converted(struct gq_loader_facts *facts, enum gptq_zeros_format to, enum gptq_v1_style style)
{
	bool v2 = to == GPTQ_ZEROS_V2;
	const char *word = v2 ? "gptq_v2" : "gptq";

	for (size_t i = 0; i < GQ_N_LOADER_FILES; i++) {
		struct gq_loader_config *config = &facts->config[i];
		bool auto_round = gq_loader_config_is_auto_round(config);

		if (!config->present)
			continue;
		if (auto_round)
			config->packing_format = v2 ? "auto_round:gptqmodel" : "auto_round:auto_gptq";
		if (config->checkpoint_format || !auto_round)
			config->checkpoint_format = word;
		if (config->format)
			config->format = word;
	}
	for (size_t i = 0; i < GQ_N_WIDTHS; i++)
		facts->damaged |= facts->zeros != GPTQ_VERDICT_V2 && facts->width[i].n_layers &&
				  facts->width[i].style == GPTQ_STYLE_SMEARED;
	facts->zeros = v2 ? GPTQ_VERDICT_V2 : GPTQ_VERDICT_V1;
	for (size_t i = 0; i < GQ_N_WIDTHS; i++) {
		struct gq_pack pack = {gq_widths[i], 32};
		bool shifts =
			style == GPTQ_STYLE_LANE || style == GPTQ_STYLE_WORD || style == GPTQ_STYLE_GPTQMODEL_3BIT;

		if (v2 || style)
			facts->width[i].style = v2 ? GPTQ_STYLE_NONE : shifts ? gq_style_at(pack, style) : style;
	}
}
