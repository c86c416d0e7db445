/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files: opened for reading alone, only regular ones, whole spans or an error. */
#ifndef GQ_BASE_FILE_H
#define GQ_BASE_FILE_H

#include "gptq/gptq.h"

#include <time.h>

/*
 * Opens path for reading and gives its size in bytes. Waits for nobody: a FIFO, like a folder, socket or device, is an
 * error that says what it is (GPTQ_E_IO; sys_errno EISDIR for a folder, else 0). Not there: GPTQ_E_NOTFOUND.
 */
enum gptq_status gq_open_read(const char *path, int *fd, uint64_t *size, struct gptq_error *err);

/*
 * Reads exactly n bytes at offset. EINTR and short reads are gone on with; a file that ends before is GPTQ_E_IO with
 * the place where it ended. `file` is for the message.
 */
enum gptq_status gq_pread_full(int fd, void *buf, size_t n, uint64_t offset, const char *file, struct gptq_error *err);

/* A file's time as one number, to compare. */
static inline int64_t gq_time_ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
