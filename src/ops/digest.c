/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of each layer's weights, as [K][N] in the dtype of scales, and of the model: of the lines "HEX  NAME\n" in
 * the order of names. The same for v1 and v2, for any sharding and word size.
 */
#include "base/mem.h"
#include "base/parallel.h"
#include "ops/inspect_internal.h"
#include "ops/weights.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define RUN ((size_t)1 << 20) /* bytes of words at once */

#define HEX_SIZE (2 * EVP_MAX_MD_SIZE + 1)

static enum gptq_status begin(EVP_MD_CTX **ctx, struct gptq_error *err)
{
	*ctx = EVP_MD_CTX_new();
	if (!*ctx || !EVP_DigestInit_ex(*ctx, EVP_sha256(), NULL))
		return gq_fail_nomem(err);
	return GPTQ_OK;
}

static enum gptq_status add(EVP_MD_CTX *ctx, const void *data, size_t n, struct gptq_error *err)
{
	return EVP_DigestUpdate(ctx, data, n) ? GPTQ_OK : gq_fail(err, GPTQ_E_NOMEM, "the digest failed");
}

static enum gptq_status end(EVP_MD_CTX *ctx, char hex[HEX_SIZE], struct gptq_error *err)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!EVP_DigestFinal_ex(ctx, sum, &n))
		return gq_fail(err, GPTQ_E_NOMEM, "the digest failed");
	for (unsigned i = 0; i < n; i++)
		sprintf(hex + 2 * (size_t)i, "%02x", sum[i]);
	return GPTQ_OK;
}

/* The weights of a run of rows go through `out`, which has room for out_rows of them. */
static enum gptq_status add_run(EVP_MD_CTX *ctx, const struct gq_weights *w, unsigned char *out, size_t out_rows,
				struct gptq_error *err)
{
	size_t row = w->n_columns * gq_weight_bytes(w->dtype);
	enum gptq_status status = GPTQ_OK;

	for (size_t k = 0; k < w->n_rows && status == GPTQ_OK; k += out_rows) {
		size_t k1 = w->n_rows - k < out_rows ? w->n_rows : k + out_rows;

		gq_dequantise(w, k, k1, 0, w->n_columns, out, row);
		status = add(ctx, out, (k1 - k) * row, err);
	}
	return status;
}

static enum gptq_status digest_side(struct gq_side *side, EVP_MD_CTX *ctx, struct gq_work *work, unsigned worker,
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
			status = add_run(ctx, &w, out, out_rows, err);
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
	EVP_MD_CTX *md = NULL;
	char hex[HEX_SIZE];
	enum gptq_status status;

	if (!gq_zeros_known(in, i))
		return GPTQ_OK;
	status = begin(&md, err);
	if (status == GPTQ_OK)
		status = gq_side_open(&at, &side, err);
	if (status == GPTQ_OK)
		status = digest_side(&side, md, work, worker, err);
	if (status == GPTQ_OK)
		status = end(md, hex, err);
	if (status == GPTQ_OK) {
		in->report->layers[i].weights_sha256 = gq_strdup(hex);
		if (!in->report->layers[i].weights_sha256)
			status = gq_fail_nomem(err);
	}
	gq_side_close(&side);
	EVP_MD_CTX_free(md);
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
	EVP_MD_CTX *md = NULL;
	char hex[HEX_SIZE];
	enum gptq_status status = begin(&md, err);

	for (size_t i = 0; i < in->source.layers.n && status == GPTQ_OK; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];
		const char *sum = in->report->layers[i].weights_sha256;

		status = add(md, sum, strlen(sum), err);
		if (status == GPTQ_OK)
			status = add(md, "  ", 2, err);
		if (status == GPTQ_OK)
			status = add(md, l->name, l->name_len, err);
		if (status == GPTQ_OK)
			status = add(md, "\n", 1, err);
	}
	if (status == GPTQ_OK)
		status = end(md, hex, err);
	EVP_MD_CTX_free(md);
	if (status == GPTQ_OK && !(in->report->weights_digest = gq_strdup(hex)))
		status = gq_fail_nomem(err);
	return status;
}

enum gptq_status gq_inspect_digests(struct gq_inspection *in, struct gptq_error *err)
{
	size_t n = in->source.layers.n;
	enum gptq_status status;
	uint64_t total = 0;

	if (!in->options->weights_digest)
		return GPTQ_OK;
	in->report->digest_asked = true;
	if (!in->surveyed)
		return GPTQ_OK;
	for (size_t i = 0; i < n; i++)
		total += in->source.layers.items[i].qweight->nbytes;
	status =
		gq_work_run(n, gq_work_threads(in->options->jobs, n), digest_layer, in, in->options->hooks, total, err);
	for (size_t i = 0; i < n && status == GPTQ_OK; i++)
		in->report->n_without_digest += !in->report->layers[i].weights_sha256;
	return status == GPTQ_OK && !in->report->n_without_digest ? digest_model(in, err) : status;
}
