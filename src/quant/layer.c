/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/layer.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned word_bits_of(enum gptq_dtype dtype)
{
	switch ((int)dtype) {
	case GPTQ_DTYPE_I8:
		return 8;
	case GPTQ_DTYPE_I16:
		return 16;
	case GPTQ_DTYPE_I32:
		return 32;
	case GPTQ_DTYPE_I64:
		return 64;
	default:
		return 0;
	}
}

/* "I32 [32, 64]" for messages. */
static const char *shape_text(char *dst, size_t size, const struct gq_tensor *t)
{
	size_t used = (size_t)snprintf(dst, size, "%s [", gptq_dtype_name(t->dtype));

	for (uint32_t i = 0; i < t->rank && used + 24 < size; i++)
		used += (size_t)snprintf(dst + used, size - used, "%s%llu", i ? ", " : "",
					 (unsigned long long)t->shape[i]);
	snprintf(dst + used, size - used, "]");
	return dst;
}

/* Words that hold n codes of `bits` bits; false on overflow. */
static bool words_for(uint64_t n, struct gq_pack pack, uint64_t *words)
{
	uint64_t nbits;

	if (!gq_mul_u64(n, pack.bits, &nbits))
		return false;
	*words = gq_ceil_div(nbits, pack.word_bits);
	return true;
}

/* Does this width explain all shapes? Without g_idx K is not known: the most codes that fit are taken then. */
static bool width_fits(const struct gq_layer *l, struct gq_pack pack, uint64_t *k)
{
	uint64_t rows = l->qweight->shape[0], words, nbits;

	if (pack.bits == 3 && pack.word_bits != 32)
		return false;
	if (!words_for(l->out_features, pack, &words) || words != l->qzeros->shape[1])
		return false;
	if (l->g_idx) {
		*k = l->g_idx->shape[0];
		return words_for(*k, pack, &words) && words == rows;
	}
	if (!gq_mul_u64(rows, pack.word_bits, &nbits))
		return false;
	*k = nbits / pack.bits;
	return words_for(*k, pack, &words) && words == rows;
}

static enum gptq_status wrong_tensor(const struct gq_tensor *t, const char *expected, struct gptq_error *err)
{
	char found[160];
	enum gptq_status status = gq_fail(err, GPTQ_E_FORMAT, "its dtype or shape is not that of a GPTQ layer");

	gq_error_tensor(err, t->name, t->name_len);
	gq_error_found(err, "%s", shape_text(found, sizeof(found), t));
	gq_error_expected(err, "%s", expected);
	return status;
}

/* dtypes, ranks and the dimensions that tensors share. */
static enum gptq_status check_tensors(struct gq_layer *l, struct gptq_error *err)
{
	unsigned word_bits = word_bits_of(l->qweight->dtype);
	char text[160];

	if (!word_bits || l->qweight->rank != 2)
		return wrong_tensor(l->qweight, "I8, I16, I32 or I64 [packed in_features, out_features]", err);
	if (l->qzeros->rank != 2 || l->qzeros->dtype != l->qweight->dtype) {
		snprintf(text, sizeof(text), "%s [groups, packed out_features], as qweight is packed",
			 gptq_dtype_name(l->qweight->dtype));
		return wrong_tensor(l->qzeros, text, err);
	}
	if (l->scales->rank != 2 || (l->scales->dtype != GPTQ_DTYPE_F16 && l->scales->dtype != GPTQ_DTYPE_BF16 &&
				     l->scales->dtype != GPTQ_DTYPE_F32))
		return wrong_tensor(l->scales, "F16, BF16 or F32 [groups, out_features]", err);
	if (l->g_idx && (l->g_idx->rank != 1 || l->g_idx->shape[0] == 0 ||
			 (l->g_idx->dtype != GPTQ_DTYPE_I32 && l->g_idx->dtype != GPTQ_DTYPE_I64)))
		return wrong_tensor(l->g_idx, "I32 [in_features]", err);
	l->pack.word_bits = word_bits;
	l->out_features = l->qweight->shape[1];
	l->groups = l->qzeros->shape[0];
	l->word_rows = l->qweight->shape[0];
	if (l->out_features == 0 || l->groups == 0 || l->word_rows == 0)
		return wrong_tensor(l->out_features && l->word_rows ? l->qzeros : l->qweight, "no dimension of 0", err);
	if (l->scales->shape[0] != l->groups || l->scales->shape[1] != l->out_features) {
		snprintf(text, sizeof(text), "[%llu, %llu] (groups of qzeros, columns of qweight)",
			 (unsigned long long)l->groups, (unsigned long long)l->out_features);
		return wrong_tensor(l->scales, text, err);
	}
	return GPTQ_OK;
}

/* No width fits: name the tensor that stands against the likeliest one. */
static enum gptq_status no_width(const struct gq_layer *l, unsigned claimed, struct gptq_error *err)
{
	static const unsigned widths[] = {4, 8, 2, 3};
	struct gq_pack pack = l->pack;
	char text[160], found[160];
	uint64_t words = 0, k;
	enum gptq_status status;

	pack.bits = 3;
	pack.word_bits = 32;
	if (l->pack.word_bits != 32 && words_for(l->out_features, pack, &words) &&
	    words * 32 == l->qzeros->shape[1] * l->pack.word_bits) {
		status = gq_fail(err, GPTQ_E_UNSUPPORTED,
				 "3-bit codes in %u-bit words: no writer packs them without losing codes",
				 l->pack.word_bits);
		gq_error_tensor(err, l->qweight->name, l->qweight->name_len);
		return status;
	}
	pack = l->pack;
	pack.bits = claimed;
	if (!pack.bits && l->g_idx) { /* the width that qweight alone speaks for */
		for (size_t i = 0; i < 4 && !pack.bits; i++) {
			struct gq_pack p = {widths[i], l->pack.word_bits};

			k = l->g_idx->shape[0];
			if (words_for(k, p, &words) && words == l->word_rows)
				pack.bits = widths[i];
		}
	}
	if (pack.bits && words_for(l->out_features, pack, &words) && words != l->qzeros->shape[1]) {
		snprintf(text, sizeof(text), "%s [%llu, %llu] for %u bits and %llu columns",
			 gptq_dtype_name(l->qzeros->dtype), (unsigned long long)l->groups, (unsigned long long)words,
			 pack.bits, (unsigned long long)l->out_features);
		return wrong_tensor(l->qzeros, text, err);
	}
	if (pack.bits && l->g_idx && words_for(l->g_idx->shape[0], pack, &words) && words != l->word_rows) {
		snprintf(text, sizeof(text), "%s [%llu, %llu] for %u bits and the %llu rows of g_idx",
			 gptq_dtype_name(l->qweight->dtype), (unsigned long long)words,
			 (unsigned long long)l->out_features, pack.bits, (unsigned long long)l->g_idx->shape[0]);
		return wrong_tensor(l->qweight, text, err);
	}
	status = gq_fail(err, GPTQ_E_FORMAT, "no width of 2, 3, 4 or 8 bits explains the shapes of this layer");
	gq_error_tensor(err, l->qweight->name, l->qweight->name_len);
	gq_error_found(err, "qweight %s, qzeros %s", shape_text(found, sizeof(found), l->qweight),
		       shape_text(text, sizeof(text), l->qzeros));
	return status;
}

/* Section 1 of the format page: the config's where it fits, else K / G if that is whole. 0: none. */
static int64_t group_size_of(uint64_t k, uint64_t groups, int64_t claim)
{
	if (claim > 0 && gq_ceil_div(k, (uint64_t)claim) == groups)
		return claim;
	if (groups == 1)
		return -1;
	if (k % groups == 0)
		return (int64_t)(k / groups);
	return 0;
}

/* Without g_idx a K that is no multiple of a word's codes cannot be told from the shapes; the groups may tell. */
static void narrow_k(struct gq_layer *l, struct gq_layer_claim claim)
{
	uint64_t per_word = l->pack.word_bits / l->pack.bits, whole;

	if (l->g_idx || l->pack.bits == 3 || claim.group_size <= 0)
		return;
	if (gq_ceil_div(l->in_features, (uint64_t)claim.group_size) == l->groups)
		return;
	/* One group less than the words could hold: K ends with the last whole group inside the last word row. */
	if (gq_mul_u64(l->groups, (uint64_t)claim.group_size, &whole) && whole < l->in_features &&
	    l->in_features - whole < per_word)
		l->in_features = whole;
}

enum gptq_status gq_layer_measure(struct gq_layer *layer, struct gq_layer_claim claim, struct gptq_error *err)
{
	static const unsigned widths[] = {2, 3, 4, 8};
	enum gptq_status status = check_tensors(layer, err);
	unsigned n_fit = 0;
	uint64_t k;

	if (status != GPTQ_OK)
		return status;
	layer->pack.bits = 0;
	for (size_t i = 0; i < 4; i++) {
		struct gq_pack pack = {widths[i], layer->pack.word_bits};

		if (!width_fits(layer, pack, &k))
			continue;
		n_fit++;
		if (!layer->pack.bits || widths[i] == claim.bits) {
			layer->pack.bits = widths[i];
			layer->in_features = k;
		}
	}
	if (n_fit == 0)
		return no_width(layer, claim.bits, err);
	if (n_fit > 1 && layer->pack.bits != claim.bits) {
		status = gq_fail(
			err, GPTQ_E_FORMAT,
			"the layer is so small that several widths explain its shapes, and no config settles it; "
			"a config that says bits does, or --bits for a lone file");
		gq_error_tensor(err, layer->qweight->name, layer->qweight->name_len);
		return status;
	}
	if (layer->in_features > INT32_MAX || layer->groups > INT32_MAX || layer->out_features > INT32_MAX) {
		status = gq_fail(err, GPTQ_E_LIMIT, "a dimension is larger than 2^31 - 1");
		gq_error_tensor(err, layer->qweight->name, layer->qweight->name_len);
		return status;
	}
	narrow_k(layer, claim);
	layer->zero_row_bytes = layer->qzeros->shape[1] * (layer->pack.word_bits / 8);
	layer->group_size = group_size_of(layer->in_features, layer->groups, claim.group_size);
	return GPTQ_OK;
}

const char *gq_layer_shown(char dst[GQ_LAYER_SHOWN], const struct gq_layer *layer)
{
	gptq_mask(dst, GQ_LAYER_SHOWN, layer->name, layer->name_len);
	return dst;
}

static enum gptq_status bad_group(const struct gq_layer *l, uint64_t k, int64_t g, struct gptq_error *err)
{
	enum gptq_status status =
		gq_fail(err, GPTQ_E_FORMAT, "row %llu belongs to a group that does not exist", (unsigned long long)k);

	gq_error_tensor(err, l->g_idx->name, l->g_idx->name_len);
	gq_error_offset(err, l->g_idx->offset + k * (gptq_dtype_bits(l->g_idx->dtype) / 8));
	gq_error_found(err, "%lld", (long long)g);
	gq_error_expected(err, "-%llu..%llu", (unsigned long long)l->groups, (unsigned long long)l->groups - 1);
	return status;
}

enum gptq_status gq_layer_groups(const struct gq_layer *layer, const int64_t *raw, int32_t *g_of_k,
				 enum gq_g_idx_kind *kind, struct gptq_error *err)
{
	uint64_t n = layer->in_features;
	int64_t groups = (int64_t)layer->groups, size = layer->group_size, own = 0, left = size;
	bool zero = true, trivial = size > 0 || size == -1;

	for (uint64_t k = 0; raw && k < n; k++) {
		int64_t g = raw[k] < 0 ? raw[k] + groups : raw[k];

		if (g < 0 || g >= groups)
			return bad_group(layer, k, raw[k], err);
		if (size > 0 && left-- == 0) { /* own: k / size, without a division a row */
			own++;
			left = size - 1;
		}
		zero = zero && raw[k] == 0;
		trivial = trivial && g == own;
		g_of_k[k] = (int32_t)g;
	}
	*kind = !raw                 ? GQ_G_IDX_MISSING
		: zero && groups > 1 ? GQ_G_IDX_ZERO
		: trivial            ? GQ_G_IDX_TRIVIAL
				     : GQ_G_IDX_ACT_ORDER;
	if (raw && *kind != GQ_G_IDX_ZERO)
		return GPTQ_OK;
	if (size == 0) {
		enum gptq_status status =
			gq_fail(err, GPTQ_E_FORMAT,
				"no group size fits: %llu rows in %llu groups, g_idx says nothing, and no config helps",
				(unsigned long long)n, (unsigned long long)layer->groups);

		gq_error_tensor(err, layer->scales->name, layer->scales->name_len);
		return status;
	}
	for (uint64_t k = 0; k < n; k++)
		g_of_k[k] = size < 0 ? 0 : (int32_t)(k / (uint64_t)size);
	return GPTQ_OK;
}

/* ------------------------------------------------------------------------------------------ finding layers */

enum kind { QWEIGHT, QZEROS, SCALES, G_IDX, BIAS, N_KINDS };

/* Files list tensors in some order of names, so where the last sibling of a kind was tells where the next one is. */
struct finder {
	const struct gq_shards *shards;
	struct gq_buf name;
	size_t of[N_KINDS], found[N_KINDS]; /* numbers of the last one asked about and of its sibling */
	size_t n[N_KINDS];                  /* how many there are, of QWEIGHT and BIAS */
};

static const struct gq_tensor *sibling(struct finder *f, const struct gq_tensor *of, size_t module_len, enum kind kind)
{
	static const char *const suffixes[] = {"qweight", "qzeros", "scales", "g_idx", "bias"};
	size_t i = (size_t)(of - f->shards->tensors);
	const struct gq_tensor *t;

	f->name.size = 0;
	gq_buf_add(&f->name, of->name, module_len ? module_len + 1 : 0);
	gq_buf_puts(&f->name, suffixes[kind]);
	if (f->name.failed)
		return NULL;
	t = gq_shards_guess(f->shards, f->found[kind] + (i - f->of[kind]), f->name.data, f->name.size);
	if (!t)
		t = gq_shards_guess(f->shards, f->found[kind] + 1, f->name.data, f->name.size);
	if (!t)
		t = gq_shards_find(f->shards, f->name.data, f->name.size);
	if (t) {
		f->of[kind] = i;
		f->found[kind] = (size_t)(t - f->shards->tensors);
	}
	return t;
}

static enum gptq_status missing(const struct gq_shards *shards, const struct gq_tensor *have, const char *absent,
				struct gq_problems *problems, struct gptq_error *err)
{
	struct gptq_error e;

	gq_fail(&e, GPTQ_E_FORMAT, "its module has no %s: not a whole GPTQ layer", absent);
	gq_error_tensor(&e, have->name, have->name_len);
	gq_error_file(&e, shards->items[have->shard].path);
	return gq_problems_add(problems, GQ_CODE_TENSOR_MISSING, &e, err);
}

static enum gptq_status collect(struct finder *f, const struct gq_tensor *qweight, size_t module_len,
				struct gq_layer *layer, bool *whole, struct gq_problems *problems,
				struct gptq_error *err)
{
	*layer = (struct gq_layer){.name = qweight->name, .name_len = module_len, .qweight = qweight};
	layer->qzeros = sibling(f, qweight, module_len, QZEROS);
	layer->scales = sibling(f, qweight, module_len, SCALES);
	layer->g_idx = sibling(f, qweight, module_len, G_IDX);
	layer->bias = f->n[BIAS] ? sibling(f, qweight, module_len, BIAS) : NULL;
	if (f->name.failed)
		return gq_fail_nomem(err);
	*whole = layer->qzeros && layer->scales;
	if (!layer->qzeros)
		return missing(f->shards, qweight, "qzeros", problems, err);
	if (!layer->scales)
		return missing(f->shards, qweight, "scales", problems, err);
	return GPTQ_OK;
}

/* Names the file of the tensor that the error names; a layer's tensors may lie in several. */
static void at_fault(const struct gq_shards *shards, const struct gq_layer *l, struct gptq_error *e)
{
	const struct gq_tensor *const all[] = {l->qzeros, l->scales, l->g_idx, l->qweight};
	uint32_t shard = l->qweight->shard;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gptq_error same = {.message = ""};

		if (!all[i])
			continue;
		gq_error_tensor(&same, all[i]->name, all[i]->name_len);
		if (strcmp(same.tensor, e->tensor) == 0)
			shard = all[i]->shard;
	}
	gq_error_file(e, shards->items[shard].path);
}

static int by_name(const void *a, const void *b)
{
	const struct gq_layer *x = a, *y = b;

	return gq_compare_bytes(x->name, x->name_len, y->name, y->name_len);
}

/* Files are mostly written in the order of names, and then nothing is to be moved. */
static void sort_layers(struct gq_layers *layers)
{
	for (size_t i = 1; i < layers->n; i++) {
		if (by_name(&layers->items[i - 1], &layers->items[i]) <= 0)
			continue;
		qsort(layers->items, layers->n, sizeof(*layers->items), by_name);
		break;
	}
}

static bool is_first_of_its_name(const struct gq_shards *shards, size_t i)
{
	const struct gq_tensor *t = &shards->tensors[i];

	return gq_shards_guess(shards, i, t->name, t->name_len) || gq_shards_find(shards, t->name, t->name_len) == t;
}

enum gptq_status gq_layers_find(const struct gq_shards *shards, gq_claim_fn claim, void *ctx, struct gq_layers *layers,
				struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct finder f = {.shards = shards};
	size_t len;

	*layers = (struct gq_layers){0};
	for (size_t i = 0; i < shards->n_tensors; i++) {
		f.n[QWEIGHT] += gq_tensor_is(&shards->tensors[i], "qweight", &len);
		f.n[BIAS] += gq_tensor_is(&shards->tensors[i], "bias", &len);
	}
	layers->items = gq_calloc(f.n[QWEIGHT], sizeof(*layers->items));
	if (!layers->items)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++) {
		const struct gq_tensor *t = &shards->tensors[i];
		struct gq_layer *l = &layers->items[layers->n];
		struct gptq_error e;
		bool whole;

		if (gq_tensor_is(t, "qzeros", &len)) {
			if (!sibling(&f, t, len, QWEIGHT))
				status = f.name.failed ? gq_fail_nomem(err)
						       : missing(shards, t, "qweight", problems, err);
			continue;
		}
		if (!gq_tensor_is(t, "qweight", &len) || !is_first_of_its_name(shards, i))
			continue;
		status = collect(&f, t, len, l, &whole, problems, err);
		if (status != GPTQ_OK || !whole)
			continue;
		if (gq_layer_measure(l, claim(ctx, l->name, l->name_len), &e) == GPTQ_OK) {
			layers->n++;
			continue;
		}
		at_fault(shards, l, &e);
		status = gq_problems_add(problems, GQ_CODE_SHAPE_LAW, &e, err);
	}
	gq_buf_free(&f.name);
	if (status != GPTQ_OK) {
		gq_layers_free(layers);
		return status;
	}
	sort_layers(layers);
	return GPTQ_OK;
}

void gq_layers_free(struct gq_layers *layers)
{
	gq_free(layers->items);
	*layers = (struct gq_layers){0};
}
