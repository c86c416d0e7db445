/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "ops/verify_internal.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const char *a, size_t n_a, const char *b, size_t n_b)
{
	int c = memcmp(a, b, n_a < n_b ? n_a : n_b);

	return c ? c : (n_a > n_b) - (n_a < n_b);
}

static int by_name(const void *a, const void *b)
{
	const struct gq_tensor *x = *(const struct gq_tensor *const *)a, *y = *(const struct gq_tensor *const *)b;

	return compare_names(x->name, x->name_len, y->name, y->name_len);
}

/* The tensors of a side that carry no layer's weights, by name. */
static enum gptq_status plain_tensors(const struct gq_source *s, const struct gq_tensor ***list, size_t *n,
				      struct gptq_error *err)
{
	const struct gq_shards *shards = &s->shards;
	bool *packed = gq_calloc(shards->n_tensors, sizeof(*packed));

	*n = 0;
	*list = gq_calloc(shards->n_tensors, sizeof(const struct gq_tensor *));
	if (!packed || !*list) {
		gq_free(packed);
		return gq_fail_nomem(err);
	}
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];

		packed[l->qweight - shards->tensors] = true;
		packed[l->qzeros - shards->tensors] = true;
		packed[l->scales - shards->tensors] = true;
		if (l->g_idx)
			packed[l->g_idx - shards->tensors] = true;
	}
	for (size_t i = 0; i < shards->n_tensors; i++)
		if (!packed[i])
			(*list)[(*n)++] = &shards->tensors[i];
	gq_free(packed);
	if (*n)
		qsort(*list, *n, sizeof(**list), by_name);
	return GPTQ_OK;
}

static struct gq_pair *add_pair(struct gq_verification *v, enum gptq_outcome outcome)
{
	struct gq_pair *p = &v->pairs[v->n_pairs++];

	p->outcome = outcome;
	return p;
}

static void add_todo(struct gq_verification *v, uint64_t bytes)
{
	v->todo[v->n_todo++] = v->n_pairs - 1;
	v->bytes += bytes;
}

static enum gptq_outcome layer_outcome(const struct gq_layer *a, const struct gq_layer *b)
{
	if (a->in_features != b->in_features || a->out_features != b->out_features)
		return GPTQ_DIFFERENT_SHAPE;
	return a->scales->dtype != b->scales->dtype ? GPTQ_DIFFERENT_DTYPE : GPTQ_SAME;
}

static void pair_layers(struct gq_verification *v)
{
	const struct gq_layers *a = &v->sides[0].source.layers, *b = &v->sides[1].source.layers;

	for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
		const struct gq_layer *x = i < a->n ? &a->items[i] : NULL, *y = j < b->n ? &b->items[j] : NULL;
		int c = !x ? 1 : !y ? -1 : compare_names(x->name, x->name_len, y->name, y->name_len);
		struct gq_pair *p = add_pair(v, c < 0 ? GPTQ_ONLY_IN_A : c > 0 ? GPTQ_ONLY_IN_B : layer_outcome(x, y));

		if (c <= 0)
			p->layers[0] = &a->items[i++];
		if (c >= 0)
			p->layers[1] = &b->items[j++];
		if (p->outcome == GPTQ_SAME)
			add_todo(v, p->layers[0]->qweight->nbytes + p->layers[1]->qweight->nbytes);
	}
	v->n_layers = v->n_pairs;
}

static enum gptq_outcome tensor_outcome(const struct gq_tensor *a, const struct gq_tensor *b)
{
	if (a->rank != b->rank || (a->rank && memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) != 0))
		return GPTQ_DIFFERENT_SHAPE;
	return a->dtype != b->dtype ? GPTQ_DIFFERENT_DTYPE : GPTQ_SAME;
}

static void pair_tensors(struct gq_verification *v, const struct gq_tensor *const *a, size_t n_a,
			 const struct gq_tensor *const *b, size_t n_b)
{
	for (size_t i = 0, j = 0; i < n_a || j < n_b;) {
		int c = i == n_a   ? 1
			: j == n_b ? -1
				   : compare_names(a[i]->name, a[i]->name_len, b[j]->name, b[j]->name_len);
		struct gq_pair *p = add_pair(v, c < 0   ? GPTQ_ONLY_IN_A
						: c > 0 ? GPTQ_ONLY_IN_B
							: tensor_outcome(a[i], b[j]));

		if (c <= 0)
			p->tensors[0] = a[i++];
		if (c >= 0)
			p->tensors[1] = b[j++];
		if (p->outcome == GPTQ_SAME)
			add_todo(v, 2 * p->tensors[0]->nbytes);
	}
}

enum gptq_status gq_verify_pair_up(struct gq_verification *v, struct gptq_error *err)
{
	const struct gq_tensor **lists[2] = {NULL, NULL};
	size_t n[2], most = 0;
	enum gptq_status status = GPTQ_OK;

	for (unsigned s = 0; s < 2 && status == GPTQ_OK; s++) {
		status = plain_tensors(&v->sides[s].source, &lists[s], &n[s], err);
		v->report->sides[s].n_layers = v->sides[s].source.layers.n;
		v->report->sides[s].n_tensors = n[s];
		most += v->sides[s].source.layers.n + n[s];
	}
	if (status == GPTQ_OK) {
		v->pairs = gq_calloc(most, sizeof(*v->pairs));
		v->todo = gq_calloc(most, sizeof(*v->todo));
		status = v->pairs && v->todo ? GPTQ_OK : gq_fail_nomem(err);
	}
	if (status == GPTQ_OK) {
		pair_layers(v);
		pair_tensors(v, (const struct gq_tensor *const *)lists[0], n[0],
			     (const struct gq_tensor *const *)lists[1], n[1]);
	}
	gq_free(lists[0]);
	gq_free(lists[1]);
	return status;
}
