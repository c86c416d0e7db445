/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verification in hand:
 *
 *   verify.c          opens and settles both sides, compares, hands out the report
 *   verify_pairs.c    which layers and tensors stand against each other
 *   verify_report.c   the end of a report
 */
#ifndef GQ_OPS_VERIFY_INTERNAL_H
#define GQ_OPS_VERIFY_INTERNAL_H

#include "ops/prove.h"
#include "ops/settle.h"

/* One of the two checkpoints. */
struct gq_checkpoint {
	const char *path;
	struct gq_source source;
	struct gq_survey survey;
	bool surveyed;
	enum gptq_zeros_format *formats;
	struct gq_style_choice styles[GQ_N_WIDTHS];
};

/* A layer or a plain tensor; NULL on the side that lacks it. */
struct gq_pair {
	const struct gq_layer *layers[2];
	const struct gq_tensor *tensors[2];
	enum gptq_outcome outcome;
	struct gq_layer_proof layer_proof; /* where both are there and can be compared */
	struct gq_tensor_proof tensor_proof;
};

struct gq_verification {
	const struct gptq_verify_options *options;
	struct gq_checkpoint sides[2];
	struct gq_pair *pairs; /* layers by name, then tensors by name */
	size_t n_layers, n_pairs;
	size_t *todo; /* pairs whose values must be compared */
	size_t n_todo;
	uint64_t bytes; /* of both sides of these */
	struct gq_prover prover;
	struct gptq_verify_report *report;
};

/* Fills pairs, todo and bytes, and the outcome of pairs that shapes and dtypes settle. */
enum gptq_status gq_verify_pair_up(struct gq_verification *v, struct gptq_error *err);

/* Layers and tensors of the report from the pairs. */
enum gptq_status gq_verify_fill_report(struct gq_verification *v, struct gptq_error *err);

#endif
