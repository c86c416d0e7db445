/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the verdict needs from the files: all of qzeros and g_idx, and qweight of a sample of layers. */
#ifndef GQ_OPS_SURVEY_H
#define GQ_OPS_SURVEY_H

#include "quant/layer.h"
#include "quant/scales.h"
#include "quant/verdict.h"

struct gq_survey {
	struct gq_layer_facts *facts; /* one a layer, in the order of the layers */
	struct gq_code_stats *codes;  /* one a layer that was read; facts[i].codes points here */
	struct gq_layer_verdict *verdicts;
	enum gq_g_idx_kind *g_idx;
	bool *odd;
	bool *broken;                  /* its groups cannot be told: a problem was added, its codes were not read */
	struct gq_scale_stats *scales; /* with options.scales, else NULL */
	struct gq_model_verdict model;
	size_t n_layers, n_sampled; /* layers whose qweight was read */
	uint64_t bytes_sampled;
};

struct gq_survey_options {
	bool read_all;    /* the codes of every layer, not of a sample */
	bool scales;      /* read scales too */
	unsigned threads; /* 0: one */
	const struct gptq_hooks *hooks;
};

/*
 * Surveys the layers. The sample is spread over the model: all layers below 1 GiB, else 16 layers or 2% of the bytes,
 * whichever is more, each width and each file represented; layers whose zero points settle them alone need no codes.
 * Memory, for each of at most 3 threads: one layer's zero points and groups, 12 MiB for statistics and 2 MiB of codes.
 * g_idx out of range and groups that fit no size become problems of their layers. Errors: what reading gives;
 * GPTQ_E_CANCELLED.
 */
enum gptq_status gq_survey_run(struct gq_shards *shards, const struct gq_layers *layers,
			       const struct gq_survey_options *options, struct gq_survey *survey,
			       struct gq_problems *problems, struct gptq_error *err);
void gq_survey_free(struct gq_survey *survey);

/* The group of each row, gq_free(*g_of_k). */
enum gptq_status gq_read_groups(struct gq_shards *shards, const struct gq_layer *layer, int32_t **g_of_k,
				enum gq_g_idx_kind *kind, struct gptq_error *err);

/* The qzeros of a layer, read whole; gq_free(*words). qz borrows the words. */
enum gptq_status gq_read_qzeros(struct gq_shards *shards, const struct gq_layer *layer, void **words,
				struct gq_qzeros *qz, struct gptq_error *err);

#endif
