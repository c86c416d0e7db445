/* SPDX-License-Identifier: Apache-2.0 */
/* Writing OUT under its temporary name: shards with their zero points shifted, configs with new labels, the rest. */
#include "base/checked.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHIFT_BUFFER ((size_t)1 << 20)

/* A new file for writing, created with the mode that umask gives. */
static enum gptq_status create(const char *path, int *fd, struct gptq_error *err)
{
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	return *fd >= 0 ? GPTQ_OK : gq_fail_errno(err, errno, path, "cannot create the file");
}

/* Syncs and closes; a failure of either is a failure of the write. Closes also when status is one already. */
static enum gptq_status finish(int fd, const char *path, enum gptq_status status, struct gptq_error *err)
{
	if (status == GPTQ_OK && fsync(fd) != 0)
		status = gq_fail_errno(err, errno, path, "cannot write the file to disk");
	if (close(fd) != 0 && status == GPTQ_OK)
		status = gq_fail_errno(err, errno, path, "cannot write the file to disk");
	return status;
}

/* Shifts one layer's qzeros from src into dst, whose data begin `grown` bytes later. */
static enum gptq_status write_qzeros(struct gq_conversion *cv, struct gq_unit *u, size_t i, int dst, uint64_t grown,
				     unsigned char *buffer, size_t buffer_size, struct gptq_error *err)
{
	const struct gq_layer *l = &u->source.layers.items[i];
	size_t row = (size_t)l->zero_row_bytes, at_once = buffer_size / row;
	enum gptq_status status = GPTQ_OK;

	for (uint64_t g = 0; g < l->groups && status == GPTQ_OK; g += at_once) {
		size_t rows = l->groups - g < at_once ? (size_t)(l->groups - g) : at_once;

		status = gq_tensor_read_at(&u->source.shards, l->qzeros, g * row, buffer, rows * row, err);
		if (status == GPTQ_OK)
			status = gptq_zeros_shift(buffer, rows, row, l->pack.bits, l->pack.word_bits, u->formats[i],
						  cv->to, gq_layer_style(cv, u, i), err);
		if (status == GPTQ_OK)
			status = gq_pwrite_full(dst, buffer, rows * row, l->qzeros->offset + grown + g * row,
						cv->watch.file, err);
	}
	cv->report->n_bytes_rewritten += l->qzeros->nbytes;
	return status;
}

static enum gptq_status write_all_qzeros(struct gq_conversion *cv, struct gq_unit *u, uint32_t shard, int dst,
					 uint64_t grown, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	size_t size = SHIFT_BUFFER;
	unsigned char *buffer;

	for (size_t i = 0; i < u->source.layers.n; i++)
		if (u->source.layers.items[i].zero_row_bytes > size)
			size = (size_t)u->source.layers.items[i].zero_row_bytes;
	buffer = gq_malloc_array(size, 1);
	if (!buffer)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < u->source.layers.n && status == GPTQ_OK; i++) {
		if (u->source.layers.items[i].qzeros->shard != shard || !gq_layer_changes(cv, u, i))
			continue;
		status = gq_check_cancel(cv->options->hooks, err);
		if (status == GPTQ_OK)
			status = write_qzeros(cv, u, i, dst, grown, buffer, size, err);
	}
	gq_free(buffer);
	return status;
}

/*
 * One safetensors file: a copy of the whole (shared blocks where the file system can), then the new header and the
 * shifted zero points over it. Where the header grew, the data move up by `grown` bytes.
 */
static enum gptq_status write_shard(struct gq_conversion *cv, struct gq_unit *u, uint32_t shard, const char *path,
				    struct gptq_error *err)
{
	const struct gq_shard *s = &u->source.shards.items[shard];
	struct gq_buf header = {0};
	uint64_t grown = 0;
	int src, dst = -1;
	enum gptq_status status = gq_shard_fd(&u->source.shards, shard, &src, err);

	if (status == GPTQ_OK)
		status = gq_new_header(cv, u, shard, &header, err);
	if (status == GPTQ_OK)
		status = create(path, &dst, err);
	if (status != GPTQ_OK)
		goto out;
	if (header.size > s->st->header_size) {
		grown = header.size - s->st->header_size;
		status = gq_copy_range(src, s->st->data_start, dst, s->st->data_start + grown, s->st->data_size, false,
				       &cv->watch, err);
	} else {
		status = gq_copy_range(src, 0, dst, 0, s->size, true, &cv->watch, err);
	}
	if (status == GPTQ_OK && header.size) {
		unsigned char length[8];

		gq_store_le(length, header.size, 8);
		status = gq_pwrite_full(dst, length, 8, 0, path, err);
		if (status == GPTQ_OK)
			status = gq_pwrite_full(dst, header.data, header.size, 8, path, err);
		cv->report->n_bytes_rewritten += 8 + header.size;
	}
	if (status == GPTQ_OK)
		status = write_all_qzeros(cv, u, shard, dst, grown, err);
	if (status == GPTQ_OK) /* the identity once more: what was copied must be what was judged */
		status = gq_shard_fd(&u->source.shards, shard, &src, err);
out:
	if (dst >= 0)
		status = finish(dst, path, status, err);
	gq_buf_free(&header);
	return status;
}

static enum gptq_status write_text(const struct gq_new_text *t, const char *path, struct gptq_error *err)
{
	int fd;
	enum gptq_status status = create(path, &fd, err);

	if (status != GPTQ_OK)
		return status;
	status = gq_pwrite_full(fd, t->data, t->size, 0, path, err);
	return finish(fd, path, status, err);
}

/* A file that stays as it is. */
static enum gptq_status copy_file(struct gq_conversion *cv, const char *from, const struct gq_tree_entry *e,
				  const char *path, struct gptq_error *err)
{
	struct stat st;
	uint64_t size;
	int src, dst;
	enum gptq_status status = gq_open_read(from, &src, &size, err);

	if (status != GPTQ_OK)
		return status;
	status = create(path, &dst, err);
	if (status == GPTQ_OK) {
		status = gq_copy_range(src, 0, dst, 0, size, true, &cv->watch, err);
		if (status == GPTQ_OK && (fstat(src, &st) != 0 || (uint64_t)st.st_size != e->size || size != e->size ||
					  (uint64_t)st.st_ino != e->ino)) {
			status = gq_fail(err, GPTQ_E_IO, "the file changed while it was being copied");
			gq_error_file(err, from);
		}
		status = finish(dst, path, status, err);
	}
	close(src);
	return status;
}

static enum gptq_status write_entry(struct gq_conversion *cv, const struct gq_tree_entry *e, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	char *from = gq_path_join(s->dir, e->path), *to = gq_path_join(cv->output.temp_path, e->path);
	const struct gq_new_text *text = gq_text_of_file(cv, e->path);
	enum gptq_status status = from && to ? gq_check_cancel(cv->options->hooks, err) : gq_fail_nomem(err);
	bool stale = false;
	uint32_t shard;
	struct gq_unit *u;

	cv->watch.file = e->path;
	if (status == GPTQ_OK && e->is_dir) {
		if (mkdir(to, 0777) != 0)
			status = gq_fail_errno(err, errno, to, "cannot create the folder");
		goto out;
	}
	if (status == GPTQ_OK)
		status = gq_is_stale_checksum(cv, e->path, &stale, err);
	if (status != GPTQ_OK || stale)
		goto out;
	u = gq_unit_of_file(cv, e->path, &shard);
	if (u)
		status = write_shard(cv, u, shard, to, err);
	else if (text)
		status = write_text(text, to, err);
	else
		status = copy_file(cv, from, e, to, err);
	cv->report->n_files++;
	cv->report->n_shards += u != NULL;
out:
	gq_free(from);
	gq_free(to);
	return status;
}

enum gptq_status gq_convert_write(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gptq_status status = GPTQ_OK;

	if (s->file) {
		cv->watch.file = s->file;
		status = write_shard(cv, &cv->units[0], 0, cv->output.temp_path, err);
		cv->report->n_files = cv->report->n_shards = 1;
	}
	for (size_t i = 0; i < s->tree.n_entries && status == GPTQ_OK; i++)
		status = write_entry(cv, &s->tree.entries[i], err);
	cv->report->n_bytes_cloned = cv->watch.n_cloned;
	return status;
}
