/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* renameat2, O_PATH */
#include "base/output.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *gq_parent_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return gq_strdup(".");
	return gq_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static char *without_trailing_slashes(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return gq_strndup(path, n);
}

/* A name nobody else has: ".NAME.gptq-tools-XXXXXXXXXXXX" in the same folder. */
static char *temp_name(const char *parent, const char *base)
{
	unsigned char r[6] = {0};
	char *name, *path;
	size_t n = strlen(base);

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		gq_store_le(r, (uint64_t)getpid(), 6);
	if (n > 200)
		n = 200; /* NAME_MAX is 255 */
	name = gq_malloc_array(n + 64, 1);
	if (!name)
		return NULL;
	snprintf(name, n + 64, ".%.*s.gptq-tools-%02x%02x%02x%02x%02x%02x", (int)n, base, r[0], r[1], r[2], r[3], r[4],
		 r[5]);
	path = gq_path_join(parent, name);
	gq_free(name);
	return path;
}

static enum gptq_status check_target(const struct gq_output *out, struct gptq_error *err)
{
	struct stat st;

	if (lstat(out->final_path, &st) != 0) {
		if (errno == ENOENT)
			return GPTQ_OK;
		return gq_fail_errno(err, errno, out->final_path, "cannot look at the output path");
	}
	enum gptq_status status = GPTQ_OK;

	if (!out->replace)
		status = gq_fail(err, GPTQ_E_ARG, "the output exists already; --force replaces it");
	else if (S_ISLNK(st.st_mode))
		status = gq_fail(err, GPTQ_E_ARG,
				 "the output is a symbolic link, and nothing is written through a link");
	else if (out->is_dir && !S_ISDIR(st.st_mode))
		status = gq_fail(err, GPTQ_E_ARG, "the output exists and is no folder, but the input is one");
	else if (!out->is_dir && !S_ISREG(st.st_mode))
		status = gq_fail(err, GPTQ_E_ARG, "the output exists and is no regular file, but the input is one");
	if (status != GPTQ_OK)
		gq_error_file(err, out->final_path);
	return status;
}

/* The folder that will hold the output must be there and take new names. */
static enum gptq_status check_parent(const struct gq_output *out, struct gptq_error *err)
{
	enum gptq_status status;
	struct stat st;

	if (stat(out->parent, &st) != 0)
		return gq_fail_errno(err, errno, out->parent, "the folder for the output cannot be used");
	if (!S_ISDIR(st.st_mode)) {
		status = gq_fail(err, GPTQ_E_ARG, "the output would lie in this, but it is no folder");
		gq_error_file(err, out->parent);
		return status;
	}
	if (access(out->parent, W_OK | X_OK) != 0)
		return gq_fail_errno(err, errno, out->parent, "nothing can be written into the folder for the output");
	return GPTQ_OK;
}

enum gptq_status gq_output_check(const char *path, bool is_dir, bool replace, struct gptq_error *err)
{
	struct gq_output out = {.final_path = without_trailing_slashes(path), .is_dir = is_dir, .replace = replace};
	enum gptq_status status;

	out.parent = out.final_path ? gq_parent_dir(out.final_path) : NULL;
	status = out.parent ? check_parent(&out, err) : gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = check_target(&out, err);
	gq_free(out.parent);
	gq_free(out.final_path);
	return status;
}

enum gptq_status gq_output_begin(const char *path, bool is_dir, bool replace, struct gq_output *out,
				 struct gptq_error *err)
{
	enum gptq_status status;

	memset(out, 0, sizeof(*out));
	out->is_dir = is_dir;
	out->replace = replace;
	out->final_path = without_trailing_slashes(path);
	out->parent = out->final_path ? gq_parent_dir(out->final_path) : NULL;
	if (!out->parent) {
		status = gq_fail_nomem(err);
		goto fail;
	}
	status = check_parent(out, err);
	if (status == GPTQ_OK)
		status = check_target(out, err);
	if (status != GPTQ_OK)
		goto fail;
	out->temp_path = temp_name(out->parent, gq_path_base(out->final_path));
	if (!out->temp_path) {
		status = gq_fail_nomem(err);
		goto fail;
	}
	if (is_dir && mkdir(out->temp_path, 0777) != 0) {
		status = gq_fail_errno(err, errno, out->parent, "cannot create the output there");
		gq_free(out->temp_path);
		out->temp_path = NULL;
		goto fail;
	}
	return GPTQ_OK;
fail:
	gq_output_drop(out);
	return status;
}

static enum gptq_status sync_dir(const char *path, struct gptq_error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum gptq_status status = GPTQ_OK;

	if (fd < 0)
		return gq_fail_errno(err, errno, path, "cannot open the folder to sync it");
	/* Some file systems cannot sync a folder; what they can do, they have done. */
	if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
		status = gq_fail_errno(err, errno, path, "cannot sync the folder");
	close(fd);
	return status;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* umask may have taken from the owner, too, the right to look into the folders that were made. */
static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_DNR && (st->st_mode & S_IRWXU) != S_IRWXU && chmod(path, S_IRWXU) == 0)
		nftw(path, open_up, 32, FTW_PHYS | FTW_MOUNT);
	return 0;
}

/* Puts temp in place of final, which may exist only if `replace`. *old_left: temp now names what was replaced. */
static int put_in_place(const struct gq_output *out, bool *old_left)
{
	struct stat st;

	*old_left = false;
	if (renameat2(AT_FDCWD, out->temp_path, AT_FDCWD, out->final_path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST && !out->replace)
		return -1;
	if (errno == EEXIST && out->is_dir) {
		if (renameat2(AT_FDCWD, out->temp_path, AT_FDCWD, out->final_path, RENAME_EXCHANGE) == 0) {
			*old_left = true;
			return 0;
		}
	} else if (errno != EEXIST && errno != EINVAL && errno != ENOSYS) {
		return -1;
	}
	/* File systems without these flags: look, then rename. A file replaces a file in one step anyway. */
	if (!out->replace && lstat(out->final_path, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	if (out->is_dir && lstat(out->final_path, &st) == 0) {
		char *aside = temp_name(out->parent, gq_path_base(out->final_path));
		int rc = -1;

		if (aside && rename(out->final_path, aside) == 0) {
			rc = rename(out->temp_path, out->final_path);
			if (rc != 0)
				rename(aside, out->final_path);
			else
				remove_all(aside);
		}
		gq_free(aside);
		return rc;
	}
	return rename(out->temp_path, out->final_path);
}

static enum gptq_status sync_tree(const char *root, struct gptq_error *err)
{
	struct gq_tree tree;
	enum gptq_status status = gq_tree_walk(root, false, &tree, err);

	if (status != GPTQ_OK)
		return status;
	for (size_t i = 0; i < tree.n_entries && status == GPTQ_OK; i++) {
		if (tree.entries[i].is_dir) {
			char *path = gq_path_join(root, tree.entries[i].path);

			status = path ? sync_dir(path, err) : gq_fail_nomem(err);
			gq_free(path);
		}
	}
	gq_tree_free(&tree);
	return status == GPTQ_OK ? sync_dir(root, err) : status;
}

enum gptq_status gq_output_commit(struct gq_output *out, struct gptq_error *err)
{
	enum gptq_status status = out->is_dir ? sync_tree(out->temp_path, err) : GPTQ_OK;
	bool old_left;

	if (status == GPTQ_OK)
		status = check_target(out, err);
	if (status != GPTQ_OK)
		return status;
	if (put_in_place(out, &old_left) != 0)
		return gq_fail_errno(err, errno, out->final_path, "cannot move the finished output into place");
	if (old_left)
		remove_all(out->temp_path);
	gq_free(out->temp_path);
	out->temp_path = NULL;
	/*
	 * The output is there, whole and in use: to call this a failure now would be untrue, whatever the disk says. A
	 * folder that may be written but not read cannot even be opened for it.
	 */
	sync_dir(out->parent, NULL);
	return GPTQ_OK;
}

void gq_output_drop(struct gq_output *out)
{
	if (out->temp_path) {
		if (out->is_dir) {
			nftw(out->temp_path, open_up, 32, FTW_PHYS | FTW_MOUNT);
			remove_all(out->temp_path);
		} else {
			unlink(out->temp_path);
		}
	}
	gq_free(out->temp_path);
	gq_free(out->final_path);
	gq_free(out->parent);
	memset(out, 0, sizeof(*out));
}

enum gptq_status gq_check_space(const char *dir, uint64_t nbytes, struct gptq_error *err)
{
	struct statvfs vfs;
	uint64_t room;

	if (statvfs(dir, &vfs) != 0)
		return gq_fail_errno(err, errno, dir, "cannot ask for the free space");
	room = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (vfs.f_blocks == 0 || nbytes <= room) /* some network file systems report no sizes at all */
		return GPTQ_OK;
	gq_fail_errno(err, ENOSPC, dir, "not enough room for the output");
	gq_error_found(err, "%llu bytes free", (unsigned long long)room);
	gq_error_expected(err, "%llu", (unsigned long long)nbytes);
	return GPTQ_E_IO;
}

/*
 * Opens the folder `path` or its nearest ancestor that exists; -1 if there is none. As a place only: folders above may
 * be closed to reading and still be walked through.
 */
static int open_nearest(const char *path)
{
	char *p = without_trailing_slashes(path);
	int fd = -1;

	while (p) {
		struct stat st;

		if (stat(p, &st) == 0 && S_ISDIR(st.st_mode)) {
			fd = open(p, O_PATH | O_DIRECTORY | O_CLOEXEC);
			break;
		}
		if (strcmp(p, "/") == 0 || strcmp(p, ".") == 0)
			break;
		char *up = gq_parent_dir(p);

		gq_free(p);
		p = up;
	}
	gq_free(p);
	return fd;
}

bool gq_is_inside(const char *inner, const char *outer)
{
	struct stat want, st, up;
	int fd, next;
	bool inside = false;

	if (stat(outer, &want) != 0)
		return false;
	fd = open_nearest(inner);
	while (fd >= 0 && fstat(fd, &st) == 0) {
		if (st.st_dev == want.st_dev && st.st_ino == want.st_ino) {
			inside = true;
			break;
		}
		next = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next >= 0 && fstat(next, &up) == 0 && up.st_dev == st.st_dev && up.st_ino == st.st_ino) {
			close(next); /* the root is its own parent */
			break;
		}
		close(fd);
		fd = next;
	}
	if (fd >= 0)
		close(fd);
	return inside;
}
