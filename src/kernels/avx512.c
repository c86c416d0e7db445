/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define GQ_LANES 16
#define GQ_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define GQ_LOAD_F16(p) ((vf)_mm512_cvtph_ps(load256(p)))
#define GQ_STORE_F16(p, v) store256(p, _mm512_cvtps_ph((__m512)(v), _MM_FROUND_TO_NEAREST_INT))
#define GQ_LOAD_U8(p) ((vu)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#define GQ_LOAD_U16(p) ((vu)_mm512_cvtepu16_epi32(load256(p)))
#define GQ_STORE_U8(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8((__m512i)(v)))
#define GQ_MAX_U32(a, b) ((vu)_mm512_max_epu32((__m512i)(a), (__m512i)(b)))
#define GQ_FMA(a, b, c) ((vf)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define GQ_STORE_U16(p, v) store256(p, _mm512_cvtepi32_epi16((__m512i)(v)))

static inline GQ_TARGET __m256i load256(const void *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

static inline GQ_TARGET void store256(void *p, __m256i v)
{
	_mm256_storeu_si256((__m256i *)p, v);
}

#define GQ_UNPACK_4 gq_unpack_4_avx2
#include "kernels/vector_impl.h"

static bool usable(void)
{
	return gq_usable_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const struct gq_kernels gq_kernels_avx512 = {
	.name = "avx512",
	.usable = usable,
	.unpack = unpack,
	.cells_add = gq_cells_add_avx2,
	.row = row,
	.dequantise = dequantise,
	.same = same,
};
#endif
