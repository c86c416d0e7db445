/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stable codes of everything that can be wrong or remarkable about a checkpoint: the one list that the library,
 * the reports, the man page and the tests read.
 */
#ifndef GQ_BASE_CODES_H
#define GQ_BASE_CODES_H

#include "base/error.h"

/* X(NAME, "code", SEVERITY) in order of severity. */
#define GQ_CODES(X)                                                                                                    \
	X(LABEL_CONTRADICTS_TENSORS, "label-contradicts-tensors", ERROR)                                               \
	X(CONFIGS_DISAGREE, "configs-disagree", ERROR)                                                                 \
	X(VERDICT_MIXED, "verdict-mixed", ERROR)                                                                       \
	X(BITS_DISAGREE, "bits-disagree", ERROR)                                                                       \
	X(GROUP_SIZE_DISAGREE, "group-size-disagree", ERROR)                                                           \
	X(DYNAMIC_CONTRADICTED, "dynamic-contradicted", ERROR)                                                         \
	X(SYM_NOT_CONSTANT, "sym-not-constant", ERROR)                                                                 \
	X(SMEARED_ZEROS, "smeared-zeros", ERROR)                                                                       \
	X(TENSOR_MISSING, "tensor-missing", ERROR)                                                                     \
	X(SHAPE_LAW, "shape-law", ERROR)                                                                               \
	X(SCALE_NAN, "scale-nan", ERROR)                                                                               \
	X(SCALE_INF, "scale-inf", ERROR)                                                                               \
	X(SCALE_ZERO, "scale-zero", ERROR)                                                                             \
	X(G_IDX_RANGE, "g-idx-range", ERROR)                                                                           \
	X(SHARD_MISSING, "shard-missing", ERROR)                                                                       \
	X(SHARD_SHORT, "shard-short", ERROR)                                                                           \
	X(SHARD_TRAILING_BYTES, "shard-trailing-bytes", ERROR)                                                         \
	X(INDEX_NAMES_MISSING_TENSOR, "index-names-missing-tensor", ERROR)                                             \
	X(TENSOR_IN_TWO_SHARDS, "tensor-in-two-shards", ERROR)                                                         \
	X(LFS_POINTER, "lfs-pointer", ERROR)                                                                           \
	X(NOT_SAFETENSORS, "not-safetensors", ERROR)                                                                   \
	X(NOT_GPTQ, "not-gptq", ERROR)                                                                                 \
	X(LABEL_UNKNOWN, "label-unknown", ERROR)                                                                       \
	X(INTERRUPTED, "interrupted", ERROR)                                                                           \
	X(BLOB_HASH_MISMATCH, "blob-hash-mismatch", ERROR)                                                             \
	X(SHARD_UNREADABLE, "shard-unreadable", ERROR)                                                                 \
	X(INDEX_INVALID, "index-invalid", ERROR)                                                                       \
	X(CONFIG_INVALID, "config-invalid", ERROR)                                                                     \
	X(VERDICT_UNDETERMINED, "verdict-undetermined", WARNING)                                                       \
	X(V1_STYLE_UNDETERMINED, "v1-style-undetermined", WARNING)                                                     \
	X(V1_ZERO_AT_0, "v1-zero-at-0", WARNING)                                                                       \
	X(LABEL_ABSENT_BUT_V2, "label-absent-but-v2", WARNING)                                                         \
	X(LAYER_ODD, "layer-odd", WARNING)                                                                             \
	X(DYNAMIC_MATCHES_NOTHING, "dynamic-matches-nothing", WARNING)                                                 \
	X(DYNAMIC_PATTERN_LIMIT, "dynamic-pattern-limit", WARNING)                                                     \
	X(ROUTER_QUANTISED, "router-quantised", WARNING)                                                               \
	X(EXPERTS_MIXED, "experts-mixed", WARNING)                                                                     \
	X(LM_HEAD_DISAGREES, "lm-head-disagrees", WARNING)                                                             \
	X(TENSOR_NOT_IN_INDEX, "tensor-not-in-index", WARNING)                                                         \
	X(STRAY_SAFETENSORS, "stray-safetensors", WARNING)                                                             \
	X(OTHER_WEIGHTS, "other-weights", WARNING)                                                                     \
	X(BASE_NAME_DEAD, "base-name-dead", WARNING)                                                                   \
	X(NAME_NUL_OR_CONTROL, "name-nul-or-control", WARNING)                                                         \
	X(G_IDX_MISSING, "g-idx-missing", NOTE)                                                                        \
	X(G_IDX_ZERO, "g-idx-zero", NOTE)                                                                              \
	X(G_IDX_TRIVIAL_UNDER_DESC_ACT, "g-idx-trivial-under-desc-act", NOTE)                                          \
	X(GROUP_DOES_NOT_DIVIDE, "group-does-not-divide", NOTE)                                                        \
	X(LM_HEAD_QUANTISED, "lm-head-quantised", NOTE)                                                                \
	X(SYM_ABSENT, "sym-absent", NOTE)                                                                              \
	X(LABEL_ABSENT, "label-absent", NOTE)                                                                          \
	X(HEADER_NOT_PADDED, "header-not-padded", NOTE)                                                                \
	X(MISALIGNED, "misaligned", NOTE)                                                                              \
	X(NEGATIVE_SCALES, "negative-scales", NOTE)                                                                    \
	X(ZERO_POINTS_UNORDERED, "zero-points-unordered", NOTE)

enum gq_severity { GQ_SEVERITY_NOTE, GQ_SEVERITY_WARNING, GQ_SEVERITY_ERROR };

enum gq_code {
#define X(name, text, severity) GQ_CODE_##name,
	GQ_CODES(X)
#undef X
		GQ_N_CODES
};

const char *gq_code_text(enum gq_code code);
enum gq_severity gq_code_severity(enum gq_code code);

/* Something that was found, kept instead of failing at once: convert fails on the first error, inspect shows all. */
struct gq_problem {
	enum gq_code code;
	struct gptq_error error; /* its status decides the exit code of commands that cannot go on */
};

struct gq_problems {
	struct gq_problem *items;
	size_t n;
};

/* Adds a copy of *error under `code`. GPTQ_E_NOMEM is the only failure. */
enum gptq_status gq_problems_add(struct gq_problems *problems, enum gq_code code, const struct gptq_error *error,
				 struct gptq_error *err);
/* The first problem of that severity, or NULL. */
const struct gq_problem *gq_problems_first(const struct gq_problems *problems, enum gq_severity severity);
void gq_problems_free(struct gq_problems *problems);

#endif
