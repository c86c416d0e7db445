/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/checked.h"
#include "ops/verify_internal.h"
#include "quant/scales.h"

#include <string.h>

const char *gptq_method_name(enum gptq_method method)
{
	return method == GPTQ_METHOD_TABLE ? "table" : method == GPTQ_METHOD_EVERY ? "every" : "auto";
}

const char *gptq_outcome_name(enum gptq_outcome outcome)
{
	static const char *const names[] = {"same",      "different", "different-shape", "different-dtype",
					    "only-in-a", "only-in-b"};

	return (size_t)outcome < sizeof(names) / sizeof(names[0]) ? names[outcome] : "same";
}

static char *masked_name(const char *name, size_t n)
{
	char masked[2048];

	gq_mask(masked, sizeof(masked), name, n, false);
	return gq_strdup(masked);
}

static struct gptq_weight weight_of(const struct gq_weight_at *at, enum gptq_dtype dtype)
{
	unsigned char bytes[4];

	gq_store_le(bytes, at->value, sizeof(bytes));
	return (struct gptq_weight){
		.bits = at->value, .value = gq_scale_value(bytes, dtype), .code = at->code, .zero_point = at->z};
}

static enum gptq_status fill_layer(struct gptq_verify_report *r, const struct gq_pair *p, struct gptq_error *err)
{
	struct gptq_verify_layer *to = &r->layers[r->n_layers++];
	const struct gq_layer *any = p->layers[0] ? p->layers[0] : p->layers[1];
	const struct gq_comparison *found = &p->layer_proof.found;

	to->name = masked_name(any->name, any->name_len);
	if (!to->name)
		return gq_fail_nomem(err);
	to->outcome = p->outcome;
	to->method = p->layer_proof.method;
	for (unsigned s = 0; s < 2; s++) {
		if (!p->layers[s])
			continue;
		to->bits[s] = p->layers[s]->pack.bits;
		to->in_features[s] = p->layers[s]->in_features;
		to->out_features[s] = p->layers[s]->out_features;
		to->dtype[s] = gptq_dtype_name(p->layers[s]->scales->dtype);
		to->n_scales_nan[s] = p->layer_proof.n_nan[s];
		to->n_scales_inf[s] = p->layer_proof.n_inf[s];
		if (found->n_differ)
			to->first[s] = weight_of(&found->first[s], any->scales->dtype);
	}
	to->n_weights = found->n_weights;
	to->n_differ = found->n_differ;
	to->first_k = found->first_k;
	to->first_n = found->first_n;
	r->n_layers_same += to->outcome == GPTQ_SAME;
	r->n_by_table += to->method == GPTQ_METHOD_TABLE;
	r->n_by_every += to->method == GPTQ_METHOD_EVERY;
	r->n_weights += to->n_weights;
	r->n_weights_differ += to->n_differ;
	return GPTQ_OK;
}

static enum gptq_status fill_tensor(struct gptq_verify_report *r, const struct gq_pair *p, struct gptq_error *err)
{
	const struct gq_tensor *any = p->tensors[0] ? p->tensors[0] : p->tensors[1];
	struct gptq_verify_tensor *to;

	if (p->outcome == GPTQ_SAME) {
		r->n_tensors_same++;
		return GPTQ_OK;
	}
	to = &r->tensors[r->n_tensors++];
	to->name = masked_name(any->name, any->name_len);
	to->outcome = p->outcome;
	to->n_bytes = any->nbytes;
	to->n_differ = p->tensor_proof.n_differ;
	to->first = p->tensor_proof.first;
	return to->name ? GPTQ_OK : gq_fail_nomem(err);
}

enum gptq_status gq_verify_fill_report(struct gq_verification *v, struct gptq_error *err)
{
	struct gptq_verify_report *r = v->report;
	enum gptq_status status = GPTQ_OK;

	r->layers = gq_calloc(v->n_layers, sizeof(*r->layers));
	r->tensors = gq_calloc(v->n_pairs - v->n_layers, sizeof(*r->tensors));
	if (!r->layers || !r->tensors)
		return gq_fail_nomem(err);
	r->same = true;
	for (size_t i = 0; i < v->n_pairs && status == GPTQ_OK; i++) {
		r->same = r->same && v->pairs[i].outcome == GPTQ_SAME;
		status = i < v->n_layers ? fill_layer(r, &v->pairs[i], err) : fill_tensor(r, &v->pairs[i], err);
	}
	return status;
}

void gptq_verify_report_free(struct gptq_verify_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_layers; i++)
		gq_free(r->layers[i].name);
	for (size_t i = 0; i < r->n_tensors; i++)
		gq_free(r->tensors[i].name);
	for (unsigned s = 0; s < 2; s++)
		gq_free(r->sides[s].warning);
	gq_free(r->layers);
	gq_free(r->tensors);
	gq_free(r->device_name);
	gq_free(r->device_note);
	gq_free(r);
}
