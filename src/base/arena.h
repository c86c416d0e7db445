/* SPDX-License-Identifier: Apache-2.0 */
/* Many small pieces of memory that are given up together: no head for each, and one free for all. */
#ifndef GQ_BASE_ARENA_H
#define GQ_BASE_ARENA_H

#include <stddef.h>

/* All zero: empty. */
struct gq_arena {
	struct gq_arena_block *blocks;
	char *begin, *end; /* what is free in the latest block: text is taken from its end, the rest from its begin */
};

/* Memory for n elements of size bytes, aligned for pointers and whole numbers; NULL on overflow or exhaustion. */
void *gq_arena_take(struct gq_arena *arena, size_t n, size_t size);
/* A NUL-terminated copy of s; NULL on exhaustion. */
char *gq_arena_text(struct gq_arena *arena, const char *s);
void gq_arena_free(struct gq_arena *arena);

#endif
