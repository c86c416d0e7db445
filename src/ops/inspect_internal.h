/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inspection in hand:
 *
 *   inspect.c           open, survey, fill the report
 *   inspect_layers.c    what is said of each layer: zero points, scales, groups
 *   inspect_config.c    findings about labels and configs
 *   inspect_tensors.c   findings about layers and files
 *   checksum.c          digests of tensors and of a hub cache's blobs
 */
#ifndef GQ_OPS_INSPECT_INTERNAL_H
#define GQ_OPS_INSPECT_INTERNAL_H

#include "ops/settle.h"

/* What only the inspection itself needs of a layer. */
struct gq_layer_notes {
	uint64_t n_harmful_zero_scales; /* (group, column) pairs with scale 0 where some q != z */
};

struct gq_inspection {
	const struct gptq_inspect_options *options;
	struct gq_source source;
	struct gq_survey survey;
	bool surveyed;
	enum gptq_zeros_format *formats;            /* by which each layer's zero points are read */
	struct gq_style_choice styles[GQ_N_WIDTHS]; /* how v1 is read */
	struct gq_layer_notes *notes;
	struct gptq_inspect_report *report;
};

/* Adds a finding; text is formatted. `where` may be NULL. */
__attribute__((format(printf, 5, 6))) enum gptq_status gq_find(struct gq_inspection *in, enum gq_code code,
							       const char *where, struct gptq_error *err,
							       const char *fmt, ...);
/* The same with a layer's name as the place. */
__attribute__((format(printf, 5, 6))) enum gptq_status gq_find_layer(struct gq_inspection *in, enum gq_code code,
								     const struct gq_layer *layer,
								     struct gptq_error *err, const char *fmt, ...);

/* The style in which a layer's v1 lanes are read: LANE where it is open. */
/* The name of the journal of an in-place conversion, in the folder that it changes. */
#define GQ_JOURNAL_NAME ".gptq-convert.journal"

enum gptq_v1_style gq_inspect_style(const struct gq_inspection *in, size_t layer);

enum gptq_status gq_inspect_layers(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_config_findings(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_tensor_findings(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_readers(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_checksums(struct gq_inspection *in, struct gptq_error *err);

/* Name of a layer, masked, NUL-terminated, to be freed. */
char *gq_layer_label(const struct gq_layer *layer);

#endif
