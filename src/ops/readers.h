/* SPDX-License-Identifier: Apache-2.0 */
/* Which loaders read a checkpoint right: facts for the table of quant/loaders.h from what was opened and surveyed. */
#ifndef GQ_OPS_READERS_H
#define GQ_OPS_READERS_H

#include "ops/settle.h"

/* What a conversion makes of the checkpoint. */
struct gq_readers_after {
	enum gptq_zeros_format to;
	enum gptq_v1_style style; /* of v1 with z = 0; CLEAN if no zero point is 0 */
};

/*
 * Judges every loader of the table. survey: NULL if only headers were read. verdict: what the zero points are, by
 * tensors or --from. after: of what will be made of it, too; NULL, with readers_after, if nothing will. *readers and
 * *readers_after: gq_free.
 */
enum gptq_status gq_readers_of(struct gq_source *source, const struct gq_survey *survey,
			       const enum gptq_zeros_format *formats, const struct gq_style_choice styles[GQ_N_WIDTHS],
			       enum gptq_verdict verdict, const struct gq_readers_after *after,
			       struct gptq_reader **readers, struct gptq_reader **readers_after, size_t *n,
			       struct gptq_error *err);

#endif
