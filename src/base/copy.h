/* SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes between files, with the kernel's help where it can and plain reads and writes where it cannot. */
#ifndef GQ_BASE_COPY_H
#define GQ_BASE_COPY_H

#include "base/parallel.h"
#include "base/sha256.h"

/*
 * What a long copy reports to and asks of its caller; every member may be NULL or 0. One for each thread, for any
 * number of files: gq_copy_begin() before each, gq_copy_free() at the end.
 */
struct gq_copy_watch {
	const struct gptq_hooks *hooks; /* of the only thread, or ... */
	struct gq_work *work;           /* ... the work of several, which asks the hooks, */
	unsigned worker;                /* and which of them this is */
	const char *file;               /* shown in progress */
	struct gq_sha256 *digest;       /* takes in every byte that goes through, in the order of the calls */
	uint64_t done;                  /* bytes so far, counted up by the copy */
	uint64_t total;
	uint64_t n_copied; /* of these, read and written */
	uint64_t begun;    /* up to here in the file the kernel was asked to begin writing to disk */
	char *buffer;      /* made when it is needed */
	enum gq_copy_source { GQ_SOURCE_UNKNOWN = 0, GQ_SOURCE_LOCAL, GQ_SOURCE_REMOTE } source; /* once asked */
};

void gq_copy_begin(struct gq_copy_watch *watch, const char *file, struct gq_sha256 *digest);
void gq_copy_free(struct gq_copy_watch *watch);

/* n bytes are through by other means. GPTQ_E_CANCELLED when the hook says so. */
enum gptq_status gq_copy_advance(struct gq_copy_watch *watch, uint64_t n, struct gptq_error *err);

/* Makes dst, which is empty, share the blocks of src's first n bytes. False where the file system cannot. */
bool gq_copy_clone(int src, int dst, uint64_t n);

/*
 * on: what is now written over shared blocks of dst takes no more room than it must. XFS sets aside 128 KiB wherever a
 * shared block is written to, half as much again as the zero points of a usual layer. off: as it was. A hint, no more.
 */
void gq_copy_sparingly(int dst, bool on);

/*
 * Room for n bytes in dst, which is empty, if the file system can give it at once; what cannot is no error. GPTQ_E_IO
 * where there is no room (ENOSPC, EDQUOT, EFBIG).
 */
enum gptq_status gq_copy_reserve(int dst, uint64_t n, const char *file, struct gptq_error *err);

/*
 * Copies n bytes from src at src_offset to dst at dst_offset: copy_file_range on network file systems, where there is
 * no digest, and read and write elsewhere. dst -1: the bytes are there already, and only the digest wants them. A
 * source that ends early is GPTQ_E_IO ("became shorter"). GPTQ_E_CANCELLED when the hook says so (asked at least every
 * 16 MiB).
 */
enum gptq_status gq_copy_range(int src, uint64_t src_offset, int dst, uint64_t dst_offset, uint64_t n,
			       struct gq_copy_watch *watch, struct gptq_error *err);

/* Writes n bytes that came another way; they go into the digest, too. */
enum gptq_status gq_copy_put(int dst, const void *data, size_t n, uint64_t offset, struct gq_copy_watch *watch,
			     struct gptq_error *err);

/* Writes all n bytes at offset; EINTR and short writes are gone on with. `file` is for the message. */
enum gptq_status gq_pwrite_full(int fd, const void *data, size_t n, uint64_t offset, const char *file,
				struct gptq_error *err);

/* The same with what to say if it fails. */
enum gptq_status gq_pwrite_all(int fd, const void *data, size_t n, uint64_t offset, const char *file, const char *what,
			       struct gptq_error *err);

/* Asks the kernel to begin with writing these bytes to disk, so that a later fsync has less to wait for. A hint. */
void gq_start_writing(int fd, uint64_t offset, uint64_t n);

/* fsync, gone on with after EINTR; a folder that cannot be synced is no error. */
enum gptq_status gq_fsync(int fd, const char *file, struct gptq_error *err);

/* GPTQ_E_CANCELLED if the hooks ask for it; hooks may be NULL. */
enum gptq_status gq_check_cancel(const struct gptq_hooks *hooks, struct gptq_error *err);

#endif
