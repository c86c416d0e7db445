/* SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes between files, with the kernel's help where it can and plain reads and writes where it cannot. */
#ifndef GQ_BASE_COPY_H
#define GQ_BASE_COPY_H

#include "gptq/gptq.h"

/* What a long copy reports to and asks of its caller; every member may be NULL. */
struct gq_copy_watch {
	const struct gptq_hooks *hooks;
	const char *file;   /* shown in progress */
	uint64_t done;      /* bytes so far, counted up by the copy */
	uint64_t total;
	uint64_t n_cloned;  /* of these, bytes that now share blocks with the source */
};

/*
 * Copies n bytes from src at src_offset to dst at dst_offset. Shares blocks by FICLONERANGE when whole_file is true
 * and the file system can; else copy_file_range on network file systems, read and write on others. A source that ends early is GPTQ_E_IO ("became
 * shorter"). GPTQ_E_CANCELLED when the hook says so (asked at least every 16 MiB).
 */
enum gptq_status gq_copy_range(int src, uint64_t src_offset, int dst, uint64_t dst_offset, uint64_t n, bool whole_file,
			       struct gq_copy_watch *watch, struct gptq_error *err);

/* Writes all n bytes at offset; EINTR and short writes are gone on with. `file` is for the message. */
enum gptq_status gq_pwrite_full(int fd, const void *data, size_t n, uint64_t offset, const char *file,
				struct gptq_error *err);

/* GPTQ_E_CANCELLED if the hooks ask for it; hooks may be NULL. */
enum gptq_status gq_check_cancel(const struct gptq_hooks *hooks, struct gptq_error *err);

#endif
