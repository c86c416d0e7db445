/* SPDX-License-Identifier: Apache-2.0 */
/* Formats that are no GPTQ, told by the names, dtypes and shapes of their tensors. */
#ifndef GQ_QUANT_FOREIGN_H
#define GQ_QUANT_FOREIGN_H

#include "format/shards.h"

struct gq_foreign {
	const char *word;   /* the format's word in format/words.c; NULL: no other format shows */
	const char *layout; /* "gemm", "gemv", "gemv_fast" of AWQ, "4 bits" of bitsandbytes; NULL: there is but one */
	uint64_t n_modules; /* that show it */
	/* The rest is about the modules whose shapes tell it. */
	uint64_t n_measured;
	uint64_t n_weights;  /* sum of K * N */
	uint64_t n_bits;     /* that all their tensors but bias take */
	double bits_min, bits_max; /* bits of a code, averaged over each module; 0: not known */
	int64_t group_size;  /* of all of them; 0: it differs or is not known */
	unsigned widths;     /* EXL2 with its q_groups read: bit b is set if codes of b bits occur */
};

/*
 * The format that the tensors are in, by headers alone: "marlin", "awq", "exl2", "exl3", "bitblas", "qqq",
 * "compressed-tensors", "bitsandbytes", "fp8", "hqq", "aqlm". Sources: gptq-format.5, OTHER FORMATS.
 */
void gq_foreign_find(const struct gq_shards *shards, struct gq_foreign *found);

/* EXL2: reads the widths of its groups from q_groups. Other formats: nothing to read. */
enum gptq_status gq_foreign_read(struct gq_shards *shards, struct gq_foreign *found, struct gptq_error *err);

#endif
