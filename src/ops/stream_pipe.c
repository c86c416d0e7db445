/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/stream_pipe.h"

#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Up to n bytes, fewer only at the end. A signal between two reads is seen by the hook. */
static enum gptq_status read_up_to(struct gq_pipe *p, void *dst, size_t n, size_t *got, struct gptq_error *err)
{
	*got = 0;
	while (*got < n) {
		enum gptq_status status = gq_check_cancel(p->hooks, err);
		ssize_t r;

		if (status != GPTQ_OK)
			return status;
		r = read(p->in, (char *)dst + *got, n - *got);
		if (r < 0 && errno == EAGAIN) {
			struct pollfd wait = {.fd = p->in, .events = POLLIN};

			poll(&wait, 1, -1);
			continue;
		}
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return gq_fail_errno(err, errno, p->in_name, "cannot read");
		if (r == 0)
			break;
		*got += (size_t)r;
		p->n_read += (uint64_t)r;
	}
	return GPTQ_OK;
}

enum gptq_status gq_pipe_read(struct gq_pipe *p, void *dst, size_t n, struct gptq_error *err)
{
	size_t got;
	enum gptq_status status = read_up_to(p, dst, n, &got, err);

	if (status == GPTQ_OK && got < n) {
		status = gq_fail(err, GPTQ_E_FORMAT, "ends too early, inside what its header announces");
		gq_error_file(err, p->in_name);
		gq_error_offset(err, p->n_read);
	}
	return status;
}

static enum gptq_status write_all(struct gq_pipe *p, const unsigned char *data, size_t n, struct gptq_error *err)
{
	while (n) {
		enum gptq_status status = gq_check_cancel(p->hooks, err);
		ssize_t w;

		if (status != GPTQ_OK)
			return status;
		w = write(p->out, data, n);
		if (w < 0 && errno == EAGAIN) {
			struct pollfd wait = {.fd = p->out, .events = POLLOUT};

			poll(&wait, 1, -1);
			continue;
		}
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return gq_fail_errno(err, w < 0 ? errno : EIO, p->out_name, "cannot write");
		data += w;
		n -= (size_t)w;
		p->n_written += (uint64_t)w;
	}
	return GPTQ_OK;
}

enum gptq_status gq_pipe_put(struct gq_pipe *p, const void *data, size_t n, struct gptq_error *err)
{
	enum gptq_status status = write_all(p, p->held, p->held_size, err);

	p->held_size = 0;
	if (p->hooks && p->hooks->progress)
		p->hooks->progress(p->hooks->ctx, p->in_name, p->n_written, p->total);
	if (status != GPTQ_OK)
		return status;
	if (n > p->held_room) {
		unsigned char *grown = gq_realloc_array(p->held, n, 1);

		if (!grown)
			return gq_fail_nomem(err);
		p->held = grown;
		p->held_room = n;
	}
	if (n)
		memcpy(p->held, data, n);
	p->held_size = n;
	p->crc = (uint32_t)crc32_z(p->crc, data, n);
	return p->sha256 ? gq_sha256_add(p->sha256, data, n, err) : GPTQ_OK;
}

enum gptq_status gq_pipe_finish(struct gq_pipe *p, struct gptq_error *err)
{
	unsigned char one;
	size_t got;
	enum gptq_status status = read_up_to(p, &one, 1, &got, err);

	if (status == GPTQ_OK && got) {
		status = gq_fail(err, GPTQ_E_FORMAT, "bytes follow the last tensor");
		gq_error_file(err, p->in_name);
		gq_error_offset(err, p->n_read - 1);
	}
	if (status == GPTQ_OK)
		status = write_all(p, p->held, p->held_size, err);
	p->held_size = 0;
	return status;
}

void gq_pipe_free(struct gq_pipe *p)
{
	gq_free(p->held);
	p->held = NULL;
	p->held_size = p->held_room = 0;
}

/* The text grows as it comes: a length alone is no reason to allocate anything. */
static enum gptq_status read_text(struct gq_pipe *p, struct gq_buf *text, uint64_t n, struct gptq_error *err)
{
	unsigned char *block = gq_malloc_array(GQ_PIPE_BLOCK, 1);
	enum gptq_status status = block ? GPTQ_OK : gq_fail_nomem(err);

	while (text->size < n && status == GPTQ_OK) {
		size_t want = n - text->size < GQ_PIPE_BLOCK ? (size_t)(n - text->size) : GQ_PIPE_BLOCK, got;

		status = read_up_to(p, block, want, &got, err);
		if (status == GPTQ_OK)
			gq_buf_add(text, block, got);
		if (status == GPTQ_OK && text->failed)
			status = gq_fail_nomem(err);
		if (status == GPTQ_OK && got < want) {
			status = gq_fail(err, GPTQ_E_FORMAT, "ends inside its header, after %zu of %llu bytes",
					 text->size, (unsigned long long)n);
			gq_error_file(err, p->in_name);
		}
	}
	gq_free(block);
	return status;
}

enum gptq_status gq_pipe_read_header(struct gq_pipe *p, struct gq_st **st, struct gptq_error *err)
{
	unsigned char first[GQ_SNIFF_BYTES];
	size_t got, more = 0, want = sizeof(first) - 8;
	struct gq_buf text = {0};
	enum gptq_status status = read_up_to(p, first, 8, &got, err);
	bool ended = got < 8;
	uint64_t n;

	/* No further than the header goes; what is no safetensors file anyway, far enough to say what it is. */
	if (status == GPTQ_OK && !ended) {
		if (gq_load_le(first, 8) < want)
			want = (size_t)gq_load_le(first, 8);
		status = read_up_to(p, first + 8, want, &more, err);
		ended = more < want;
		got += more;
	}
	if (status == GPTQ_OK)
		status = gq_st_header_size(first, got, ended ? got : GQ_ST_ANY_SIZE, NULL, &n, NULL, err);
	if (status == GPTQ_OK) {
		gq_buf_add(&text, first + 8, got - 8);
		status = read_text(p, &text, n, err);
	}
	if (status == GPTQ_OK)
		status = gq_st_parse(text.data ? text.data : "", (size_t)n, GQ_ST_ANY_SIZE, NULL, st, NULL, err);
	gq_error_file(status == GPTQ_OK ? NULL : err, p->in_name);
	gq_buf_free(&text);
	return status;
}
