/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code: weights of both sides, code by code with the conversions of half.h, for every packing and for groups in
 * any order; and the table proof.
 */
#ifndef GQ_KERNELS_CUDA_EXACT_CUH
#define GQ_KERNELS_CUDA_EXACT_CUH

#include "kernels/half.h"

#include <cuda_runtime.h>
#include <stdint.h>

namespace gq {

enum Dtype { F16, BF16, F32 };

/* One side of a piece on the device: rows from a multiple of 32 on, columns from column0 on. */
struct Side {
	const unsigned char *words;
	size_t pitch; /* bytes from one word row to the next, a multiple of 16 */
	unsigned bits, word_bits;
	const void *scales; /* [groups][n_padded] */
	const uint8_t *z;
	const int32_t *groups; /* of the piece's rows */
};

struct Piece {
	Side side[2];
	Dtype dtype;
	unsigned n_columns, n_padded; /* of the chunk; padded to a multiple of 4 */
	uint64_t first_row;           /* row 0 here, as it is reported, and column 0 */
	uint64_t first_column;
	uint64_t all_columns;
};

/* Rows [k0, k1) of a piece; in the fast list whole blocks of one group a side. */
struct Stretch {
	uint32_t k0, k1;
	int32_t group[2];
};

struct Found {
	unsigned long long n_differ, first; /* first: row * all_columns + column */
	unsigned long long n_nan[2], n_inf[2];
	unsigned long long bytes_differ, cells_differ; /* the table proof */
};

/* ---------------------------------------------------------------------------------------------------- exact way */

/*
 * Is the scale, as stored, so small that its products with codes of that many bits stay below infinity? Below
 * 2^(16 - bits) in F16 and 2^(128 - bits) otherwise, a comparison of exponents, none is above 2^16 - 2^8 or
 * 2^128 - 2^120.
 */
__device__ inline bool tame(Dtype dtype, uint32_t scale, unsigned bits)
{
	if (dtype == F16)
		return (scale & 0x7fff) < (31 - bits) << 10;
	if (dtype == BF16)
		return (scale & 0x7fff) < (255 - bits) << 7;
	return (scale & 0x7fffffff) < (255 - bits) << 23;
}

__device__ inline uint32_t scale_bits(Dtype dtype, const void *scales, size_t cell)
{
	if (dtype == F32)
		return static_cast<const uint32_t *>(scales)[cell];
	return static_cast<const uint16_t *>(scales)[cell];
}

__device__ inline float scale_value(Dtype dtype, uint32_t bits)
{
	if (dtype == F16)
		return gq_f16_to_f32((uint16_t)bits);
	if (dtype == BF16)
		return gq_bf16_to_f32((uint16_t)bits);
	return gq_float_of_bits(bits);
}

__device__ inline uint32_t weight_bits(Dtype dtype, float product)
{
	uint32_t bits = gq_bits_of_float(product);

	if (dtype == F16)
		return gq_f32_to_f16(product);
	if (dtype == BF16)
		return gq_f32_to_bf16(product);
	return (bits & 0x7fffffff) > 0x7f800000 ? GQ_F32_NAN : bits;
}

/* 1 NaN, 2 infinite, 0 neither. */
__device__ inline unsigned special(Dtype dtype, uint32_t weight)
{
	uint32_t infinity = dtype == F16 ? 0x7c00 : dtype == BF16 ? 0x7f80 : 0x7f800000;

	weight &= dtype == F32 ? 0x7fffffff : 0x7fff;
	return weight > infinity ? 1 : weight == infinity ? 2 : 0;
}

/* The part of a code that lies in the word where it begins, and the rest from the next one (3 bits alone). */
__device__ inline unsigned code_at(const Side &side, unsigned k, unsigned n)
{
	unsigned word_bytes = side.word_bits / 8, bit = k * side.bits, shift = bit % side.word_bits;
	const unsigned char *p = side.words + (size_t)(bit / side.word_bits) * side.pitch + (size_t)n * word_bytes;
	uint32_t word;

	if (side.word_bits == 32 || side.word_bits == 64)
		word = *reinterpret_cast<const uint32_t *>(p + shift / 32 * 4) >> shift % 32;
	else if (side.word_bits == 16)
		word = *reinterpret_cast<const uint16_t *>(p) >> shift;
	else
		word = *p >> shift;
	if (shift + side.bits > side.word_bits)
		word |= *reinterpret_cast<const uint32_t *>(p + side.pitch) << (side.word_bits - shift);
	return word & ((1U << side.bits) - 1);
}

__device__ inline void count(Found *found, const unsigned *n_nan, const unsigned *n_inf, unsigned n_differ,
			     unsigned long long first)
{
	if (n_differ > 0) {
		atomicAdd(&found->n_differ, (unsigned long long)n_differ);
		atomicMin(&found->first, first);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (n_nan[i] > 0)
			atomicAdd(&found->n_nan[i], (unsigned long long)n_nan[i]);
		if (n_inf[i] > 0)
			atomicAdd(&found->n_inf[i], (unsigned long long)n_inf[i]);
	}
}

/* Rows [k0, k1) of one column. With group NULL each row's own. */
__device__ inline void compare_column(const Piece &piece, unsigned k0, unsigned k1, unsigned n, const int32_t *group,
				      Found *found)
{
	unsigned n_nan[2] = {0, 0}, n_inf[2] = {0, 0}, n_differ = 0;
	unsigned long long first = ~0ULL;

	for (unsigned k = k0; k < k1; k++) {
		float product[2];
		bool all_tame = true;
		uint32_t weight[2];

		for (unsigned i = 0; i < 2; i++) {
			const Side &side = piece.side[i];
			size_t cell = (size_t)(group ? group[i] : side.groups[k]) * piece.n_padded + n;
			uint32_t scale = scale_bits(piece.dtype, side.scales, cell);
			int difference = (int)code_at(side, k, n) - (int)side.z[cell];

			product[i] = __fmul_rn(scale_value(piece.dtype, scale), (float)difference);
			all_tame = all_tame && tame(piece.dtype, scale, side.bits);
		}
		/* Equal products round alike; tame ones are neither NaN nor infinite. */
		if (all_tame && gq_bits_of_float(product[0]) == gq_bits_of_float(product[1]))
			continue;
		for (unsigned i = 0; i < 2; i++) {
			weight[i] = weight_bits(piece.dtype, product[i]);
			n_nan[i] += special(piece.dtype, weight[i]) == 1;
			n_inf[i] += special(piece.dtype, weight[i]) == 2;
		}
		if (weight[0] != weight[1] && n_differ++ == 0)
			first = (piece.first_row + k) * piece.all_columns + piece.first_column + n;
	}
	count(found, n_nan, n_inf, n_differ, first);
}

constexpr unsigned THREADS = 128;

/* A block of threads: one stretch, THREADS columns. */
__global__ void __launch_bounds__(THREADS)
	compare_exact(Piece piece, const Stretch *stretches, unsigned n_tiles, Found *found)
{
	Stretch at = stretches[blockIdx.x / n_tiles];
	unsigned n = blockIdx.x % n_tiles * THREADS + threadIdx.x;

	if (n < piece.n_columns)
		compare_column(piece, at.k0, at.k1, n, nullptr, found);
}

/* -------------------------------------------------------------------------------------------------------- table */

/* Are n vectors of 16 bytes the same? */
__global__ void __launch_bounds__(256) compare_bytes(const uint4 *a, const uint4 *b, size_t n, Found *found)
{
	constexpr int AHEAD = 4;
	size_t step = (size_t)gridDim.x * blockDim.x, i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t differ = 0;

	for (; i + (AHEAD - 1) * step < n; i += AHEAD * step) {
		uint4 x[AHEAD], y[AHEAD];

#pragma unroll
		for (int j = 0; j < AHEAD; j++) {
			x[j] = __ldcs(a + i + j * step);
			y[j] = __ldcs(b + i + j * step);
		}
#pragma unroll
		for (int j = 0; j < AHEAD; j++)
			differ |= (x[j].x ^ y[j].x) | (x[j].y ^ y[j].y) | (x[j].z ^ y[j].z) | (x[j].w ^ y[j].w);
	}
	for (; i < n; i += step) {
		uint4 x = __ldcs(a + i), y = __ldcs(b + i);

		differ |= (x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w);
	}
	if (differ != 0)
		atomicAdd(&found->bytes_differ, 1ULL);
}

/* Cells, a group's column each, whose products differ for some code. */
__global__ void __launch_bounds__(256) compare_cells(Piece piece, size_t n_groups, Found *found)
{
	size_t step = (size_t)gridDim.x * blockDim.x, n_cells = n_groups * piece.n_padded;
	const Side &a = piece.side[0], &b = piece.side[1];

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n_cells; i += step) {
		uint32_t scale_a = scale_bits(piece.dtype, a.scales, i), scale_b = scale_bits(piece.dtype, b.scales, i);
		bool differ = false;

		if (i % piece.n_padded >= piece.n_columns || (scale_a == scale_b && a.z[i] == b.z[i]))
			continue;
		for (int q = 0; q < 1 << a.bits && !differ; q++)
			differ = weight_bits(piece.dtype,
					     __fmul_rn(scale_value(piece.dtype, scale_a), (float)(q - (int)a.z[i]))) !=
				 weight_bits(piece.dtype,
					     __fmul_rn(scale_value(piece.dtype, scale_b), (float)(q - (int)b.z[i])));
		if (differ)
			atomicAdd(&found->cells_differ, 1ULL);
	}
}

} // namespace gq

#endif
