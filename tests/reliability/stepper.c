/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command under ptrace and interferes with one of its system calls that change files.
 *
 * usage: stepper RESULT count CLASS -- COMMAND...         lists them
 *        stepper RESULT kill N HOW CLASS -- COMMAND...    SIGKILL at the N-th, from 1. HOW: before it, after it, or torn: half
 *                                                         of what a write was to write is written
 *        stepper RESULT fail N ERRNO CLASS -- COMMAND...  the N-th fails with that number; 0: a write or read of half the
 *                                                         bytes, without error
 * CLASS: w: calls that change files; r: calls that look at them; both begin with main(). RESULT is a file: a line for each
 * counted call, "N NAME SIZE". Exit: that of the command, 128+n for signal n; 77 where ptrace is not to be had.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <linux/ptrace.h>

struct call {
	long number;
	const char *name;
	char class;
	int size_argument; /* of a read or write, -1 for others */
};

static const struct call calls[] = {
	{SYS_write, "write", 'w', 2},
	{SYS_pwrite64, "pwrite", 'w', 2},
	{SYS_copy_file_range, "copy_file_range", 'w', 4},
	{SYS_ioctl, "ioctl", 'w', -1},
	{SYS_fsync, "fsync", 'w', -1},
	{SYS_fdatasync, "fdatasync", 'w', -1},
	{SYS_rename, "rename", 'w', -1},
	{SYS_renameat, "renameat", 'w', -1},
	{SYS_renameat2, "renameat2", 'w', -1},
	{SYS_unlink, "unlink", 'w', -1},
	{SYS_unlinkat, "unlinkat", 'w', -1},
	{SYS_rmdir, "rmdir", 'w', -1},
	{SYS_link, "link", 'w', -1},
	{SYS_linkat, "linkat", 'w', -1},
	{SYS_symlink, "symlink", 'w', -1},
	{SYS_mkdir, "mkdir", 'w', -1},
	{SYS_mkdirat, "mkdirat", 'w', -1},
	{SYS_ftruncate, "ftruncate", 'w', -1},
	{SYS_fallocate, "fallocate", 'w', -1},
	{SYS_chmod, "chmod", 'w', -1},
	{SYS_fchmod, "fchmod", 'w', -1},
	{SYS_open, "open", 'o', -1},
	{SYS_openat, "openat", 'o', -1},
	{SYS_creat, "creat", 'w', -1},
	{SYS_read, "read", 'r', 2},
	{SYS_pread64, "pread", 'r', 2},
	{SYS_flock, "flock", 'r', -1},
	{SYS_newfstatat, "fstatat", 'r', -1},
	{SYS_fstat, "fstat", 'r', -1},
	{SYS_getdents64, "getdents", 'r', -1},
};

/* The call in hand, if it is one of the class: standard streams do not count, nor does an ioctl that shares no blocks. */
static const struct call *classify(const struct __ptrace_syscall_info *info, char class)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *c = &calls[i];
		char is = c->class;

		if ((long)info->entry.nr != c->number)
			continue;
		if (is == 'o')
			is = info->entry.args[c->number == SYS_openat ? 2 : 1] & O_CREAT ? 'w' : 'r';
		if (is != class || (c->size_argument == 2 && info->entry.args[0] <= 2))
			return NULL;
		if (c->number == SYS_ioctl && info->entry.args[1] != 0x4020940d)
			return NULL;
		return c;
	}
	return NULL;
}

static void set_register(pid_t pid, size_t offset, unsigned long long value)
{
	if (ptrace(PTRACE_POKEUSER, pid, offset, value) != 0)
		perror("stepper: POKEUSER");
}

enum mode { COUNT, KILL_BEFORE, KILL_AFTER, KILL_TORN, FAIL };

struct plan {
	enum mode mode;
	long n;
	int number; /* errno */
	char class;
};

/* Halves what the call is to read or write; false if there is nothing to halve. */
static int halve(pid_t pid, const struct call *c, const struct __ptrace_syscall_info *info)
{
	unsigned long long size = c->size_argument >= 0 ? info->entry.args[c->size_argument] : 0;

	if (size < 2)
		return 0;
	set_register(pid, c->size_argument == 2 ? offsetof(struct user_regs_struct, rdx) : offsetof(struct user_regs_struct, r8),
		     size / 2);
	return 1;
}

/* At the entry of the chosen call. Returns what is left to do at its exit: 0 nothing, 1 kill, 2 set the error. */
static int interfere(pid_t pid, const struct plan *p, const struct call *c, const struct __ptrace_syscall_info *info)
{
	if (p->mode == KILL_BEFORE || (p->mode == KILL_TORN && !halve(pid, c, info))) {
		kill(pid, SIGKILL);
		return 0;
	}
	if (p->mode == KILL_AFTER || p->mode == KILL_TORN)
		return 1;
	if (p->number == 0) {
		halve(pid, c, info);
		return 0;
	}
	set_register(pid, offsetof(struct user_regs_struct, orig_rax), (unsigned long long)-1);
	return 2;
}

static int trace(pid_t pid, const struct plan *p, FILE *result)
{
	int status, begun = 0, pending = 0;
	long n = 0;

	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return 77;
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
		return 77;
	for (int signal_number = 0;;) {
		struct __ptrace_syscall_info info;
		const struct call *c;

		if (ptrace(PTRACE_SYSCALL, pid, 0, signal_number) != 0 && errno != ESRCH)
			return 77;
		if (waitpid(pid, &status, 0) < 0)
			return 77;
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		signal_number = WSTOPSIG(status) == (SIGTRAP | 0x80) || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (WSTOPSIG(status) != (SIGTRAP | 0x80) || ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
			continue;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			begun = begun || (long)info.entry.nr == SYS_rt_sigaction;
			c = begun ? classify(&info, p->class) : NULL;
			if (!c)
				continue;
			n++;
			fprintf(result, "%ld %s %lld\n", n, c->name,
				c->size_argument >= 0 ? (long long)info.entry.args[c->size_argument] : -1);
			if (p->mode != COUNT && n == p->n)
				pending = interfere(pid, p, c, &info);
		} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && pending) {
			if (pending == 1)
				kill(pid, SIGKILL);
			else
				set_register(pid, offsetof(struct user_regs_struct, rax), (unsigned long long)-(long long)p->number);
			pending = 0;
		}
	}
}

static int usage(void)
{
	fputs("usage: see the head of stepper.c\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct plan p = {.mode = COUNT};
	int at = 3, code;
	FILE *result;
	pid_t pid;

	if (argc < 6)
		return usage();
	if (strcmp(argv[2], "count") != 0) {
		p.n = atol(argv[at++]);
		p.mode = FAIL;
		if (strcmp(argv[2], "kill") == 0)
			p.mode = strcmp(argv[at], "before") == 0  ? KILL_BEFORE
				 : strcmp(argv[at], "after") == 0 ? KILL_AFTER
								  : KILL_TORN;
		p.number = atoi(argv[at++]);
	}
	p.class = argv[at++][0];
	if (at + 1 >= argc || strcmp(argv[at++], "--") != 0)
		return usage();
	result = fopen(argv[1], "we");
	if (!result)
		return 2;
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(77);
		execvp(argv[at], argv + at);
		_exit(127);
	}
	code = pid < 0 ? 77 : trace(pid, &p, result);
	fclose(result);
	return code;
}
#else
int main(void)
{
	puts("only for x86-64");
	return 77;
}
#endif
