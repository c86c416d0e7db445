/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define GQ_LANES 8
#define GQ_TARGET __attribute__((target("avx2,fma,f16c")))
#define GQ_LOAD_F16(p) ((vf)_mm256_cvtph_ps(load128(p)))
#define GQ_STORE_F16(p, v) store128(p, _mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT))
#define GQ_LOAD_U8(p) ((vu)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p))))
#define GQ_LOAD_U16(p) ((vu)_mm256_cvtepu16_epi32(load128(p)))
#define GQ_STORE_U8(p, v)                                                                                              \
	_mm_storel_epi64((__m128i *)(void *)(p), _mm_packus_epi16(narrow((__m256i)(v)), _mm_setzero_si128()))
#define GQ_MAX_U32(a, b) ((vu)_mm256_max_epu32((__m256i)(a), (__m256i)(b)))
#define GQ_FMA(a, b, c) ((vf)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define GQ_STORE_U16(p, v) store128(p, narrow((__m256i)(v)))

static inline GQ_TARGET __m128i load128(const void *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

static inline GQ_TARGET void store128(void *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)p, v);
}

/* Lanes below 2^16 to 16 bits each. */
static inline GQ_TARGET __m128i narrow(__m256i v)
{
	return _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/*
 * Eight rows of 4-bit codes, 32 columns: the words' bytes b0 b1 b2 b3 are gathered by packing 16-bit halves twice, each
 * time into two rows that share a register:
 *
 *   words          b3b2b1b0 ...                             4 registers of 8 words
 *   & 00ff, >> 8   b2 b0 b2 b0 ...    b3 b1 b3 b1 ...       2 registers each, once packed
 *   the same       b0 b0 b0 b0 ...    b2 b2 b2 b2 ...       1 register each, words in the order of `order`
 *
 * Then row 2i is the low and row 2i + 1 the high half of each byte of b_i.
 */
static inline GQ_TARGET void unpack_nibbles(const unsigned char *p, uint8_t *codes, size_t stride)
{
	const __m256i bytes = _mm256_set1_epi16(0xff), nibbles = _mm256_set1_epi8(15);
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i w[4], half[2][2];

	for (unsigned i = 0; i < 4; i++)
		w[i] = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i));
	for (unsigned i = 0; i < 2; i++) {
		half[0][i] =
			_mm256_packus_epi16(_mm256_and_si256(w[2 * i], bytes), _mm256_and_si256(w[2 * i + 1], bytes));
		half[1][i] = _mm256_packus_epi16(_mm256_srli_epi16(w[2 * i], 8), _mm256_srli_epi16(w[2 * i + 1], 8));
	}
	for (unsigned b = 0; b < 4; b++) {
		const __m256i *h = half[b % 2];
		__m256i v = b < 2 ? _mm256_packus_epi16(_mm256_and_si256(h[0], bytes), _mm256_and_si256(h[1], bytes))
				  : _mm256_packus_epi16(_mm256_srli_epi16(h[0], 8), _mm256_srli_epi16(h[1], 8));

		v = _mm256_permutevar8x32_epi32(v, order);
		_mm256_storeu_si256((__m256i *)(void *)(codes + 2 * b * stride), _mm256_and_si256(v, nibbles));
		_mm256_storeu_si256((__m256i *)(void *)(codes + (2 * b + 1) * stride),
				    _mm256_and_si256(_mm256_srli_epi16(v, 4), nibbles));
	}
}

GQ_TARGET bool gq_unpack_4_avx2(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols,
				unsigned n_codes, uint8_t *codes, size_t stride)
{
	const unsigned char *p = (const unsigned char *)rows.words + n0 * 4;

	if (pack.bits != 4 || pack.word_bits != 32 || n_codes != 8 || n_cols < 32)
		return false;
	for (size_t n = 0; n < n_cols; n += 32) {
		if (n_cols - n < 32)
			n = n_cols - 32; /* some columns twice */
		unpack_nibbles(p + 4 * n, codes + n, stride);
	}
	return true;
}

#define GQ_UNPACK_4 gq_unpack_4_avx2
#include "kernels/vector_impl.h"

#define GQ_VECTOR 32
#define GQ_CELLS_TARGET GQ_TARGET
#include "quant/cells_vector.h"

void gq_cells_add_avx2(struct gq_cell *cells, size_t n_cells, const uint8_t *lanes, const uint8_t *keep,
		       const uint8_t *codes, size_t stride, unsigned n_rows, unsigned bits, gq_row_flags *bad)
{
	cells_add(cells, n_cells, lanes, keep, codes, stride, n_rows, bits, bad);
}

/* F16C is a flag of its own, and no compiler's __builtin_cpu_supports has always known it. */
bool gq_usable_avx2(void)
{
	unsigned a, b, c = 0, d;

	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) &&
	       (c & bit_F16C);
}

const struct gq_kernels gq_kernels_avx2 = {
	.name = "avx2",
	.usable = gq_usable_avx2,
	.unpack = unpack,
	.cells_add = gq_cells_add_avx2,
	.row = row,
	.dequantise = dequantise,
	.same = same,
};
#endif
