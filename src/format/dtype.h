/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of the safetensors format: one table for names, widths and kinds. */
#ifndef GQ_FORMAT_DTYPE_H
#define GQ_FORMAT_DTYPE_H

#include "gptq/gptq.h"

enum gq_dtype_kind {
	GQ_KIND_BOOL,
	GQ_KIND_INT,
	GQ_KIND_UINT,
	GQ_KIND_FLOAT,
	GQ_KIND_COMPLEX,
};

#define GQ_N_DTYPES 22

/* The type of that exact name (n bytes, no NUL); false if there is none. */
bool gq_dtype_from_name(const char *name, size_t n, enum gptq_dtype *dtype);

enum gq_dtype_kind gq_dtype_kind(enum gptq_dtype dtype);

#endif
