/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing can be written once that is forbidden, from threads neither; reading and what is open go on. */
#define _GNU_SOURCE
#include "scratch.h"

#include "../../src/cli/sandbox.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

#define NO_LANDLOCK 77

static bool denied(int result)
{
	return result < 0 && (errno == EACCES || errno == EXDEV || errno == EPERM);
}

/* Of Landlock. Before 3 it did not know truncating. */
static long kernel_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

/* NULL, or what could be done all the same. */
static const char *try_all(void)
{
	if (!denied(open("new", O_WRONLY | O_CREAT, 0600)))
		return "a file was created";
	if (!denied(open("file", O_WRONLY)) || !denied(open("file", O_RDWR)))
		return "a file was opened for writing";
	if (kernel_version() >= 3 && !denied(truncate("file", 0)))
		return "a file was truncated";
	if (!denied(mkdir("folder2", 0700)) || !denied(rmdir("folder")))
		return "a folder was made or removed";
	if (!denied(unlink("file")) || !denied(rename("file", "other")) || !denied(symlink("file", "link")))
		return "a name was changed";
	return NULL;
}

static void *try_in_thread(void *wrong)
{
	*(const char **)wrong = try_all();
	return NULL;
}

/* In a process of its own: there is no way back. */
static int forbidden(void)
{
	int fd = open("file", O_RDWR), again;
	const char *wrong = NULL;
	pthread_t thread;
	char c;

	if (!cli_forbid_writing())
		return NO_LANDLOCK;
	if (pthread_create(&thread, NULL, try_in_thread, (void *)&wrong) != 0 || pthread_join(thread, NULL) != 0)
		return 2;
	wrong = wrong ? wrong : try_all();
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		return 1;
	}
	again = open("file", O_RDONLY);
	return again >= 0 && read(again, &c, 1) == 1 && pwrite(fd, "b", 1, 0) == 1 ? 0 : 3;
}

START_TEST(nothing_can_be_written)
{
	int status;
	pid_t child;

	scratch_enter();
	write_text("file", "a");
	ck_assert_int_eq(mkdir("folder", 0700), 0);
	child = fork();
	if (child == 0)
		_exit(forbidden());
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_LANDLOCK) {
		puts("skipped: this kernel has no Landlock");
	} else {
		ck_assert_int_eq(WEXITSTATUS(status), 0);
		ck_assert(file_is("file", "b"));
		ck_assert_uint_eq(count_entries("."), 2);
	}
	scratch_leave();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tc = tcase_create("sandbox");

	tcase_add_test(tc, nothing_can_be_written);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
