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

#include "kernels/vector_impl.h"

/* F16C is a flag of its own, and no compiler's __builtin_cpu_supports has always known it. */
static bool usable(void)
{
	unsigned a, b, c = 0, d;

	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) &&
	       (c & bit_F16C);
}

const struct gq_kernels gq_kernels_avx2 = {
	.name = "avx2",
	.usable = usable,
	.unpack = unpack,
	.row = row,
	.dequantise = dequantise,
	.same = same,
};
#endif
