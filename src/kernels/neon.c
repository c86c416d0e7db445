/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch.h"

#if defined(GQ_HAVE_NEON)
#include <arm_neon.h>

/* Every AArch64 processor has these. */
#define GQ_LANES 4
#define GQ_TARGET
#define GQ_LOAD_F16(p) ((vf)vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8((const uint8_t *)(p)))))
#define GQ_STORE_F16(p, v) vst1_u8((uint8_t *)(p), vreinterpret_u8_f16(vcvt_f16_f32((float32x4_t)(v))))
#define GQ_LOAD_U8(p) ((vu)load_u8(p))
#define GQ_LOAD_U16(p) ((vu)vmovl_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)(p)))))
#define GQ_STORE_U8(p, v) store_u8(p, (uint32x4_t)(v))
#define GQ_MAX_U32(a, b) ((vu)vmaxq_u32((uint32x4_t)(a), (uint32x4_t)(b)))
#define GQ_FMA(a, b, c) ((vf)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define GQ_STORE_U16(p, v) vst1_u8((uint8_t *)(p), vreinterpret_u8_u16(vmovn_u32((uint32x4_t)(v))))

static inline uint32x4_t load_u8(const void *p)
{
	uint32_t bytes;

	__builtin_memcpy(&bytes, p, sizeof(bytes));
	return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
}

static inline void store_u8(void *p, uint32x4_t v)
{
	uint8x8_t narrow = vmovn_u16(vcombine_u16(vmovn_u32(v), vdup_n_u16(0)));
	uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(narrow), 0);

	__builtin_memcpy(p, &bytes, sizeof(bytes));
}

#include "kernels/vector_impl.h"

const struct gq_kernels gq_kernels_neon = {
	.name = "neon",
	.unpack = unpack,
	.row = row,
	.dequantise = dequantise,
	.same = same,
};
#endif
