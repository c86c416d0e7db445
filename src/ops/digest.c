/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of each layer's weights, as [K][N] in the dtype of scales, and of the model: of the lines "HEX  NAME\n" in
 * the order of names. The same for v1 and v2, for any sharding and word size.
 */
#include "base/mem.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "ops/inspect_internal.h"
#include "ops/weights.h"

#include <string.h>

#define RUN ((size_t)1 << 20) /* bytes of words at once */

/* The weights of a run of rows go through `out`, which has room for out_rows of them. */
static enum gptq_status add_run(struct gq_sha256 *d, const struct gq_weights *w, unsigned char *out, size_t out_rows,
				struct gptq_error *err)
{
	size_t row = w->n_columns * gq_weight_bytes(w->dtype);
	enum gptq_status status = GPTQ_OK;

	for (size_t k = 0; k < w->n_rows && status == GPTQ_OK; k += out_rows) {
		size_t k1 = w->n_rows - k < out_rows ? w->n_rows : k + out_rows;

		gq_dequantise(w, k, k1, 0, w->n_columns, out, row);
		status = gq_sha256_add(d, out, (k1 - k) * row, err);
	}
	return status;
}

static enum gptq_status digest_side(struct gq_side *side, struct gq_sha256 *d, struct gq_work *work, unsigned worker,
				    struct gptq_error *err)
{
	const struct gq_layer *l = side->at.layer;
	size_t n = (size_t)l->out_features, k = (size_t)l->in_features, row = n * gq_weight_bytes(l->scales->dtype);
	size_t rows = gq_side_rows(side, n, RUN), out_rows = gq_band_rows(l->pack, row);
	const char *file = side->at.shards->items[l->qweight->shard].name;
	enum gptq_status status = gq_side_tile(side, 0, n, err);
	unsigned char *out;

	out_rows = out_rows < rows ? out_rows : rows;
	out = gq_malloc_array(out_rows, row);
	if (status == GPTQ_OK && !out)
		status = gq_fail_nomem(err);
	for (size_t k0 = 0; k0 < k && status == GPTQ_OK; k0 += rows) {
		size_t k1 = k - k0 < rows ? k : k0 + rows;
		struct gq_weights w;

		status = gq_side_run(side, k0, k1, &w, err);
		if (status == GPTQ_OK)
			status = add_run(d, &w, out, out_rows, err);
		if (status == GPTQ_OK)
			status = gq_work_tick(work, worker, (uint64_t)(k1 - k0) * n * l->pack.bits / 8, file, err);
	}
	gq_free(out);
	return status;
}

static enum gptq_status digest_layer(void *ctx, size_t i, struct gq_work *work, unsigned worker, struct gptq_error *err)
{
	struct gq_inspection *in = ctx;
	struct gq_reading at = {.shards = &in->source.shards,
				.layer = &in->source.layers.items[i],
				.format = in->formats[i],
				.style = gq_inspect_style(in, i)};
	struct gq_side side = {0};
	struct gq_sha256 sha256 = {0};
	char hex[GQ_SHA256_HEX];
	enum gptq_status status;

	if (!gq_zeros_known(in, i))
		return GPTQ_OK;
	status = gq_sha256_begin(&sha256, err);
	if (status == GPTQ_OK)
		status = gq_side_open(&at, &side, err);
	if (status == GPTQ_OK)
		status = digest_side(&side, &sha256, work, worker, err);
	if (status == GPTQ_OK)
		status = gq_sha256_end(&sha256, hex, err);
	if (status == GPTQ_OK) {
		in->report->layers[i].weights_sha256 = gq_strdup(hex);
		if (!in->report->layers[i].weights_sha256)
			status = gq_fail_nomem(err);
	}
	gq_side_close(&side);
	gq_sha256_free(&sha256);
	return status;
}

bool gq_zeros_known(const struct gq_inspection *in, size_t i)
{
	unsigned bits = in->source.layers.items[i].pack.bits;

	if (in->survey.broken[i])
		return false;
	if (in->formats[i] == GPTQ_ZEROS_V2 || in->styles[gq_width_index(bits)].style != GPTQ_STYLE_NONE)
		return true;
	/* An open style does no harm where the styles in question read the same. */
	return bits != 3 && in->survey.facts[i].zeros.n_differ == 0;
}

/* Names as they are, not as they are shown. */
static enum gptq_status digest_model(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_sha256 sha256 = {0};
	char hex[GQ_SHA256_HEX];
	enum gptq_status status = gq_sha256_begin(&sha256, err);

	for (size_t i = 0; i < in->source.layers.n && status == GPTQ_OK; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];
		const char *sum = in->report->layers[i].weights_sha256;

		status = gq_sha256_add(&sha256, sum, strlen(sum), err);
		if (status == GPTQ_OK)
			status = gq_sha256_add(&sha256, "  ", 2, err);
		if (status == GPTQ_OK)
			status = gq_sha256_add(&sha256, l->name, l->name_len, err);
		if (status == GPTQ_OK)
			status = gq_sha256_add(&sha256, "\n", 1, err);
	}
	if (status == GPTQ_OK)
		status = gq_sha256_end(&sha256, hex, err);
	gq_sha256_free(&sha256);
	if (status == GPTQ_OK && !(in->report->weights_digest = gq_strdup(hex)))
		status = gq_fail_nomem(err);
	return status;
}

enum gptq_status gq_inspect_digests(struct gq_inspection *in, struct gptq_error *err)
{
	size_t n = in->source.layers.n;
	const struct gptq_hooks *hooks;
	enum gptq_status status;

	if (!in->options->weights_digest)
		return GPTQ_OK;
	in->report->digest_asked = true;
	if (!in->surveyed)
		return GPTQ_OK;
	hooks = gq_step_begin(in, in->steps.digests);
	status = gq_work_run(n, gq_work_threads(in->options->jobs, n), digest_layer, in, hooks, in->steps.digests, err);
	for (size_t i = 0; i < n && status == GPTQ_OK; i++)
		in->report->n_without_digest += !in->report->layers[i].weights_sha256;
	return status == GPTQ_OK && !in->report->n_without_digest ? digest_model(in, err) : status;
}
