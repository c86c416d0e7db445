/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/checked.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What it is, if it is no regular file. */
static enum gptq_status fail_kind(const char *path, mode_t mode, struct gptq_error *err)
{
	const char *what = "is not a regular file";

	if (S_ISDIR(mode))
		what = "is a folder, not a file";
	else if (S_ISFIFO(mode))
		what = "is a FIFO (named pipe), not a file";
	else if (S_ISSOCK(mode))
		what = "is a socket, not a file";
	else if (S_ISCHR(mode) || S_ISBLK(mode))
		what = "is a device, not a file";
	gq_fail(err, GPTQ_E_IO, "%s", what);
	gq_error_file(err, path);
	if (err && S_ISDIR(mode))
		err->sys_errno = EISDIR;
	return GPTQ_E_IO;
}

enum gptq_status gq_open_read(const char *path, int *fd, uint64_t *size, struct gptq_error *err)
{
	enum gptq_status status;
	struct stat st;

	do {
		*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (*fd < 0 && errno == EINTR);
	if (*fd < 0) {
		int reason = errno;

		/* Sockets cannot be opened at all, and the system's word for it helps nobody. */
		if (reason == ENXIO && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
			return fail_kind(path, st.st_mode, err);
		status = gq_fail_errno(err, reason, path, "cannot open");
		if (reason == ENOENT && err)
			err->status = GPTQ_E_NOTFOUND;
		return reason == ENOENT ? GPTQ_E_NOTFOUND : status;
	}
	if (fstat(*fd, &st) != 0)
		status = gq_fail_errno(err, errno, path, "cannot read its size");
	else if (!S_ISREG(st.st_mode))
		status = fail_kind(path, st.st_mode, err);
	else
		status = GPTQ_OK;
	if (status) {
		close(*fd);
		*fd = -1;
		return status;
	}
	*size = (uint64_t)st.st_size;
	return GPTQ_OK;
}

enum gptq_status gq_pread_full(int fd, void *buf, size_t n, uint64_t offset, const char *file, struct gptq_error *err)
{
	char *p = buf;
	size_t done = 0;

	if (!gq_span_ok(offset, n, INT64_MAX)) {
		gq_fail(err, GPTQ_E_IO, "a read beyond what the system can address");
		gq_error_file(err, file);
		gq_error_offset(err, offset);
		return GPTQ_E_IO;
	}
	while (done < n) {
		ssize_t got = pread(fd, p + done, n - done, (off_t)(offset + done));

		if (got > 0) {
			done += (size_t)got;
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			gq_fail_errno(err, errno, file, "cannot read");
		} else {
			gq_fail(err, GPTQ_E_IO, "the file became shorter while it was read");
			gq_error_file(err, file);
			gq_error_found(err, "its end");
			gq_error_expected(err, "%zu more bytes", n - done);
		}
		gq_error_offset(err, offset + done);
		return err ? err->status : GPTQ_E_IO;
	}
	return GPTQ_OK;
}
