/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create, nftw */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

void fuzz_broken(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

/* ----------------------------------------------------------------------------------------------- guard pages */

struct region {
	char *base;
	size_t size; /* without the guard page behind */
};

static void make_region(struct region *r, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (n / page + 1) * page;

	if (r->base) {
		ASAN_UNPOISON_MEMORY_REGION(r->base, r->size);
		need(munmap(r->base, r->size + page) == 0, "munmap");
	}
	r->base = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(r->base != MAP_FAILED, "mmap");
	r->size = size;
	need(mprotect(r->base + size, page, PROT_NONE) == 0, "mprotect");
}

void *fuzz_guarded(enum fuzz_slot slot, const void *data, size_t n)
{
	static struct region regions[N_SLOTS];
	struct region *r = &regions[slot];
	char *at;

	if (r->size < n || !r->base)
		make_region(r, n < 65536 ? 65536 : n);
	at = r->base + r->size - n;
	ASAN_UNPOISON_MEMORY_REGION(r->base, r->size);
	if (n)
		memcpy(at, data, n);
	ASAN_POISON_MEMORY_REGION(r->base, r->size - n);
	return at;
}

/* ----------------------------------------------------------------------------------------------------- files */

static int nameless = -1;

int fuzz_file(const void *data, size_t n)
{
	if (nameless < 0)
		nameless = memfd_create("fuzz", MFD_CLOEXEC);
	need(nameless >= 0 && ftruncate(nameless, 0) == 0, "memfd");
	need(pwrite(nameless, data, n, 0) == (ssize_t)n, "pwrite");
	return nameless;
}

const char *fuzz_file_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", nameless);
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void fuzz_remove(const char *path)
{
	if (remove(path) != 0)
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char folder[256];

static void remove_folder(void)
{
	fuzz_remove(folder);
}

const char *fuzz_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "%s/gptq-fuzz-XXXXXX", tmp ? tmp : "/tmp");
		need(mkdtemp(folder) != NULL, folder);
		atexit(remove_folder);
	}
	return folder;
}

void fuzz_write(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0, path);
	need(write(fd, data, n) == (ssize_t)n, path);
	close(fd);
}

/* ----------------------------------------------------------------------------------------------------- input */

uint8_t fuzz_u8(struct fuzz_input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

uint16_t fuzz_u16(struct fuzz_input *in)
{
	unsigned low = fuzz_u8(in);

	return (uint16_t)(low | (unsigned)fuzz_u8(in) << 8);
}

const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t n, size_t *got)
{
	const uint8_t *at = in->data;

	*got = n < in->size ? n : in->size;
	in->data += *got;
	in->size -= *got;
	return at;
}
