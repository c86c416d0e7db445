/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/recover.h"

#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/slurp.h"
#include "base/tree.h"
#include "format/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

void gq_say_half_done(struct gptq_error *err)
{
	size_t n = err ? strlen(err->message) : 0;

	if (err)
		snprintf(err->message + n, sizeof(err->message) - n,
			 "%s\nthe conversion is half done, and its journal stays: run gptq-convert --in-place on it "
			 "again to "
			 "finish, or with --rollback to undo",
			 n ? "" : "stopped");
}

enum gptq_status gq_recovery_fail(const char *name, struct gptq_error *err, const char *what)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_IO, "%s; nothing was touched", what);

	gq_error_file(err, name);
	return status;
}

/* More descriptors than this are not kept open. */
#define MAX_OPEN 128

static void close_files(struct gq_recovery *rc)
{
	for (size_t i = 0; i < rc->n_files; i++) {
		if (rc->files[i].fd >= 0)
			close(rc->files[i].fd);
		rc->files[i].fd = -1;
	}
	rc->n_open = 0;
}

/* Makes sure that the file has a descriptor, and that it is the one that the journal is about. */
static enum gptq_status open_again(struct gq_recovery *rc, struct gq_recovered_file *f, struct gptq_error *err)
{
	struct stat st;
	bool link;

	if (f->fd >= 0)
		return GPTQ_OK;
	if (rc->n_open >= MAX_OPEN)
		close_files(rc);
	f->fd = gq_open_beneath(rc->place->dir_fd, f->name, &link);
	if (f->fd < 0)
		return gq_fail_errno(err, errno, f->name,
				     link ? "the journal names this, but it is a symbolic link"
					  : "the journal names this file, but it cannot be opened");
	rc->n_open++;
	if (fstat(f->fd, &st) != 0)
		return gq_fail_errno(err, errno, f->name, "cannot look at the file");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_ino != f->ino || (uint64_t)st.st_size != f->size)
		return gq_recovery_fail(f->name, err,
					"this is not the file that the journal is about, but a copy or another one");
	return GPTQ_OK;
}

enum gptq_status gq_recovery_file(struct gq_recovery *rc, const struct gq_journal *j,
				  const struct gq_recovered_file **file, struct gptq_error *err)
{
	const struct gq_record *r = &j->record;

	if (r->file >= rc->n_files)
		return gq_journal_damaged(j, "a span outside its file", err);
	*file = &rc->files[r->file];
	return open_again(rc, &rc->files[r->file], err);
}

/* ---------------------------------------------------------------------------------------------------- configs */

/* What the config says now: -1 neither, 0 the old text, 1 the new one. */
static enum gptq_status config_state(struct gq_recovery *rc, const struct gq_journal *j, const unsigned char *old_text,
				     const unsigned char *new_text, int *state, struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	char *path = gq_path_join(rc->place->dir, r->name), *text = NULL;
	enum gptq_status status = path ? GPTQ_OK : gq_fail_nomem(err);
	size_t size = 0;

	*state = -1;
	if (status == GPTQ_OK)
		status = gq_read_file(path, GQ_CONFIG_MAX_BYTES, &text, &size, err);
	if (status == GPTQ_OK) {
		if (size == r->old_size && memcmp(text, old_text, size) == 0)
			*state = 0;
		else if (size == r->new_size && memcmp(text, new_text, size) == 0)
			*state = 1;
	}
	gq_free(text);
	gq_free(path);
	return status;
}

/* The new text under a temporary name, synced and renamed. */
static enum gptq_status replace_config(struct gq_recovery *rc, const struct gq_record *r, const unsigned char *text,
				       size_t n, struct gptq_error *err)
{
	int dir = rc->place->dir_fd, fd;
	enum gptq_status status;

	if (unlinkat(dir, GQ_JOURNAL_CONFIG_TEMP, 0) != 0 && errno != ENOENT)
		return gq_fail_errno(err, errno, r->name, "cannot remove what an interrupted run left of it");
	fd = openat(dir, GQ_JOURNAL_CONFIG_TEMP, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return gq_fail_errno(err, errno, r->name, "cannot create its new text");
	status = gq_pwrite_all(fd, text, n, 0, r->name, "cannot write its new text", err);
	if (status == GPTQ_OK && fchmod(fd, r->mode & 07777) != 0)
		status = gq_fail_errno(err, errno, r->name, "cannot give it the permissions that it had");
	if (status == GPTQ_OK)
		status = gq_fsync(fd, r->name, err);
	if (close(fd) != 0 && status == GPTQ_OK)
		status = gq_fail_errno(err, errno, r->name, "cannot write its new text");
	if (status == GPTQ_OK && renameat(dir, GQ_JOURNAL_CONFIG_TEMP, dir, r->name) != 0)
		status = gq_fail_errno(err, errno, r->name, "cannot put its new text into place");
	if (status != GPTQ_OK)
		unlinkat(dir, GQ_JOURNAL_CONFIG_TEMP, 0);
	rc->n_bytes_written += n;
	return status;
}

static enum gptq_status do_config(struct gq_recovery *rc, const struct gq_journal *j, bool check,
				  struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	const unsigned char *old_text = r->payload, *new_text = r->payload + r->old_size;
	enum gq_config_kind kind;
	enum gptq_status status;
	int state;

	if (!gq_config_known_name(r->name, &kind) || rc->place->file)
		return gq_journal_damaged(j, "a text that is no config", err);
	status = check ? gq_recovery_plan_config(rc, j, err) : GPTQ_OK;
	if (status == GPTQ_OK)
		status = gq_recovery_check_states(j, old_text, new_text, err);
	if (status != GPTQ_OK)
		return status;
	status = config_state(rc, j, old_text, new_text, &state, err);
	if (status == GPTQ_OK && state < 0)
		status = gq_recovery_fail(r->name, err,
					  "this is neither the text that the journal saved nor the one that it was to "
					  "write: something else has changed it since");
	else if (status == GPTQ_OK && !check && state != !rc->undo)
		status = rc->undo ? replace_config(rc, r, old_text, (size_t)r->old_size, err)
				  : replace_config(rc, r, new_text, (size_t)r->new_size, err);
	rc->n_texts += !check;
	return status;
}

/* ------------------------------------------------------------------------------------------------------ files */

/* CRC-32 of the length and the header, the label's span left out. */
static enum gptq_status check_header(const struct gq_journal *j, int fd, struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	unsigned char *header;
	enum gptq_status status;
	uint32_t crc;

	if (r->header_size > r->size || r->label_begin < 8 ||
	    !gq_span_ok(r->label_begin, r->label_size, r->header_size))
		return gq_journal_damaged(j, "a header outside its file", err);
	header = gq_malloc_array((size_t)r->header_size, 1);
	if (!header)
		return gq_fail_nomem(err);
	status = gq_pread_full(fd, header, (size_t)r->header_size, 0, r->name, err);
	if (status == GPTQ_OK && gq_load_le(header, 8) != r->header_size - 8)
		status = gq_journal_damaged(j, "a header that ends where its file's does not", err);
	crc = gq_journal_header_crc((const char *)header + 8, r);
	gq_free(header);
	if (status == GPTQ_OK && crc != r->header_crc)
		status = gq_recovery_fail(r->name, err, "the header is not the one that the journal is about");
	return status;
}

/* Opens a file that the journal names and makes sure that it is that very file. */
static enum gptq_status open_file(struct gq_recovery *rc, const struct gq_journal *j, struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	struct gq_recovered_file *grown = gq_realloc_array(rc->files, rc->n_files + 1, sizeof(*grown)), *f;
	enum gptq_status status;

	if (!grown)
		return gq_fail_nomem(err);
	rc->files = grown;
	f = &rc->files[rc->n_files++];
	*f = (struct gq_recovered_file){.fd = -1,
					.size = r->size,
					.ino = r->ino,
					.header_size = r->header_size,
					.label_begin = r->label_begin,
					.label_size = r->label_size,
					.name = gq_strdup(r->name)};
	if (!f->name)
		return gq_fail_nomem(err);
	if (rc->place->file && strcmp(rc->place->file, r->name) != 0)
		return gq_journal_damaged(j, "it is about another file", err);
	status = open_again(rc, f, err);
	return status == GPTQ_OK ? check_header(j, f->fd, err) : status;
}

void gq_recovery_free(struct gq_recovery *rc)
{
	close_files(rc);
	for (size_t i = 0; i < rc->n_files; i++)
		gq_free(rc->files[i].name);
	gq_free(rc->files);
	gq_free(rc->planned);
	rc->files = NULL;
	rc->planned = NULL;
	rc->n_files = rc->n_planned = rc->room_planned = 0;
}

/* ----------------------------------------------------------------------------------------------- several at once */

#define AT_ONCE 8 /* records */
_Static_assert(AT_ONCE <= MAX_OPEN, "each of them may be of another file");

/* Records of zero points in the hands of several threads: their places differ, or they say the same. */
struct some_zeros {
	struct gq_recovery *rc;
	struct gq_journal records[AT_ONCE];
	uint64_t n_bytes_written[AT_ONCE], n_zeros_verified[AT_ONCE];
	uint64_t size; /* of their payloads */
	size_t n;
};

static enum gptq_status write_one(void *ctx, size_t item, struct gq_work *work, unsigned worker, struct gptq_error *err)
{
	struct some_zeros *some = ctx;
	struct gq_recovery own = *some->rc; /* results apart; files are open and stay so */
	enum gptq_status status;

	(void)work;
	(void)worker;
	own.n_bytes_written = own.n_zeros_verified = 0;
	status = gq_recovery_spans(&own, &some->records[item], false, err);
	some->n_bytes_written[item] = own.n_bytes_written;
	some->n_zeros_verified[item] = own.n_zeros_verified;
	return status;
}

/* Writes what was taken, unless something has failed already, and forgets it. */
static enum gptq_status write_some(struct some_zeros *some, enum gptq_status status, struct gptq_error *err)
{
	struct gq_recovery *rc = some->rc;
	unsigned n_threads = gq_work_threads(rc->n_threads ? rc->n_threads : 1, some->n);

	if (some->n && status == GPTQ_OK)
		status = gq_work_run(some->n, n_threads, write_one, some, NULL, 0, err);
	for (size_t i = 0; i < some->n; i++) {
		gq_journal_drop_taken(&some->records[i]);
		rc->n_bytes_written += some->n_bytes_written[i];
		rc->n_zeros_verified += some->n_zeros_verified[i];
		some->n_bytes_written[i] = some->n_zeros_verified[i] = 0;
	}
	some->n = 0;
	some->size = 0;
	return status;
}

static enum gptq_status take_zeros(struct some_zeros *some, struct gq_journal *j, struct gptq_error *err)
{
	const struct gq_recovered_file *f;
	enum gptq_status status;

	if (some->n == 0 && some->rc->n_open + AT_ONCE > MAX_OPEN)
		close_files(some->rc); /* not between one of these and the next */
	status = gq_recovery_file(some->rc, j, &f, err);
	if (status != GPTQ_OK)
		return status;
	some->size += j->record.payload_size;
	gq_journal_take(j, &some->records[some->n++]);
	return some->n == AT_ONCE || some->size >= GQ_JOURNAL_AT_ONCE ? write_some(some, status, err) : status;
}

/* --------------------------------------------------------------------------------------------------- the passes */

static enum gptq_status do_record(struct some_zeros *some, struct gq_journal *j, bool check, struct gptq_error *err)
{
	struct gq_recovery *rc = some->rc;
	const struct gq_record *r = &j->record;

	switch (r->kind) {
	case GQ_RECORD_PLAN:
		rc->from = r->from;
		rc->to = r->to;
		rc->style = r->style;
		rc->relabel = r->mode != 0;
		return GPTQ_OK;
	case GQ_RECORD_FILE:
		return check ? open_file(rc, j, err) : GPTQ_OK;
	case GQ_RECORD_ZEROS:
		return check ? gq_recovery_spans(rc, j, true, err) : take_zeros(some, j, err);
	case GQ_RECORD_HEADER:
		return gq_recovery_spans(rc, j, check, err);
	case GQ_RECORD_CONFIG:
		return do_config(rc, j, check, err);
	case GQ_RECORD_END:
		break;
	}
	return GPTQ_OK;
}

static enum gptq_status sync_files(struct gq_recovery *rc, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < rc->n_files && status == GPTQ_OK; i++) {
		status = open_again(rc, &rc->files[i], err);
		if (status == GPTQ_OK)
			status = gq_fsync(rc->files[i].fd, rc->files[i].name, err);
	}
	return status;
}

/* Records from the next one on, up to those of the kind `last`. The next walk goes on behind them. */
static enum gptq_status walk(struct gq_recovery *rc, struct gq_journal *j, bool check, enum gq_record_kind last,
			     struct gptq_error *err)
{
	struct some_zeros some = {.rc = rc};
	struct gq_journal_mark mark;
	enum gptq_status status;

	do {
		gq_journal_mark(j, &mark);
		status = gq_check_cancel(rc->hooks, err);
		if (status == GPTQ_OK)
			status = gq_journal_next(j, err);
		if (status == GPTQ_OK && j->record.kind > last) {
			gq_journal_return(j, &mark);
			break;
		}
		if (status == GPTQ_OK)
			status = do_record(&some, j, check, err);
	} while (status == GPTQ_OK && j->record.kind != GQ_RECORD_END);
	return write_some(&some, status, err);
}

enum gptq_status gq_recovery_check(struct gq_recovery *rc, bool files_only, struct gptq_error *err)
{
	struct gq_journal j;
	enum gptq_status status = gq_journal_open(rc->place->dir_fd, rc->place->dir, rc->place->journal, &j, err);

	if (status != GPTQ_OK)
		return status;
	status = walk(rc, &j, true, files_only ? GQ_RECORD_FILE : GQ_RECORD_END, err);
	if (status == GPTQ_OK)
		status = gq_recovery_check_plan(rc, &j, err);
	gq_journal_close(&j);
	return status;
}

static enum gptq_status remove_journal(struct gq_recovery *rc, struct gptq_error *err)
{
	const struct gq_place *p = rc->place;

	if (unlinkat(p->dir_fd, GQ_JOURNAL_CONFIG_TEMP, 0) != 0 && errno != ENOENT)
		return gq_fail_errno(err, errno, p->dir, "cannot remove what an interrupted run left");
	if (unlinkat(p->dir_fd, p->journal, 0) != 0)
		return gq_fail_errno(err, errno, p->dir, "cannot remove the journal");
	return gq_fsync(p->dir_fd, p->dir, err);
}

enum gptq_status gq_recovery_run(struct gq_recovery *rc, bool *begun, struct gptq_error *err)
{
	struct gq_journal j;
	enum gptq_status status = gq_journal_open(rc->place->dir_fd, rc->place->dir, rc->place->journal, &j, err);

	*begun = status == GPTQ_OK;
	if (status != GPTQ_OK)
		return status;
	/* What goes before a kind of label is synced, and zero points are verified. */
	status = walk(rc, &j, false, GQ_RECORD_ZEROS, err);
	if (status == GPTQ_OK)
		status = sync_files(rc, err);
	if (status == GPTQ_OK)
		status = walk(rc, &j, false, GQ_RECORD_HEADER, err);
	if (status == GPTQ_OK)
		status = sync_files(rc, err);
	if (status == GPTQ_OK)
		status = walk(rc, &j, false, GQ_RECORD_CONFIG, err);
	if (status == GPTQ_OK)
		status = gq_fsync(rc->place->dir_fd, rc->place->dir, err);
	gq_journal_close(&j);
	return status == GPTQ_OK ? remove_journal(rc, err) : status;
}
