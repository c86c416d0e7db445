/* SPDX-License-Identifier: Apache-2.0 */
/* Where an in-place conversion works, and the lock on it. */
#include "base/error.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/tree.h"
#include "ops/locate.h"
#include "ops/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum gptq_status locate(const char *path, struct gq_place *p, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct stat st;

	if (stat(path, &st) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return gq_fail_errno(err, errno, path, "cannot look at the input");
		gq_fail(err, GPTQ_E_NOTFOUND, "there is no such file or folder");
		gq_error_file(err, path);
		return GPTQ_E_NOTFOUND;
	}
	if (S_ISDIR(st.st_mode)) {
		p->journal = gq_strdup(GQ_JOURNAL_NAME);
		status = gq_locate_folder(path, &p->dir, err);
		return status == GPTQ_OK && !p->journal ? gq_fail_nomem(err) : status;
	}
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		status = gq_fail(err, GPTQ_E_REFUSED,
				 "a symbolic link, and nothing is written through a link: convert "
				 "into a new place, or name the file itself");
		gq_error_file(err, path);
		return status;
	}
	p->dir = gq_parent_dir(path);
	p->file = gq_strdup(gq_path_base(path));
	p->journal = p->file ? gq_malloc_array(strlen(p->file) + sizeof("." GQ_JOURNAL_NAME), 1) : NULL;
	if (!p->dir || !p->journal)
		return gq_fail_nomem(err);
	sprintf(p->journal, ".%s" GQ_JOURNAL_NAME, p->file);
	if (strlen(p->journal) + strlen(GQ_JOURNAL_NEW) <= NAME_MAX)
		return GPTQ_OK;
	status = gq_fail(err, GPTQ_E_ARG, "the file's name is too long for a journal beside it");
	gq_error_file(err, path);
	return status;
}

/*
 * flock, which goes away with the process. A folder is locked for itself; a lone file is, and its folder is shared by
 * all that work on lone files of it, so that files and folder exclude each other.
 */
static enum gptq_status lock(int fd, int how, const char *path, struct gptq_error *err)
{
	enum gptq_status status;
	int rc;

	do {
		rc = flock(fd, how | LOCK_NB);
	} while (rc != 0 && errno == EINTR);
	if (rc == 0)
		return GPTQ_OK;
	if (errno != EWOULDBLOCK)
		return gq_fail_errno(err, errno, path, "cannot lock it against a second run");
	status = gq_fail(err, GPTQ_E_IO, "another gptq-convert is converting this in place; wait for it to end");
	gq_error_file(err, path);
	return status;
}

enum gptq_status gq_place_open(const char *path, struct gq_place *p, struct gptq_error *err)
{
	enum gptq_status status;

	*p = (struct gq_place){.dir_fd = -1, .lock_fd = -1};
	status = locate(path, p, err);
	if (status == GPTQ_OK) {
		p->dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (p->dir_fd < 0)
			status = gq_fail_errno(err, errno, p->dir, "cannot open the folder");
	}
	if (status == GPTQ_OK)
		status = lock(p->dir_fd, p->file ? LOCK_SH : LOCK_EX, p->dir, err);
	if (status == GPTQ_OK && p->file) {
		p->lock_fd = openat(p->dir_fd, p->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		status = p->lock_fd < 0 ? gq_fail_errno(err, errno, path, "cannot open")
					: lock(p->lock_fd, LOCK_EX, path, err);
	}
	if (status != GPTQ_OK)
		gq_place_close(p);
	return status;
}

void gq_place_close(struct gq_place *p)
{
	if (p->lock_fd >= 0)
		close(p->lock_fd);
	if (p->dir_fd >= 0)
		close(p->dir_fd);
	gq_free(p->dir);
	gq_free(p->file);
	gq_free(p->journal);
	*p = (struct gq_place){.dir_fd = -1, .lock_fd = -1};
}

enum gptq_status gq_place_has_journal(const struct gq_place *p, bool *has, struct gptq_error *err)
{
	struct stat st;

	*has = fstatat(p->dir_fd, p->journal, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*has && errno != ENOENT)
		return gq_fail_errno(err, errno, p->dir, "cannot look for a journal");
	return GPTQ_OK;
}

/* Names come from journals too, so "..", "" and an absolute path are no names. */
static bool plain_component(const char *s, size_t n)
{
	return n > 0 && n <= NAME_MAX && !(n == 1 && s[0] == '.') && !(n == 2 && s[0] == '.' && s[1] == '.');
}

int gq_open_beneath(int dir_fd, const char *name, bool *link)
{
	int at = dir_fd, fd = -1;
	struct stat st;

	*link = false;
	for (;;) {
		size_t n = strcspn(name, "/");
		char part[NAME_MAX + 1];
		bool last = name[n] == '\0';

		if (!plain_component(name, n)) {
			errno = EINVAL;
			fd = -1;
			break;
		}
		memcpy(part, name, n);
		part[n] = '\0';
		fd = openat(at, part, O_NOFOLLOW | O_CLOEXEC | (last ? O_RDWR | O_NONBLOCK : O_RDONLY | O_DIRECTORY));
		if (fd < 0) {
			int why = errno;

			*link = fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
			errno = why;
		}
		if (fd < 0 || last)
			break;
		if (at != dir_fd)
			close(at);
		at = fd;
		name += n + 1;
	}
	if (at != dir_fd) {
		int why = errno;

		close(at);
		errno = why;
	}
	return fd;
}
