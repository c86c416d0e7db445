/* SPDX-License-Identifier: Apache-2.0 */
#include "format/words.h"

#include <string.h>

#define SAY_MARLIN "its weights are permuted for one kernel; start from the GPTQ checkpoint that it was made from"
#define SAY_AWQ "it packs along the output features and stores its zero points as they are; no GPTQ layout"
#define SAY_OTHER "it stores no GPTQ tensors"
#define SAY_CT "it stores weight_packed tensors, no GPTQ layout"
#define SAY_FP8 "it stores floating-point weights, no GPTQ layout"
#define SAY_PLANAR                                                                                                     \
	"GPTQModel's planar layout for 5, 6 and 7 bits, whose zero points are never shifted; there is nothing to "     \
	"convert"

/* By word. One line is all that a new format takes. */
static const struct gq_foreign_format formats[] = {
	{"aqlm", "AQLM", SAY_OTHER},
	{"auto_awq", "AWQ", SAY_AWQ},
	{"autoawq", "AWQ", SAY_AWQ},
	{"awq", "AWQ", SAY_AWQ},
	{"awq_marlin", "AWQ", SAY_AWQ},
	{"bitblas", "BitBLAS", "its weights and scales are laid out for one operator; start from the GPTQ checkpoint"},
	{"bitnet", "BitNet", SAY_OTHER},
	{"bitsandbytes", "bitsandbytes", SAY_OTHER},
	{"bnb", "bitsandbytes", SAY_OTHER},
	{"compressed-tensors", "compressed-tensors", SAY_CT},
	{"compressed_tensors", "compressed-tensors", SAY_CT},
	{"dense", "compressed-tensors", SAY_CT},
	{"eetq", "EETQ", SAY_OTHER},
	{"exl2", "EXL2", "ExLlamaV2's own layout with several widths in one layer"},
	{"exl3", "EXL3", "ExLlamaV3's trellis layout"},
	{"fbgemm_fp8", "FP8", SAY_FP8},
	{"float-quantized", "compressed-tensors", SAY_CT},
	{"fp8", "FP8", SAY_FP8},
	{"fp_quant", "FP-Quant", SAY_OTHER},
	{"gemm", "AWQ", SAY_AWQ},
	{"gemv", "AWQ", SAY_AWQ},
	{"gemv_fast", "AWQ", SAY_AWQ},
	{"gguf", "GGUF", "llama.cpp's file format"},
	{"gptq_marlin_24", "Marlin 2:4", SAY_MARLIN},
	{"gptq_p", "planar GPTQ (gptq_p)", SAY_PLANAR},
	{"higgs", "HIGGS", SAY_OTHER},
	{"hqq", "HQQ", SAY_OTHER},
	{"int-quantized", "compressed-tensors", SAY_CT},
	{"llm-awq", "AWQ", SAY_AWQ},
	{"llm_compressor", "compressed-tensors", SAY_CT},
	{"marlin", "Marlin", SAY_MARLIN},
	{"marlin-24", "Marlin 2:4", SAY_MARLIN},
	{"marlin_24", "Marlin 2:4", SAY_MARLIN},
	{"mlx", "MLX", SAY_OTHER},
	{"modelopt", "ModelOpt", SAY_OTHER},
	{"modelopt_fp4", "ModelOpt", SAY_OTHER},
	{"mxfp4", "MXFP4", SAY_OTHER},
	{"mxfp8", "MXFP8", SAY_OTHER},
	{"naive-quantized", "compressed-tensors", SAY_CT},
	{"nvfp4", "NVFP4", SAY_OTHER},
	{"nvfp4-pack-quantized", "compressed-tensors", SAY_CT},
	{"pack-quantized", "compressed-tensors", SAY_CT},
	{"paroquant", "ParoQuant", SAY_OTHER},
	{"qqq", "QQQ", "its weights are permuted for one kernel"},
	{"quanto", "Quanto", SAY_OTHER},
	{"quark", "Quark", SAY_OTHER},
	{"quip", "QuIP", SAY_OTHER},
	{"spqr", "SpQR", SAY_OTHER},
	{"squeezellm", "SqueezeLLM", SAY_OTHER},
	{"torchao", "torchao", SAY_OTHER},
	{"vptq", "VPTQ", SAY_OTHER},
};

static bool equal_nocase(const char *word, size_t n, const char *lower_case)
{
	size_t i = 0;

	for (; i < n && lower_case[i]; i++) {
		char c = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] - 'A' + 'a') : word[i];

		if (c != lower_case[i])
			return false;
	}
	return i == n && lower_case[i] == '\0';
}

static bool is_one_of(const char *word, size_t n, const char *const *list)
{
	for (; *list; list++)
		if (equal_nocase(word, n, *list))
			return true;
	return false;
}

static bool equal(const char *word, size_t n, const char *s)
{
	return n == strlen(s) && memcmp(word, s, n) == 0;
}

const struct gq_foreign_format *gq_word_foreign(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (equal_nocase(word, n, formats[i].word))
			return &formats[i];
	return NULL;
}

static enum gq_label foreign_or_unknown(const char *word, size_t n, const struct gq_foreign_format **format)
{
	*format = gq_word_foreign(word, n);
	return *format ? GQ_LABEL_FOREIGN : GQ_LABEL_UNKNOWN;
}

static enum gq_label packing_label(const char *word, size_t n, const struct gq_foreign_format **format)
{
	static const char prefix[] = "auto_round:";
	static const char *const v1[] = {"auto", "auto_round:auto_gptq", "auto_round:gptq"};
	static const char *const v2[] = {"auto_round", "auto_round:gptqmodel"};
	size_t skip = sizeof(prefix) - 1;

	for (size_t i = 0; i < sizeof(v1) / sizeof(v1[0]); i++)
		if (equal(word, n, v1[i]))
			return GQ_LABEL_V1;
	for (size_t i = 0; i < sizeof(v2) / sizeof(v2[0]); i++)
		if (equal(word, n, v2[i]))
			return GQ_LABEL_V2;
	if (n > skip && equal_nocase(word, skip, prefix)) {
		word += skip;
		n -= skip;
	}
	return foreign_or_unknown(word, n, format);
}

enum gq_label gq_word_label(enum gq_label_key key, const char *word, size_t n, const struct gq_foreign_format **format)
{
	static const char *const awq[] = {"gemm", "gemv", "gemv_fast", "llm-awq", NULL};

	*format = NULL;
	if (n == 0)
		return GQ_LABEL_ABSENT;
	switch (key) {
	case GQ_KEY_PACKING_FORMAT:
		return packing_label(word, n, format);
	case GQ_KEY_VERSION: /* other tools' version numbers stand under this key, too */
		return is_one_of(word, n, awq) ? foreign_or_unknown(word, n, format) : GQ_LABEL_ABSENT;
	case GQ_KEY_CHECKPOINT_FORMAT:
	case GQ_KEY_FORMAT:
	case GQ_KEY_METADATA:
		if (equal(word, n, "gptq"))
			return GQ_LABEL_V1;
		if (equal(word, n, "gptq_v2"))
			return GQ_LABEL_V2;
		return foreign_or_unknown(word, n, format);
	case GQ_KEY_IS_MARLIN_FORMAT:
	case GQ_KEY_METHOD:
		break;
	}
	return GQ_LABEL_UNKNOWN;
}

enum gq_method gq_word_method(const char *word, size_t n, const struct gq_foreign_format **format)
{
	static const char *const gptq[] = {"gptq", NULL};
	static const char *const auto_round[] = {"auto-round",       "auto_round",       "autoround",
						 "intel/auto-round", "intel/auto_round", NULL};

	*format = NULL;
	if (is_one_of(word, n, gptq))
		return GQ_METHOD_GPTQ;
	if (is_one_of(word, n, auto_round))
		return GQ_METHOD_AUTO_ROUND;
	*format = gq_word_foreign(word, n);
	return *format ? GQ_METHOD_FOREIGN : GQ_METHOD_UNKNOWN;
}

const char *gq_label_word(enum gq_label label)
{
	switch (label) {
	case GQ_LABEL_V1:
		return "gptq";
	case GQ_LABEL_V2:
		return "gptq_v2";
	case GQ_LABEL_ABSENT:
	case GQ_LABEL_FOREIGN:
	case GQ_LABEL_UNKNOWN:
		break;
	}
	return NULL;
}

enum gq_label gq_label_of_format(enum gptq_zeros_format format)
{
	if (format == GPTQ_ZEROS_V1)
		return GQ_LABEL_V1;
	return format == GPTQ_ZEROS_V2 ? GQ_LABEL_V2 : GQ_LABEL_ABSENT;
}

enum gptq_zeros_format gq_format_of_label(enum gq_label label)
{
	if (label == GQ_LABEL_V1)
		return GPTQ_ZEROS_V1;
	return label == GQ_LABEL_V2 ? GPTQ_ZEROS_V2 : GPTQ_ZEROS_NONE;
}
