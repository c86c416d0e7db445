/* SPDX-License-Identifier: Apache-2.0 */
/* A conversion in one pass, in hand. */
#ifndef GQ_OPS_STREAM_INTERNAL_H
#define GQ_OPS_STREAM_INTERNAL_H

#include "ops/convert_internal.h"
#include "ops/stream_pipe.h"

struct gq_stream {
	struct gq_conversion *cv; /* one unit */
	struct gq_pipe pipe;
	struct gq_sha256 sha256;       /* with a manifest */
	bool judged;                   /* a file was surveyed before: nothing has to be looked for on the way */
	bool refuse_3bit;              /* auto-round at 3 bits */
	bool unsettled[GQ_N_WIDTHS];   /* v1 whose style nobody tells: read as LANE while it makes no difference */
	uint32_t *layer_of;            /* by tensor: 1 + the layer whose qzeros or g_idx it is; 0: neither */
	unsigned char *block, *before; /* GQ_PIPE_BLOCK bytes each, or a row */
	uint8_t *lanes;                /* three rows */
	size_t room;
};

/* Carries one tensor over, checking and shifting it if it is a layer's qzeros, checking it if it is g_idx. */
enum gptq_status gq_stream_tensor(struct gq_stream *s, const struct gq_tensor *t, struct gptq_error *err);
/* Rows to groups where no g_idx tells: a group size must fit. */
enum gptq_status gq_stream_check_groups(const struct gq_layer *l, struct gptq_error *err);

#endif
