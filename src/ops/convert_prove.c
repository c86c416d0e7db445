/* SPDX-License-Identifier: Apache-2.0 */
/* Proof that what was written holds the same weights: quantised layers weight by weight, other tensors byte by byte. */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <string.h>

/* A unit and its files as they were written. */
struct proving {
	struct gq_conversion *cv;
	struct gq_unit *unit;
	struct gq_shards *written;
	struct gq_layer *layers; /* the unit's layers, with the tensors that were written */
	struct gq_layer_proof *proofs;
	bool *packed; /* tensors of IN that are parts of layers; qzeros among them are all that may change */
};

static enum gptq_status not_written(const struct gq_tensor *t, struct gptq_error *err)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_MISMATCH, "the tensor is not in what was written");

	gq_error_tensor(err, t->name, t->name_len);
	return status;
}

/* The tensor of what was written that must have the name, dtype and shape of t. NULL stays NULL. */
static enum gptq_status find_written(const struct proving *p, const struct gq_tensor **t, struct gptq_error *err)
{
	const struct gq_tensor *old = *t, *new;

	if (!old)
		return GPTQ_OK;
	new = gq_shards_find(p->written, old->name, old->name_len);
	if (!new || new->dtype != old->dtype || new->rank != old->rank || new->nbytes != old->nbytes ||
	    (old->rank && memcmp(new->shape, old->shape, old->rank * sizeof(*old->shape)) != 0))
		return not_written(old, err);
	p->packed[old - p->unit->source.shards.tensors] = true;
	*t = new;
	return GPTQ_OK;
}

static enum gptq_status find_layers(struct proving *p, struct gptq_error *err)
{
	const struct gq_layers *layers = &p->unit->source.layers;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < layers->n && status == GPTQ_OK; i++) {
		struct gq_layer *l = &p->layers[i];

		*l = layers->items[i];
		status = find_written(p, &l->qweight, err);
		if (status == GPTQ_OK)
			status = find_written(p, &l->qzeros, err);
		if (status == GPTQ_OK)
			status = find_written(p, &l->scales, err);
		if (status == GPTQ_OK)
			status = find_written(p, &l->g_idx, err);
	}
	return status;
}

static enum gptq_status prove_layer(struct proving *p, size_t i, struct gq_work *work, unsigned worker,
				    struct gptq_error *err)
{
	struct gq_conversion *cv = p->cv;
	const struct gq_layer *l = &p->unit->source.layers.items[i];
	enum gptq_v1_style style = gq_layer_style(cv, p->unit, i);
	struct gq_reading at[2] = {
		{&p->unit->source.shards, l, p->unit->formats[i], style},
		{p->written, &p->layers[i], gq_layer_changes(cv, p->unit, i) ? cv->to : p->unit->formats[i], style}};
	const struct gq_comparison *found = &p->proofs[i].found;
	enum gptq_status status = gq_prove_layer(&p->cv->prover, at, work, worker, &p->proofs[i], err);

	if (status != GPTQ_OK || !found->n_differ)
		return status;
	status = gq_fail(err, GPTQ_E_MISMATCH,
			 "what was written does not hold the same weights: %llu differ, the first is k %llu, n %llu",
			 (unsigned long long)found->n_differ, (unsigned long long)found->first_k,
			 (unsigned long long)found->first_n);
	gq_error_tensor(err, l->name, l->name_len);
	gq_error_found(err, "%08lx", (unsigned long)found->first[1].value);
	gq_error_expected(err, "%08lx", (unsigned long)found->first[0].value);
	return status;
}

static enum gptq_status prove_tensor(struct proving *p, const struct gq_tensor *t, struct gq_work *work,
				     unsigned worker, struct gptq_error *err)
{
	struct gq_shards *shards[2] = {&p->unit->source.shards, p->written};
	const struct gq_tensor *both[2] = {t, gq_shards_find(p->written, t->name, t->name_len)};
	struct gq_tensor_proof proof;
	enum gptq_status status;

	if (!both[1] || both[1]->nbytes != t->nbytes)
		return not_written(t, err);
	status = gq_prove_tensor(shards, both, work, worker, &proof, err);
	if (status != GPTQ_OK || !proof.n_differ)
		return status;
	status = gq_fail(err, GPTQ_E_MISMATCH, "what was written has other bytes in this tensor, %llu of them",
			 (unsigned long long)proof.n_differ);
	gq_error_tensor(err, t->name, t->name_len);
	gq_error_offset(err, both[1]->offset + proof.first);
	return status;
}

/* Items are the layers, then all tensors. */
static enum gptq_status prove_item(void *ctx, size_t item, struct gq_work *work, unsigned worker,
				   struct gptq_error *err)
{
	struct proving *p = ctx;
	size_t n = p->unit->source.layers.n;

	if (item < n)
		return prove_layer(p, item, work, worker, err);
	if (p->packed[item - n])
		return GPTQ_OK;
	return prove_tensor(p, &p->unit->source.shards.tensors[item - n], work, worker, err);
}

static enum gptq_status prove(struct proving *p, struct gptq_error *err)
{
	struct gptq_convert_report *r = p->cv->report;
	size_t n_layers = p->unit->source.layers.n, n = n_layers + p->unit->source.shards.n_tensors;
	uint64_t total = gq_unit_proof_bytes(p->unit);
	enum gptq_status status = find_layers(p, err);

	gq_progress_prove(p->cv, p->unit, 0);
	if (status == GPTQ_OK)
		status = gq_work_run(n, gq_work_threads(p->cv->options->jobs, n), prove_item, p, p->cv->options->hooks,
				     total, err);
	gq_progress_prove(p->cv, p->unit, total);
	for (size_t i = 0; i < n_layers && status == GPTQ_OK; i++) {
		r->n_weights_verified += p->proofs[i].found.n_weights;
		r->n_layers_by_table += p->proofs[i].method == GPTQ_METHOD_TABLE;
		r->n_layers_by_every += p->proofs[i].method == GPTQ_METHOD_EVERY;
	}
	if (status == GPTQ_OK && !r->verify_device)
		r->verify_device = gq_strdup(gq_prover_name(&p->cv->prover));
	if (status == GPTQ_OK && !r->verify_device)
		status = gq_fail_nomem(err);
	return status;
}

enum gptq_status gq_convert_prove(struct gq_conversion *cv, struct gq_unit *u, struct gq_shards *written,
				  struct gptq_error *err)
{
	struct proving p = {.cv = cv, .unit = u, .written = written};
	enum gptq_status status;

	p.layers = gq_calloc(u->source.layers.n, sizeof(*p.layers));
	p.proofs = gq_calloc(u->source.layers.n, sizeof(*p.proofs));
	p.packed = gq_calloc(u->source.shards.n_tensors, sizeof(*p.packed));
	status = p.layers && p.proofs && p.packed ? prove(&p, err) : gq_fail_nomem(err);
	gq_free(p.layers);
	gq_free(p.proofs);
	gq_free(p.packed);
	return status;
}
