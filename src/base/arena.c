/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BLOCK ((size_t)1 << 16)
#define ALIGN sizeof(uint64_t)

struct gq_arena_block {
	struct gq_arena_block *next;
	uint64_t data[];
};

/* Room for n bytes. What is left of the latest block is given up. */
static bool have(struct gq_arena *arena, size_t n)
{
	struct gq_arena_block *block;
	size_t size = n > BLOCK - sizeof(*block) ? n : BLOCK - sizeof(*block);

	if (arena->blocks && (size_t)(arena->end - arena->begin) >= n)
		return true;
	if (size > SIZE_MAX - sizeof(*block))
		return false;
	block = gq_malloc_array(sizeof(*block) + size, 1);
	if (!block)
		return false;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->begin = (char *)block->data;
	arena->end = arena->begin + size;
	return true;
}

void *gq_arena_take(struct gq_arena *arena, size_t n, size_t size)
{
	void *taken;

	if (size && n > (SIZE_MAX - ALIGN) / size)
		return NULL;
	n = (n * size + ALIGN - 1) / ALIGN * ALIGN;
	if (!have(arena, n))
		return NULL;
	taken = arena->begin;
	arena->begin += n;
	return taken;
}

char *gq_arena_text(struct gq_arena *arena, const char *s)
{
	size_t n = strlen(s) + 1;

	if (!have(arena, n))
		return NULL;
	arena->end -= n;
	return memcpy(arena->end, s, n);
}

void gq_arena_free(struct gq_arena *arena)
{
	for (struct gq_arena_block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		gq_free(block);
	}
	*arena = (struct gq_arena){0};
}
