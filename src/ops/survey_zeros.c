/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass of a survey: zero points, groups and, if asked for, scales of every layer. */
#include "base/checked.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "ops/survey_internal.h"

#define AT_ONCE 16 /* layers that a thread takes */
#define READ_BUFFER ((size_t)256 << 10)

enum gptq_status gq_read_qzeros(struct gq_shards *shards, const struct gq_layer *layer, void **words,
				struct gq_qzeros *qz, struct gptq_error *err)
{
	enum gptq_status status;

	*words = gq_malloc_array((size_t)layer->qzeros->nbytes, 1);
	if (!*words)
		return gq_fail_nomem(err);
	status = gq_tensor_read_at(shards, layer->qzeros, 0, *words, (size_t)layer->qzeros->nbytes, err);
	if (status != GPTQ_OK) {
		gq_free(*words);
		*words = NULL;
		return status;
	}
	*qz = (struct gq_qzeros){.words = *words,
				 .rows = (size_t)layer->groups,
				 .row_bytes = (size_t)layer->zero_row_bytes,
				 .n = (size_t)layer->out_features,
				 .pack = layer->pack,
				 .layout = &gq_layout_stream};
	return GPTQ_OK;
}

enum gptq_status gq_read_groups(struct gq_shards *shards, const struct gq_layer *l, int32_t **g_of_k,
				enum gq_g_idx_kind *kind, struct gptq_error *err)
{
	size_t n = (size_t)l->in_features, width = l->g_idx ? gptq_dtype_bits(l->g_idx->dtype) / 8 : 0;
	int64_t *raw = NULL;
	enum gptq_status status = GPTQ_OK;

	*g_of_k = gq_malloc_array(n, sizeof(**g_of_k));
	if (l->g_idx)
		raw = gq_malloc_array(n, sizeof(*raw));
	if (!*g_of_k || (l->g_idx && !raw)) {
		status = gq_fail_nomem(err);
		goto out;
	}
	if (l->g_idx) {
		/* Read into the upper end of the array, then widen from the front: never overtakes what it reads. */
		unsigned char *bytes = (unsigned char *)raw + n * (sizeof(*raw) - width);

		status = gq_tensor_read_at(shards, l->g_idx, 0, bytes, n * width, err);
		for (size_t k = 0; k < n && status == GPTQ_OK; k++) {
			/* Each width with a constant, which makes of it one load. */
			raw[k] = width == 4 ? (int32_t)(uint32_t)gq_load_le(bytes + k * 4, 4)
					    : (int64_t)gq_load_le(bytes + k * width, (unsigned)width);
		}
	}
	if (status == GPTQ_OK)
		status = gq_layer_groups(l, raw, *g_of_k, kind, err);
out:
	gq_free(raw);
	if (status != GPTQ_OK) {
		gq_error_file(err, shards->items[l->g_idx ? l->g_idx->shard : l->scales->shard].path);
		gq_free(*g_of_k);
		*g_of_k = NULL;
	}
	return status;
}

/* A layer whose groups make no sense is a problem of that layer, not the end. */
static enum gptq_status check_groups(struct gq_shards *shards, const struct gq_layer *l, struct gq_survey *sv, size_t i,
				     struct gptq_error *err)
{
	int32_t *g_of_k;
	enum gptq_status status = gq_read_groups(shards, l, &g_of_k, &sv->g_idx[i], err);

	gq_free(g_of_k);
	sv->broken[i] = status == GPTQ_E_FORMAT;
	return sv->broken[i] ? GPTQ_OK : status;
}

static enum gptq_status tell_broken(struct gq_shards *shards, const struct gq_layer *l, struct gq_problems *problems,
				    struct gptq_error *err)
{
	enum gq_g_idx_kind kind;
	struct gptq_error e;
	int32_t *g_of_k;
	enum gptq_status status = gq_read_groups(shards, l, &g_of_k, &kind, &e);

	gq_free(g_of_k);
	if (status == GPTQ_E_FORMAT)
		return gq_problems_add(problems, e.offset != GPTQ_NO_OFFSET ? GQ_CODE_G_IDX_RANGE : GQ_CODE_SHAPE_LAW,
				       &e, err);
	if (status != GPTQ_OK && err)
		*err = e;
	return status; /* whole after all: somebody writes to the file, which is noticed elsewhere */
}

static enum gptq_status read_scales(struct gq_shards *shards, const struct gq_layer *l, struct gq_scale_stats *out,
				    struct gptq_error *err)
{
	size_t width = gptq_dtype_bits(l->scales->dtype) / 8, n = READ_BUFFER / width;
	unsigned char *buffer = gq_malloc_array(READ_BUFFER, 1);
	enum gptq_status status = buffer ? GPTQ_OK : gq_fail_nomem(err);

	gq_scale_stats_init(out);
	for (uint64_t at = 0; at < l->scales->nbytes && status == GPTQ_OK; at += n * width) {
		size_t bytes = l->scales->nbytes - at < n * width ? (size_t)(l->scales->nbytes - at) : n * width;

		status = gq_tensor_read_at(shards, l->scales, at, buffer, bytes, err);
		if (status == GPTQ_OK)
			gq_scale_stats_add(out, buffer, bytes / width, l->scales->dtype);
	}
	gq_free(buffer);
	return status;
}

struct zero_reading {
	struct gq_shards *shards;
	const struct gq_layers *layers;
	struct gq_survey *sv;
};

static enum gptq_status read_zeros(const struct zero_reading *r, size_t i, struct gptq_error *err)
{
	const struct gq_layer *l = &r->layers->items[i];
	struct gq_survey *sv = r->sv;
	struct gq_qzeros qz;
	void *words = NULL;
	enum gptq_status status = check_groups(r->shards, l, sv, i, err);

	if (status == GPTQ_OK)
		status = gq_read_qzeros(r->shards, l, &words, &qz, err);
	if (status == GPTQ_OK)
		status = gq_zero_stats_of(&qz, &sv->facts[i].zeros, err);
	if (status == GPTQ_OK && sv->scales)
		status = read_scales(r->shards, l, &sv->scales[i], err);
	sv->facts[i].pack = l->pack;
	sv->facts[i].shard = l->qzeros->shard;
	gq_free(words);
	return status;
}

static enum gptq_status read_some(void *ctx, size_t item, struct gq_work *work, unsigned worker, struct gptq_error *err)
{
	const struct zero_reading *r = ctx;
	size_t begin = item * AT_ONCE, end = r->layers->n - begin < AT_ONCE ? r->layers->n : begin + AT_ONCE;
	const char *file = r->shards->items[r->layers->items[begin].qzeros->shard].name;
	enum gptq_status status = gq_work_tick(work, worker, 0, file, err);

	for (size_t i = begin; i < end && status == GPTQ_OK; i++)
		status = read_zeros(r, i, err);
	return status;
}

enum gptq_status gq_survey_zeros(struct gq_shards *shards, const struct gq_layers *layers, unsigned n_threads,
				 const struct gptq_hooks *hooks, struct gq_survey *sv, struct gq_problems *problems,
				 struct gptq_error *err)
{
	struct zero_reading r = {shards, layers, sv};
	size_t n = (size_t)gq_ceil_div(layers->n, AT_ONCE);
	enum gptq_status status;

	n_threads = gq_work_threads(n_threads, n);
	n_threads = n_threads < GQ_SURVEY_THREADS ? n_threads : GQ_SURVEY_THREADS;
	/* Of all that is read here, most is read again with the codes: only those are progress. */
	status = gq_work_run(n, n_threads, read_some, &r, hooks, 0, err);
	/* Threads have marked what is broken; why is told in the order of the layers. */
	for (size_t i = 0; i < layers->n && status == GPTQ_OK; i++)
		if (sv->broken[i])
			status = tell_broken(shards, &layers->items[i], problems, err);
	return status;
}
