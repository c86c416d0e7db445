/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised layers of a checkpoint: tensors that belong together, and what their shapes say. */
#ifndef GQ_QUANT_LAYER_H
#define GQ_QUANT_LAYER_H

#include "base/codes.h"
#include "format/shards.h"
#include "quant/layout.h"

/* What the config claims for one layer; 0 where it claims nothing. group_size -1: one group. */
struct gq_layer_claim {
	unsigned bits;
	int64_t group_size;
};

/*
 * One quantised linear layer. Shapes (P = word_bits, b = bits):
 *   qweight [ceil(K b / P), N]   packed along K
 *   qzeros  [G, ceil(N b / P)]   packed along N
 *   scales  [G, N]               F16, BF16 or F32
 *   g_idx   [K]                  I32 or I64; NULL where absent
 */
struct gq_layer {
	const char *name; /* the name of qweight without ".qweight"; borrowed, not NUL-terminated */
	size_t name_len;
	const struct gq_tensor *qweight, *qzeros, *scales, *g_idx, *bias;
	struct gq_pack pack;
	uint64_t in_features, out_features, groups; /* K, N, G */
	uint64_t word_rows;                         /* rows of qweight */
	uint64_t zero_row_bytes;                    /* bytes of a row of qzeros */
	int64_t group_size; /* as it is reported: the claim's where it fits, -1 for one group; 0: only g_idx can tell */
};

struct gq_layers {
	struct gq_layer *items; /* sorted by name in byte order */
	size_t n;
};

/* The layer's name for a line of a message: control characters masked, cut where it is long. Returns dst. */
#define GQ_LAYER_SHOWN 160
const char *gq_layer_shown(char dst[GQ_LAYER_SHOWN], const struct gq_layer *layer);

/* How a layer's claim is asked for, so that configs stay out of this module. */
typedef struct gq_layer_claim (*gq_claim_fn)(void *ctx, const char *name, size_t n);

/*
 * Groups the tensors of `shards` whose file number passes `in_scope` into layers. Broken ones (tensor-missing,
 * shape-law) become problems and are left out. GPTQ_E_NOMEM is the only failure.
 */
enum gptq_status gq_layers_find(const struct gq_shards *shards, gq_claim_fn claim, void *ctx, struct gq_layers *layers,
				struct gq_problems *problems, struct gptq_error *err);
void gq_layers_free(struct gq_layers *layers);

/*
 * Fills pack, K, N, G, word_rows, zero_row_bytes and group_size from the shapes of the layer's tensors (all but g_idx
 * and bias are there). Where several widths fit (very small layers), the claim decides. GPTQ_E_FORMAT with found and
 * expected shapes if none fits; GPTQ_E_UNSUPPORTED for 3 bits in words that are not 32 bits.
 */
enum gptq_status gq_layer_measure(struct gq_layer *layer, struct gq_layer_claim claim, struct gptq_error *err);

/*
 * The group of each row: g_of_k[0..K-1] from g_idx (raw[0..K-1], already widened; NULL if absent), negative ones plus
 * G. All zero with G > 1, or absent: k / group_size. GPTQ_E_FORMAT with the row if one is out of range or if no group
 * size fits. *kind tells which it was.
 */
enum gq_g_idx_kind { GQ_G_IDX_MISSING, GQ_G_IDX_ZERO, GQ_G_IDX_TRIVIAL, GQ_G_IDX_ACT_ORDER };
enum gptq_status gq_layer_groups(const struct gq_layer *layer, const int64_t *raw, int32_t *g_of_k,
				 enum gq_g_idx_kind *kind, struct gptq_error *err);

#endif
