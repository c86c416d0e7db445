/* SPDX-License-Identifier: Apache-2.0 */
/* A folder as a flat, sorted list of what a conversion has to carry over. */
#ifndef GQ_BASE_TREE_H
#define GQ_BASE_TREE_H

#include "gptq/gptq.h"

#include <sys/stat.h>

struct gq_tree_entry {
	char *path; /* relative to the root, '/' between components, any bytes but NUL */
	bool is_dir;
	uint64_t size;
	uint64_t dev, ino;
	int64_t mtime_ns, ctime_ns;
	bool is_link; /* the last component is a symbolic link (the figures are its target's) */
};

struct gq_tree {
	struct gq_tree_entry *entries; /* sorted by path in byte order, so a folder stands before its contents */
	size_t n_entries;
	char **skipped; /* relative paths left out on purpose: .git, .cache, *.lock, *.incomplete, *.part, our journals */
	size_t n_skipped;
};

/*
 * Walks the folder `root`. Links are followed and count as what they point to. GPTQ_E_IO for a dangling link or what
 * the system refuses; GPTQ_E_ARG for a FIFO, socket or device, for a loop of links and beyond 64 levels of folders.
 * tolerant: none of these is an error; dangling links are listed as files of size 0, the others are left out.
 */
enum gptq_status gq_tree_walk(const char *root, bool tolerant, struct gq_tree *tree, struct gptq_error *err);
void gq_tree_free(struct gq_tree *tree);

/* "a/b" from "a" and "b"; to be freed with gq_free; NULL when memory runs out. */
char *gq_path_join(const char *a, const char *b);
/* The part behind the last '/' (trailing slashes are ignored by the callers' own trimming). */
const char *gq_path_base(const char *path);
/* Does the NUL-terminated s end in suffix? */
bool gq_has_suffix(const char *s, const char *suffix);

#endif
