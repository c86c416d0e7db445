/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file holds the zero points of which layers. Layers are sorted by name, and every step that goes through a
 * unit's files wants them by file: looking through all of them for each file took files times layers.
 */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <stdlib.h>

static int by_offset(const void *a, const void *b)
{
	const struct gq_span *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Names and offsets mostly run alike, and then there is nothing to do. */
static void sort(struct gq_span *spans, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (spans[i - 1].offset > spans[i].offset) {
			qsort(spans, n, sizeof(*spans), by_offset);
			return;
		}
	}
}

enum gptq_status gq_find_spans(struct gq_unit *u, struct gptq_error *err)
{
	const struct gq_layers *layers = &u->source.layers;
	size_t n = u->source.shards.n, *next;

	u->spans = gq_malloc_array(layers->n, sizeof(*u->spans));
	next = u->first_span = gq_calloc(n + 2, sizeof(*u->first_span));
	if (!u->spans || !next)
		return gq_fail_nomem(err);
	/* Counted two places up: a file's count becomes where the next one begins while its spans are laid down. */
	for (size_t i = 0; i < layers->n; i++)
		next[layers->items[i].qzeros->shard + 2]++;
	for (size_t s = 2; s <= n; s++)
		next[s] += next[s - 1];
	for (size_t i = 0; i < layers->n; i++) {
		const struct gq_tensor *t = layers->items[i].qzeros;

		u->spans[next[t->shard + 1]++] = (struct gq_span){t->offset, (uint32_t)i};
	}
	for (size_t s = 0; s < n; s++)
		sort(u->spans + u->first_span[s], u->first_span[s + 1] - u->first_span[s]);
	return GPTQ_OK;
}

bool gq_spans_change(const struct gq_conversion *cv, const struct gq_unit *u, uint32_t shard)
{
	for (size_t i = u->first_span[shard]; i < u->first_span[shard + 1]; i++)
		if (gq_layer_changes(cv, u, u->spans[i].layer))
			return true;
	return false;
}
