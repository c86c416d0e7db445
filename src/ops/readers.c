/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/readers.h"

#include "base/mem.h"
#include "quant/loaders.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------- facts */

static void add_configs(const struct gq_source *s, struct gq_loader_facts *facts)
{
	static const char *const names[GQ_N_LOADER_FILES] = {
		[GQ_FILE_CONFIG] = "config.json",
		[GQ_FILE_QUANTIZE] = "quantize_config.json",
		[GQ_FILE_QUANT] = "quant_config.json",
		[GQ_FILE_QUANTIZATION] = "quantization_config.json",
	};

	for (size_t f = 0; f < GQ_N_LOADER_FILES; f++)
		for (size_t i = 0; i < s->n_configs; i++)
			if (strcmp(s->configs[i].name, names[f]) == 0 && s->configs[i].n_configs)
				gq_loader_config_of(&s->configs[i], 0, &facts->config[f]);
}

/* How the safetensors files are named: loaders look for certain names. */
static enum gq_loader_names names_of(const struct gq_source *s)
{
	char legacy[96];
	const char *base = s->main ? s->main->base_name : NULL, *name;
	size_t n;

	if (s->file || s->shards.n == 0)
		return GQ_NAMES_ANY;
	name = s->shards.index_name ? s->shards.index_name : s->shards.items[0].name;
	n = strcspn(name, ".");
	if (!s->shards.index_name && s->shards.n > 1)
		return GQ_NAMES_OTHER;
	if (n == 5 && strncmp(name, "model", 5) == 0)
		return GQ_NAMES_MODEL;
	if (s->main && s->main->bits.present && s->main->group_size.present) {
		snprintf(legacy, sizeof(legacy), "gptq_model-%lldbit-%lldg", (long long)s->main->bits.value,
			 (long long)s->main->group_size.value);
		if (strncmp(name, legacy, strlen(legacy)) == 0 && name[strlen(legacy)] == '.')
			return GQ_NAMES_LEGACY;
	}
	if (base && base[0] && strncmp(name, base, strlen(base)) == 0 && name[strlen(base)] == '.')
		return GQ_NAMES_BASE;
	return GQ_NAMES_OTHER;
}

/* Do the groups of a layer differ in size by g_idx? */
static enum gptq_status unequal_groups(struct gq_source *s, const struct gq_layer *l, bool *unequal,
				       struct gptq_error *err)
{
	uint32_t *count = gq_calloc((size_t)l->groups, sizeof(*count));
	enum gq_g_idx_kind kind;
	int32_t *g_of_k = NULL;
	enum gptq_status status = count ? gq_read_groups(&s->shards, l, &g_of_k, &kind, err) : gq_fail_nomem(err);

	for (uint64_t k = 0; k < l->in_features && status == GPTQ_OK; k++)
		count[g_of_k[k]]++;
	for (uint64_t g = 1; g < l->groups && status == GPTQ_OK; g++)
		*unequal = *unequal || (count[g] != count[0] && l->in_features % l->groups == 0);
	gq_free(count);
	gq_free(g_of_k);
	return status;
}

/* Would v1 by lane and v1 by word store some column of the layer differently? */
static enum gptq_status styles_part(const struct gq_qzeros *qz, enum gptq_zeros_format format, enum gptq_v1_style style,
				    bool *part, struct gptq_error *err)
{
	size_t n = gq_row_lanes(qz->pack, qz->row_bytes);
	uint8_t *lanes = gq_malloc_array(n, 3), *z, *other;

	if (!lanes)
		return gq_fail_nomem(err);
	z = lanes + n;
	other = z + n;
	for (size_t g = 0; g < qz->rows && !*part; g++) {
		qz->layout->unpack_line((const char *)qz->words + g * qz->row_bytes, qz->pack, n, lanes);
		gq_zeros_decode(lanes, n, qz->pack, format, style, z);
		gq_zeros_encode(z, n, qz->pack, GPTQ_ZEROS_V1, GPTQ_STYLE_LANE, lanes);
		gq_zeros_encode(z, n, qz->pack, GPTQ_ZEROS_V1, GPTQ_STYLE_WORD, other);
		*part = memcmp(lanes, other, qz->n) != 0;
	}
	gq_free(lanes);
	return GPTQ_OK;
}

/* What the zero points of one layer add. */
static enum gptq_status add_zeros(struct gq_source *s, const struct gq_survey *sv, size_t i,
				  enum gptq_zeros_format format, const struct gq_style_choice *choice,
				  struct gq_loader_facts *facts, struct gptq_error *err)
{
	const struct gq_layer *l = &s->layers.items[i];
	struct gq_loader_width *w = &facts->width[gq_width_index(l->pack.bits)];
	enum gptq_v1_style style = choice->style ? choice->style : GPTQ_STYLE_LANE;
	struct gq_zero_figures f;
	struct gq_qzeros qz;
	enum gptq_status status;
	void *words;

	if (gq_zeros_tell(&sv->facts[i].zeros, l->pack, format, style, &f) && !f.n_equal_0) {
		facts->midpoint = facts->midpoint && !f.n_off_mid;
		return GPTQ_OK;
	}
	status = gq_read_qzeros(&s->shards, l, &words, &qz, err);
	if (status != GPTQ_OK)
		return status;
	status = gq_zeros_figures(&qz, format, style, &f, err);
	if (status == GPTQ_OK) {
		w->zeros_at_0 += f.n_equal_0;
		facts->midpoint = facts->midpoint && !f.n_off_mid;
	}
	if (status == GPTQ_OK && f.n_equal_0)
		status = styles_part(&qz, format, style, &w->styles_part, err);
	gq_free(words);
	return status;
}

static enum gptq_status add_layers(struct gq_source *s, const struct gq_survey *sv,
				   const enum gptq_zeros_format *formats,
				   const struct gq_style_choice styles[GQ_N_WIDTHS], struct gq_loader_facts *facts,
				   struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	facts->midpoint = s->layers.n > 0;
	for (size_t i = 0; i < s->layers.n && status == GPTQ_OK; i++) {
		const struct gq_layer *l = &s->layers.items[i];
		enum gq_g_idx_kind kind = sv ? sv->g_idx[i] : l->g_idx ? GQ_G_IDX_TRIVIAL : GQ_G_IDX_MISSING;

		gq_loader_facts_add(facts, l, kind);
		if (!sv)
			continue;
		if (kind == GQ_G_IDX_ACT_ORDER && !sv->broken[i] && !facts->unequal_groups)
			status = unequal_groups(s, l, &facts->unequal_groups, err);
		if (status == GPTQ_OK)
			status = add_zeros(s, sv, i, formats[i], &styles[gq_width_index(l->pack.bits)], facts, err);
	}
	for (unsigned w = 0; w < GQ_N_WIDTHS && sv; w++) {
		facts->width[w].style = styles[w].style;
		facts->damaged = facts->damaged || styles[w].style == GPTQ_STYLE_SMEARED;
	}
	return status;
}

static const char *foreign_name(const struct gq_source *s)
{
	const struct gq_label_place *p = s->labels.culprit;

	return p && p->label == GQ_LABEL_FOREIGN ? p->format->name : NULL;
}

/* ------------------------------------------------------------------------------------------------------ judging */

static enum gptq_reader_answer answer_of(enum gq_answer answer)
{
	switch (answer) {
	case GQ_READS_RIGHT:
		return GPTQ_READER_RIGHT;
	case GQ_REFUSES:
		return GPTQ_READER_REFUSES;
	case GQ_SILENTLY_WRONG:
		return GPTQ_READER_WRONG;
	case GQ_READER_UNKNOWN:
		break;
	}
	return GPTQ_READER_UNKNOWN;
}

static enum gptq_status judge_all(const struct gq_loader_facts *facts, struct gptq_reader **readers, size_t *n,
				  struct gptq_error *err)
{
	size_t count = gq_loaders_count();

	*readers = gq_calloc(count, sizeof(**readers));
	if (!*readers)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct gq_loader_result result;

		gq_loader_judge(facts, i, &result);
		(*readers)[i] = (struct gptq_reader){.loader = result.loader,
						     .read_at = result.read_at,
						     .answer = answer_of(result.answer),
						     .reason = result.reason};
	}
	*n = count;
	return GPTQ_OK;
}

enum gptq_status gq_readers_of(struct gq_source *s, const struct gq_survey *sv, const enum gptq_zeros_format *formats,
			       const struct gq_style_choice styles[GQ_N_WIDTHS], enum gptq_verdict verdict,
			       const struct gq_readers_after *after, struct gptq_reader **readers,
			       struct gptq_reader **readers_after, size_t *n, struct gptq_error *err)
{
	struct gq_loader_facts facts = {.foreign = foreign_name(s), .zeros = verdict, .gate_open = s->gate_open};
	enum gptq_status status;

	add_configs(s, &facts);
	facts.names = names_of(s);
	status = add_layers(s, sv, formats, styles, &facts, err);
	if (status == GPTQ_OK)
		status = judge_all(&facts, readers, n, err);
	if (status != GPTQ_OK || !after)
		return status;
	gq_loader_facts_converted(&facts, after->to, after->style);
	return judge_all(&facts, readers_after, n, err);
}
