/* SPDX-License-Identifier: Apache-2.0 */
/* What the report says of each layer. */
#include "base/mem.h"
#include "ops/inspect_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum gptq_v1_style gq_inspect_style(const struct gq_inspection *in, size_t layer)
{
	enum gptq_v1_style style = in->styles[gq_width_index(in->source.layers.items[layer].pack.bits)].style;

	return style == GPTQ_STYLE_NONE ? GPTQ_STYLE_LANE : style;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of the layer's tensors, each once, sorted. */
static enum gptq_status fill_shards(const struct gq_inspection *in, const struct gq_layer *l,
				    struct gptq_layer_info *info, struct gptq_error *err)
{
	const struct gq_tensor *tensors[] = {l->qweight, l->qzeros, l->scales, l->g_idx, l->bias};
	uint32_t numbers[sizeof(tensors) / sizeof(tensors[0])];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
		bool known = !tensors[i];

		for (size_t k = 0; k < n && !known; k++)
			known = numbers[k] == tensors[i]->shard;
		if (!known)
			numbers[n++] = tensors[i]->shard;
	}
	info->n_shards = n;
	info->shards = n == 1 ? &in->shard_names[numbers[0]] : gq_arena_take(in->arena, n, sizeof(*info->shards));
	if (!info->shards)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n && n > 1; i++)
		info->shards[i] = in->shard_names[numbers[i]];
	qsort(info->shards, info->n_shards, sizeof(*info->shards), by_string);
	return GPTQ_OK;
}

static struct gptq_bits_count *count_of(struct gptq_inspect_report *r, unsigned bits)
{
	unsigned i = 0;

	while (i < r->n_bits && r->bits[i].bits < bits)
		i++;
	if (i < r->n_bits && r->bits[i].bits == bits)
		return &r->bits[i];
	memmove(&r->bits[i + 1], &r->bits[i], (r->n_bits - i) * sizeof(r->bits[0])); /* at most 4 widths exist */
	r->n_bits++;
	memset(&r->bits[i], 0, sizeof(r->bits[i]));
	r->bits[i].bits = bits;
	return &r->bits[i];
}

static enum gptq_status fill_zeros(struct gq_inspection *in, size_t i, const struct gq_qzeros *qz,
				   struct gptq_layer_info *info, struct gptq_error *err)
{
	struct gptq_bits_count *count = count_of(in->report, info->bits);
	struct gq_zero_figures f;
	enum gptq_status status = gq_zeros_figures(qz, in->formats[i], gq_inspect_style(in, i), &f, err);

	if (status != GPTQ_OK)
		return status;
	info->has_zeros = true;
	info->zeros_equal_0 = f.n_equal_0;
	info->zero_min = f.z_min;
	info->zero_max = f.z_max;
	info->sym = f.n_off_mid ? GPTQ_NO : GPTQ_YES;
	for (size_t z = 0; z < 256; z++)
		count->zero_histogram[z] += f.hist[z];
	return GPTQ_OK;
}

/* Cells (group, column) whose scale is 0, sorted by group. */
struct zero_cells {
	size_t *group_begin; /* G + 1 */
	uint32_t *column;
	bool *harmful;
	size_t n;
};

static enum gptq_status find_zero_cells(const struct gq_layer *l, const unsigned char *scales, struct zero_cells *cells,
					struct gptq_error *err)
{
	size_t width = gptq_dtype_bits(l->scales->dtype) / 8, groups = (size_t)l->groups, n = (size_t)l->out_features;

	cells->n = 0;
	cells->group_begin = gq_calloc(groups + 1, sizeof(*cells->group_begin));
	for (size_t i = 0; i < groups * n; i++)
		cells->n += gq_scale_value(scales + i * width, l->scales->dtype) == 0;
	cells->column = gq_calloc(cells->n, sizeof(*cells->column));
	cells->harmful = gq_calloc(cells->n, sizeof(*cells->harmful));
	if (!cells->group_begin || !cells->column || !cells->harmful)
		return gq_fail_nomem(err);
	cells->n = 0;
	for (size_t g = 0; g < groups; g++) {
		cells->group_begin[g] = cells->n;
		for (size_t c = 0; c < n; c++)
			if (gq_scale_value(scales + (g * n + c) * width, l->scales->dtype) == 0)
				cells->column[cells->n++] = (uint32_t)c;
	}
	cells->group_begin[groups] = cells->n;
	return GPTQ_OK;
}

/* Reads qweight block by block and marks the cells in which some code is not the zero point. */
static enum gptq_status check_codes(struct gq_inspection *in, size_t i, struct zero_cells *cells, const uint8_t *z,
				    const int32_t *g_of_k, struct gptq_error *err)
{
	const struct gq_layer *l = &in->source.layers.items[i];
	unsigned words = gq_layout_stream.block_words(l->pack), codes = gq_layout_stream.block_codes(l->pack);
	size_t row = (size_t)l->out_features * (l->pack.word_bits / 8);
	unsigned char *block = gq_malloc_array(words, row);
	enum gptq_status status = block ? GPTQ_OK : gq_fail_nomem(err);

	for (uint64_t r = 0; r < l->word_rows && status == GPTQ_OK; r += words) {
		size_t n_rows = l->word_rows - r < words ? (size_t)(l->word_rows - r) : words;
		struct gq_word_rows rows = {.words = block, .row_bytes = row};

		status = gq_tensor_read_at(&in->source.shards, l->qweight, r * row, block, n_rows * row, err);
		for (size_t j = 0; j < codes && status == GPTQ_OK; j++) {
			uint64_t k = r / words * codes + j;
			int32_t g = k < l->in_features ? g_of_k[k] : -1;

			for (size_t c = g < 0 ? 1 : cells->group_begin[g]; g >= 0 && c < cells->group_begin[g + 1]; c++)
				if (gq_layout_stream.get_code(rows, l->pack, j, cells->column[c]) != z[c])
					cells->harmful[c] = true;
		}
	}
	gq_free(block);
	return status;
}

/* The zero points of the cells. */
static enum gptq_status cell_zeros(const struct gq_inspection *in, size_t i, const struct gq_qzeros *qz,
				   const struct zero_cells *cells, uint8_t *z, struct gptq_error *err)
{
	size_t n_lanes = gq_row_lanes(qz->pack, qz->row_bytes);
	uint8_t *lanes = gq_malloc_array(n_lanes, 2);

	if (!lanes)
		return gq_fail_nomem(err);
	for (size_t g = 0; g < qz->rows; g++) {
		if (cells->group_begin[g] == cells->group_begin[g + 1])
			continue;
		qz->layout->unpack_line((const char *)qz->words + g * qz->row_bytes, qz->pack, n_lanes, lanes);
		gq_zeros_decode(lanes, n_lanes, qz->pack, in->formats[i], gq_inspect_style(in, i), lanes + n_lanes);
		for (size_t c = cells->group_begin[g]; c < cells->group_begin[g + 1]; c++)
			z[c] = lanes[n_lanes + cells->column[c]];
	}
	gq_free(lanes);
	return GPTQ_OK;
}

/* A zero scale is harmless where every code is the zero point: then the weight was 0 anyway. */
static enum gptq_status judge_zero_scales(struct gq_inspection *in, size_t i, const struct gq_qzeros *qz,
					  struct gptq_error *err)
{
	const struct gq_layer *l = &in->source.layers.items[i];
	unsigned char *scales = gq_malloc_array((size_t)l->scales->nbytes, 1);
	struct zero_cells cells = {0};
	enum gq_g_idx_kind kind;
	int32_t *g_of_k = NULL;
	uint8_t *z = NULL;
	enum gptq_status status = scales ? GPTQ_OK : gq_fail_nomem(err);

	if (status == GPTQ_OK)
		status = gq_tensor_read_at(&in->source.shards, l->scales, 0, scales, (size_t)l->scales->nbytes, err);
	if (status == GPTQ_OK)
		status = find_zero_cells(l, scales, &cells, err);
	if (status == GPTQ_OK)
		status = gq_read_groups(&in->source.shards, l, &g_of_k, &kind, err);
	if (status == GPTQ_OK) {
		z = gq_malloc_array(cells.n, 1);
		status = z ? cell_zeros(in, i, qz, &cells, z, err) : gq_fail_nomem(err);
	}
	if (status == GPTQ_OK)
		status = check_codes(in, i, &cells, z, g_of_k, err);
	for (size_t c = 0; c < cells.n && status == GPTQ_OK; c++)
		in->notes[i].n_harmful_zero_scales += cells.harmful[c];
	gq_free(cells.group_begin);
	gq_free(cells.column);
	gq_free(cells.harmful);
	gq_free(g_of_k);
	gq_free(scales);
	gq_free(z);
	return status;
}

/* Everything that needs the layer's data. */
static enum gptq_status fill_from_data(struct gq_inspection *in, size_t i, struct gptq_layer_info *info,
				       struct gptq_error *err)
{
	const struct gq_layer *l = &in->source.layers.items[i];
	const struct gq_layer_verdict *v = &in->survey.verdicts[i];
	const struct gq_scale_stats *s = &in->survey.scales[i];
	struct gq_qzeros qz;
	enum gptq_status status;
	void *words;

	info->verdict = v->verdict;
	info->rule = gq_rule_name(v->rule);
	info->shift = v->a;
	info->shift_bar = v->bar;
	if (s->min <= s->max) {
		info->scale_min = s->min;
		info->scale_max = s->max;
	}
	if (!in->survey.broken[i])
		info->act_order = in->survey.g_idx[i] == GQ_G_IDX_ACT_ORDER ? GPTQ_YES : GPTQ_NO;
	status = gq_read_qzeros(&in->source.shards, l, &words, &qz, err);
	if (status != GPTQ_OK)
		return status;
	status = fill_zeros(in, i, &qz, info, err);
	if (status == GPTQ_OK && s->n_zero && !in->survey.broken[i])
		status = judge_zero_scales(in, i, &qz, err);
	gq_free(words);
	return status;
}

static enum gptq_status fill_layer(struct gq_inspection *in, size_t i, struct gptq_error *err)
{
	const struct gq_layer *l = &in->source.layers.items[i];
	struct gptq_inspect_report *r = in->report;
	struct gptq_layer_info *info = &r->layers[i];
	const struct gq_tensor *packed[] = {l->qweight, l->qzeros, l->scales, l->g_idx};
	char masked[1024];

	*info = (struct gptq_layer_info){.bits = l->pack.bits,
					 .word_bits = l->pack.word_bits,
					 .group_size = l->group_size,
					 .in_features = l->in_features,
					 .out_features = l->out_features,
					 .groups = l->groups,
					 .sym = GPTQ_UNKNOWN,
					 .act_order = GPTQ_UNKNOWN,
					 .rule = gq_rule_name(GQ_RULE_NONE),
					 .shift = (double)NAN,
					 .shift_bar = (double)NAN,
					 .scale_min = (double)NAN,
					 .scale_max = (double)NAN};
	gq_mask(masked, sizeof(masked), l->name, l->name_len, false);
	info->name = gq_arena_text(in->arena, masked);
	if (!info->name)
		return gq_fail_nomem(err);
	r->n_layers = i + 1;
	count_of(r, l->pack.bits)->n_layers++;
	r->quantised_parameters += l->in_features * l->out_features;
	for (size_t t = 0; t < sizeof(packed) / sizeof(packed[0]); t++)
		r->quantised_bits += packed[t] ? packed[t]->nbytes * 8 : 0;
	if (i == 0)
		r->group_size = l->group_size;
	else if (r->group_size != l->group_size)
		r->group_size = 0;
	if (fill_shards(in, l, info, err) != GPTQ_OK)
		return GPTQ_E_NOMEM;
	return in->surveyed ? fill_from_data(in, i, info, err) : GPTQ_OK;
}

enum gptq_status gq_inspect_layers(struct gq_inspection *in, struct gptq_error *err)
{
	struct gptq_inspect_report *r = in->report;
	enum gptq_status status = GPTQ_OK;
	size_t n = in->source.layers.n;

	r->layers = gq_calloc(n, sizeof(*r->layers));
	in->notes = gq_calloc(n, sizeof(*in->notes));
	if (!r->layers || !in->notes)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n && status == GPTQ_OK; i++)
		status = fill_layer(in, i, err);
	for (unsigned b = 0; b < r->n_bits && in->surveyed; b++) {
		const struct gq_style_choice *c = &in->styles[gq_width_index(r->bits[b].bits)];

		r->bits[b].style = c->style;
		r->bits[b].style_source = c->source;
		if (c->n_layers) {
			r->bits[b].lanes_at_max = in->survey.model.style[gq_width_index(r->bits[b].bits)].n_max;
			r->lanes_at_max += r->bits[b].lanes_at_max;
		}
	}
	r->sym_data = r->act_order_data = n && in->surveyed ? GPTQ_NO : GPTQ_UNKNOWN;
	for (size_t i = 0; i < n && in->surveyed; i++)
		if (r->layers[i].act_order == GPTQ_YES)
			r->act_order_data = GPTQ_YES;
	if (n && in->surveyed) {
		r->sym_data = GPTQ_YES;
		for (size_t i = 0; i < n; i++)
			if (r->layers[i].sym != GPTQ_YES)
				r->sym_data = GPTQ_NO;
	}
	return status;
}
