/* SPDX-License-Identifier: Apache-2.0 */
/* Formats that are no GPTQ, told by the names, dtypes and shapes of their tensors. */
#ifndef GQ_QUANT_FOREIGN_H
#define GQ_QUANT_FOREIGN_H

#include "format/shards.h"

/*
 * The table word (format/words.h) of the format that the tensors are in: "marlin", "awq", "exl2", "exl3", "bitblas",
 * "qqq", "compressed-tensors", "bitsandbytes", "fp8", "hqq", "aqlm"; NULL if none of these shows. *count: the modules
 * that show it. Sources: gptq-format.5, OTHER FORMATS.
 */
const char *gq_foreign_by_tensors(const struct gq_shards *shards, uint64_t *count);

#endif
