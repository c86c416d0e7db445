/* SPDX-License-Identifier: Apache-2.0 */
/* A small generator of numbers and fields of bits, for tests that write their own tensors. */
#ifndef GQ_TESTS_BITS_H
#define GQ_TESTS_BITS_H

#include <stddef.h>
#include <stdint.h>

static uint32_t state; /* of the generator; set it to begin anew */

static inline unsigned below(unsigned n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

static inline void set_bits(unsigned char *bytes, size_t bit, unsigned n, unsigned value)
{
	for (unsigned i = 0; i < n; i++, bit++) {
		bytes[bit / 8] &= (unsigned char)~(1U << bit % 8);
		bytes[bit / 8] |= (unsigned char)((value >> i & 1) << bit % 8);
	}
}

#endif
