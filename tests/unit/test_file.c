/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/file.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

START_TEST(only_regular_files)
{
	char folder[] = "/tmp/gptq-test-XXXXXX", path[64];
	struct gptq_error err;
	uint64_t size;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(gq_open_read(folder, &fd, &size, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "folder"));
	ck_assert_int_eq(fd, -1);
	snprintf(path, sizeof(path), "%s/x", folder);
	ck_assert_int_eq(gq_open_read(path, &fd, &size, &err), GPTQ_E_NOTFOUND);
	ck_assert_int_eq(err.status, GPTQ_E_NOTFOUND);
	make_socket(path);
	ck_assert_int_eq(gq_open_read(path, &fd, &size, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "socket"));
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(gq_open_read(path, &fd, &size, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "FIFO"));
	unlink(path);
	rmdir(folder);
	ck_assert_int_eq(gq_open_read("/dev/null", &fd, &size, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "device"));
}
END_TEST

START_TEST(whole_spans)
{
	char path[] = "/tmp/gptq-test-XXXXXX", text[16] = "";
	int out = mkstemp(path), fd;
	struct gptq_error err;
	uint64_t size;

	ck_assert_int_eq(write(out, "0123456789", 10), 10);
	close(out);
	ck_assert_int_eq(gq_open_read(path, &fd, &size, &err), GPTQ_OK);
	unlink(path);
	ck_assert_uint_eq(size, 10);
	ck_assert_int_eq(gq_pread_full(fd, text, 4, 6, "f", &err), GPTQ_OK);
	ck_assert_str_eq(text, "6789");
	ck_assert_int_eq(gq_pread_full(fd, text, 0, 99, "f", &err), GPTQ_OK);
	ck_assert_int_eq(gq_pread_full(fd, text, 5, 6, "f", &err), GPTQ_E_IO);
	ck_assert_uint_eq(err.offset, 10);
	ck_assert_str_eq(err.file, "f");
	ck_assert_str_eq(err.expected, "1 more bytes");
	ck_assert_int_eq(gq_pread_full(fd, text, 5, UINT64_MAX - 2, "f", &err), GPTQ_E_IO);
	ck_assert_int_eq(gq_pread_full(fd, text, 1, (uint64_t)INT64_MAX, "f", NULL), GPTQ_E_IO);
	close(fd);
	ck_assert_int_eq(gq_pread_full(-1, text, 1, 0, "f", &err), GPTQ_E_IO);
	ck_assert_int_ne(err.sys_errno, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("file");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, only_regular_files);
	tcase_add_test(tc, whole_spans);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
