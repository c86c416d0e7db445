/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bits of half-precision and bfloat16 numbers, and of float32:
 *
 *   F16   sign 1, exponent 5 (bias 15), fraction 10
 *   BF16  sign 1, exponent 8 (bias 127), fraction 7: the upper half of a float32
 *
 * Narrowing rounds to nearest, ties to even; subnormals are kept; a NaN becomes the positive quiet one without payload.
 */
#ifndef GQ_KERNELS_HALF_H
#define GQ_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

/* The same functions for the CPU and, where a CUDA compiler reads this, for its devices. */
#if defined(__CUDACC__)
#define GQ_HALF_FN static inline __host__ __device__
#else
#define GQ_HALF_FN static inline
#endif

#define GQ_F16_NAN 0x7e00U
#define GQ_BF16_NAN 0x7fc0U
#define GQ_F32_NAN 0x7fc00000U

GQ_HALF_FN float gq_float_of_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

GQ_HALF_FN uint32_t gq_bits_of_float(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

GQ_HALF_FN float gq_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;

	if (exponent == 31)
		return gq_float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent > 0)
		return gq_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
	/* A multiple of 2^-24, exact in float32. */
	return gq_float_of_bits(sign | gq_bits_of_float((float)fraction * 0x1p-24f));
}

/* The quotient of n by 2^shift, to nearest, ties to even; 1 <= shift <= 31. */
GQ_HALF_FN uint32_t gq_shift_round(uint32_t n, unsigned shift)
{
	uint32_t rest = n & ((1U << shift) - 1), half = 1U << (shift - 1);

	n >>= shift;
	return n + (rest > half || (rest == half && (n & 1)));
}

GQ_HALF_FN uint16_t gq_f32_to_f16(float x)
{
	uint32_t bits = gq_bits_of_float(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
	uint32_t exponent = rest >> 23, fraction = (rest & 0x7fffff) | 0x800000;

	if (rest > 0x7f800000)
		return GQ_F16_NAN;
	if (exponent >= 143) /* 2^16 and above */
		return (uint16_t)(sign | 0x7c00);
	if (exponent >= 113) /* normal; rounding up may carry into the exponent, up to infinity */
		return (uint16_t)(sign | gq_shift_round(rest - (112U << 23), 13));
	if (exponent >= 102) /* subnormal: units of 2^-24 */
		return (uint16_t)(sign | gq_shift_round(fraction, 126 - exponent));
	return (uint16_t)sign;
}

GQ_HALF_FN float gq_bf16_to_f32(uint16_t h)
{
	return gq_float_of_bits((uint32_t)h << 16);
}

GQ_HALF_FN uint16_t gq_f32_to_bf16(float x)
{
	uint32_t bits = gq_bits_of_float(x);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return GQ_BF16_NAN;
	return (uint16_t)gq_shift_round(bits, 16);
}

#endif
