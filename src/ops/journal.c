/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/journal.h"

#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC "GPTQJNL1"
#define MAGIC_SIZE 8
#define FIXED 88
#define MAX_NAME 4096
#define MAX_INFLATION 1032 /* deflate packs no tighter */

static uint32_t crc_of(uint32_t crc, const void *data, size_t n)
{
	return (uint32_t)crc32_z(crc, data, n);
}

/*
 * Fixed part. FILE and spans use the same room for different things:
 *
 *   0 kind  4 length of name  8 size of payload  16 file  20 mode  24 offset|ino  32 old size|size
 *   40 new size|header size  48 crc before|header crc  52 crc after  56 row bytes|label begin
 *   64 columns|label size  72 bits  73 word bits  74 from  75 to  76 style  77..87 zero
 */
static void encode(const struct gq_record *r, size_t name_size, uint64_t payload_size, unsigned char out[FIXED])
{
	bool file = r->kind == GQ_RECORD_FILE;

	memset(out, 0, FIXED);
	gq_store_le(out, r->kind, 4);
	gq_store_le(out + 4, name_size, 4);
	gq_store_le(out + 8, payload_size, 8);
	gq_store_le(out + 16, r->file, 4);
	gq_store_le(out + 20, r->mode, 4);
	gq_store_le(out + 24, file ? r->ino : r->offset, 8);
	gq_store_le(out + 32, file ? r->size : r->old_size, 8);
	gq_store_le(out + 40, file ? r->header_size : r->new_size, 8);
	gq_store_le(out + 48, file ? r->header_crc : r->crc_before, 4);
	gq_store_le(out + 52, r->crc_after, 4);
	gq_store_le(out + 56, file ? r->label_begin : r->row_bytes, 8);
	gq_store_le(out + 64, file ? r->label_size : r->n_columns, 8);
	out[72] = r->bits;
	out[73] = r->word_bits;
	out[74] = (unsigned char)r->from;
	out[75] = (unsigned char)r->to;
	out[76] = (unsigned char)r->style;
}

static void decode(const unsigned char in[FIXED], struct gq_record *r)
{
	*r = (struct gq_record){.kind = (enum gq_record_kind)gq_load_le(in, 4),
				.payload_size = gq_load_le(in + 8, 8),
				.file = (uint32_t)gq_load_le(in + 16, 4),
				.mode = (uint32_t)gq_load_le(in + 20, 4),
				.bits = in[72],
				.word_bits = in[73],
				.from = (enum gptq_zeros_format)in[74],
				.to = (enum gptq_zeros_format)in[75],
				.style = (enum gptq_v1_style)in[76]};
	if (r->kind == GQ_RECORD_FILE) {
		r->ino = gq_load_le(in + 24, 8);
		r->size = gq_load_le(in + 32, 8);
		r->header_size = gq_load_le(in + 40, 8);
		r->header_crc = (uint32_t)gq_load_le(in + 48, 4);
		r->label_begin = gq_load_le(in + 56, 8);
		r->label_size = gq_load_le(in + 64, 8);
	} else {
		r->offset = gq_load_le(in + 24, 8);
		r->old_size = gq_load_le(in + 32, 8);
		r->new_size = gq_load_le(in + 40, 8);
		r->crc_before = (uint32_t)gq_load_le(in + 48, 4);
		r->crc_after = (uint32_t)gq_load_le(in + 52, 4);
		r->row_bytes = gq_load_le(in + 56, 8);
		r->n_columns = gq_load_le(in + 64, 8);
	}
}

/* ------------------------------------------------------------------------------------------------- writing */

enum gptq_status gq_journal_begin(int fd, const char *path, struct gq_journal_writer *w, struct gptq_error *err)
{
	*w = (struct gq_journal_writer){.fd = fd, .path = path, .size = MAGIC_SIZE};
	w->crc = crc_of(0, MAGIC, MAGIC_SIZE);
	return gq_pwrite_all(fd, MAGIC, MAGIC_SIZE, 0, path, "cannot write the journal", err);
}

/* Zero points are short runs of few values: run lengths and Huffman codes are nearly all there is to gain. */
static enum gptq_status deflate_all(const void *data, size_t n, unsigned char *out, size_t *size,
				    struct gptq_error *err)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)data,
		      .avail_in = (uInt)n,
		      .next_out = out,
		      .avail_out = (uInt)*size};
	int rc;

	if (n > UINT32_MAX || *size > UINT32_MAX)
		return gq_fail(err, GPTQ_E_LIMIT, "a span too large for the journal");
	if (deflateInit2(&z, 1, Z_DEFLATED, 15, 8, Z_RLE) != Z_OK)
		return gq_fail_nomem(err);
	rc = deflate(&z, Z_FINISH);
	*size = z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? GPTQ_OK : gq_fail(err, GPTQ_E_IO, "cannot compress the journal");
}

enum gptq_status gq_journal_add(struct gq_journal_writer *w, const struct gq_record *r, const void *data, size_t n,
				struct gptq_error *err)
{
	size_t name_size = r->name ? strlen(r->name) : 0, packed = data ? compressBound((uLong)n) + 64 : 0;
	unsigned char *all = gq_malloc_array(FIXED + name_size + packed + 4, 1);
	enum gptq_status status = GPTQ_OK;
	size_t size = FIXED + name_size;

	if (!all)
		return gq_fail_nomem(err);
	if (data)
		status = deflate_all(data, n, all + size, &packed, err);
	if (status == GPTQ_OK) {
		encode(r, name_size, packed, all);
		if (name_size)
			memcpy(all + FIXED, r->name, name_size);
		size += packed;
		w->crc = crc_of(w->crc, all, size);
		gq_store_le(all + size, w->crc, 4);
		size += 4;
		status = gq_pwrite_all(w->fd, all, size, w->size, w->path, "cannot write the journal", err);
		w->size += size;
		w->n_records++;
	}
	gq_free(all);
	return status;
}

enum gptq_status gq_journal_end(struct gq_journal_writer *w, struct gptq_error *err)
{
	struct gq_record r = {.kind = GQ_RECORD_END, .offset = w->n_records};
	enum gptq_status status = gq_journal_add(w, &r, NULL, 0, err);

	return status == GPTQ_OK ? gq_fsync(w->fd, w->path, err) : status;
}

/* ------------------------------------------------------------------------------------------------- reading */

enum gptq_status gq_journal_damaged(const struct gq_journal *j, const char *what, struct gptq_error *err)
{
	enum gptq_status status = gq_fail(
		err, GPTQ_E_FORMAT, "the journal of an in-place conversion is damaged (%s); nothing was touched", what);

	gq_error_file(err, j->path);
	gq_error_offset(err, j->at);
	return status;
}

enum gptq_status gq_journal_open(int dir_fd, const char *dir, const char *name, struct gq_journal *j,
				 struct gptq_error *err)
{
	unsigned char magic[MAGIC_SIZE];
	enum gptq_status status = GPTQ_OK;
	struct stat st;

	*j = (struct gq_journal){.fd = -1, .path = gq_path_join(dir, name)};
	if (!j->path)
		return gq_fail_nomem(err);
	do {
		j->fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	} while (j->fd < 0 && errno == EINTR);
	if (j->fd < 0 && errno == ENOENT)
		status = gq_fail(err, GPTQ_E_NOTFOUND, "no journal");
	else if (j->fd < 0)
		status = gq_fail_errno(err, errno, j->path, "cannot open the journal");
	else if (fstat(j->fd, &st) != 0)
		status = gq_fail_errno(err, errno, j->path, "cannot look at the journal");
	else if (!S_ISREG(st.st_mode) || st.st_size < MAGIC_SIZE)
		status = gq_journal_damaged(j, "it is too short", err);
	if (status == GPTQ_OK)
		status = gq_pread_full(j->fd, magic, sizeof(magic), 0, j->path, err);
	if (status == GPTQ_OK && memcmp(magic, MAGIC, sizeof(magic)) != 0)
		status = gq_journal_damaged(j, "it does not begin as one", err);
	if (status != GPTQ_OK) {
		gq_journal_close(j);
		return status;
	}
	j->size = (uint64_t)st.st_size;
	gq_journal_rewind(j);
	return GPTQ_OK;
}

static void free_record(struct gq_record *r)
{
	gq_free(r->name);
	gq_free(r->payload);
	*r = (struct gq_record){0};
}

void gq_journal_rewind(struct gq_journal *j)
{
	free_record(&j->record);
	j->at = MAGIC_SIZE;
	j->n_records = 0;
	j->last_kind = GQ_RECORD_PLAN;
	j->crc = crc_of(0, MAGIC, MAGIC_SIZE);
}

void gq_journal_close(struct gq_journal *j)
{
	free_record(&j->record);
	if (j->fd >= 0)
		close(j->fd);
	gq_free(j->path);
	*j = (struct gq_journal){.fd = -1};
}

/* Fields that could not have been written by us. */
static const char *check_record(const struct gq_journal *j, const struct gq_record *r)
{
	bool spans = r->kind == GQ_RECORD_ZEROS || r->kind == GQ_RECORD_HEADER;

	if (r->kind < GQ_RECORD_PLAN || r->kind > GQ_RECORD_END)
		return "an unknown record";
	if ((j->n_records == 0) != (r->kind == GQ_RECORD_PLAN))
		return "the plan is not where it should be";
	if (r->kind < j->last_kind) /* a pass over one kind ends at the first of the next */
		return "records are not in their order";
	if (spans && r->old_size != r->new_size)
		return "a span that changes its size";
	if (r->from > GPTQ_ZEROS_V2 || r->to > GPTQ_ZEROS_V2 || r->style > GPTQ_STYLE_CLEAN)
		return "an unknown format";
	if (r->kind == GQ_RECORD_ZEROS && (!r->row_bytes || r->old_size % r->row_bytes || !r->old_size))
		return "a span that is no whole number of rows";
	if (r->kind == GQ_RECORD_END && (r->offset != j->n_records || r->payload_size))
		return "records are missing";
	return NULL;
}

enum gptq_status gq_journal_next(struct gq_journal *j, struct gptq_error *err)
{
	struct gq_record *r = &j->record;
	unsigned char fixed[FIXED], crc[4];
	uint64_t name_size, left = j->size - j->at;
	const char *wrong;
	enum gptq_status status;

	free_record(r);
	if (left < FIXED + 4)
		return gq_journal_damaged(j, "it ends too early", err);
	status = gq_pread_full(j->fd, fixed, FIXED, j->at, j->path, err);
	if (status != GPTQ_OK)
		return status;
	left -= FIXED + 4;
	decode(fixed, r);
	name_size = gq_load_le(fixed + 4, 4);
	if (name_size > MAX_NAME || name_size > left || r->payload_size > left - name_size)
		return gq_journal_damaged(j, "it ends too early", err);
	r->name = gq_calloc((size_t)name_size + 1, 1);
	r->payload = gq_malloc_array((size_t)r->payload_size, 1);
	if (!r->name || !r->payload)
		return gq_fail_nomem(err);
	status = gq_pread_full(j->fd, r->name, (size_t)name_size, j->at + FIXED, j->path, err);
	if (status == GPTQ_OK)
		status = gq_pread_full(j->fd, r->payload, (size_t)r->payload_size, j->at + FIXED + name_size, j->path,
				       err);
	if (status == GPTQ_OK)
		status = gq_pread_full(j->fd, crc, 4, j->at + FIXED + name_size + r->payload_size, j->path, err);
	if (status != GPTQ_OK)
		return status;
	j->crc = crc_of(crc_of(crc_of(j->crc, fixed, FIXED), r->name, (size_t)name_size), r->payload,
			(size_t)r->payload_size);
	if (j->crc != gq_load_le(crc, 4) || strlen(r->name) != name_size)
		return gq_journal_damaged(j, "a checksum is wrong", err);
	wrong = check_record(j, r);
	if (wrong)
		return gq_journal_damaged(j, wrong, err);
	j->at += FIXED + name_size + r->payload_size + 4;
	j->n_records++;
	j->last_kind = r->kind;
	if (r->kind == GQ_RECORD_END && j->at != j->size)
		return gq_journal_damaged(j, "it goes on after its end", err);
	return GPTQ_OK;
}

enum gptq_status gq_journal_inflate(const struct gq_journal *j, uint64_t n, unsigned char **data,
				    struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	uLongf size = (uLongf)n;
	int rc;

	*data = NULL;
	if (n / MAX_INFLATION > r->payload_size)
		return gq_journal_damaged(j, "a span larger than its bytes can be", err);
	*data = gq_malloc_array((size_t)n, 1);
	if (!*data)
		return gq_fail_nomem(err);
	rc = uncompress(*data, &size, r->payload, (uLong)r->payload_size);
	if (rc == Z_OK && size == n)
		return GPTQ_OK;
	gq_free(*data);
	*data = NULL;
	return rc == Z_MEM_ERROR ? gq_fail_nomem(err) : gq_journal_damaged(j, "a span cannot be unpacked", err);
}
