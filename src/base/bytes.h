/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GQ_BASE_BYTES_H
#define GQ_BASE_BYTES_H

#include <stddef.h>
#include <string.h>

/* Less than, equal to or greater than 0, as a stands before, at or behind b, byte by byte; the shorter one first. */
static inline int gq_compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t n = a_size < b_size ? a_size : b_size;
	int c = n ? memcmp(a, b, n) : 0;

	return c ? c : (a_size > b_size) - (a_size < b_size);
}

#endif
