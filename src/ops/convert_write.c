/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing OUT under its temporary name. First the folders, then the files, the largest first, in several threads: each
 * writes one file after the other. What was written is noted in the order of names, whoever wrote it when.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "ops/convert_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_THREADS 4 /* unless told otherwise: more do not make a disk faster */

struct writing {
	struct gq_conversion *cv;
	struct gq_writer *writers; /* one a thread */
	struct gq_written **order; /* the files, the largest first */
};

/* A new file for writing, created with the mode that umask gives. */
static enum gptq_status create(const char *path, int *fd, struct gptq_error *err)
{
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	return *fd >= 0 ? GPTQ_OK : gq_fail_errno(err, errno, path, "cannot create the file");
}

/* Syncs and closes; a failure of either is a failure of the write. Closes also when status is one already. */
static enum gptq_status finish(int fd, const struct gq_written *f, const char *path, enum gptq_status status,
			       struct gptq_error *err)
{
	if (status == GPTQ_OK)
		status = gq_fsync(fd, path, err);
	if (f->unit && f->n_shared)
		gq_copy_sparingly(fd, false);
	if (close(fd) != 0 && status == GPTQ_OK)
		status = gq_fail_errno(err, errno, path, "cannot write the file to disk");
	return status;
}

/* ------------------------------------------------------------------------------------------------- one file */

static enum gptq_status changed_meanwhile(const struct gq_tree_entry *e, int src, const char *from,
					  struct gptq_error *err)
{
	enum gptq_status status;
	struct stat st;

	if (fstat(src, &st) != 0)
		return gq_fail_errno(err, errno, from, "cannot look at the file");
	if ((uint64_t)st.st_size == e->size && (uint64_t)st.st_dev == e->dev && (uint64_t)st.st_ino == e->ino &&
	    gq_time_ns(st.st_mtim) == e->mtime_ns && gq_time_ns(st.st_ctim) == e->ctime_ns)
		return GPTQ_OK;
	status = gq_fail(err, GPTQ_E_IO, "the file changed while it was being copied");
	gq_error_file(err, from);
	return status;
}

/* A file that stays as it is. */
static enum gptq_status copy_file(struct gq_writer *w, struct gq_written *f, int dst, struct gptq_error *err)
{
	char *from = gq_path_join(w->cv->units[0].source.dir, f->entry->path);
	enum gptq_status status = from ? GPTQ_OK : gq_fail_nomem(err);
	bool shared = false;
	int src = -1;

	if (status == GPTQ_OK)
		status = gq_open_read(from, &src, &f->size, err);
	if (status == GPTQ_OK)
		status = changed_meanwhile(f->entry, src, from, err);
	if (status != GPTQ_OK)
		goto out;
	shared = gq_copy_clone(src, dst, f->size);
	f->n_shared = shared ? f->size : 0;
	if (!shared)
		status = gq_copy_reserve(dst, f->size, w->watch.file, err);
	if (status == GPTQ_OK && shared && !w->watch.digest)
		status = gq_copy_advance(&w->watch, f->size, err);
	else if (status == GPTQ_OK)
		status = gq_copy_range(src, 0, shared ? -1 : dst, 0, f->size, &w->watch, err);
	if (status == GPTQ_OK)
		status = changed_meanwhile(f->entry, src, from, err);
out:
	if (src >= 0)
		close(src);
	gq_free(from);
	return status;
}

/* A config with new labels, made of the text that was read before. */
static enum gptq_status put_text(struct gq_writer *w, struct gq_written *f, const struct gq_new_text *text, int dst,
				 struct gptq_error *err)
{
	char *from = gq_path_join(w->cv->units[0].source.dir, f->entry->path);
	enum gptq_status status = from ? GPTQ_OK : gq_fail_nomem(err);
	uint64_t size;
	int src = -1;

	if (status == GPTQ_OK)
		status = gq_copy_put(dst, text->data, text->size, 0, &w->watch, err);
	if (status == GPTQ_OK)
		status = gq_open_read(from, &src, &size, err);
	if (status == GPTQ_OK)
		status = changed_meanwhile(f->entry, src, from, err);
	if (src >= 0)
		close(src);
	gq_free(from);
	return status;
}

static enum gptq_status fill(struct gq_writer *w, struct gq_written *f, int dst, struct gptq_error *err)
{
	const struct gq_new_text *text = f->entry ? gq_text_of_file(w->cv, f->name) : NULL;

	if (f->unit)
		return gq_write_shard(w, f->unit, f->shard, dst, f, err);
	if (!text)
		return copy_file(w, f, dst, err);
	f->size = f->n_rewritten = text->size;
	return put_text(w, f, text, dst, err);
}

static enum gptq_status write_file(struct gq_writer *w, struct gq_written *f, struct gptq_error *err)
{
	const char *temp = w->cv->output.temp_path;
	char *path = f->entry ? gq_path_join(temp, f->name) : gq_strdup(temp);
	struct gq_sha256 *digest = w->cv->options->manifest ? &w->digest : NULL;
	enum gptq_status status = path ? GPTQ_OK : gq_fail_nomem(err);
	uint64_t copied = w->watch.n_copied;
	int dst;

	gq_copy_begin(&w->watch, f->name, digest);
	if (status == GPTQ_OK && digest)
		status = gq_sha256_begin(digest, err);
	if (status == GPTQ_OK)
		status = create(path, &dst, err);
	if (status == GPTQ_OK)
		status = finish(dst, f, path, fill(w, f, dst, err), err);
	if (status == GPTQ_OK && digest)
		status = gq_sha256_end(digest, f->sha256, err);
	f->n_copied = w->watch.n_copied - copied;
	gq_free(path);
	return status;
}

/* --------------------------------------------------------------------------------------------------- all files */

static enum gptq_status write_item(void *ctx, size_t item, struct gq_work *work, unsigned worker,
				   struct gptq_error *err)
{
	struct writing *writing = ctx;
	struct gq_writer *w = &writing->writers[worker];
	enum gptq_status status;

	w->watch.work = work;
	w->watch.worker = worker;
	status = gq_work_tick(work, worker, 0, writing->order[item]->name, err);
	if (status == GPTQ_OK)
		status = write_file(w, writing->order[item], err);
	if (status != GPTQ_OK && status != GPTQ_E_CANCELLED)
		gq_work_abandon(work);
	return status;
}

static int largest_first(const void *a, const void *b)
{
	const struct gq_written *x = *(struct gq_written *const *)a, *y = *(struct gq_written *const *)b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return strcmp(x->name, y->name);
}

unsigned gq_convert_threads(unsigned jobs)
{
	unsigned n = gq_work_threads(jobs, SIZE_MAX);

	return n < MAX_THREADS || jobs ? n : MAX_THREADS;
}

static unsigned threads_for(const struct gq_conversion *cv)
{
	size_t n_shards = 0;

	for (size_t i = 0; i < cv->n_written; i++)
		n_shards += cv->written[i].unit != NULL;
	return gq_work_threads(gq_convert_threads(cv->options->jobs), cv->options->jobs ? cv->n_written : n_shards);
}

static enum gptq_status write_files(struct gq_conversion *cv, struct gptq_error *err)
{
	struct writing w = {.cv = cv};
	unsigned n = cv->report->jobs = threads_for(cv);
	enum gptq_status status;

	w.writers = gq_calloc(n, sizeof(*w.writers));
	w.order = gq_malloc_array(cv->n_written, sizeof(struct gq_written *));
	status = w.writers && w.order ? GPTQ_OK : gq_fail_nomem(err);
	if (status == GPTQ_OK) {
		for (unsigned i = 0; i < n; i++)
			w.writers[i].cv = cv;
		for (size_t i = 0; i < cv->n_written; i++)
			w.order[i] = &cv->written[i];
		qsort(w.order, cv->n_written, sizeof(struct gq_written *), largest_first);
		gq_progress_write(cv);
		status = gq_work_run(cv->n_written, n, write_item, &w, cv->options->hooks, cv->report->n_bytes, err);
		gq_progress_step(&cv->progress, cv->report->n_bytes, 0);
	}
	for (unsigned i = 0; i < n && w.writers; i++) {
		gq_copy_free(&w.writers[i].watch);
		gq_sha256_free(&w.writers[i].digest);
		gq_free(w.writers[i].rows);
	}
	gq_free(w.writers);
	gq_free(w.order);
	return status;
}

static void add_file(struct gq_conversion *cv, const char *name, const struct gq_tree_entry *e, uint64_t size)
{
	struct gq_written *f = &cv->written[cv->n_written++];

	*f = (struct gq_written){.name = name, .entry = e, .size = size};
	if (e)
		f->unit = gq_unit_of_file(cv, name, &f->shard);
	else
		f->unit = &cv->units[0];
}

/* Makes a folder, or notes a file. */
static enum gptq_status begin_entry(struct gq_conversion *cv, const struct gq_tree_entry *e, struct gptq_error *err)
{
	enum gptq_status status = gq_check_cancel(cv->options->hooks, err);
	bool left_out = false;
	char *path;

	if (status != GPTQ_OK)
		return status;
	if (!e->is_dir) {
		status = gq_is_left_out(cv, e->path, &left_out, err);
		if (status == GPTQ_OK && !left_out)
			add_file(cv, e->path, e, e->size);
		return status;
	}
	path = gq_path_join(cv->output.temp_path, e->path);
	if (!path)
		return gq_fail_nomem(err);
	if (mkdir(path, 0777) != 0)
		status = gq_fail_errno(err, errno, path, "cannot create the folder");
	gq_free(path);
	return status;
}

enum gptq_status gq_convert_write(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	struct gptq_convert_report *r = cv->report;
	enum gptq_status status = GPTQ_OK;

	cv->written = gq_calloc(s->tree.n_entries + 1, sizeof(*cv->written));
	if (!cv->written)
		return gq_fail_nomem(err);
	if (s->file)
		add_file(cv, s->file, NULL, s->shards.items[0].size);
	for (size_t i = 0; i < s->tree.n_entries && status == GPTQ_OK; i++)
		status = begin_entry(cv, &s->tree.entries[i], err);
	if (status == GPTQ_OK)
		status = write_files(cv, err);
	r->n_files = cv->n_written;
	for (size_t i = 0; i < cv->n_written; i++) {
		r->n_shards += cv->written[i].unit != NULL;
		r->n_bytes_rewritten += cv->written[i].n_rewritten;
		r->n_bytes_copied += cv->written[i].n_copied;
		r->n_bytes_cloned += cv->written[i].n_shared;
	}
	return status;
}
