/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of half-precision numbers with the arithmetic of a device, by half.h. Sums and fused sums are exact wherever
 * cuda.cu forms them; this aborts where one is not.
 */
#ifndef GQ_EMULATED_CUDA_FP16_H
#define GQ_EMULATED_CUDA_FP16_H

#include "cuda_runtime.h"

#include "kernels/half.h"

#define GQ_EMULATED_PAIR(PAIR, TO_FLOAT, OF_FLOAT, SPREAD)                                                             \
	struct PAIR {                                                                                                  \
		uint16_t x, y;                                                                                         \
	};                                                                                                             \
	static inline uint16_t exact_##PAIR(double x)                                                                  \
	{                                                                                                              \
		uint16_t h = OF_FLOAT((float)x);                                                                       \
                                                                                                                       \
		if ((double)TO_FLOAT(h) != x)                                                                          \
			abort();                                                                                       \
		return h;                                                                                              \
	}                                                                                                              \
	static inline PAIR SPREAD(float x)                                                                             \
	{                                                                                                              \
		return PAIR{exact_##PAIR((double)x), exact_##PAIR((double)x)};                                         \
	}                                                                                                              \
	static inline PAIR __hadd2_rn(PAIR a, PAIR b)                                                                  \
	{                                                                                                              \
		return PAIR{exact_##PAIR((double)TO_FLOAT(a.x) + (double)TO_FLOAT(b.x)),                               \
			    exact_##PAIR((double)TO_FLOAT(a.y) + (double)TO_FLOAT(b.y))};                              \
	}                                                                                                              \
	static inline PAIR __hmul2_rn(PAIR a, PAIR b)                                                                  \
	{                                                                                                              \
		return PAIR{OF_FLOAT(TO_FLOAT(a.x) * TO_FLOAT(b.x)), OF_FLOAT(TO_FLOAT(a.y) * TO_FLOAT(b.y))};         \
	}                                                                                                              \
	static inline PAIR __hfma2(PAIR a, PAIR b, PAIR c)                                                             \
	{                                                                                                              \
		return PAIR{exact_##PAIR((double)TO_FLOAT(a.x) * (double)TO_FLOAT(b.x) + (double)TO_FLOAT(c.x)),       \
			    exact_##PAIR((double)TO_FLOAT(a.y) * (double)TO_FLOAT(b.y) + (double)TO_FLOAT(c.y))};      \
	}

GQ_EMULATED_PAIR(__half2, gq_f16_to_f32, gq_f32_to_f16, __float2half2_rn)

#endif
