/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest: a line for each file of OUT as sha256sum writes and reads it, in the order of names. The digests were
 * taken of the bytes on their way out (convert_write.c, stream_pipe.c).
 */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSIDE "SHA256SUMS"

static enum gptq_status wrong_place(const char *path, const char *what, struct gptq_error *err)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_ARG, "%s", what);

	gq_error_file(err, path);
	return status;
}

/* Do both name one place, whether anything is there or not? */
static bool same_place(const char *a, const char *b)
{
	char *up_a = gq_parent_dir(a), *up_b = gq_parent_dir(b);
	struct stat st_a, st_b;
	bool same = false;

	if (stat(a, &st_a) == 0 && stat(b, &st_b) == 0)
		same = st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
	else if (up_a && up_b && stat(up_a, &st_a) == 0 && stat(up_b, &st_b) == 0)
		same = st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino &&
		       strcmp(gq_path_base(a), gq_path_base(b)) == 0;
	gq_free(up_a);
	gq_free(up_b);
	return same;
}

/* A place that was asked for: not in IN, not in OUT, and none of both. */
static enum gptq_status check_given(const struct gq_conversion *cv, const char *out, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	const char *path = cv->manifest_path;
	size_t n = out ? strlen(out) : 0;

	if (s->dir && !s->file && (gq_is_inside(path, s->dir) || gq_is_inside(path, s->path)))
		return wrong_place(path, "the manifest would lie inside the input; choose another place", err);
	if (cv->in && s->file && same_place(path, cv->in))
		return wrong_place(path, "the manifest is the input; choose another place", err);
	if (gq_source_reaches(s, path, cv->options->config))
		return wrong_place(path, "the manifest is, or lies in, something that the input leads to; choose another place",
				   err);
	if (out && same_place(path, out))
		return wrong_place(path, "the manifest is the output; choose another place", err);
	while (n > 1 && out[n - 1] == '/')
		n--;
	if (out && cv->in && !s->file && ((strncmp(path, out, n) == 0 && path[n] == '/') || gq_is_inside(path, out)))
		return wrong_place(path, "the manifest would lie inside the output; without a FILE it is SHA256SUMS there",
				   err);
	return GPTQ_OK;
}

/* What is there may be replaced if it is a file and --force is given. */
static enum gptq_status check_old(const struct gq_conversion *cv, struct gptq_error *err)
{
	const char *path = cv->manifest_path;
	struct stat st;

	if (lstat(path, &st) != 0 || S_ISLNK(st.st_mode))
		return gq_output_check(path, false, cv->options->force, err); /* which says what is wrong, if anything is */
	if (!S_ISREG(st.st_mode))
		return wrong_place(path, "the manifest's place is taken by something that is no file", err);
	if (!cv->options->force)
		return wrong_place(path, "the manifest exists already; --force replaces it", err);
	return gq_output_check(path, false, true, err);
}

static enum gptq_status check_inside(const struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_tree *tree = &cv->units[0].source.tree;

	for (size_t i = 0; i < tree->n_entries; i++)
		if (tree->entries[i].is_dir && strcmp(tree->entries[i].path, INSIDE) == 0)
			return wrong_place(cv->manifest_path, "a folder of the input has the manifest's name; give it a FILE",
					   err);
	return GPTQ_OK;
}

enum gptq_status gq_manifest_place(struct gq_conversion *cv, const char *out, struct gptq_error *err)
{
	const struct gptq_convert_options *o = cv->options;
	bool folder = !cv->units[0].source.file;
	struct gq_buf path = {0};
	enum gptq_status status;

	if (!o->manifest)
		return GPTQ_OK;
	if (!o->manifest_path && !out)
		return gq_fail(err, GPTQ_E_ARG, "the output is a stream, so the manifest needs a place: --manifest=FILE");
	if (o->manifest_path && !o->manifest_path[0])
		return gq_fail(err, GPTQ_E_ARG, "the manifest's FILE cannot be empty");
	cv->manifest_inside = folder && !o->manifest_path;
	if (o->manifest_path)
		gq_buf_puts(&path, o->manifest_path);
	else
		gq_buf_printf(&path, folder ? out[strlen(out) - 1] == '/' ? "%s" INSIDE : "%s/" INSIDE : "%s.sha256", out);
	cv->manifest_path = path.data;
	if (path.failed)
		return gq_fail_nomem(err);
	if (cv->manifest_inside)
		return check_inside(cv, err);
	status = o->manifest_path ? check_given(cv, out, err) : GPTQ_OK;
	return status == GPTQ_OK ? check_old(cv, err) : status;
}

bool gq_manifest_replaces(const struct gq_conversion *cv, const char *name)
{
	return cv->manifest_inside && strcmp(name, INSIDE) == 0;
}

/* ------------------------------------------------------------------------------------------------- its text */

/* "HEX  NAME"; a name that would break the line is escaped, which a backslash in front of the line tells. */
static void add_line(struct gq_buf *text, const char *sha256, const char *name)
{
	if (strpbrk(name, "\\\n\r"))
		gq_buf_puts(text, "\\");
	gq_buf_printf(text, "%s  ", sha256);
	for (const char *p = name; *p; p++) {
		if (*p == '\\')
			gq_buf_puts(text, "\\\\");
		else if (*p == '\n')
			gq_buf_puts(text, "\\n");
		else if (*p == '\r')
			gq_buf_puts(text, "\\r");
		else
			gq_buf_add(text, p, 1);
	}
	gq_buf_puts(text, "\n");
}

static enum gptq_status report_file(struct gptq_convert_report *r, const struct gq_written *f, const char *name,
				    struct gptq_error *err)
{
	struct gptq_convert_digest *d = gq_array_more(r->digests, r->n_digests, sizeof(*d));
	char masked[512];

	if (!d)
		return gq_fail_nomem(err);
	r->digests = d;
	d += r->n_digests++;
	gq_mask(masked, sizeof(masked), name, strlen(name), false);
	d->name = gq_strdup(masked);
	d->n_bytes = f->size;
	memcpy(d->sha256, f->sha256, sizeof(d->sha256));
	return d->name ? GPTQ_OK : gq_fail_nomem(err);
}

static enum gptq_status put_text(const char *path, const struct gq_buf *text, struct gptq_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	enum gptq_status status;

	if (fd < 0)
		return gq_fail_errno(err, errno, path, "cannot create the file");
	status = gq_pwrite_all(fd, text->data, text->size, 0, path, "cannot write the manifest", err);
	if (status == GPTQ_OK)
		status = gq_fsync(fd, path, err);
	if (close(fd) != 0 && status == GPTQ_OK)
		status = gq_fail_errno(err, errno, path, "cannot write the file to disk");
	return status;
}

enum gptq_status gq_manifest_write(struct gq_conversion *cv, const char *lone_name, struct gptq_error *err)
{
	struct gptq_convert_report *r = cv->report;
	struct gq_buf text = {0};
	enum gptq_status status = GPTQ_OK;
	char *path = NULL, shown[512];

	if (!cv->options->manifest)
		return GPTQ_OK;
	for (size_t i = 0; i < cv->n_written && status == GPTQ_OK; i++) {
		const char *name = lone_name ? lone_name : cv->written[i].name;

		add_line(&text, cv->written[i].sha256, name);
		status = report_file(r, &cv->written[i], name, err);
	}
	if (status == GPTQ_OK && cv->manifest_inside)
		path = gq_path_join(cv->output.temp_path, INSIDE);
	else if (status == GPTQ_OK)
		status = gq_output_begin(cv->manifest_path, false, cv->options->force, &cv->manifest, err);
	if (status == GPTQ_OK && !cv->manifest_inside)
		path = gq_strdup(cv->manifest.temp_path);
	gq_mask(shown, sizeof(shown), cv->manifest_path, strlen(cv->manifest_path), false);
	r->manifest = gq_strdup(shown);
	if (status == GPTQ_OK && (text.failed || !path || !r->manifest))
		status = gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = put_text(path, &text, err);
	gq_free(path);
	gq_buf_free(&text);
	return status;
}

enum gptq_status gq_manifest_commit(struct gq_conversion *cv, struct gptq_error *err)
{
	struct gptq_error e;

	if (!cv->manifest.temp_path)
		return GPTQ_OK;
	if (gq_output_commit(&cv->manifest, &e) == GPTQ_OK)
		return GPTQ_OK;
	gq_fail(err, e.status, "the output is in its place and whole, but its manifest cannot be put here: %s", e.message);
	gq_error_file(err, cv->manifest_path);
	return e.status;
}
