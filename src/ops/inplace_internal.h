/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of an in-place conversion share. */
#ifndef GQ_OPS_INPLACE_INTERNAL_H
#define GQ_OPS_INPLACE_INTERNAL_H

#include "ops/convert_internal.h"
#include "ops/recover.h"

/* One safetensors file of a conversion. */
struct gq_target {
	struct gq_unit *unit;
	uint32_t shard;
	const char *name; /* relative to the place's folder */
};

/* Goes over all of them, changed or not; false behind the last. */
bool gq_target_first(const struct gq_conversion *cv, const struct gq_place *place, struct gq_target *t);
bool gq_target_next(const struct gq_conversion *cv, const struct gq_place *place, struct gq_target *t);
/* Bytes of zero points that change in it. */
uint64_t gq_target_zeros(const struct gq_conversion *cv, const struct gq_target *t);

/*
 * Writes the whole journal, synced, under its own name. On failure nothing is left. Ends with a look at the free space
 * that the configs will need.
 */
enum gptq_status gq_inplace_journal(struct gq_conversion *cv, const struct gq_place *place, uint64_t *size,
				    struct gptq_error *err);

#endif
