/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/loaders_table.h"

#define C(name) GQ_COND_BIT(name)

#define RIGHT GQ_READS_RIGHT
#define REFUSES GQ_REFUSES
#define WRONG GQ_SILENTLY_WRONG
#define UNKNOWN GQ_READER_UNKNOWN

/* One row: when `need` holds and nothing of `without` does. */
#define ROW(loader, need, without, answer, reason) {GQ_LOADER_##loader, need, without, answer, reason},

/* ------------------------------------------------------------------------------------- rows of many loaders */

#define NOT_GPTQ(l) ROW(l, C(FOREIGN), 0, UNKNOWN, "what it does with this format is not known")
#define NEEDS_CONFIG(l) ROW(l, C(NO_CONFIG), 0, UNKNOWN, "no quantisation config where it looks for one")
#define NO_AUTO_ROUND(l) ROW(l, C(AUTO_ROUND), 0, UNKNOWN, "what it does with an auto-round config is not known")
#define ONE_FILE(l) ROW(l, C(FILES_DIFFER), 0, UNKNOWN, "the config files differ, and which one it takes is not known")

/* Readers that take every layer alike; what is broken for all of them. */
#define ALIKE(l)                                                                                                       \
	ROW(l, C(MIXED), 0, WRONG, "some layers are v1 and some v2, and it reads all alike")                           \
	ROW(l, C(DAMAGED), 0, WRONG, "zero points above a 0 were lost when the checkpoint was written")                \
	ROW(l, C(V2), C(SEES_V2), WRONG, "reads v2 zero points as v1: each comes out one too high")                    \
	ROW(l, C(V1) | C(SEES_V2), 0, WRONG, "reads v1 zero points as v2: each comes out one too low")                 \
	ROW(l, C(LEGACY_3BIT), 0, WRONG, "its 3-bit zero points were shifted with swapped constants")

/* Where one of these is open, so is the answer. */
#define OPEN(l)                                                                                                        \
	ROW(l, C(FORMAT_OPEN), 0, UNKNOWN, "whether the zero points are v1 or v2 is not known")                        \
	ROW(l, C(STYLE_OPEN), 0, UNKNOWN, "how zero points of 0 were stored is not known")

/* Lane by lane, without a mask. */
#define READS_UNMASKED(l)                                                                                              \
	ALIKE(l)                                                                                                       \
	ROW(l, C(V1) | C(Z0), 0, WRONG, "a zero point of 0 comes out as 2 to the power of bits")                       \
	OPEN(l)

/* Lane by lane, masked. */
#define READS_LANES(l)                                                                                                 \
	ALIKE(l)                                                                                                       \
	ROW(l, C(BORROW), 0, WRONG, "reads lane by lane: the neighbour of a 0 stored in style word is one too low")

/* Adds to whole words. */
#define READS_WORDS(l)                                                                                                 \
	ALIKE(l)                                                                                                       \
	ROW(l, C(CARRY), 0, WRONG, "adds to whole words: the neighbour of a 0 stored in style lane is one too high")   \
	OPEN(l)

/* Marlin kernels. */
#define READS_NO_ZEROS(l) ROW(l, C(OFF_MID), 0, WRONG, "takes the midpoint for every zero point, but they differ")
#define MAY_RUN "sym is not false, but zero points differ: wrong where a Marlin kernel runs"
#define MARLIN_MAY_RUN(l)                                                                                              \
	ROW(l, C(OFF_MID) | C(HAS_4), C(SYM_FALSE), UNKNOWN, MAY_RUN)                                                  \
	ROW(l, C(OFF_MID) | C(HAS_8), C(SYM_FALSE), UNKNOWN, MAY_RUN)
#define RIGHT_WITHOUT_ZEROS(l)                                                                                         \
	ROW(l, 0, 0, RIGHT, "takes the midpoint for every zero point, whatever the format; that is what they are")

#define MISFITS(l)                                                                                                     \
	ROW(l, C(BITS_MISFIT), 0, UNKNOWN, "bits in the config are missing or not those of every layer")               \
	ROW(l, C(GROUP_MISFIT), 0, UNKNOWN, "group_size in the config is missing or not that of every layer")
#define NO_RULES(l) ROW(l, C(DYNAMIC), 0, UNKNOWN, "whether it obeys the rules under dynamic is not known")
#define NO_EXTRA(l) ROW(l, C(EXTRA_CONFIG), 0, UNKNOWN, "whether it obeys the rules under extra_config is not known")
#define NO_ROTATION(l) ROW(l, C(ROTATED), 0, UNKNOWN, "whether it undoes the rotation of the weights is not known")
#define NO_LM_HEAD(l) ROW(l, C(LM_HEAD), 0, UNKNOWN, "what it does with a quantised lm_head is not known")
#define NO_OTHER_WORDS(l) ROW(l, C(WORDS_NOT_32), 0, UNKNOWN, "pack words that are not 32 bits wide: not known")
#define NO_RAGGED(l) ROW(l, C(RAGGED), 0, UNKNOWN, "a last group that is shorter than the others: not known")
#define NO_ZERO_G_IDX(l) ROW(l, C(G_IDX_ZERO), 0, UNKNOWN, "a g_idx of zeros: not known")
#define NO_BF16(l) ROW(l, C(SCALES_BF16), 0, UNKNOWN, "scales in BF16: not known")
#define NO_F32(l) ROW(l, C(SCALES_F32), 0, UNKNOWN, "scales in F32: not known")
#define FLAG_IS_ORDER(l)                                                                                               \
	ROW(l, C(ACT_ORDER), C(DESC_ACT), UNKNOWN, "g_idx is in act-order, but desc_act is not true: not known")
#define CASTS_SCALES(l)                                                                                                \
	ROW(l, C(SCALES_BF16), 0, RIGHT, "scales are cast to F16")                                                     \
	ROW(l, C(SCALES_F32), 0, RIGHT, "scales are cast to F16")
#define ALL_RIGHT(l) ROW(l, 0, 0, RIGHT, "")

/* vLLM's and SGLang's plain kernel. */
#define GEMM_LIMITS(l)                                                                                                 \
	ROW(l, C(RAGGED), 0, REFUSES, "some K is no multiple of the group size")                                       \
	ROW(l, C(BAD_GEMM_SHAPE), 0, REFUSES, "some N is no multiple of the codes in a pack word")
#define GEMM_ORDER(l)                                                                                                  \
	ROW(l, C(ACT_ORDER), C(DESC_ACT), WRONG, "ignores g_idx as desc_act is not true, but rows are in act-order")   \
	ROW(l, C(ACT_ORDER) | C(UNEQUAL_GROUPS), 0, WRONG, "takes groups for equal in size, but by g_idx they differ") \
	ROW(l, C(G_IDX_ZERO) | C(DESC_ACT), 0, UNKNOWN, "a g_idx of zeros under desc_act: not known")                  \
	ROW(l, C(NO_G_IDX) | C(DESC_ACT), 0, UNKNOWN, "no g_idx under desc_act: not known")

/* Marlin in vLLM and SGLang. */
#define MARLIN_SIZES(l)                                                                                                \
	ROW(l, C(GROUP_NOT_MARLIN), 0, REFUSES, "takes group sizes 32, 64, 128 and -1 only")                           \
	ROW(l, C(BAD_MARLIN_SHAPE), 0, REFUSES, "takes K in multiples of 128 and N in multiples of 64 only")
#define MARLIN_ORDER(l)                                                                                                \
	FLAG_IS_ORDER(l)                                                                                               \
	ROW(l, C(ACT_ORDER) | C(UNEQUAL_GROUPS), 0, UNKNOWN, "act-order with groups of several sizes: not known")      \
	ROW(l, C(G_IDX_ZERO) | C(DESC_ACT), 0, UNKNOWN, "a g_idx of zeros under desc_act: not known")                  \
	ROW(l, C(NO_G_IDX) | C(DESC_ACT), 0, UNKNOWN, "no g_idx under desc_act: not known")

/* ---------------------------------------------------------------------------------------------- the loaders */

/* clang-format off */
const struct gq_loader_row gq_loader_rows[] = {
	NOT_GPTQ(VLLM)
	NEEDS_CONFIG(VLLM)
	ROW(VLLM, C(SEES_OTHER), 0, REFUSES, "of auto-round's packing formats it takes auto_round:auto_gptq only")
	ROW(VLLM, C(KEYS_MISSING), C(AUTO_ROUND), REFUSES, "needs bits, group_size and desc_act in the config")
	GEMM_LIMITS(VLLM)
	READS_UNMASKED(VLLM)
	GEMM_ORDER(VLLM)
	ROW(VLLM, C(EXPERTS) | C(OFF_MID), 0, WRONG, "reads experts as symmetric, but zero points differ")
	ROW(VLLM, C(EXPERTS) | C(NOT_4), 0, UNKNOWN, "experts of other widths than 4 bits: not known")
	ROW(VLLM, C(EXPERTS) | C(DESC_ACT), 0, UNKNOWN, "experts under desc_act: not known")
	NO_EXTRA(VLLM)
	MISFITS(VLLM)
	NO_ROTATION(VLLM)
	ROW(VLLM, C(LM_HEAD), C(LM_HEAD_FLAG), UNKNOWN, "a quantised lm_head that the config does not announce: not known")
	NO_OTHER_WORDS(VLLM)
	CASTS_SCALES(VLLM)
	ALL_RIGHT(VLLM)

	NOT_GPTQ(VLLM_MARLIN)
	NEEDS_CONFIG(VLLM_MARLIN)
	ROW(VLLM_MARLIN, C(SEES_OTHER), 0, REFUSES, "of auto-round's packing formats it takes auto_round:auto_gptq only")
	ROW(VLLM_MARLIN, C(MARLIN_KEYS_MISSING), C(AUTO_ROUND), REFUSES,
	    "needs quant_method, bits, group_size, sym and desc_act; vLLM takes gptq instead")
	ROW(VLLM_MARLIN, C(METHOD_NOT_GPTQ), C(AUTO_ROUND), REFUSES, "needs quant_method gptq; vLLM takes gptq instead")
	ROW(VLLM_MARLIN, C(NOT_4_8) | C(DYNAMIC), 0, UNKNOWN, "some layers have neither 4 nor 8 bits by rule: not known")
	ROW(VLLM_MARLIN, C(NOT_4_8), 0, REFUSES, "takes 4 and 8 bits only; vLLM takes gptq instead")
	ROW(VLLM_MARLIN, 0, C(SYM), REFUSES, "needs sym true; vLLM takes gptq instead")
	MARLIN_SIZES(VLLM_MARLIN)
	READS_NO_ZEROS(VLLM_MARLIN)
	MARLIN_ORDER(VLLM_MARLIN)
	ROW(VLLM_MARLIN, C(EXPERTS) | C(NOT_4), 0, UNKNOWN, "experts of other widths than 4 bits: not known")
	ROW(VLLM_MARLIN, C(EXPERTS) | C(DESC_ACT), 0, UNKNOWN, "experts under desc_act: not known")
	NO_EXTRA(VLLM_MARLIN)
	MISFITS(VLLM_MARLIN)
	NO_ROTATION(VLLM_MARLIN)
	NO_LM_HEAD(VLLM_MARLIN)
	NO_OTHER_WORDS(VLLM_MARLIN)
	NO_F32(VLLM_MARLIN)
	RIGHT_WITHOUT_ZEROS(VLLM_MARLIN)

	NOT_GPTQ(VLLM_OLD)
	NEEDS_CONFIG(VLLM_OLD)
	NO_AUTO_ROUND(VLLM_OLD)
	ONE_FILE(VLLM_OLD)
	GEMM_LIMITS(VLLM_OLD)
	READS_UNMASKED(VLLM_OLD)
	GEMM_ORDER(VLLM_OLD)
	ROW(VLLM_OLD, C(EXPERTS), 0, UNKNOWN, "experts: not known")
	NO_RULES(VLLM_OLD)
	MISFITS(VLLM_OLD)
	NO_ROTATION(VLLM_OLD)
	NO_LM_HEAD(VLLM_OLD)
	NO_OTHER_WORDS(VLLM_OLD)
	CASTS_SCALES(VLLM_OLD)
	ALL_RIGHT(VLLM_OLD)

	NOT_GPTQ(SGLANG)
	NEEDS_CONFIG(SGLANG)
	NO_AUTO_ROUND(SGLANG)
	ROW(SGLANG, C(EXPERTS), 0, REFUSES, "has no plain GPTQ for experts; use gptq_marlin")
	GEMM_LIMITS(SGLANG)
	ONE_FILE(SGLANG)
	READS_UNMASKED(SGLANG)
	GEMM_ORDER(SGLANG)
	NO_RULES(SGLANG)
	MISFITS(SGLANG)
	NO_ROTATION(SGLANG)
	NO_LM_HEAD(SGLANG)
	NO_OTHER_WORDS(SGLANG)
	CASTS_SCALES(SGLANG)
	ALL_RIGHT(SGLANG)

	ROW(SGLANG_MARLIN, C(MARLIN_LABEL), 0, REFUSES, "the label says that the weights are in Marlin's own layout")
	NOT_GPTQ(SGLANG_MARLIN)
	NEEDS_CONFIG(SGLANG_MARLIN)
	NO_AUTO_ROUND(SGLANG_MARLIN)
	ONE_FILE(SGLANG_MARLIN)
	ROW(SGLANG_MARLIN, C(NOT_4_8) | C(DYNAMIC), 0, UNKNOWN, "some layers have neither 4 nor 8 bits by rule: not known")
	ROW(SGLANG_MARLIN, C(NOT_4_8), 0, REFUSES, "takes 4 and 8 bits only")
	ROW(SGLANG_MARLIN, 0, C(SYM), REFUSES, "needs sym true")
	MARLIN_SIZES(SGLANG_MARLIN)
	READS_NO_ZEROS(SGLANG_MARLIN)
	MARLIN_ORDER(SGLANG_MARLIN)
	ROW(SGLANG_MARLIN, C(MARLIN_KEYS_MISSING), 0, UNKNOWN, "keys are missing in the config: not known")
	NO_RULES(SGLANG_MARLIN)
	MISFITS(SGLANG_MARLIN)
	NO_ROTATION(SGLANG_MARLIN)
	NO_LM_HEAD(SGLANG_MARLIN)
	NO_OTHER_WORDS(SGLANG_MARLIN)
	NO_F32(SGLANG_MARLIN)
	RIGHT_WITHOUT_ZEROS(SGLANG_MARLIN)

	NOT_GPTQ(SGLANG_OLD)
	NEEDS_CONFIG(SGLANG_OLD)
	NO_AUTO_ROUND(SGLANG_OLD)
	ROW(SGLANG_OLD, C(EXPERTS), 0, UNKNOWN, "experts: not known")
	GEMM_LIMITS(SGLANG_OLD)
	ONE_FILE(SGLANG_OLD)
	READS_UNMASKED(SGLANG_OLD)
	GEMM_ORDER(SGLANG_OLD)
	NO_RULES(SGLANG_OLD)
	MISFITS(SGLANG_OLD)
	NO_ROTATION(SGLANG_OLD)
	NO_LM_HEAD(SGLANG_OLD)
	NO_OTHER_WORDS(SGLANG_OLD)
	CASTS_SCALES(SGLANG_OLD)
	ALL_RIGHT(SGLANG_OLD)

	ROW(EXLLAMAV2, C(EXL2), 0, RIGHT, "its own format")
	ROW(EXLLAMAV2, C(AWQ), 0, REFUSES, "its check of the shapes fails on AWQ")
	NOT_GPTQ(EXLLAMAV2)
	ROW(EXLLAMAV2, C(NOT_4), 0, REFUSES, "reads GPTQ of 4 bits only: its check of the shapes fails")
	ROW(EXLLAMAV2, C(WORDS_NOT_32), 0, REFUSES, "reads pack words of 32 bits only: its check of the shapes fails")
	ROW(EXLLAMAV2, C(ODD_GROUP), 0, WRONG, "takes the group size for a power of two, which it is not")
	READS_UNMASKED(EXLLAMAV2)
	ROW(EXLLAMAV2, C(V2) | C(Z0), 0, WRONG, "subtracts 1 from whole words: a 0 becomes 16 and changes its neighbour")
	ROW(EXLLAMAV2, C(RAGGED), 0, UNKNOWN, "a last group that is shorter than the others: not known")
	ROW(EXLLAMAV2, C(UNEQUAL_GROUPS), 0, UNKNOWN, "groups of several sizes: not known")
	ROW(EXLLAMAV2, C(BAD_SHAPE_32), 0, UNKNOWN, "N or K that is no multiple of 32: not known")
	NO_ROTATION(EXLLAMAV2)
	CASTS_SCALES(EXLLAMAV2)
	ALL_RIGHT(EXLLAMAV2)

	NOT_GPTQ(OPTIMUM)
	NEEDS_CONFIG(OPTIMUM)
	ROW(OPTIMUM, C(AUTO_ROUND), 0, UNKNOWN, "an auto-round config goes to auto-round's own loader")
	ROW(OPTIMUM, C(SEES_OTHER), 0, REFUSES, "the label is no format that it knows")
	READS_WORDS(OPTIMUM)
	MARLIN_MAY_RUN(OPTIMUM)
	NO_RAGGED(OPTIMUM)
	ROW(OPTIMUM, C(UNLISTED_GROUP), 0, UNKNOWN, "no kernel lists this group size")
	ROW(OPTIMUM, C(NO_G_IDX), 0, UNKNOWN, "a layer without g_idx: not known")
	NO_ZERO_G_IDX(OPTIMUM)
	NO_RULES(OPTIMUM)
	MISFITS(OPTIMUM)
	NO_ROTATION(OPTIMUM)
	NO_LM_HEAD(OPTIMUM)
	NO_OTHER_WORDS(OPTIMUM)
	NO_BF16(OPTIMUM)
	NO_F32(OPTIMUM)
	ALL_RIGHT(OPTIMUM)

	ROW(GPTQMODEL, C(PLANAR), 0, RIGHT, "its own format")
	ROW(GPTQMODEL, C(MARLIN_KEY), 0, REFUSES, "refuses a config with the key is_marlin_format, whatever its value")
	NOT_GPTQ(GPTQMODEL)
	NEEDS_CONFIG(GPTQMODEL)
	NO_AUTO_ROUND(GPTQMODEL)
	ROW(GPTQMODEL, C(SEES_OTHER), 0, UNKNOWN, "what it does with this label is not known")
	ROW(GPTQMODEL, C(NAME_OTHER), 0, REFUSES, "looks for model.safetensors or gptq_model-BITSbit-GROUPg.safetensors")
	ROW(GPTQMODEL, C(SYM_FALSE) | C(GATE_CLOSED), C(SEES_V2), REFUSES,
	    "refuses asymmetric v1 unless meta.quantizer names gptqmodel 0.9.0 or later")
	READS_WORDS(GPTQMODEL)
	MARLIN_MAY_RUN(GPTQMODEL)
	ROW(GPTQMODEL, C(UNLISTED_GROUP), 0, UNKNOWN, "no kernel lists this group size")
	ROW(GPTQMODEL, C(NO_G_IDX), 0, UNKNOWN, "a layer without g_idx: not known")
	NO_ZERO_G_IDX(GPTQMODEL)
	ROW(GPTQMODEL, C(WORDS_64), 0, UNKNOWN, "no kernel lists pack words of 64 bits")
	MISFITS(GPTQMODEL)
	NO_BF16(GPTQMODEL)
	NO_F32(GPTQMODEL)
	ALL_RIGHT(GPTQMODEL)

	NOT_GPTQ(AUTOGPTQ)
	NEEDS_CONFIG(AUTOGPTQ)
	NO_AUTO_ROUND(AUTOGPTQ)
	ONE_FILE(AUTOGPTQ)
	ROW(AUTOGPTQ, C(SEES_V2), 0, REFUSES, "refuses the label gptq_v2")
	ROW(AUTOGPTQ, C(SEES_OTHER), 0, REFUSES, "refuses a label that is none of gptq, marlin and gemm")
	READS_LANES(AUTOGPTQ)
	ROW(AUTOGPTQ, C(HAS_8), 0, WRONG, "at 8 bits its CUDA kernels keep four bits of each zero point")
	ROW(AUTOGPTQ, C(V1) | C(Z0), 0, UNKNOWN, "its kernels do not agree on a zero point of 0")
	OPEN(AUTOGPTQ)
	ROW(AUTOGPTQ, C(ACT_ORDER) | C(DESC_ACT_ABSENT), 0, UNKNOWN,
	    "g_idx is in act-order, but desc_act is missing: not known")
	ROW(AUTOGPTQ, C(ACT_ORDER), C(DESC_ACT), WRONG, "ignores g_idx as desc_act is not true, but rows are in act-order")
	NO_RAGGED(AUTOGPTQ)
	ROW(AUTOGPTQ, C(BAD_SHAPE_32), 0, UNKNOWN, "N or K that is no multiple of 32: not known")
	ROW(AUTOGPTQ, C(NO_G_IDX), 0, UNKNOWN, "a layer without g_idx: not known")
	NO_ZERO_G_IDX(AUTOGPTQ)
	NO_RULES(AUTOGPTQ)
	MISFITS(AUTOGPTQ)
	NO_ROTATION(AUTOGPTQ)
	NO_LM_HEAD(AUTOGPTQ)
	NO_OTHER_WORDS(AUTOGPTQ)
	NO_BF16(AUTOGPTQ)
	NO_F32(AUTOGPTQ)
	ALL_RIGHT(AUTOGPTQ)

	NOT_GPTQ(TGI)
	NEEDS_CONFIG(TGI)
	NO_AUTO_ROUND(TGI)
	ROW(TGI, C(NO_G_IDX), 0, REFUSES, "needs g_idx, which some layer lacks")
	ROW(TGI, C(HAS_3), 0, REFUSES, "has no kernel for 3 bits")
	READS_LANES(TGI)
	ROW(TGI, C(V1) | C(Z0) | C(HAS_4), C(DESC_ACT), UNKNOWN, "its kernels do not agree on a zero point of 0")
	OPEN(TGI)
	FLAG_IS_ORDER(TGI)
	NO_RAGGED(TGI)
	NO_ZERO_G_IDX(TGI)
	NO_RULES(TGI)
	MISFITS(TGI)
	NO_ROTATION(TGI)
	NO_LM_HEAD(TGI)
	NO_OTHER_WORDS(TGI)
	NO_BF16(TGI)
	ROW(TGI, C(SCALES_F32), 0, RIGHT, "scales are cast to F16")
	ALL_RIGHT(TGI)

	NOT_GPTQ(TGI_MARLIN)
	NEEDS_CONFIG(TGI_MARLIN)
	NO_AUTO_ROUND(TGI_MARLIN)
	ROW(TGI_MARLIN, C(NO_G_IDX), 0, REFUSES, "needs g_idx, which some layer lacks")
	ROW(TGI_MARLIN, C(NOT_4_8) | C(DYNAMIC), 0, UNKNOWN, "some layers have neither 4 nor 8 bits by rule: not known")
	ROW(TGI_MARLIN, C(NOT_4_8), 0, REFUSES, "takes 4 and 8 bits only; TGI takes its other kernels")
	ROW(TGI_MARLIN, 0, C(SYM), REFUSES, "needs sym true; TGI takes its other kernels")
	ROW(TGI_MARLIN, C(GROUP_NOT_MARLIN), 0, REFUSES, "takes group sizes 32, 64, 128 and -1 only")
	ROW(TGI_MARLIN, C(BAD_TGI_SHAPE), 0, REFUSES, "takes K and N in multiples of 128 and 64, or of 64 and 128 only")
	READS_NO_ZEROS(TGI_MARLIN)
	FLAG_IS_ORDER(TGI_MARLIN)
	NO_RAGGED(TGI_MARLIN)
	NO_ZERO_G_IDX(TGI_MARLIN)
	NO_RULES(TGI_MARLIN)
	MISFITS(TGI_MARLIN)
	NO_ROTATION(TGI_MARLIN)
	NO_LM_HEAD(TGI_MARLIN)
	NO_OTHER_WORDS(TGI_MARLIN)
	NO_BF16(TGI_MARLIN)
	ROW(TGI_MARLIN, C(SCALES_F32), 0, RIGHT, "scales are cast to F16")
	RIGHT_WITHOUT_ZEROS(TGI_MARLIN)

	ROW(LLAMA_CPP, C(AWQ), 0, REFUSES, "AWQ is not supported")
	ROW(LLAMA_CPP, C(EXL2), 0, REFUSES, "EXL2 is not supported")
	NOT_GPTQ(LLAMA_CPP)
	NEEDS_CONFIG(LLAMA_CPP)
	ROW(LLAMA_CPP, C(METHOD_NOT_GPTQ), 0, REFUSES, "needs quant_method gptq in config.json")
	ROW(LLAMA_CPP, C(HAS_3), 0, REFUSES, "does not implement 3 bits")
	ROW(LLAMA_CPP, C(NO_G_IDX), 0, REFUSES, "needs g_idx, which some layer lacks")
	READS_UNMASKED(LLAMA_CPP)
	ROW(LLAMA_CPP, C(G_IDX_ZERO), 0, WRONG, "takes a g_idx of zeros at its word: every row in the first group")
	ROW(LLAMA_CPP, C(DYNAMIC), 0, UNKNOWN, "takes one width for all layers; rules under dynamic are not supported")
	ROW(LLAMA_CPP, C(BITS_MISFIT), 0, UNKNOWN, "bits in the config are missing or not those of every layer")
	NO_ROTATION(LLAMA_CPP)
	NO_OTHER_WORDS(LLAMA_CPP)
	NO_BF16(LLAMA_CPP)
	NO_F32(LLAMA_CPP)
	ALL_RIGHT(LLAMA_CPP)

	NOT_GPTQ(AUTO_ROUND)
	NEEDS_CONFIG(AUTO_ROUND)
	ONE_FILE(AUTO_ROUND)
	ROW(AUTO_ROUND, C(SEES_OTHER), 0, UNKNOWN, "what it does with this packing_format is not known")
	ROW(AUTO_ROUND, C(DESC_ACT), C(STATIC_GROUPS), REFUSES, "refuses desc_act without static_groups")
	ROW(AUTO_ROUND, C(SYM_FALSE) | C(NOT_4), C(SEES_V2) | C(SEES_NOTHING), REFUSES, "reads asymmetric v1 at 4 bits only")
	ROW(AUTO_ROUND, C(BAD_SHAPE_32), 0, REFUSES, "takes K and N in multiples of 32 only")
	ROW(AUTO_ROUND, C(SEES_NOTHING), 0, UNKNOWN, "what it does without packing_format is not known")
	ALIKE(AUTO_ROUND)
	ROW(AUTO_ROUND, C(CARRY), 0, WRONG, "each backend reads a 0 stored in style lane, or its neighbour, wrongly")
	ROW(AUTO_ROUND, C(V1) | C(Z0), 0, UNKNOWN, "its backends do not agree on a zero point of 0")
	OPEN(AUTO_ROUND)
	ROW(AUTO_ROUND, C(OFF_MID), C(SEES_V2), UNKNOWN, "asymmetric v1 depends on the backend; one may miss the shift by one")
	ROW(AUTO_ROUND, C(ACT_ORDER), 0, UNKNOWN, "g_idx is in act-order, but the config does not say so: not known")
	NO_RAGGED(AUTO_ROUND)
	NO_ZERO_G_IDX(AUTO_ROUND)
	NO_RULES(AUTO_ROUND)
	MISFITS(AUTO_ROUND)
	NO_ROTATION(AUTO_ROUND)
	NO_LM_HEAD(AUTO_ROUND)
	NO_OTHER_WORDS(AUTO_ROUND)
	NO_BF16(AUTO_ROUND)
	NO_F32(AUTO_ROUND)
	ALL_RIGHT(AUTO_ROUND)

	NOT_GPTQ(QLLM)
	NEEDS_CONFIG(QLLM)
	NO_AUTO_ROUND(QLLM)
	READS_LANES(QLLM)
	OPEN(QLLM)
	NO_RAGGED(QLLM)
	ROW(QLLM, C(UNEQUAL_GROUPS), 0, UNKNOWN, "groups of several sizes: not known")
	NO_RULES(QLLM)
	MISFITS(QLLM)
	NO_ROTATION(QLLM)
	NO_LM_HEAD(QLLM)
	NO_OTHER_WORDS(QLLM)
	NO_BF16(QLLM)
	NO_F32(QLLM)
	ALL_RIGHT(QLLM)
};
/* clang-format on */

const size_t gq_n_loader_rows = sizeof(gq_loader_rows) / sizeof(gq_loader_rows[0]);
