/* SPDX-License-Identifier: Apache-2.0 */
/* As cuda_fp16.h, for bfloat16. */
#ifndef GQ_EMULATED_CUDA_BF16_H
#define GQ_EMULATED_CUDA_BF16_H

#include "cuda_fp16.h"

GQ_EMULATED_PAIR(__nv_bfloat162, gq_bf16_to_f32, gq_f32_to_bf16, __float2bfloat162_rn)

#endif
