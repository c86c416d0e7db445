/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converting where the checkpoint lies: lock, decide as always, make sure that every file may be changed, write the
 * journal, then do what it says (recover.c). A journal that is there already is dealt with first.
 */
#define _GNU_SOURCE /* realpath */
#include "base/checked.h"
#include "base/mem.h"
#include "base/output.h"
#include "ops/convert_internal.h"
#include "ops/inplace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------- may it be changed at all? */

static enum gptq_status refuse(const char *file, struct gptq_error *err, enum gptq_status status, const char *what)
{
	status = gq_fail(err, status, "%s", what);
	gq_error_file(err, file);
	return status;
}

/* models--ORG--NAME/blobs/HASH, by whatever name it was reached. */
static bool is_hub_blob(const char *path)
{
	char *real = realpath(path, NULL), *up, *repo;
	bool blob = false;

	if (real && (up = strrchr(real, '/'))) {
		*up = '\0';
		repo = strrchr(real, '/');
		if (repo && strcmp(repo, "/blobs") == 0) {
			*repo = '\0';
			repo = strrchr(real, '/');
			blob = repo && (strncmp(repo, "/models--", 9) == 0 || strncmp(repo, "/datasets--", 11) == 0);
		}
	}
	free(real);
	return blob;
}

static enum gptq_status check_file(const struct gq_conversion *cv, const struct gq_place *place, const char *name,
				   const char *path, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct stat st;
	bool link;
	int fd;

	if (is_hub_blob(path))
		return refuse(
			path, err, GPTQ_E_REFUSED,
			"this lies in a hub cache, where a file is named by its hash and shared: convert into a new "
			"place");
	fd = gq_open_beneath(place->dir_fd, name, &link);
	if (fd < 0 && link)
		return refuse(
			path, err, GPTQ_E_REFUSED,
			"a symbolic link, as in a hub cache, and nothing is written through a link: convert into a "
			"new place");
	if (fd < 0)
		return gq_fail_errno(err, errno, path, "cannot open it for writing");
	if (fstat(fd, &st) != 0)
		status = gq_fail_errno(err, errno, path, "cannot look at the file");
	else if (!(st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
		status = gq_fail_errno(err, EACCES, path, "the file is read-only");
	else if (st.st_nlink > 1 && !cv->options->force) {
		status = refuse(path, err, GPTQ_E_REFUSED,
				"the file has other names (hard links), and what they are part of would change with "
				"it: convert "
				"into a new place, or --force to change all of them");
		gq_error_found(err, "%llu names", (unsigned long long)st.st_nlink);
		gq_error_expected(err, "1");
	}
	close(fd);
	return status;
}

static enum gptq_status check_text(const struct gq_place *place, const struct gq_new_text *t, struct gptq_error *err)
{
	struct stat st;

	if (fstatat(place->dir_fd, t->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return gq_fail_errno(err, errno, t->name, "cannot look at the file");
	if (S_ISLNK(st.st_mode))
		return refuse(
			t->name, err, GPTQ_E_REFUSED,
			"a symbolic link, as in a hub cache, and nothing is written through a link: convert into a "
			"new place");
	if (!(st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
		return gq_fail_errno(err, EACCES, t->name, "the file is read-only");
	return GPTQ_OK;
}

/* Files and texts that change, and whether they may. */
static enum gptq_status check_targets(struct gq_conversion *cv, const struct gq_place *place, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct gq_target t;

	for (bool more = gq_target_first(cv, place, &t); more && status == GPTQ_OK;
	     more = gq_target_next(cv, place, &t)) {
		struct gq_buf header = {0};
		const struct gq_shard *s = &t.unit->source.shards.items[t.shard];

		status = gq_new_header(cv, t.unit, t.shard, &header, err);
		if (status == GPTQ_OK && header.size > s->st->header_size)
			status = refuse(s->path, err, GPTQ_E_REFUSED,
					"the header has no room for the longer label, and in place it cannot grow: "
					"convert into "
					"a new place");
		if (status == GPTQ_OK && (header.size || gq_target_zeros(cv, &t))) {
			status = check_file(cv, place, t.name, s->path, err);
			cv->report->n_files++;
			cv->report->n_shards++;
			cv->report->n_bytes_rewritten += gq_target_zeros(cv, &t);
		}
		gq_buf_free(&header);
	}
	for (size_t i = 0; i < cv->n_texts && status == GPTQ_OK; i++) {
		if (!cv->texts[i].changed)
			continue;
		status = check_text(place, &cv->texts[i], err);
		cv->report->n_files++;
	}
	if (status == GPTQ_OK && cv->report->n_files && faccessat(place->dir_fd, ".", W_OK | X_OK, 0) != 0)
		status = gq_fail_errno(err, errno, place->dir, "no journal can be written into the folder");
	cv->report->n_bytes = cv->report->n_bytes_rewritten;
	return status;
}

/* ----------------------------------------------------------------------------------------------------- recovery */

static enum gptq_status foreign_wish(const char *what, struct gptq_error *err)
{
	return gq_fail(err, GPTQ_E_ARG,
		       "an interrupted in-place conversion is here, and it was started with another %s: finish it with "
		       "--in-place alone, or undo it with --rollback",
		       what);
}

/* The same options as then, or none at all. */
static enum gptq_status check_wishes(const struct gq_recovery *rc, const struct gptq_convert_options *o,
				     struct gptq_error *err)
{
	if (!o || (!o->to && !o->relabel))
		return GPTQ_OK;
	if (o->relabel != rc->relabel || (o->to && o->to != rc->to))
		return foreign_wish("target", err);
	if (o->from && rc->from && o->from != rc->from)
		return foreign_wish("--from", err);
	if (o->v1_style && o->v1_style != rc->style)
		return foreign_wish("--v1-style", err);
	return GPTQ_OK;
}

/* What went wrong, and that the journal waits. */
static void tell_half_done(struct gptq_error *err)
{
	if (err && err->status == GPTQ_E_CANCELLED)
		gq_fail(err, GPTQ_E_CANCELLED, "stopped on request");
	gq_say_half_done(err);
}

static enum gptq_status recover(const struct gq_place *place, bool undo, const struct gptq_convert_options *o,
				const struct gptq_hooks *hooks, struct gptq_convert_report *r, struct gptq_error *err)
{
	struct gq_recovery rc = {.place = place, .undo = undo, .hooks = hooks};
	enum gptq_status status = gq_recovery_check(&rc, false, err);
	bool begun = false;

	if (status == GPTQ_OK)
		status = check_wishes(&rc, o, err);
	if (status == GPTQ_OK && !(o && o->dry_run)) {
		status = gq_recovery_run(&rc, &begun, err);
		if (status != GPTQ_OK && begun)
			tell_half_done(err);
	}
	r->in_place = true;
	r->recovery = undo ? GPTQ_RECOVERY_UNDONE : GPTQ_RECOVERY_FINISHED;
	r->dry_run = o && o->dry_run;
	r->from = rc.from;
	r->to = rc.to;
	r->relabelled = rc.relabel;
	r->n_shards = rc.n_files;
	r->n_files = rc.n_files + rc.n_texts;
	r->n_bytes = rc.n_bytes_written;
	r->n_zeros_verified = rc.n_zeros_verified;
	gq_recovery_free(&rc);
	gq_error_file(status == GPTQ_OK ? NULL : err, place->dir);
	return status;
}

/* ------------------------------------------------------------------------------------------------------- all */

static enum gptq_status carry_out(struct gq_conversion *cv, const struct gq_place *place, struct gptq_error *err)
{
	struct gq_recovery rc = {
		.place = place, .n_threads = gq_convert_threads(cv->options->jobs), .hooks = cv->options->hooks};
	struct gptq_convert_report *r = cv->report;
	uint64_t journal_size;
	bool begun = false;
	enum gptq_status status = gq_inplace_journal(cv, place, &journal_size, err);

	if (status != GPTQ_OK)
		return status;
	status = gq_recovery_check(&rc, true, err);
	if (status == GPTQ_OK)
		status = gq_recovery_run(&rc, &begun, err);
	if (status != GPTQ_OK && begun)
		tell_half_done(err);
	else if (status != GPTQ_OK)
		unlinkat(place->dir_fd, place->journal, 0); /* nothing has changed yet */
	r->n_bytes = journal_size + rc.n_bytes_written;
	r->n_zeros_verified = rc.n_zeros_verified;
	gq_recovery_free(&rc);
	return status;
}

static enum gptq_status convert_here(const char *path, const struct gq_place *place,
				     const struct gptq_convert_options *options, struct gptq_convert_report **report,
				     struct gptq_error *err)
{
	struct gq_conversion cv = {.options = options, .in = path, .in_place = true};
	enum gptq_status status = gq_convert_start(&cv, err);

	if (status == GPTQ_OK)
		status = gq_convert_decide(&cv, err);
	if (status == GPTQ_OK)
		status = check_targets(&cv, place, err);
	if (cv.report)
		gq_phase(&cv, GPTQ_PHASE_WRITE);
	if (status == GPTQ_OK && !options->dry_run && cv.report->n_files)
		status = carry_out(&cv, place, err);
	if (cv.report) {
		gq_phase(&cv, GPTQ_PHASE_FINISH);
		cv.report->in_place = true;
	}
	gq_convert_free(&cv);
	*report = cv.report;
	return status;
}

enum gptq_status gptq_convert_in_place(const char *path, const struct gptq_convert_options *options,
				       struct gptq_convert_report **report, struct gptq_error *err)
{
	struct gptq_convert_report *r = NULL;
	enum gptq_status status = GPTQ_OK;
	struct gq_place place;
	bool finish, has;

	if (report)
		*report = NULL;
	if (!path || !options)
		return gq_fail(err, GPTQ_E_ARG, "path and options must not be NULL");
	finish = options->struct_size == sizeof(*options) && !options->to && !options->relabel;
	if (!finish)
		status = gq_convert_check_options(options, err);
	if (status == GPTQ_OK && options->verify_weights)
		status = gq_fail(
			err, GPTQ_E_ARG,
			"--verify=weights compares two checkpoints, and in place there is only one; compare with "
			"gptq-verify and a copy");
	if (status == GPTQ_OK && options->manifest)
		status = gq_fail(
			err, GPTQ_E_ARG,
			"a manifest is made of bytes as they are written, and in place most are not: run sha256sum "
			"afterwards");
	if (status == GPTQ_OK)
		status = gq_place_open(path, &place, err);
	if (status != GPTQ_OK)
		return status;
	status = gq_place_has_journal(&place, &has, err);
	if (status == GPTQ_OK && has) {
		r = gq_calloc(1, sizeof(*r));
		status = r ? recover(&place, false, options, options->hooks, r, err) : gq_fail_nomem(err);
	} else if (status == GPTQ_OK && finish) {
		status = refuse(path, err, GPTQ_E_ARG,
				"no interrupted conversion is here to be finished; --to v1 or --to v2 "
				"starts one");
	} else if (status == GPTQ_OK) {
		status = convert_here(path, &place, options, &r, err);
	}
	gq_place_close(&place);
	if (status == GPTQ_OK && report)
		*report = r;
	else
		gptq_convert_report_free(r);
	return status;
}

enum gptq_status gptq_convert_rollback(const char *path, const struct gptq_hooks *hooks,
				       struct gptq_convert_report **report, struct gptq_error *err)
{
	struct gptq_convert_report *r = NULL;
	struct gq_place place;
	enum gptq_status status;
	bool has;

	if (report)
		*report = NULL;
	if (!path)
		return gq_fail(err, GPTQ_E_ARG, "path must not be NULL");
	status = gq_place_open(path, &place, err);
	if (status != GPTQ_OK)
		return status;
	status = gq_place_has_journal(&place, &has, err);
	if (status == GPTQ_OK && !has)
		status = refuse(path, err, GPTQ_E_NOTFOUND, "no interrupted conversion is here to be undone");
	if (status == GPTQ_OK) {
		r = gq_calloc(1, sizeof(*r));
		status = r ? recover(&place, true, NULL, hooks, r, err) : gq_fail_nomem(err);
	}
	gq_place_close(&place);
	if (status == GPTQ_OK && report)
		*report = r;
	else
		gptq_convert_report_free(r);
	return status;
}
