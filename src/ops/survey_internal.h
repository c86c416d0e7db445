/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of a survey share. */
#ifndef GQ_OPS_SURVEY_INTERNAL_H
#define GQ_OPS_SURVEY_INTERNAL_H

#include "ops/survey.h"

#define GQ_SURVEY_THREADS 3 /* at most: each has tables of its own */

/* Fills facts, g_idx, broken and scales of all layers. What is wrong with a layer alone is put down in problems. */
enum gptq_status gq_survey_zeros(struct gq_shards *shards, const struct gq_layers *layers, unsigned n_threads,
				 const struct gptq_hooks *hooks, struct gq_survey *sv, struct gq_problems *problems,
				 struct gptq_error *err);

#endif
