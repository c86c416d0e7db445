/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw, copy_file_range, fallocate */
#include "scratch.h"

#include "base/copy.h"
#include "base/mem.h"
#include "base/slurp.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* ----------------------------------------------------------- system calls that do less than they could, or lie */

/* What the calls below do instead of what they are for. All zero: nothing. */
static struct {
	bool remote;          /* every file lies on a network file system */
	ssize_t ranges[4];    /* results of copy_file_range, one after the other: bytes that it copies or claims, -errno */
	bool claims_only;     /* it copies none of them */
	unsigned n_ranges;
	size_t most;          /* no read or write moves more than that */
	unsigned interrupted; /* every so many reads and writes one ends with EINTR */
	unsigned n_calls;
	int no_room;          /* errno of fallocate */
	unsigned n_reserved;
} faults;

int fstatfs(int fd, struct statfs *fs)
{
	long rc = syscall(SYS_fstatfs, fd, fs);

	if (faults.remote)
		fs->f_type = FUSE_SUPER_MAGIC;
	return (int)rc;
}

static int fails(int number)
{
	errno = number;
	return -1;
}

ssize_t copy_file_range(int src, off_t *from, int dst, off_t *to, size_t n, unsigned flags)
{
	ssize_t r = faults.n_ranges < 4 ? faults.ranges[faults.n_ranges] : 0;
	char *data;

	ck_assert(faults.remote);
	ck_assert_uint_eq(flags, 0);
	faults.n_ranges++;
	if (r < 0)
		return fails((int)-r);
	if (faults.claims_only || r == 0)
		return r;
	ck_assert_uint_le((size_t)r, n);
	data = malloc((size_t)r);
	ck_assert_ptr_nonnull(data);
	ck_assert_int_eq(syscall(SYS_pread64, src, data, (size_t)r, *from), r);
	ck_assert_int_eq(syscall(SYS_pwrite64, dst, data, (size_t)r, *to), r);
	free(data);
	*from += r;
	*to += r;
	return r;
}

static bool interrupts(void)
{
	return faults.interrupted && ++faults.n_calls % faults.interrupted == 0;
}

ssize_t pread(int fd, void *data, size_t n, off_t offset)
{
	if (interrupts())
		return fails(EINTR);
	return syscall(SYS_pread64, fd, data, faults.most && n > faults.most ? faults.most : n, offset);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
	if (interrupts())
		return fails(EINTR);
	return syscall(SYS_pwrite64, fd, data, faults.most && n > faults.most ? faults.most : n, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t n)
{
	faults.n_reserved++;
	if (faults.no_room)
		return fails(faults.no_room);
	return (int)syscall(SYS_fallocate, fd, mode, offset, n);
}

static void fresh_faults(void)
{
	memset(&faults, 0, sizeof(faults));
	scratch_enter();
}

static int open_for(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Spans of a file of 3 MiB: the start, the middle, across chunks, nothing. */
START_TEST(ranges)
{
	static const struct {
		size_t from, to, n;
	} spans[] = {{0, 0, 3 << 20},           {5, 0, 1000}, {0, 7, 1000},
		     {100, 200, (2 << 20) + 1}, {3, 3, 0},    {(3 << 20) - 1, 9, 1}};
	size_t size = 3 << 20;
	char *data = malloc(size), *got = calloc(1, 2 * size);
	int src;

	ck_assert(data && got);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 31 + (i >> 8));
	write_bytes("src", data, size);
	src = open_for("src", O_RDONLY);
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct gq_copy_watch watch = {.file = "src"};
		struct gptq_error err;
		ssize_t r;
		int dst = open_for("dst", O_RDWR | O_CREAT | O_TRUNC);

		ck_assert_int_eq(gq_copy_range(src, spans[i].from, dst, spans[i].to, spans[i].n, &watch, &err),
				 GPTQ_OK);
		ck_assert_uint_eq(watch.done, spans[i].n);
		r = pread(dst, got, 2 * size, 0);
		ck_assert_int_eq(r, spans[i].n ? (ssize_t)(spans[i].to + spans[i].n) : 0);
		ck_assert_int_eq(memcmp(got + spans[i].to, data + spans[i].from, spans[i].n), 0);
		gq_copy_free(&watch);
		close(dst);
	}
	close(src);
	free(data);
	free(got);
}
END_TEST

/* The error names the file as the watch does. */
START_TEST(errors)
{
	struct gq_copy_watch watch = {.file = "model.safetensors"};
	struct gptq_error err;
	int src, dst;

	write_text("src", "hello");
	src = open_for("src", O_RDONLY);
	dst = open_for("dst", O_RDWR | O_CREAT);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 6, &watch, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "became shorter while it was read, by 1 byte"));
	ck_assert_str_eq(err.file, "model.safetensors");
	close(dst);
	dst = open_for("dst", O_RDONLY);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 5, &watch, &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EBADF);
	ck_assert_int_eq(gq_pwrite_full(dst, "x", 1, 0, "name", &err), GPTQ_E_IO);
	ck_assert_str_eq(err.file, "name");
	gq_copy_free(&watch);
	close(dst);
	close(src);
}
END_TEST

START_TEST(file_size_limit)
{
	struct rlimit limit = {4096, RLIM_INFINITY};
	struct gq_copy_watch watch = {.file = "src"};
	char data[8192] = "x";
	struct gptq_error err;
	int src, dst;

	write_bytes("src", data, sizeof(data));
	src = open_for("src", O_RDONLY);
	dst = open_for("dst", O_RDWR | O_CREAT);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, sizeof(data), &watch, &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EFBIG);
	ck_assert_int_eq(gq_pwrite_full(dst, data, sizeof(data), 0, "f", &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EFBIG);
	ck_assert_int_eq(gq_copy_reserve(dst, sizeof(data), "f", &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	gq_copy_free(&watch);
	close(src);
	close(dst);
}
END_TEST

struct seen {
	unsigned n_asked, stop_at, n_progress;
	uint64_t last;
};

static bool asked(void *ctx)
{
	struct seen *s = ctx;

	return ++s->n_asked >= s->stop_at;
}

static void progressed(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	struct seen *s = ctx;

	ck_assert_str_eq(file, "src");
	ck_assert_uint_eq(total, 40 << 20);
	ck_assert_uint_gt(done, s->last);
	s->last = done;
	s->n_progress++;
}

START_TEST(hooks)
{
	struct seen seen = {.stop_at = 1000};
	struct gptq_hooks h = {.ctx = &seen, .cancelled = asked, .progress = progressed};
	struct gq_copy_watch watch = {.hooks = &h, .file = "src", .total = 40 << 20};
	struct gptq_error err;
	int src = open_for("src", O_RDWR | O_CREAT), dst = open_for("dst", O_RDWR | O_CREAT);

	ck_assert_int_eq(ftruncate(src, 40 << 20), 0);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 40 << 20, &watch, &err), GPTQ_OK);
	ck_assert_uint_ge(seen.n_progress, 3); /* at least every 16 MiB */
	ck_assert_uint_eq(seen.last, 40 << 20);
	seen = (struct seen){.stop_at = 2};
	watch.done = 0;
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 40 << 20, &watch, &err), GPTQ_E_CANCELLED);
	ck_assert_uint_lt(watch.done, 40 << 20);
	seen = (struct seen){.stop_at = 1};
	ck_assert_int_eq(gq_check_cancel(&h, &err), GPTQ_E_CANCELLED);
	ck_assert_int_eq(gq_check_cancel(NULL, &err), GPTQ_OK);
	gq_copy_free(&watch);
	close(src);
	close(dst);
}
END_TEST

/* Makes src (5 MiB), copies it and compares; n_copied is all of it. */
static void copy_and_compare(struct gq_sha256 *digest)
{
	struct gq_copy_watch watch = {0};
	size_t size = 5 << 20;
	char *data = malloc(size), *got;
	struct gptq_error err;
	size_t n;
	int src, dst;

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 7 + (i >> 11));
	unlink("src");
	unlink("dst");
	write_bytes("src", data, size);
	src = open_for("src", O_RDONLY);
	dst = open_for("dst", O_RDWR | O_CREAT);
	gq_copy_begin(&watch, "src", digest);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, size, &watch, &err), GPTQ_OK);
	ck_assert_uint_eq(watch.done, size);
	ck_assert_uint_eq(watch.n_copied, size);
	gq_copy_free(&watch);
	close(src);
	close(dst);
	faults.interrupted = 0;
	ck_assert_int_eq(gq_read_file("dst", size, &got, &n, &err), GPTQ_OK);
	ck_assert_uint_eq(n, size);
	ck_assert_int_eq(memcmp(got, data, size), 0);
	gq_free(got);
	free(data);
}

START_TEST(short_and_interrupted)
{
	faults.most = 1000;
	copy_and_compare(NULL);
	faults.most = 70001;
	faults.interrupted = 3;
	copy_and_compare(NULL);
	ck_assert_uint_gt(faults.n_calls, 100);
	ck_assert_uint_eq(faults.n_ranges, 0);
}
END_TEST

/* What copy_file_range leaves undone, whatever it says, reads and writes finish. */
START_TEST(kernel_copies)
{
	static const ssize_t results[][4] = {
		{5 << 20},
		{1 << 20, 1 << 20, 4096, (3 << 20) - 4096},
		{1 << 20, 100},            /* then it claims to be at the end */
		{1, -EINTR, 1 << 20, -EXDEV},
		{0},
		{-EXDEV},
		{-EINVAL},
		{-ENOSYS},
		{-EOPNOTSUPP},
		{-EPERM},
		{1 << 20, -EIO},
		{SSIZE_MAX},               /* more than it was asked for */
	};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		memset(&faults, 0, sizeof(faults));
		faults.remote = true;
		memcpy(faults.ranges, results[i], sizeof(results[i]));
		faults.claims_only = results[i][0] == SSIZE_MAX;
		copy_and_compare(NULL);
		ck_assert_uint_ge(faults.n_ranges, 1);
	}
}
END_TEST

START_TEST(kernel_copies_that_fail)
{
	static const int numbers[] = {ENOSPC, EDQUOT, EFBIG};
	int src, dst;

	write_text("src", "hello");
	src = open_for("src", O_RDONLY);
	dst = open_for("dst", O_RDWR | O_CREAT);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct gq_copy_watch watch = {.file = "src"};
		struct gptq_error err;

		memset(&faults, 0, sizeof(faults));
		faults.remote = true;
		faults.ranges[0] = -numbers[i];
		ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 5, &watch, &err), GPTQ_E_IO);
		ck_assert_int_eq(err.sys_errno, numbers[i]);
		ck_assert_uint_eq(faults.n_ranges, 1);
		memset(&faults, 0, sizeof(faults));
		faults.no_room = numbers[i];
		ck_assert_int_eq(gq_copy_reserve(dst, 4096, "src", &err), GPTQ_E_IO);
		ck_assert_int_eq(err.sys_errno, numbers[i]);
	}
	close(src);
	close(dst);
}
END_TEST

/* Room that cannot be made in advance is no error, and a network file system is not asked for it. */
START_TEST(reserving)
{
	static const int numbers[] = {EOPNOTSUPP, ENOSYS, EINVAL, EPERM};
	struct gptq_error err;
	struct stat st;
	int dst = open_for("dst", O_RDWR | O_CREAT);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		faults.no_room = numbers[i];
		ck_assert_int_eq(gq_copy_reserve(dst, 4096, "dst", &err), GPTQ_OK);
	}
	ck_assert_int_eq(fstat(dst, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_uint_eq(faults.n_reserved, 4);
	faults.remote = true;
	ck_assert_int_eq(gq_copy_reserve(dst, 4096, "dst", &err), GPTQ_OK);
	faults.remote = false;
	ck_assert_int_eq(gq_copy_reserve(dst, 0, "dst", &err), GPTQ_OK);
	ck_assert_uint_eq(faults.n_reserved, 4);
	close(dst);
}
END_TEST

/* Holes come out as zeros. */
START_TEST(sparse)
{
	struct gq_copy_watch watch = {.file = "src"};
	size_t size = 9 << 20, n;
	struct gptq_error err;
	char *got;
	int src = open_for("src", O_RDWR | O_CREAT), dst = open_for("dst", O_RDWR | O_CREAT);

	ck_assert_int_eq(ftruncate(src, (off_t)size), 0);
	ck_assert_int_eq(gq_pwrite_full(src, "middle", 6, 4 << 20, "src", &err), GPTQ_OK);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, size, &watch, &err), GPTQ_OK);
	ck_assert_int_eq(gq_read_file("dst", size, &got, &n, &err), GPTQ_OK);
	ck_assert_uint_eq(n, size);
	ck_assert_int_eq(memcmp(got + (4 << 20), "middle", 6), 0);
	for (size_t i = 0; i < size; i++)
		if (got[i] && (i < 4 << 20 || i >= (4 << 20) + 6))
			ck_abort_msg("byte %zu is %d", i, got[i]);
	gq_free(got);
	gq_copy_free(&watch);
	close(src);
	close(dst);
}
END_TEST

/* The digest is that of all bytes in the order of the calls, also of those that are there already. */
START_TEST(digests)
{
	struct gq_copy_watch watch = {0};
	struct gq_sha256 d = {0};
	char hex[GQ_SHA256_HEX];
	struct gptq_error err;
	int src, dst;

	write_text("src", "abcdefgh");
	src = open_for("src", O_RDONLY);
	dst = open_for("dst", O_RDWR | O_CREAT);
	ck_assert_int_eq(gq_sha256_begin(&d, &err), GPTQ_OK);
	gq_copy_begin(&watch, "src", &d);
	ck_assert_int_eq(gq_copy_put(dst, "a", 1, 0, &watch, &err), GPTQ_OK);
	ck_assert_int_eq(gq_copy_range(src, 1, -1, 1, 1, &watch, &err), GPTQ_OK);
	ck_assert_uint_eq(watch.n_copied, 0);
	faults.remote = true; /* what nobody here sees cannot be digested */
	ck_assert_int_eq(gq_copy_range(src, 2, dst, 2, 1, &watch, &err), GPTQ_OK);
	ck_assert_uint_eq(faults.n_ranges, 0);
	ck_assert_int_eq(gq_sha256_end(&d, hex, &err), GPTQ_OK);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	ck_assert_int_eq(gq_sha256_begin(&d, &err), GPTQ_OK);
	ck_assert_int_eq(gq_sha256_end(&d, hex, &err), GPTQ_OK);
	ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	gq_sha256_free(&d);
	gq_sha256_free(&d);
	gq_copy_free(&watch);
	close(src);
	close(dst);
}
END_TEST

START_TEST(whole_small_files)
{
	struct gptq_error err;
	size_t size;
	char *data;

	write_bytes("file", "a\0b", 3);
	ck_assert_int_eq(gq_read_file("file", 3, &data, &size, &err), GPTQ_OK);
	ck_assert_uint_eq(size, 3);
	ck_assert_int_eq(memcmp(data, "a\0b", 4), 0);
	gq_free(data);
	ck_assert_int_eq(gq_read_file("file", 2, &data, &size, &err), GPTQ_E_LIMIT);
	ck_assert_ptr_null(data);
	ck_assert_str_eq(err.found, "3 bytes");
	ck_assert_int_eq(gq_read_file("nowhere", 2, &data, &size, &err), GPTQ_E_NOTFOUND);
	ck_assert_int_eq(gq_read_file(".", 2, &data, &size, &err), GPTQ_E_IO);
	ck_assert_ptr_null(data);
	write_bytes("empty", "", 0);
	ck_assert_int_eq(gq_read_file("empty", 0, &data, &size, &err), GPTQ_OK);
	ck_assert_uint_eq(size, 0);
	gq_free(data);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("copy");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, fresh_faults, scratch_leave);
	tcase_add_test(tc, ranges);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, file_size_limit);
	tcase_add_test(tc, hooks);
	tcase_add_test(tc, short_and_interrupted);
	tcase_add_test(tc, kernel_copies);
	tcase_add_test(tc, kernel_copies_that_fail);
	tcase_add_test(tc, reserving);
	tcase_add_test(tc, sparse);
	tcase_add_test(tc, digests);
	tcase_add_test(tc, whole_small_files);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
