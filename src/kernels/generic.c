/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of weights, one at a time. Every other level gives the same bits. */
#include "kernels/dispatch.h"

#include "base/checked.h"
#include "kernels/half.h"

uint32_t gq_weight(enum gptq_dtype dtype, const void *scale, unsigned q, unsigned z)
{
	float difference = (float)((int)q - (int)z);
	uint32_t bits = (uint32_t)gq_load_le(scale, (unsigned)gq_weight_bytes(dtype));

	if (dtype == GPTQ_DTYPE_F16)
		return gq_f32_to_f16(gq_f16_to_f32((uint16_t)bits) * difference);
	if (dtype == GPTQ_DTYPE_BF16)
		return gq_f32_to_bf16(gq_bf16_to_f32((uint16_t)bits) * difference);
	bits = gq_bits_of_float(gq_float_of_bits(bits) * difference);
	return (bits & 0x7fffffff) > 0x7f800000 ? GQ_F32_NAN : bits;
}

struct gq_weight_at gq_weight_at(const struct gq_weights *w, size_t k, size_t n)
{
	size_t cell = (size_t)w->g_of_k[k] * w->n_columns + n;
	struct gq_weight_at at = {.code = (uint8_t)gq_layout_stream.get_code(w->rows, w->pack, k, n), .z = w->z[cell]};
	const unsigned char *scales = w->scales;

	at.value = gq_weight(w->dtype, scales + cell * gq_weight_bytes(w->dtype), at.code, at.z);
	return at;
}

static bool row(enum gptq_dtype dtype, const uint8_t *codes, const uint8_t *z, const void *scales, size_t n, void *out)
{
	unsigned nbytes = (unsigned)gq_weight_bytes(dtype);
	const unsigned char *scale = scales;
	unsigned char *p = out;

	for (size_t i = 0; i < n; i++, scale += nbytes, p += nbytes)
		gq_store_le(p, gq_weight(dtype, scale, codes[i], z[i]), nbytes);
	return false;
}

const struct gq_kernels gq_kernels_generic = {
	.name = "generic",
	.row = row,
};
