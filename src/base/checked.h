/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on numbers that come from files. No bare + or * on such numbers anywhere else. */
#ifndef GQ_BASE_CHECKED_H
#define GQ_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool gq_add_u64(uint64_t a, uint64_t b, uint64_t *sum)
{
	return !__builtin_add_overflow(a, b, sum);
}

static inline bool gq_mul_u64(uint64_t a, uint64_t b, uint64_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

/* Does [begin, begin + length) lie inside [0, limit)? */
static inline bool gq_span_ok(uint64_t begin, uint64_t length, uint64_t limit)
{
	return begin <= limit && length <= limit - begin;
}

/* ceil(a / b) without overflow; b > 0. */
static inline uint64_t gq_ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Little-endian loads and stores at any alignment. */
static inline uint64_t gq_load_le(const void *src, unsigned nbytes)
{
	const unsigned char *p = src;
	uint64_t v = 0;

	for (unsigned i = 0; i < nbytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* The same of 8 bytes, for loops that do little else: compilers do not see through the one above everywhere. */
static inline uint64_t gq_load_le64(const void *src)
{
	uint64_t v;

	memcpy(&v, src, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline void gq_store_le(void *dst, uint64_t v, unsigned nbytes)
{
	unsigned char *p = dst;

	for (unsigned i = 0; i < nbytes; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

#endif
