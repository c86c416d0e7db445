/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and writes what it cost, by the kernel's own count, as one line of JSON:
 *
 *   timed RESULT COMMAND [ARGUMENT...]
 *
 * It is a small program of its own because the peak memory of a child begins with that of the process that forked it:
 * forked from Python, no command would seem to need less than Python does. Exits as the command does.
 */
#define _GNU_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct io {
	unsigned long long read_chars, written_chars, read_bytes, written_bytes;
};

static void fail(const char *what)
{
	perror(what);
	exit(127);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Of a process that has ended but has not been waited for. All 0 where the kernel does not tell. */
static struct io read_io(pid_t pid)
{
	struct io io = {0};
	char path[64], key[32];
	unsigned long long value;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return io;
	while (fscanf(f, "%31s %llu", key, &value) == 2) {
		if (strcmp(key, "rchar:") == 0)
			io.read_chars = value;
		else if (strcmp(key, "wchar:") == 0)
			io.written_chars = value;
		else if (strcmp(key, "read_bytes:") == 0)
			io.read_bytes = value;
		else if (strcmp(key, "write_bytes:") == 0)
			io.written_bytes = value;
	}
	fclose(f);
	return io;
}

static void report(const char *path, double wall, const struct rusage *use, const struct io *io)
{
	FILE *f = fopen(path, "w");

	if (!f)
		fail(path);
	fprintf(f, "{\"wall\": %.6f, \"user\": %.6f, \"system\": %.6f, \"peak\": %ld, ", wall, seconds(use->ru_utime),
		seconds(use->ru_stime), use->ru_maxrss * 1024);
	fprintf(f, "\"read_chars\": %llu, \"written_chars\": %llu, \"read_bytes\": %llu, \"written_bytes\": %llu}\n",
		io->read_chars, io->written_chars, io->read_bytes, io->written_bytes);
	if (fclose(f) != 0)
		fail(path);
}

int main(int argc, char **argv)
{
	struct rusage use;
	struct io io;
	siginfo_t info;
	double begin, wall;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: timed RESULT COMMAND [ARGUMENT...]\n");
		return 2;
	}
	begin = now();
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0)
		fail("waitid");
	wall = now() - begin;
	io = read_io(pid);
	if (wait4(pid, &status, 0, &use) != pid)
		fail("wait4");
	report(argv[1], wall, &use, &io);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
