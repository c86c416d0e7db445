/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LEVELS 64

char *gq_path_join(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	bool slash = na > 0 && a[na - 1] != '/';
	char *path = gq_malloc_array(na + nb + 2, 1);

	if (!path)
		return NULL;
	memcpy(path, a, na);
	if (slash)
		path[na++] = '/';
	memcpy(path + na, b, nb + 1);
	return path;
}

const char *gq_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool gq_has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

static bool is_left_out(const char *name)
{
	return strcmp(name, ".git") == 0 || strcmp(name, ".cache") == 0 || gq_has_suffix(name, ".lock") ||
	       gq_has_suffix(name, ".incomplete") || gq_has_suffix(name, ".part") ||
	       gq_has_suffix(name, ".gptq-convert.journal") || gq_has_suffix(name, ".gptq-convert.journal.new") ||
	       strcmp(name, ".gptq-convert.config.new") == 0; /* ops/journal.h */
}

/* One open folder of the walk. */
struct level {
	DIR *dir;
	char *path; /* relative; "" at the root */
	uint64_t dev, ino;
};

struct walk {
	const char *root;
	bool tolerant;
	struct gq_tree *tree;
	struct level levels[MAX_LEVELS];
	unsigned depth;
	struct gptq_error *err;
};

/* Takes ownership of path, also when it fails. */
static enum gptq_status add_skipped(struct walk *w, char *path)
{
	struct gq_tree *t = w->tree;
	char **skipped = gq_array_more(t->skipped, t->n_skipped, sizeof(*skipped));

	if (!skipped) {
		gq_free(path);
		return gq_fail_nomem(w->err);
	}
	t->skipped = skipped;
	t->skipped[t->n_skipped++] = path;
	return GPTQ_OK;
}

/* Opens the folder at `path` (relative; owned, taken over also on failure) as the next level. */
static enum gptq_status descend(struct walk *w, char *path)
{
	struct level *lv = &w->levels[w->depth];
	char *full = path[0] ? gq_path_join(w->root, path) : gq_strdup(w->root);
	enum gptq_status status = GPTQ_OK;
	struct stat st;
	int fd = -1;

	if (!full) {
		status = gq_fail_nomem(w->err);
		goto out;
	}
	if (w->depth == MAX_LEVELS) {
		status = gq_fail(w->err, GPTQ_E_ARG, "folders are nested deeper than %d levels", MAX_LEVELS);
		gq_error_file(w->err, full);
		goto out;
	}
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		status = gq_fail_errno(w->err, errno, full, "cannot read the folder");
		goto out;
	}
	for (unsigned i = 0; i < w->depth; i++) {
		if (w->levels[i].dev == (uint64_t)st.st_dev && w->levels[i].ino == (uint64_t)st.st_ino) {
			status = gq_fail(w->err, GPTQ_E_ARG, "a link leads back to a folder that contains it");
			gq_error_file(w->err, full);
			goto out;
		}
	}
	lv->dir = fdopendir(fd);
	if (!lv->dir) {
		status = gq_fail_errno(w->err, errno, full, "cannot read the folder");
		goto out;
	}
	fd = -1;
	lv->path = path;
	path = NULL;
	lv->dev = (uint64_t)st.st_dev;
	lv->ino = (uint64_t)st.st_ino;
	w->depth++;
out:
	if (fd >= 0)
		close(fd);
	gq_free(full);
	gq_free(path);
	return status;
}

static enum gptq_status refuse_kind(struct walk *w, const char *path, mode_t mode)
{
	const char *kind = S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
	enum gptq_status status = gq_fail(w->err, GPTQ_E_ARG, "%s cannot be copied; take it out of the folder", kind);
	char *full = gq_path_join(w->root, path);

	gq_error_file(w->err, full);
	gq_free(full);
	return status;
}

/* What the name is, links followed. *skip: a tolerant walk goes past it. */
static enum gptq_status look(struct walk *w, int dirfd, const char *name, const char *path, struct stat *st,
			     bool *is_link, bool *skip)
{
	int why = 0;

	*skip = false;
	if (fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW) != 0)
		why = errno;
	*is_link = !why && S_ISLNK(st->st_mode);
	if (*is_link && fstatat(dirfd, name, st, 0) != 0)
		why = errno;
	if (why && w->tolerant) {
		memset(st, 0, sizeof(*st)); /* a dangling link stays visible: what opens it will say so */
		*skip = !*is_link;
		return GPTQ_OK;
	}
	if (why) {
		char *full = gq_path_join(w->root, path);
		enum gptq_status status = gq_fail_errno(
			w->err, why, full, why == ENOENT ? "a link that leads nowhere" : "cannot look at it");

		gq_free(full);
		return status;
	}
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		return GPTQ_OK;
	*skip = w->tolerant;
	return w->tolerant ? GPTQ_OK : refuse_kind(w, path, st->st_mode);
}

/* Records one directory entry and descends if it is a folder. Takes over path. */
static enum gptq_status visit(struct walk *w, int dirfd, const char *name, char *path)
{
	struct gq_tree *t = w->tree;
	struct gq_tree_entry *e;
	struct stat st;
	bool is_link, skip;
	enum gptq_status status = look(w, dirfd, name, path, &st, &is_link, &skip);

	if (status == GPTQ_OK && !skip) {
		e = gq_array_more(t->entries, t->n_entries, sizeof(*e));
		if (e)
			t->entries = e;
		else
			status = gq_fail_nomem(w->err);
	}
	if (status != GPTQ_OK || skip) {
		gq_free(path);
		return status;
	}
	e = &t->entries[t->n_entries++];
	*e = (struct gq_tree_entry){.path = path,
				    .is_dir = S_ISDIR(st.st_mode),
				    .size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
				    .dev = (uint64_t)st.st_dev,
				    .ino = (uint64_t)st.st_ino,
				    .mtime_ns = gq_time_ns(st.st_mtim),
				    .ctime_ns = gq_time_ns(st.st_ctim),
				    .is_link = is_link};
	if (!e->is_dir)
		return GPTQ_OK;
	path = gq_strdup(path);
	if (!path)
		return gq_fail_nomem(w->err);
	status = descend(w, path);
	return w->tolerant && status != GPTQ_E_NOMEM ? GPTQ_OK : status;
}

/* Reads one entry of the innermost folder, or leaves the folder when it is done. */
static enum gptq_status step(struct walk *w)
{
	struct level *lv = &w->levels[w->depth - 1];
	struct dirent *de;
	char *path;

	errno = 0;
	de = readdir(lv->dir);
	if (!de) {
		int why = errno;

		if (why) {
			char *full = gq_path_join(w->root, lv->path);
			enum gptq_status status = gq_fail_errno(w->err, why, full, "cannot read the folder");

			gq_free(full);
			return status;
		}
		closedir(lv->dir);
		gq_free(lv->path);
		w->depth--;
		return GPTQ_OK;
	}
	if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return GPTQ_OK;
	path = lv->path[0] ? gq_path_join(lv->path, de->d_name) : gq_strdup(de->d_name);
	if (!path)
		return gq_fail_nomem(w->err);
	if (is_left_out(de->d_name))
		return add_skipped(w, path);
	return visit(w, dirfd(lv->dir), de->d_name, path);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct gq_tree_entry *)a)->path, ((const struct gq_tree_entry *)b)->path);
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum gptq_status gq_tree_walk(const char *root, bool tolerant, struct gq_tree *tree, struct gptq_error *err)
{
	struct walk w = {.root = root, .tolerant = tolerant, .tree = tree, .err = err};
	enum gptq_status status;
	char *top = gq_strdup("");

	memset(tree, 0, sizeof(*tree));
	status = top ? descend(&w, top) : gq_fail_nomem(err);
	while (status == GPTQ_OK && w.depth)
		status = step(&w);
	while (w.depth) {
		w.depth--;
		closedir(w.levels[w.depth].dir);
		gq_free(w.levels[w.depth].path);
	}
	if (status != GPTQ_OK) {
		gq_tree_free(tree);
		return status;
	}
	if (tree->n_entries)
		qsort(tree->entries, tree->n_entries, sizeof(*tree->entries), by_path);
	if (tree->n_skipped)
		qsort(tree->skipped, tree->n_skipped, sizeof(*tree->skipped), by_string);
	return GPTQ_OK;
}

void gq_tree_free(struct gq_tree *tree)
{
	for (size_t i = 0; i < tree->n_entries; i++)
		gq_free(tree->entries[i].path);
	for (size_t i = 0; i < tree->n_skipped; i++)
		gq_free(tree->skipped[i]);
	gq_free(tree->entries);
	gq_free(tree->skipped);
	memset(tree, 0, sizeof(*tree));
}
