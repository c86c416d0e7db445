/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file read from one descriptor and written to another in one pass. The last block that was put is held back until
 * the next one comes or the end is confirmed: whoever finds a fault drops it, and the reader of the output sees a file
 * that is cut off, never a whole one that is wrong.
 */
#ifndef GQ_OPS_STREAM_PIPE_H
#define GQ_OPS_STREAM_PIPE_H

#include "base/buf.h"
#include "base/sha256.h"
#include "format/safetensors.h"

#define GQ_PIPE_BLOCK ((size_t)1 << 20)

struct gq_pipe {
	int in, out;
	const char *in_name, *out_name; /* for messages */
	const struct gptq_hooks *hooks;
	uint64_t total; /* of bytes, for progress */
	uint64_t n_read, n_written;
	uint32_t crc; /* of what was put */
	struct gq_sha256 *sha256; /* likewise, if not NULL */
	unsigned char *held;
	size_t held_size, held_room;
};

/* The next n bytes, or an error that says how many are missing. */
enum gptq_status gq_pipe_read(struct gq_pipe *p, void *dst, size_t n, struct gptq_error *err);
/* Writes what is held and holds these n bytes, copied. */
enum gptq_status gq_pipe_put(struct gq_pipe *p, const void *data, size_t n, struct gptq_error *err);
/* The input must be at its end; then writes what is held. */
enum gptq_status gq_pipe_finish(struct gq_pipe *p, struct gptq_error *err);
void gq_pipe_free(struct gq_pipe *p);

/* Reads length and header. */
enum gptq_status gq_pipe_read_header(struct gq_pipe *p, struct gq_st **st, struct gptq_error *err);

#endif
