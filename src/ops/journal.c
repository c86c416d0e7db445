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

#define MAGIC "GPTQJNL2"
#define MAGIC_SIZE 8
#define FIXED 88
#define MAX_NAME 4096
#define WORTH_STARTING ((size_t)256 << 10)

static uint32_t crc_of(uint32_t crc, const void *data, size_t n)
{
	return n ? (uint32_t)crc32_z(crc, data, n) : crc; /* zlib takes no bytes at all for a wish to begin */
}

uint32_t gq_journal_header_crc(const char *text, const struct gq_record *file)
{
	uint64_t size = file->header_size - 8, begin = file->label_begin - 8, end = begin + file->label_size;
	unsigned char length[8];

	gq_store_le(length, size, 8);
	return crc_of(crc_of(crc_of(0, length, 8), text, (size_t)begin), text + end, (size_t)(size - end));
}

/*
 * The checksum goes on over a payload. Old zero points have one of their own, from which this one follows: they are
 * nearly all of a journal, and are not gone over twice. own: what theirs is.
 */
static uint32_t crc_of_payload(uint32_t crc, const struct gq_record *r, const unsigned char *payload, size_t n,
			       const uint32_t *known, uint32_t *own)
{
	size_t places = r->kind == GQ_RECORD_ZEROS && r->n_spans <= n / GQ_JOURNAL_PLACE
				? (size_t)r->n_spans * GQ_JOURNAL_PLACE
				: n;

	crc = crc_of(crc, payload, places);
	*own = known ? *known : crc_of(0, payload + places, n - places);
	return places < n ? (uint32_t)crc32_combine(crc, *own, (z_off_t)(n - places)) : crc;
}

/*
 * Fixed part. FILE and spans use the same room for different things:
 *
 *   0 kind  4 length of name  8 size of payload  16 file  20 mode  24 offset|ino  32 old size|size
 *   40 new size|header size  48 crc before|header crc  52 crc after  56 row bytes|label begin
 *   64 columns|label size  72 bits  73 word bits  74 from  75 to  76 style  77..79 zero  80 number of spans
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
	gq_store_le(out + 80, r->n_spans, 8);
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
				.style = (enum gptq_v1_style)in[76],
				.n_spans = gq_load_le(in + 80, 8)};
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

static enum gptq_status append(struct gq_journal_writer *w, const void *data, size_t n, struct gptq_error *err)
{
	enum gptq_status status = gq_pwrite_all(w->fd, data, n, w->size, w->path, "cannot write the journal", err);

	w->size += n;
	return status;
}

enum gptq_status gq_journal_add(struct gq_journal_writer *w, const struct gq_record *r, const void *data, size_t n,
				struct gptq_error *err)
{
	size_t name_size = r->name ? strlen(r->name) : 0;
	unsigned char head[FIXED + MAX_NAME], crc[4];
	enum gptq_status status;
	uint32_t own;

	if (name_size > MAX_NAME)
		return gq_fail(err, GPTQ_E_LIMIT, "a name too long for the journal");
	encode(r, name_size, n, head);
	if (name_size)
		memcpy(head + FIXED, r->name, name_size);
	w->crc = crc_of(w->crc, head, FIXED + name_size);
	w->crc = crc_of_payload(w->crc, r, data, n, &r->crc_before, &own);
	gq_store_le(crc, w->crc, sizeof(crc));
	status = append(w, head, FIXED + name_size, err);
	if (status == GPTQ_OK && n)
		status = append(w, data, n, err);
	if (status == GPTQ_OK)
		status = append(w, crc, sizeof(crc), err);
	w->n_records++;
	if (n >= WORTH_STARTING)
		gq_start_writing(w->fd, w->size - n, n);
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

/* A journal that one gptq-convert wrote another must not guess at. */
static enum gptq_status other_version(const struct gq_journal *j, struct gptq_error *err)
{
	enum gptq_status status =
		gq_fail(err, GPTQ_E_FORMAT,
			"the journal of an in-place conversion that another version of gptq-convert began; nothing was "
			"touched\nkeep it: that version finishes the conversion with --in-place and undoes it with "
			"--rollback");

	gq_error_file(err, j->path);
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
		status = memcmp(magic, MAGIC, MAGIC_SIZE - 1) == 0
				 ? other_version(j, err)
				 : gq_journal_damaged(j, "it does not begin as one", err);
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
	gq_journal_return(j, &(struct gq_journal_mark){MAGIC_SIZE, 0, crc_of(0, MAGIC, MAGIC_SIZE), GQ_RECORD_PLAN});
}

void gq_journal_close(struct gq_journal *j)
{
	free_record(&j->record);
	if (j->fd >= 0)
		close(j->fd);
	gq_free(j->path);
	*j = (struct gq_journal){.fd = -1};
}

/* The bytes that the payload must have; false: more than any number says. */
static bool size_of_payload(const struct gq_record *r, uint64_t *size)
{
	switch (r->kind) {
	case GQ_RECORD_ZEROS:
		return gq_mul_u64(r->n_spans, GQ_JOURNAL_PLACE, size) && gq_add_u64(*size, r->old_size, size);
	case GQ_RECORD_HEADER:
	case GQ_RECORD_CONFIG:
		return gq_add_u64(r->old_size, r->new_size, size);
	case GQ_RECORD_PLAN:
	case GQ_RECORD_FILE:
	case GQ_RECORD_END:
		break;
	}
	*size = 0;
	return true;
}

/* Fields that could not have been written by us. */
static const char *check_record(const struct gq_journal *j, const struct gq_record *r)
{
	bool zeros = r->kind == GQ_RECORD_ZEROS;
	uint64_t payload;

	if (r->kind < GQ_RECORD_PLAN || r->kind > GQ_RECORD_END)
		return "an unknown record";
	if ((j->n_records == 0) != (r->kind == GQ_RECORD_PLAN))
		return "the plan is not where it should be";
	if (r->kind < j->last_kind) /* a pass over one kind ends at the first of the next */
		return "records are not in their order";
	if ((zeros || r->kind == GQ_RECORD_HEADER) && r->old_size != r->new_size)
		return "a span that changes its size";
	if (r->from > GPTQ_ZEROS_V2 || r->to > GPTQ_ZEROS_V2 || r->style > GPTQ_STYLE_CLEAN)
		return "an unknown format";
	if (zeros != (r->n_spans > 0) || (zeros && r->old_size % r->n_spans))
		return "spans that are not alike";
	if (zeros && (!r->row_bytes || !r->old_size || r->old_size / r->n_spans % r->row_bytes))
		return "a span that is no whole number of rows";
	if (r->kind == GQ_RECORD_CONFIG && r->mode > 0777)
		return "permissions that no config gets";
	if (r->kind == GQ_RECORD_END && r->offset != j->n_records)
		return "records are missing";
	if (!size_of_payload(r, &payload) || payload != r->payload_size)
		return "a record that is not as large as it says";
	return NULL;
}

enum gptq_status gq_journal_next(struct gq_journal *j, struct gptq_error *err)
{
	struct gq_record *r = &j->record;
	unsigned char fixed[FIXED], crc[4];
	uint64_t name_size, left = j->size - j->at;
	const char *wrong;
	enum gptq_status status;
	uint32_t own;

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
	j->crc = crc_of(crc_of(j->crc, fixed, FIXED), r->name, (size_t)name_size);
	j->crc = crc_of_payload(j->crc, r, r->payload, (size_t)r->payload_size, NULL, &own);
	if (j->crc != gq_load_le(crc, 4) || strlen(r->name) != name_size)
		return gq_journal_damaged(j, "a checksum is wrong", err);
	wrong = check_record(j, r);
	if (!wrong && r->kind == GQ_RECORD_ZEROS && own != r->crc_before)
		wrong = "a span is not what its checksum says";
	if (wrong)
		return gq_journal_damaged(j, wrong, err);
	j->at += FIXED + name_size + r->payload_size + 4;
	j->n_records++;
	j->last_kind = r->kind;
	if (r->kind == GQ_RECORD_END && j->at != j->size)
		return gq_journal_damaged(j, "it goes on after its end", err);
	return GPTQ_OK;
}

void gq_journal_take(struct gq_journal *j, struct gq_journal *one)
{
	*one = *j;
	j->record = (struct gq_record){.kind = j->record.kind};
}

void gq_journal_drop_taken(struct gq_journal *one)
{
	free_record(&one->record);
}

void gq_journal_mark(const struct gq_journal *j, struct gq_journal_mark *mark)
{
	*mark = (struct gq_journal_mark){j->at, j->n_records, j->crc, j->last_kind};
}

void gq_journal_return(struct gq_journal *j, const struct gq_journal_mark *mark)
{
	free_record(&j->record);
	j->at = mark->at;
	j->n_records = mark->n_records;
	j->crc = mark->crc;
	j->last_kind = mark->last_kind;
}
