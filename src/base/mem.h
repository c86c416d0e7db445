/* SPDX-License-Identifier: Apache-2.0 */
/* The one way to the heap, so that tests can make the n-th allocation fail. */
#ifndef GQ_BASE_MEM_H
#define GQ_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for n elements of size bytes; NULL on overflow or exhaustion. n = 0 gives a valid pointer. */
void *gq_calloc(size_t n, size_t size);
/* Uninitialised memory, likewise. */
void *gq_malloc_array(size_t n, size_t size);
/* Grows or shrinks p to n elements of size bytes; on failure p stays valid and NULL comes back. */
void *gq_realloc_array(void *p, size_t n, size_t size);
/*
 * Room for one more behind the n members of an array that only this function grows; on failure the array stays valid
 * and NULL comes back. The new member is not initialised. Room is doubled, and how much there is follows from n, so
 * nobody has to keep it.
 */
void *gq_array_more(void *array, size_t n, size_t size);
/* NULL is allowed. */
void gq_free(void *p);
/* A NUL-terminated copy of n bytes of s. */
char *gq_strndup(const char *s, size_t n);
char *gq_strdup(const char *s);

/* Test hook: the allocation that comes after `countdown` successful ones fails, once; -1 turns it off. */
void gq_mem_fail_after(long countdown);

#endif
