/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/copy.h"
#include "base/mem.h"
#include "base/slurp.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

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

		ck_assert_int_eq(gq_copy_range(src, spans[i].from, dst, spans[i].to, spans[i].n, i == 0, &watch, &err),
				 GPTQ_OK);
		ck_assert_uint_eq(watch.done, spans[i].n);
		r = pread(dst, got, 2 * size, 0);
		ck_assert_int_eq(r, spans[i].n ? (ssize_t)(spans[i].to + spans[i].n) : 0);
		ck_assert_int_eq(memcmp(got + spans[i].to, data + spans[i].from, spans[i].n), 0);
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
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 6, false, &watch, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "became shorter while it was read, by 1 byte"));
	ck_assert_str_eq(err.file, "model.safetensors");
	close(dst);
	dst = open_for("dst", O_RDONLY);
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 5, false, &watch, &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EBADF);
	ck_assert_int_eq(gq_pwrite_full(dst, "x", 1, 0, "name", &err), GPTQ_E_IO);
	ck_assert_str_eq(err.file, "name");
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
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, sizeof(data), false, &watch, &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EFBIG);
	ck_assert_int_eq(gq_pwrite_full(dst, data, sizeof(data), 0, "f", &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
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
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 40 << 20, false, &watch, &err), GPTQ_OK);
	ck_assert_uint_ge(seen.n_progress, 3); /* at least every 16 MiB */
	ck_assert_uint_eq(seen.last, 40 << 20);
	seen = (struct seen){.stop_at = 2};
	watch.done = 0;
	ck_assert_int_eq(gq_copy_range(src, 0, dst, 0, 40 << 20, false, &watch, &err), GPTQ_E_CANCELLED);
	ck_assert_uint_lt(watch.done, 40 << 20);
	seen = (struct seen){.stop_at = 1};
	ck_assert_int_eq(gq_check_cancel(&h, &err), GPTQ_E_CANCELLED);
	ck_assert_int_eq(gq_check_cancel(NULL, &err), GPTQ_OK);
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
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, ranges);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, file_size_limit);
	tcase_add_test(tc, hooks);
	tcase_add_test(tc, whole_small_files);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
