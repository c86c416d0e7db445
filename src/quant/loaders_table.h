/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table behind loaders.h, as data. A row holds for a loader if all conditions of `need` and none of `without`
 * are met; a loader's rows stand together and are tried in order. The last one of each needs nothing.
 */
#ifndef GQ_QUANT_LOADERS_TABLE_H
#define GQ_QUANT_LOADERS_TABLE_H

#include "quant/loaders.h"

enum gq_loader_id {
	GQ_LOADER_VLLM,
	GQ_LOADER_VLLM_MARLIN,
	GQ_LOADER_VLLM_OLD,
	GQ_LOADER_SGLANG,
	GQ_LOADER_SGLANG_MARLIN,
	GQ_LOADER_SGLANG_OLD,
	GQ_LOADER_EXLLAMAV2,
	GQ_LOADER_OPTIMUM,
	GQ_LOADER_GPTQMODEL,
	GQ_LOADER_AUTOGPTQ,
	GQ_LOADER_TGI,
	GQ_LOADER_TGI_MARLIN,
	GQ_LOADER_LLAMA_CPP,
	GQ_LOADER_AUTO_ROUND,
	GQ_LOADER_QLLM,
	GQ_N_LOADERS,
};

/* Conditions. The first block depends on the loader: it is about what it finds in the files that it looks into. */
#define GQ_CONDS(X)                                                                                                    \
	X(NO_CONFIG)           /* none of its files holds a quantisation config */                                     \
	X(FILES_DIFFER)        /* two of its files differ, and which one counts was not read */                        \
	X(SEES_V2)             /* takes the label for v2; without: for v1 */                                           \
	X(SEES_OTHER)          /* the label is a word that it does not know */                                         \
	X(SEES_NOTHING)        /* auto-round without packing_format */                                                 \
	X(AUTO_ROUND)          /* quant_method names auto-round */                                                     \
	X(METHOD_NOT_GPTQ)     /* quant_method is not "gptq" */                                                        \
	X(KEYS_MISSING)        /* bits, group_size or desc_act is missing */                                           \
	X(MARLIN_KEYS_MISSING) /* one of these, quant_method or sym is */                                              \
	X(MARLIN_LABEL)        /* checkpoint_format is "marlin" or is_marlin_format true */                            \
	X(MARLIN_KEY)          /* is_marlin_format is there */                                                         \
	X(SYM)                 /* sym is there and true */                                                             \
	X(SYM_FALSE)           /* sym is there and false */                                                            \
	X(DESC_ACT)            /* desc_act is there and true */                                                        \
	X(DESC_ACT_ABSENT)                                                                                             \
	X(STATIC_GROUPS)                                                                                               \
	X(LM_HEAD_FLAG)                                                                                                \
	X(DYNAMIC)                                                                                                     \
	X(EXTRA_CONFIG)                                                                                                \
	X(ROTATED)                                                                                                     \
	X(BITS_MISFIT)      /* without rules: bits is missing or not that of all layers */                             \
	X(GROUP_MISFIT)     /* the same for group_size */                                                              \
	X(GROUP_NOT_MARLIN) /* group_size, or a layer's, is none of -1, 32, 64, 128 */                                 \
	/* The zero points. Of V1, V2, MIXED and FORMAT_OPEN one holds; styles are looked at under V1 alone. */        \
	X(FOREIGN)                                                                                                     \
	X(AWQ)                                                                                                         \
	X(EXL2)                                                                                                        \
	X(PLANAR)                                                                                                      \
	X(V1)                                                                                                          \
	X(V2)                                                                                                          \
	X(MIXED)                                                                                                       \
	X(FORMAT_OPEN)                                                                                                 \
	X(DAMAGED)                                                                                                     \
	X(Z0)     /* some zero point is 0 */                                                                           \
	X(CARRY)      /* style lane where word would differ: adding 1 to words is wrong */                             \
	X(BORROW)     /* style word where lane would differ: adding 1 to lanes is wrong */                             \
	X(LEGACY_3BIT)                                                                                                 \
	X(STYLE_OPEN) /* styles differ and none is settled */                                                          \
	X(OFF_MID)    /* some zero point is not the midpoint */                                                        \
	/* The layers */                                                                                               \
	X(HAS_3)                                                                                                       \
	X(HAS_4)                                                                                                       \
	X(HAS_8)                                                                                                       \
	X(NOT_4)                                                                                                       \
	X(NOT_4_8)                                                                                                     \
	X(RAGGED)                                                                                                      \
	X(UNEQUAL_GROUPS)                                                                                              \
	X(ODD_GROUP)                                                                                                   \
	X(UNLISTED_GROUP)                                                                                              \
	X(BAD_GEMM_SHAPE)                                                                                              \
	X(BAD_MARLIN_SHAPE)                                                                                            \
	X(BAD_TGI_SHAPE)                                                                                               \
	X(BAD_SHAPE_32)                                                                                                \
	X(NO_G_IDX)                                                                                                    \
	X(G_IDX_ZERO)                                                                                                  \
	X(ACT_ORDER)                                                                                                   \
	X(WORDS_NOT_32)                                                                                                \
	X(WORDS_64)                                                                                                    \
	X(SCALES_BF16)                                                                                                 \
	X(SCALES_F32)                                                                                                  \
	X(LM_HEAD)                                                                                                     \
	X(EXPERTS)                                                                                                     \
	X(GATE_CLOSED)                                                                                                 \
	X(NAME_OTHER)

enum gq_cond {
#define GQ_COND_ENUM(name) GQ_COND_##name,
	GQ_CONDS(GQ_COND_ENUM)
#undef GQ_COND_ENUM
	GQ_N_CONDS,
};

_Static_assert(GQ_N_CONDS <= 64, "conditions must fit a word");

#define GQ_COND_BIT(name) (UINT64_C(1) << GQ_COND_##name)

struct gq_loader_row {
	enum gq_loader_id loader;
	uint64_t need, without;
	enum gq_answer answer;
	const char *reason;
};

extern const struct gq_loader_row gq_loader_rows[];
extern const size_t gq_n_loader_rows;

/* The conditions that a checkpoint meets as this loader looks at it. */
uint64_t gq_loader_conditions(const struct gq_loader_facts *facts, enum gq_loader_id loader);
/* "V1", "ACT_ORDER", ...; NULL beyond the last. */
const char *gq_cond_name(size_t cond);

#endif
