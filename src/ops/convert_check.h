/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two files that check what was written: convert_check.c opens it, convert_zeros.c compares zero points. */
#ifndef GQ_OPS_CONVERT_CHECK_H
#define GQ_OPS_CONVERT_CHECK_H

#include "base/parallel.h"
#include "ops/convert_internal.h"

/* What one thread checks files with. */
struct gq_checker {
	unsigned char *in, *out; /* words of the source and of what was written, ... */
	size_t size;             /* ... of so many bytes each */
	uint8_t *lanes;          /* three rows */
	size_t n_lanes;
	uint64_t n_zeros;
};

struct gq_checking {
	struct gq_conversion *cv;
	struct gq_unit *unit;
	struct gq_shards *written;   /* all files, where a proof wants them at once; NULL: opened one by one */
	struct gq_checker *checkers; /* one a thread */
};

/* A file in hand: where it was read from, and where it was written. */
struct gq_checked_file {
	const struct gq_checking *c;
	struct gq_checker *checker;
	uint32_t shard;
	const char *in_path, *out_path;
	int in, out;
	struct gq_shards *written;   /* NULL: its header is the source's, ... */
	uint32_t number;             /* ... else it is this one of these, ... */
	size_t first, first_written; /* ... and its tensors begin there, in the source's table and in theirs */
};

/* Room for a row of any of the file's layers. */
enum gptq_status gq_checker_room(struct gq_checker *checker, const struct gq_unit *u, uint32_t shard,
				 struct gptq_error *err);
void gq_checker_free(struct gq_checker *checker);

/* n bytes of the source, from `in` on, and of what was written, from `out` on: at most checker->size. */
enum gptq_status gq_read_both(const struct gq_checked_file *f, uint64_t in, uint64_t out, size_t n,
			      struct gptq_error *err);

/* Decodes all zero points of the file, as they are in the source and as they were written: GPTQ_E_MISMATCH. */
enum gptq_status gq_check_zeros(const struct gq_checked_file *f, struct gq_work *work, unsigned worker,
				struct gptq_error *err);

#endif
