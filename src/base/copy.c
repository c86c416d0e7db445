/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* copy_file_range */
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

enum gptq_status gq_pwrite_full(int fd, const void *data, size_t n, uint64_t offset, const char *file,
				struct gptq_error *err)
{
	const char *p = data;

	while (n) {
		ssize_t w = pwrite(fd, p, n, (off_t)offset);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return gq_fail_errno(err, w < 0 ? errno : EIO, file, "cannot write its copy");
		p += w;
		n -= (size_t)w;
		offset += (uint64_t)w;
	}
	return GPTQ_OK;
}

static enum gptq_status advance(struct gq_copy_watch *watch, uint64_t n, struct gptq_error *err)
{
	watch->done += n;
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

/* The plain way, for everything that copy_file_range does not do. */
static enum gptq_status copy_by_buffer(int src, uint64_t src_offset, int dst, uint64_t dst_offset, uint64_t n,
				       struct gq_copy_watch *watch, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	char *buffer = gq_malloc_array(BUFFER_SIZE, 1);
	uint64_t begun = dst_offset; /* up to here the kernel was asked to write back */

	if (!buffer)
		return gq_fail_nomem(err);
	while (n && status == GPTQ_OK) {
		size_t want = n < BUFFER_SIZE ? (size_t)n : BUFFER_SIZE;
		ssize_t r = pread(src, buffer, want, (off_t)src_offset);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			status = gq_fail_errno(err, errno, watch->file, "cannot read");
		} else if (r == 0) {
			status = became_shorter(watch->file, n, err);
		} else {
			status = gq_pwrite_full(dst, buffer, (size_t)r, dst_offset, watch->file, err);
			src_offset += (uint64_t)r;
			dst_offset += (uint64_t)r;
			n -= (uint64_t)r;
			if (dst_offset - begun >= WRITE_BEHIND) {
				/* a hint: the fsync at the end then has little left to wait for */
				(void)sync_file_range(dst, (off_t)begun, (off_t)(dst_offset - begun),
						      SYNC_FILE_RANGE_WRITE);
				begun = dst_offset;
			}
			if (status == GPTQ_OK)
				status = advance(watch, (uint64_t)r, err);
		}
	}
	gq_free(buffer);
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

enum gptq_status gq_copy_range(int src, uint64_t src_offset, int dst, uint64_t dst_offset, uint64_t n, bool whole_file,
			       struct gq_copy_watch *watch, struct gptq_error *err)
{
	enum gptq_status status = gq_check_cancel(watch->hooks, err);

	if (status == GPTQ_OK && n && whole_file) {
		struct file_clone_range range = {
			.src_fd = src, .src_offset = src_offset, .src_length = n, .dest_offset = dst_offset};

		if (ioctl(dst, FICLONERANGE, &range) == 0) {
			watch->n_cloned += n;
			return advance(watch, n, err);
		}
	}
	if (status == GPTQ_OK && !is_remote(src))
		return copy_by_buffer(src, src_offset, dst, dst_offset, n, watch, err);
	while (status == GPTQ_OK && n) {
		off_t from = (off_t)src_offset, to = (off_t)dst_offset;
		ssize_t r = copy_file_range(src, &from, dst, &to, n < KERNEL_CHUNK ? (size_t)n : KERNEL_CHUNK, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG))
			return gq_fail_errno(err, errno, watch->file,
					     errno == EIO ? "cannot copy it" : "cannot write its copy");
		if (r <= 0) /* not supported here, or a file system that claims to be at its end: read it ourselves */
			return copy_by_buffer(src, src_offset, dst, dst_offset, n, watch, err);
		src_offset += (uint64_t)r;
		dst_offset += (uint64_t)r;
		n -= (uint64_t)r;
		status = advance(watch, (uint64_t)r, err);
	}
	return status;
}
