/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over files and all files of folders: the corpus as a plain test, in builds without libFuzzer. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *current; /* what a crash was about */
static unsigned n_files;

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;

	if (!f || fstat(fileno(f), &st) != 0 || !(data = malloc((size_t)st.st_size + 1)) ||
	    fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	current = path;
	fprintf(stderr, "%s\n", current); /* meson shows it only if the test fails */
	LLVMFuzzerTestOneInput(fuzz_guarded(SLOT_A, data, (size_t)st.st_size), (size_t)st.st_size);
	free(data);
	n_files++;
}

/* In the order of names, so that two runs are alike. */
static void run_folder(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort);

	if (n < 0) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		char full[4096];
		struct stat st;

		snprintf(full, sizeof(full), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && stat(full, &st) == 0 && S_ISREG(st.st_mode))
			run_file(full);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			run_folder(argv[i]);
		else
			run_file(argv[i]);
	}
	printf("%u passed, 0 failed\n", n_files);
	return n_files ? 0 : 1;
}
