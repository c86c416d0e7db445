/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code: weights of both sides where the rows of a block have different groups (act-order), for 32-bit words and
 * groups that are the same on both sides. A block of threads has a tile of columns. It puts the scales and zero points
 * of all groups there into shared memory, of both sides; then its threads take blocks of codes in turn, two
 * neighbouring columns each, and look up what each row needs. The two columns' codes go in the halves of a register:
 *
 *   words of two columns    x: x7 ... x4 | x3 ... x0    y likewise
 *   halves of both          y3 ... y0 | x3 ... x0, shifted by 4 j and with 000f000f: codes j
 *
 * Products are formed as in cuda_fast.cuh. Where one differs, or might be NaN or infinite, the thread goes the exact
 * way for the rows of that block.
 */
#ifndef GQ_KERNELS_CUDA_MIXED_CUH
#define GQ_KERNELS_CUDA_MIXED_CUH

#include "kernels/cuda_fast.cuh"

namespace gq
{

constexpr unsigned MIXED_THREADS = 512;
constexpr unsigned WIDEST = 32, NARROWEST = 8; /* pairs of columns of a tile */

/* Bytes of x and y as the selector's hexadecimal digits name them; the host's pass, which never looks, has no such. */
__device__ inline uint32_t permute(uint32_t x, uint32_t y, uint32_t selector)
{
#if defined(__CUDA_ARCH__)
	return __byte_perm(x, y, selector);
#else
	return x ^ y ^ selector;
#endif
}

/* How a piece is divided; its blocks of codes are those of rows from 0 on. */
struct Mixed {
	unsigned n_blocks, n_groups;
	unsigned width, n_tiles; /* of a tile, a power of 2 */
	unsigned n_parts;        /* of the blocks of codes: blocks of threads beside one another in a tile */
};

/* Both sides of one group in two columns. z: the first side's two in the low half, then the second's. */
template <Dtype DTYPE> struct Cells {
	uint32_t scale[2]; /* two as they are stored */
	uint32_t z;
};
template <> struct Cells<F32> {
	uint32_t scale[2][2];
	uint32_t z;
};

/* Scales whose products are never the same: 0, and NaN on the second side. */
__device__ inline uint32_t never_equal(Dtype dtype, unsigned side)
{
	return side == 0 ? 0 : dtype == F16 ? GQ_F16_NAN : dtype == BF16 ? GQ_BF16_NAN : GQ_F32_NAN;
}

/* n_padded is a multiple of 4, n one of 2. */
template <Dtype DTYPE, int BITS> __device__ inline void fill_cells(const Piece &piece, size_t cell, Cells<DTYPE> *out)
{
	uint32_t scale[2][2], z[2];

#pragma unroll
	for (unsigned i = 0; i < 2; i++) {
		const Side &side = piece.side[i];

		z[i] = *reinterpret_cast<const uint16_t *>(side.z + cell);
		scale[i][0] = scale_bits(DTYPE, side.scales, cell);
		scale[i][1] = scale_bits(DTYPE, side.scales, cell + 1);
	}
	/* Products that may be NaN or infinite shall be looked at. */
#pragma unroll
	for (unsigned c = 0; c < 2; c++)
		if (!tame(DTYPE, scale[0][c], BITS) || !tame(DTYPE, scale[1][c], BITS)) {
			scale[0][c] = never_equal(DTYPE, 0);
			scale[1][c] = never_equal(DTYPE, 1);
		}
	out->z = z[0] | z[1] << 16;
#pragma unroll
	for (unsigned i = 0; i < 2; i++) {
		if constexpr (DTYPE == F32) {
			out->scale[i][0] = scale[i][0];
			out->scale[i][1] = scale[i][1];
		} else {
			out->scale[i] = scale[i][0] | scale[i][1] << 16;
		}
	}
}

/* The words of a block in two columns, as they are read. */
template <int N_WORDS> struct Words {
	uint2 words[N_WORDS];

	__device__ void load(const unsigned char *p, size_t pitch)
	{
#pragma unroll
		for (int r = 0; r < N_WORDS; r++)
			words[r] = __ldcs(reinterpret_cast<const uint2 *>(p + (size_t)r * pitch));
	}
};

/* Code j of both columns in the low bits of the halves, anything above them; j constant. */
template <int BITS> struct Codes {
	uint32_t half[2];

	__device__ explicit Codes(const Words<1> &w)
	    : half{permute(w.words[0].x, w.words[0].y, 0x5410), permute(w.words[0].x, w.words[0].y, 0x7632)}
	{
	}
	__device__ uint32_t at(int j) const
	{
		return half[j / (16 / BITS)] >> j % (16 / BITS) * BITS;
	}
};
template <> struct Codes<3> {
	uint32_t x[3], y[3];

	__device__ explicit Codes(const Words<3> &w)
	    : x{w.words[0].x, w.words[1].x, w.words[2].x}, y{w.words[0].y, w.words[1].y, w.words[2].y}
	{
	}
	__device__ uint32_t at(int j) const
	{
		return permute(code_of<3>(x, j), code_of<3>(y, j), 0x5410);
	}
};

/* Bits that are not 0 where p and q, codes of the two sides, have different products. */
template <Dtype DTYPE, bool SHARED, class T, int BITS>
__device__ inline uint32_t differ_cells(const PairColumn<T, BITS> *, const Cells<DTYPE> &cells, uint32_t p, uint32_t q)
{
	constexpr uint32_t MASK = ((1U << BITS) - 1) * 0x10001, LESS = ((T::MAGIC >> 8 & 0xff) | 0x80) * 0x01010101U;
	using Pair = typename T::Pair;
	Pair code_a = pair_of_bits<Pair>(mask_or(p, MASK, T::MAGIC));
	Pair code_b = SHARED ? code_a : pair_of_bits<Pair>(mask_or(q, MASK, T::MAGIC));
	/* -(2^FRACTION + z) twice: the upper bytes are constant */
	Pair less_a = pair_of_bits<Pair>(permute(cells.z, LESS, 0x4140));
	Pair less_b = pair_of_bits<Pair>(permute(cells.z, LESS, 0x4342));
	Pair product_a = __hmul2_rn(__hadd2_rn(code_a, less_a), pair_of_bits<Pair>(cells.scale[0]));
	Pair product_b = __hmul2_rn(__hadd2_rn(code_b, less_b), pair_of_bits<Pair>(cells.scale[1]));

	return bits_of_pair(product_a) ^ bits_of_pair(product_b);
}

template <Dtype DTYPE> __device__ inline float scale_of_cells(const Cells<DTYPE> &cells, int side, int column)
{
	if constexpr (DTYPE == F32)
		return __uint_as_float(cells.scale[side][column]);
	else
		return scale_value(DTYPE, cells.scale[side] >> 16 * column & 0xffff);
}

template <Dtype DTYPE, bool SHARED, int BITS>
__device__ inline uint32_t differ_cells(const FloatColumn<BITS> *, const Cells<DTYPE> &cells, uint32_t p, uint32_t q)
{
	constexpr uint32_t MASK = (1U << BITS) - 1, MAGIC = 0x4b000000, LESS = 0xcb000000; /* 2^23, -2^23 */
	uint32_t differ = 0;

#pragma unroll
	for (int c = 0; c < 2; c++) {
		float code_a = __uint_as_float(mask_or(p >> 16 * c, MASK, MAGIC));
		float code_b = SHARED ? code_a : __uint_as_float(mask_or(q >> 16 * c, MASK, MAGIC));
		float less_a = __uint_as_float(permute(cells.z, LESS, 0x7440 + c));
		float less_b = __uint_as_float(permute(cells.z, LESS, 0x7442 + c));
		float product_a = __fmul_rn(__fadd_rn(code_a, less_a), scale_of_cells<DTYPE>(cells, 0, c));
		float product_b = __fmul_rn(__fadd_rn(code_b, less_b), scale_of_cells<DTYPE>(cells, 1, c));

		differ |= __float_as_uint(product_a) ^ __float_as_uint(product_b);
	}
	return differ;
}

/* One block of codes. groups: those of its rows; mine: the thread's columns of group 0, the others `stride` apart. */
template <Dtype DTYPE, int BITS, bool SHARED, int N_WORDS>
__device__ inline uint32_t differ_mixed(const int32_t *groups, const unsigned char *mine, unsigned stride,
					const Words<N_WORDS> &a, const Words<N_WORDS> &b)
{
	constexpr int BLOCK = BITS == 3 ? 32 : 32 / BITS;
	const typename ColumnOf<DTYPE, BITS>::Type *way = nullptr;
	Codes<BITS> p(a), q(b);
	uint32_t differ = 0;

#pragma unroll
	for (int j = 0; j < BLOCK; j += 4) {
		uint4 four = *reinterpret_cast<const uint4 *>(groups + j);
		uint32_t group[4] = {four.x, four.y, four.z, four.w};

#pragma unroll
		for (int i = 0; i < 4; i++) {
			Cells<DTYPE> cells = *reinterpret_cast<const Cells<DTYPE> *>(mine + group[i] * stride);

			differ |= differ_cells<DTYPE, SHARED>(way, cells, p.at(j + i), q.at(j + i));
		}
	}
	return differ;
}

/* A thread's blocks of codes, from `block` on. */
template <Dtype DTYPE, int BITS, bool SHARED>
__device__ inline void compare_blocks(const Piece &piece, const Mixed &mixed, unsigned n, unsigned block, unsigned end,
				      unsigned step, const unsigned char *mine, Found *found)
{
	constexpr int N_WORDS = BITS == 3 ? 3 : 1, BLOCK = BITS == 3 ? 32 : 32 / BITS;
	const unsigned stride = mixed.width * (unsigned)sizeof(Cells<DTYPE>);
	const Side &a = piece.side[0], &b = piece.side[1];
	Words<N_WORDS> now_a, now_b, next_a, next_b;

	if (block < end) {
		next_a.load(a.words + (size_t)block * N_WORDS * a.pitch + (size_t)n * 4, a.pitch);
		if constexpr (!SHARED)
			next_b.load(b.words + (size_t)block * N_WORDS * b.pitch + (size_t)n * 4, b.pitch);
	}
	for (; block < end; block += step) {
		unsigned next = block + step;
		uint32_t differ;

		now_a = next_a;
		if constexpr (!SHARED)
			now_b = next_b;
		if (next < end) {
			next_a.load(a.words + (size_t)next * N_WORDS * a.pitch + (size_t)n * 4, a.pitch);
			if constexpr (!SHARED)
				next_b.load(b.words + (size_t)next * N_WORDS * b.pitch + (size_t)n * 4, b.pitch);
		}
		differ = differ_mixed<DTYPE, BITS, SHARED, N_WORDS>(a.groups + (size_t)block * BLOCK, mine, stride,
								    now_a, SHARED ? now_a : now_b);
		if (differ != 0)
			for (unsigned c = 0; c < 2 && n + c < piece.n_columns; c++)
				compare_column(piece, block * BLOCK, (block + 1) * BLOCK, n + c, nullptr, found);
	}
}

/* Dynamic shared memory: n_groups * width cells. */
template <Dtype DTYPE, int BITS, bool SHARED>
__global__ void __launch_bounds__(MIXED_THREADS, 2) compare_mixed(Piece piece, Mixed mixed, Found *found)
{
	GQ_DYNAMIC_SHARED(memory);
	Cells<DTYPE> *cells = reinterpret_cast<Cells<DTYPE> *>(memory);
	unsigned tile = blockIdx.x % mixed.n_tiles, part = blockIdx.x / mixed.n_tiles;
	unsigned pair = threadIdx.x % mixed.width, n = (tile * mixed.width + pair) * 2;
	unsigned row = threadIdx.x / mixed.width, n_rows = MIXED_THREADS / mixed.width;
	unsigned blocks = (mixed.n_blocks + mixed.n_parts - 1) / mixed.n_parts, end = (part + 1) * blocks;

	if (GQ_PHASE(0) && n < piece.n_padded)
		for (unsigned g = row; g < mixed.n_groups; g += n_rows)
			fill_cells<DTYPE, BITS>(piece, (size_t)g * piece.n_padded + n, &cells[g * mixed.width + pair]);
	__syncthreads();
	if (GQ_PHASE(1) && n < piece.n_padded)
		compare_blocks<DTYPE, BITS, SHARED>(piece, mixed, n, part * blocks + row,
						    end < mixed.n_blocks ? end : mixed.n_blocks, n_rows,
						    reinterpret_cast<const unsigned char *>(cells + pair), found);
}

} // namespace gq

#endif
