/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef GQ_TEST_HOOKS
#include <stdatomic.h>
static atomic_long fail_countdown = -1;

void gq_mem_fail_after(long countdown)
{
	atomic_store(&fail_countdown, countdown);
}

static bool must_fail(void)
{
	if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0)
		return false;
	return atomic_fetch_sub(&fail_countdown, 1) == 0;
}
#else
static bool must_fail(void)
{
	return false;
}
#endif

void *gq_calloc(size_t n, size_t size)
{
	if (must_fail())
		return NULL;
	return calloc(n ? n : 1, size ? size : 1);
}

void *gq_malloc_array(size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return NULL;
	if (must_fail())
		return NULL;
	return malloc(n && size ? n * size : 1);
}

void *gq_realloc_array(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return NULL;
	if (must_fail())
		return NULL;
	return realloc(p, n && size ? n * size : 1);
}

void *gq_array_more(void *array, size_t n, size_t size)
{
	if (n == 0)
		return gq_realloc_array(array, 4, size);
	return n < 4 || (n & (n - 1)) != 0 ? array : gq_realloc_array(array, 2 * n, size);
}

void gq_free(void *p)
{
	free(p);
}

char *gq_strndup(const char *s, size_t n)
{
	if (n == SIZE_MAX)
		return NULL;
	char *copy = gq_malloc_array(n + 1, 1);

	if (copy) {
		memcpy(copy, s, n);
		copy[n] = '\0';
	}
	return copy;
}

char *gq_strdup(const char *s)
{
	return gq_strndup(s, strlen(s));
}
