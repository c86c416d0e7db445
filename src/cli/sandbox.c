/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Landlock ruleset that handles every way to write and holds no rule that allows one. Files come from strangers:
 * should one of them ever get the better of a parser, there is still nothing that it could change.
 */
#define _GNU_SOURCE /* syscall */
#include "sandbox.h"

#include <sys/syscall.h>

#if defined(__has_include)
#if __has_include(<linux/landlock.h>) && defined(SYS_landlock_create_ruleset)
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>
#define HAVE_LANDLOCK 1
#endif
#endif

#ifdef HAVE_LANDLOCK

/* Younger than some headers. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/* A kernel refuses what it does not know, so it is asked for its version first. */
static uint64_t ways_to_write(long version)
{
	uint64_t ways = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
			LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			LANDLOCK_ACCESS_FS_MAKE_SYM;

	if (version >= 2)
		ways |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		ways |= LANDLOCK_ACCESS_FS_TRUNCATE;
	return ways;
}

bool cli_forbid_writing(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = {.handled_access_fs = ways_to_write(version)};
	bool done;
	int fd;

	if (version < 1)
		return false;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (fd < 0)
		return false;
	/* a process that could gain privileges may not restrict itself */
	done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
	close(fd);
	return done;
}

#else

bool cli_forbid_writing(void)
{
	return false;
}

#endif
