/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* copy_file_range, fallocate */
#include "base/copy.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#define KERNEL_CHUNK (16u << 20)
#define BUFFER_SIZE (256u << 10) /* stays in the second-level cache between read and write */
#define WRITE_BEHIND (8u << 20)  /* the disk is asked to begin writing after so many bytes */

enum gptq_status gq_check_cancel(const struct gptq_hooks *hooks, struct gptq_error *err)
{
	if (hooks && hooks->cancelled && hooks->cancelled(hooks->ctx))
		return gq_fail(err, GPTQ_E_CANCELLED, "stopped on request; nothing was left behind");
	return GPTQ_OK;
}

enum gptq_status gq_pwrite_all(int fd, const void *data, size_t n, uint64_t offset, const char *file, const char *what,
			       struct gptq_error *err)
{
	const char *p = data;

	while (n) {
		ssize_t w = pwrite(fd, p, n, (off_t)offset);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return gq_fail_errno(err, w < 0 ? errno : EIO, file, "%s", what);
		p += w;
		n -= (size_t)w;
		offset += (uint64_t)w;
	}
	return GPTQ_OK;
}

enum gptq_status gq_pwrite_full(int fd, const void *data, size_t n, uint64_t offset, const char *file,
				struct gptq_error *err)
{
	return gq_pwrite_all(fd, data, n, offset, file, "cannot write its copy", err);
}

void gq_start_writing(int fd, uint64_t offset, uint64_t n)
{
#ifdef SYNC_FILE_RANGE_WRITE
	(void)sync_file_range(fd, (off_t)offset, (off_t)n, SYNC_FILE_RANGE_WRITE);
#else
	(void)fd;
	(void)offset;
	(void)n;
#endif
}

enum gptq_status gq_fsync(int fd, const char *file, struct gptq_error *err)
{
	int rc;

	do {
		rc = fsync(fd);
	} while (rc != 0 && errno == EINTR);
	/* Some file systems cannot sync a folder; what they can do, they have done. */
	if (rc != 0 && errno != EINVAL && errno != EROFS)
		return gq_fail_errno(err, errno, file, "cannot write it to disk");
	return GPTQ_OK;
}

void gq_copy_begin(struct gq_copy_watch *watch, const char *file, struct gq_sha256 *digest)
{
	watch->file = file;
	watch->digest = digest;
	watch->begun = 0;
	watch->source = GQ_SOURCE_UNKNOWN;
}

void gq_copy_free(struct gq_copy_watch *watch)
{
	gq_free(watch->buffer);
	watch->buffer = NULL;
}

static enum gptq_status ask(const struct gq_copy_watch *watch, struct gptq_error *err)
{
	if (watch->work)
		return gq_work_tick(watch->work, watch->worker, 0, watch->file, err);
	return gq_check_cancel(watch->hooks, err);
}

enum gptq_status gq_copy_advance(struct gq_copy_watch *watch, uint64_t n, struct gptq_error *err)
{
	watch->done += n;
	if (watch->work)
		return gq_work_tick(watch->work, watch->worker, n, watch->file, err);
	if (watch->hooks && watch->hooks->progress)
		watch->hooks->progress(watch->hooks->ctx, watch->file, watch->done, watch->total);
	return gq_check_cancel(watch->hooks, err);
}

static enum gptq_status became_shorter(const char *file, uint64_t missing, struct gptq_error *err)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_IO, "the file became shorter while it was read, by %llu bytes",
					  (unsigned long long)missing);

	gq_error_file(err, file);
	return status;
}

/* Bytes up to `end` are written: the disk is asked to begin, so that the fsync at the end has little left to
 * wait for. */
static void write_behind(int dst, uint64_t end, struct gq_copy_watch *watch)
{
	if (end < watch->begun + WRITE_BEHIND)
		return;
	gq_start_writing(dst, watch->begun, end - watch->begun);
	watch->begun = end;
}

enum gptq_status gq_copy_put(int dst, const void *data, size_t n, uint64_t offset, struct gq_copy_watch *watch,
			     struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	if (watch->digest)
		status = gq_sha256_add(watch->digest, data, n, err);
	if (status == GPTQ_OK && dst >= 0)
		status = gq_pwrite_full(dst, data, n, offset, watch->file, err);
	if (status == GPTQ_OK && dst >= 0)
		write_behind(dst, offset + n, watch);
	return status == GPTQ_OK ? gq_copy_advance(watch, n, err) : status;
}

/*
 * The plain way, for everything that copy_file_range does not do. Holes of a sparse source come out as zeros that take
 * room: a checkpoint has none worth keeping, and looking for them costs more calls than it saves.
 */
static enum gptq_status copy_by_buffer(int src, uint64_t src_offset, int dst, uint64_t dst_offset, uint64_t n,
				       struct gq_copy_watch *watch, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	if (!watch->buffer)
		watch->buffer = gq_malloc_array(BUFFER_SIZE, 1);
	if (!watch->buffer)
		return gq_fail_nomem(err);
	while (n && status == GPTQ_OK) {
		size_t want = n < BUFFER_SIZE ? (size_t)n : BUFFER_SIZE;
		ssize_t r = pread(src, watch->buffer, want, (off_t)src_offset);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return gq_fail_errno(err, errno, watch->file, "cannot read");
		if (r == 0)
			return became_shorter(watch->file, n, err);
		status = gq_copy_put(dst, watch->buffer, (size_t)r, dst_offset, watch, err);
		src_offset += (uint64_t)r;
		dst_offset += (uint64_t)r;
		n -= (uint64_t)r;
		watch->n_copied += dst >= 0 ? (uint64_t)r : 0;
	}
	return status;
}

/*
 * Where the bytes need not come here at all, copy_file_range saves moving them twice over a network. On local file
 * systems that cannot share blocks it goes page by page through a pipe inside the kernel, which took two to three
 * times as long as reads and writes of a buffer that stays in the cache.
 */
static bool is_remote(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case NFS_SUPER_MAGIC:
	case 0xff534d42ul: /* CIFS */
	case 0xfe534d42ul: /* SMB2 */
	case 0x00c36400ul: /* Ceph */
	case FUSE_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

bool gq_copy_clone(int src, int dst, uint64_t n)
{
	struct file_clone_range range = {.src_fd = src, .src_length = n};

	return n && ioctl(dst, FICLONERANGE, &range) == 0;
}

void gq_copy_sparingly(int dst, bool on)
{
	struct statfs fs;
	struct fsxattr x;

	if (fstatfs(dst, &fs) != 0 || (unsigned long)fs.f_type != XFS_SUPER_MAGIC ||
	    ioctl(dst, FS_IOC_FSGETXATTR, &x) != 0)
		return;
	x.fsx_xflags = on ? x.fsx_xflags | FS_XFLAG_COWEXTSIZE : x.fsx_xflags & ~(__u32)FS_XFLAG_COWEXTSIZE;
	x.fsx_cowextsize = on ? (__u32)fs.f_bsize : 0;
	(void)ioctl(dst, FS_IOC_FSSETXATTR, &x);
}

enum gptq_status gq_copy_reserve(int dst, uint64_t n, const char *file, struct gptq_error *err)
{
	int rc;

	if (!n || is_remote(dst)) /* there it may come down to sending zeros */
		return GPTQ_OK;
	do {
		/* not posix_fallocate, which writes into every block where the file system cannot do it */
		rc = fallocate(dst, 0, 0, (off_t)n);
	} while (rc != 0 && errno == EINTR);
	if (rc != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return gq_fail_errno(err, errno, file, "cannot write its copy");
	return GPTQ_OK;
}

enum gptq_status gq_copy_range(int src, uint64_t src_offset, int dst, uint64_t dst_offset, uint64_t n,
			       struct gq_copy_watch *watch, struct gptq_error *err)
{
	enum gptq_status status = ask(watch, err);

	if (watch->source == GQ_SOURCE_UNKNOWN)
		watch->source = is_remote(src) ? GQ_SOURCE_REMOTE : GQ_SOURCE_LOCAL;
	if (status == GPTQ_OK && (watch->digest || dst < 0 || watch->source == GQ_SOURCE_LOCAL))
		return copy_by_buffer(src, src_offset, dst, dst_offset, n, watch, err);
	while (status == GPTQ_OK && n) {
		off_t from = (off_t)src_offset, to = (off_t)dst_offset;
		size_t want = n < KERNEL_CHUNK ? (size_t)n : KERNEL_CHUNK;
		ssize_t r = copy_file_range(src, &from, dst, &to, want, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
			return gq_fail_errno(err, errno, watch->file, "cannot write its copy");
		/*
		 * Not supported here, a file system that claims to be at its end or to have done more than it was asked
		 * for, or an error that reading and writing will meet again and name: we do it ourselves.
		 */
		if (r <= 0 || (size_t)r > want)
			return copy_by_buffer(src, src_offset, dst, dst_offset, n, watch, err);
		src_offset += (uint64_t)r;
		dst_offset += (uint64_t)r;
		n -= (uint64_t)r;
		watch->n_copied += (uint64_t)r;
		status = gq_copy_advance(watch, (uint64_t)r, err);
	}
	return status;
}
