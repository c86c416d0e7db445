/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test's own, and small files in it. */
#ifndef GQ_TESTS_SCRATCH_H
#define GQ_TESTS_SCRATCH_H

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[256];

static int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

/* Makes the folder and goes there. */
static inline void scratch_enter(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(scratch, sizeof(scratch), "%s/gptq-unit-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	ck_assert_int_eq(chdir(scratch), 0);
}

static inline void scratch_leave(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void write_bytes(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

/* The whole file, NUL-terminated; free() it. NULL if it is not there. */
static inline char *read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text;
	size_t n;

	if (!f)
		return NULL;
	text = malloc(1 << 20);
	ck_assert_ptr_nonnull(text);
	n = fread(text, 1, (1 << 20) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static inline int file_is(const char *path, const char *want)
{
	char *text = read_text(path);
	int same = text && strcmp(text, want) == 0;

	free(text);
	return same;
}

/* Entries of a folder but . and .. */
static inline unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *de; (de = readdir(dir));)
		n += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
	closedir(dir);
	return n;
}

/* A safetensors file of that header text (padded by the caller or not) and n_data zero bytes. */
static inline void write_safetensors(const char *path, const char *header, size_t n_data)
{
	size_t n = strlen(header);
	unsigned char *all = calloc(8 + n + n_data, 1);

	ck_assert_ptr_nonnull(all);
	for (unsigned i = 0; i < 8; i++)
		all[i] = (unsigned char)((uint64_t)n >> (8 * i));
	memcpy(all + 8, header, n);
	write_bytes(path, all, 8 + n + n_data);
	free(all);
}

#endif
