/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code: weights of both sides, the fast way, for 32-bit words and whole blocks of one group. A thread has four
 * neighbouring columns, 16 bytes a word row, and keeps their scales and zero points in registers over the rows of a
 * stretch. Codes become numbers without conversion:
 * or-ed into the low fraction bits of 1024 (F16), 128 (BF16) or 2^23 (float32), less the same number plus z. In F16
 * and BF16 two codes of a column go in one register:
 *
 *   4 bits in a word:  7 6 5 4 | 3 2 1 0   and 000f000f or 64006400: 1024 + q4, 1024 + q0
 *                                          and 00f000f0 or 64006400: 1024 + 16 q5, 1024 + 16 q1
 *
 * and what is scaled by 2^i is brought back by the fused multiply-add that subtracts. The difference is exact; its
 * product with the scale is rounded once, to nearest even, subnormals kept: the weight, two an instruction. Only a
 * thread that sees different bits, or a scale that can give NaN or infinity, goes on to the exact way, which counts.
 */
#ifndef GQ_KERNELS_CUDA_FAST_CUH
#define GQ_KERNELS_CUDA_FAST_CUH

#include "kernels/cuda_exact.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gq {

/* Two numbers in a register. FRACTION: fraction bits; MAGIC: 2^FRACTION twice. */
struct Half2 {
	using Pair = __half2;
	static constexpr int FRACTION = 10;
	static constexpr uint32_t MAGIC = 0x64006400;

	static __device__ Pair fma(Pair a, float b, Pair c)
	{
		return __hfma2(a, __float2half2_rn(b), c);
	}
};

/* Older devices, and the host's pass, which never looks, have no arithmetic for this. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GQ_HAVE_BFLOAT2 1
struct Bfloat2 {
	using Pair = __nv_bfloat162;
	static constexpr int FRACTION = 7;
	static constexpr uint32_t MAGIC = 0x43004300;

	static __device__ Pair fma(Pair a, float b, Pair c)
	{
		return __hfma2(a, __float2bfloat162_rn(b), c);
	}
};
#endif

template <class Pair> __device__ inline Pair pair_of_bits(uint32_t bits)
{
	Pair pair;

	static_assert(sizeof(Pair) == sizeof(bits), "two halves");
	memcpy(&pair, &bits, sizeof(pair));
	return pair;
}

template <class Pair> __device__ inline uint32_t bits_of_pair(Pair pair)
{
	uint32_t bits;

	memcpy(&bits, &pair, sizeof(bits));
	return bits;
}

/*
 * The same value, as something that only this instruction can give: without it the compiler saves registers by making
 * a column's constants anew in the innermost loop. Every thread of a warp must come here.
 */
__device__ inline uint32_t kept(uint32_t x)
{
	return __shfl_sync(0xffffffff, x, (int)(threadIdx.x % 32));
}

/* (word & mask) | magic in one instruction, which the compiler does not find for two constants. */
__device__ inline uint32_t mask_or(uint32_t word, uint32_t mask, uint32_t magic)
{
#if defined(__CUDA_ARCH__) && !defined(GQ_CUDA_EMULATED)
	uint32_t out;

	asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(out) : "r"(word), "r"(mask), "r"(magic));
	return out;
#else
	return (word & mask) | magic;
#endif
}

/* What a column has to do with codes that come in pairs. */
template <class T, int BITS> struct PairColumn {
	static constexpr int PER_HALF = 16 / BITS;         /* codes in 16 bits, 5 at 3 bits */
	static constexpr int AT_ONCE = T::FRACTION / BITS; /* that fit into a fraction */
	static constexpr int SHIFTS = (PER_HALF + AT_ONCE - 1) / AT_ONCE;
	static constexpr int EACH = (PER_HALF + SHIFTS - 1) / SHIFTS; /* codes behind one shift */

	typename T::Pair scale;
	typename T::Pair less[EACH]; /* -(2^(FRACTION - BITS i) + z) */

	/* In 2^(FRACTION - s) + z the fraction's unit is 2^-s, so that its bits are z << s. */
	__device__ void set(uint32_t scale_bits, uint32_t z)
	{
		scale = pair_of_bits<typename T::Pair>(kept(scale_bits * 0x10001));
#pragma unroll
		for (int i = 0; i < EACH; i++) {
			uint32_t magic = (T::MAGIC & 0xffff) - (BITS * i << T::FRACTION);

			less[i] = pair_of_bits<typename T::Pair>(kept((0x8000 | magic | z << BITS * i) * 0x10001));
		}
	}

	/* The products of two codes: those at bit BITS * i of both halves of p, i constant. */
	__device__ uint32_t product(uint32_t p, int i) const
	{
		int at = i % EACH * BITS;
		uint32_t mask = ((1U << BITS) - 1) << at, shifted = p >> (i / EACH * EACH * BITS);
		typename T::Pair code, difference;

		code = pair_of_bits<typename T::Pair>(mask_or(shifted, mask | mask << 16, T::MAGIC));
		if (at == 0)
			difference = __hadd2_rn(code, less[0]);
		else
			difference = T::fma(code, 1.0f / (float)(1 << at), less[i % EACH]);
		return bits_of_pair(__hmul2_rn(difference, scale));
	}
};

/* Bits that are not 0 where the codes of p and q have different products. N: codes a half. */
template <class T, int BITS, int N>
__device__ inline uint32_t differ_pairs(const PairColumn<T, BITS> &a, const PairColumn<T, BITS> &b, uint32_t p,
					uint32_t q)
{
	uint32_t differ = 0;

#pragma unroll
	for (int i = 0; i < N; i++)
		differ |= a.product(p, i) ^ b.product(q, i);
	return differ;
}

/* Ten 3-bit codes from bit 0 on, five a half. */
__device__ inline uint32_t halves_of_ten(uint32_t word)
{
	return (word & 0x7fff) | (word << 1 & 0x7fff0000);
}

template <class T, int BITS>
__device__ inline uint32_t differ_block(const PairColumn<T, BITS> &a, const PairColumn<T, BITS> &b, const uint32_t *p,
					const uint32_t *q)
{
	if constexpr (BITS == 3) {
		uint32_t differ = 0;

#pragma unroll
		for (int r = 0; r < 3; r++)
			differ |= differ_pairs<T, 3, 5>(a, b, halves_of_ten(p[r] >> r), halves_of_ten(q[r] >> r));
		/* codes 10 and 21 straddle words */
		return differ | differ_pairs<T, 3, 1>(
					a, b, (p[0] >> 30) | (p[1] & 1) << 2 | (p[1] >> 31 | (p[2] & 3) << 1) << 16,
					(q[0] >> 30) | (q[1] & 1) << 2 | (q[1] >> 31 | (q[2] & 3) << 1) << 16);
	} else {
		return differ_pairs<T, BITS, 16 / BITS>(a, b, p[0], q[0]);
	}
}

/* Code j of a block in the low bits, anything above it; j constant. */
template <int BITS> __device__ inline uint32_t code_of(const uint32_t *p, int j)
{
	int bit = j * BITS, shift = bit % 32;
	uint32_t word = p[bit / 32] >> shift;

	if (shift + BITS > 32)
		word |= p[bit / 32 + 1] << (32 - shift);
	return word;
}

/*
 * Codes one by one, products in float32: equal ones round alike. As with pairs, some codes of a word go without a shift
 * of their own: 0000f000 and or 4b000000 is 2^23 + 2^12 q3. 3-bit codes do not lie so well.
 */
template <int BITS> struct FloatColumn {
	static constexpr int EACH = BITS == 3 ? 1 : BITS == 2 ? 4 : 16 / BITS; /* codes behind one shift */

	float scale;
	float less[EACH]; /* -(2^(23 - BITS i) + z) */

	__device__ void set(float s, uint32_t z)
	{
		scale = __uint_as_float(kept(__float_as_uint(s)));
#pragma unroll
		for (int i = 0; i < EACH; i++)
			less[i] = __uint_as_float(kept((0xcb000000 - (uint32_t)(BITS * i << 23)) | z << BITS * i));
	}

	/* Of code j of a block, j constant. */
	__device__ uint32_t product(const uint32_t *p, int j) const
	{
		int i = j % EACH, at = i * BITS;
		uint32_t word = code_of<BITS>(p, j - i), mask = ((1U << BITS) - 1) << at;
		float code = __uint_as_float(mask_or(word, mask, 0x4b000000)), difference;

		if (at == 0)
			difference = __fadd_rn(code, less[0]);
		else
			difference = __fmaf_rn(code, 1.0f / (float)(1 << at), less[i]);
		return __float_as_uint(__fmul_rn(difference, scale));
	}
};

template <int BITS>
__device__ inline uint32_t differ_block(const FloatColumn<BITS> &a, const FloatColumn<BITS> &b, const uint32_t *p,
					const uint32_t *q)
{
	uint32_t differ = 0;

#pragma unroll
	for (int j = 0; j < (BITS == 3 ? 32 : 32 / BITS); j++)
		differ |= a.product(p, j) ^ b.product(q, j);
	return differ;
}

/* How a dtype and a width are done: 255 is no BF16 fraction, so 8 bits go by float32 there. */
template <Dtype DTYPE, int BITS> struct ColumnOf {
	using Type = FloatColumn<BITS>;
};
template <int BITS> struct ColumnOf<F16, BITS> {
	using Type = PairColumn<Half2, BITS>;
};
#ifdef GQ_HAVE_BFLOAT2
template <> struct ColumnOf<BF16, 2> {
	using Type = PairColumn<Bfloat2, 2>;
};
template <> struct ColumnOf<BF16, 3> {
	using Type = PairColumn<Bfloat2, 3>;
};
template <> struct ColumnOf<BF16, 4> {
	using Type = PairColumn<Bfloat2, 4>;
};
#endif

constexpr int COLUMNS = 4; /* of a thread */

template <Dtype DTYPE, class T, int BITS>
__device__ inline void set(PairColumn<T, BITS> *column, uint32_t scale, uint32_t z)
{
	column->set(scale, z);
}

template <Dtype DTYPE, int BITS> __device__ inline void set(FloatColumn<BITS> *column, uint32_t scale, uint32_t z)
{
	column->set(scale_value(DTYPE, scale), z);
}

/* Sets up a thread's columns on one side; false where some product might be NaN or infinite. */
template <Dtype DTYPE, int BITS, class Column>
__device__ inline bool set_columns(Column *columns, const Side &side, size_t cell)
{
	uint32_t z = *reinterpret_cast<const uint32_t *>(side.z + cell), scales[COLUMNS];
	bool all_tame = true;

	if constexpr (DTYPE == F32) {
		uint4 v = *reinterpret_cast<const uint4 *>(static_cast<const uint32_t *>(side.scales) + cell);

		scales[0] = v.x;
		scales[1] = v.y;
		scales[2] = v.z;
		scales[3] = v.w;
	} else {
		uint2 v = *reinterpret_cast<const uint2 *>(static_cast<const uint16_t *>(side.scales) + cell);

		scales[0] = v.x & 0xffff;
		scales[1] = v.x >> 16;
		scales[2] = v.y & 0xffff;
		scales[3] = v.y >> 16;
	}
#pragma unroll
	for (int i = 0; i < COLUMNS; i++) {
		all_tame = all_tame && tame(DTYPE, scales[i], BITS);
		set<DTYPE>(&columns[i], scales[i], z >> 8 * i & 0xff);
	}
	return all_tame;
}

/* The words of a block in four columns: those of column i are words[i]. */
template <int N_WORDS> struct Block {
	uint32_t words[COLUMNS][N_WORDS];

	__device__ void load(const unsigned char *p, size_t pitch)
	{
#pragma unroll
		for (int r = 0; r < N_WORDS; r++) {
			uint4 v = __ldcs(reinterpret_cast<const uint4 *>(p + (size_t)r * pitch));

			words[0][r] = v.x;
			words[1][r] = v.y;
			words[2][r] = v.z;
			words[3][r] = v.w;
		}
	}
};

template <int N_WORDS, class Column>
__device__ inline uint32_t differ_columns(const Column *a, const Column *b, const Block<N_WORDS> &p,
					  const Block<N_WORDS> &q)
{
	uint32_t differ = 0;

#pragma unroll
	for (int i = 0; i < COLUMNS; i++)
		differ |= differ_block(a[i], b[i], p.words[i], q.words[i]);
	return differ;
}

/* n blocks, at least one; the next one is on its way while one is compared. */
template <int N_WORDS, bool SHARED, class Column>
__device__ inline uint32_t differ_blocks(const Column *a, const Column *b, const unsigned char *p, size_t pitch_p,
					 const unsigned char *q, size_t pitch_q, unsigned n)
{
	Block<N_WORDS> now_a, now_b, next_a, next_b;
	uint32_t differ = 0;

	now_a.load(p, pitch_p);
	if constexpr (!SHARED)
		now_b.load(q, pitch_q);
#pragma unroll(N_WORDS == 1 ? 4 : 2)
	for (unsigned i = 1; i < n; i++) {
		p += N_WORDS * pitch_p;
		q += N_WORDS * pitch_q;
		next_a.load(p, pitch_p);
		if constexpr (!SHARED)
			next_b.load(q, pitch_q);
		differ |= differ_columns(a, b, now_a, SHARED ? now_a : now_b);
		now_a = next_a;
		if constexpr (!SHARED)
			now_b = next_b;
	}
	return differ | differ_columns(a, b, now_a, SHARED ? now_a : now_b);
}

/* A block of threads: one stretch, THREADS * COLUMNS columns. SHARED: both sides have the same words. */
template <Dtype DTYPE, int BITS, bool SHARED>
__global__ void __launch_bounds__(THREADS)
	compare_fast(Piece piece, const Stretch *stretches, unsigned n_tiles, Found *found)
{
	using Column = typename ColumnOf<DTYPE, BITS>::Type;
	constexpr int N_WORDS = BITS == 3 ? 3 : 1;
	constexpr unsigned BLOCK = BITS == 3 ? 32 : 32 / BITS;
	Stretch at = stretches[blockIdx.x / n_tiles];
	unsigned own = (blockIdx.x % n_tiles * THREADS + threadIdx.x) * COLUMNS;
	unsigned n = own < piece.n_padded ? own : 0; /* idle threads go along */
	const Side &side_a = piece.side[0], &side_b = piece.side[1];
	Column a[COLUMNS], b[COLUMNS];
	uint32_t differ;

	differ = !set_columns<DTYPE, BITS>(a, side_a, (size_t)at.group[0] * piece.n_padded + n);
	differ |= !set_columns<DTYPE, BITS>(b, side_b, (size_t)at.group[1] * piece.n_padded + n);

	const unsigned char *p = side_a.words + (size_t)(at.k0 / BLOCK * N_WORDS) * side_a.pitch + (size_t)n * 4;
	const unsigned char *q = side_b.words + (size_t)(at.k0 / BLOCK * N_WORDS) * side_b.pitch + (size_t)n * 4;

	differ |= differ_blocks<N_WORDS, SHARED>(a, b, p, side_a.pitch, q, side_b.pitch, (at.k1 - at.k0) / BLOCK);
	if (differ != 0)
		for (int i = 0; i < COLUMNS && own + i < piece.n_columns; i++)
			compare_column(piece, at.k0, at.k1, own + i, at.group, found);
}

} // namespace gq

#endif
