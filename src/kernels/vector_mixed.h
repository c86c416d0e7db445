/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of any groups (act-order), a part of vector_impl.h, which alone includes it. Scales and zero points are widened
 * anew for each row and never rounded or stored: `same` compares products in float32, as it does for blocks.
 */

/* The cells, of the group of each row of a block, in the first column of a stretch. */
struct cells {
	size_t of_row[32];
};

GQ_INLINE void find_cells(const struct gq_weights *w, size_t k, size_t n0, unsigned n_codes, struct cells *out)
{
	for (unsigned j = 0; j < n_codes; j++)
		out->of_row[j] = (size_t)w->g_of_k[k + j] * w->n_columns + n0;
}

GQ_INLINE vf scales_at(enum gptq_dtype dtype, const struct gq_weights *w, size_t cell)
{
	return load_scales(dtype, (const unsigned char *)w->scales + cell * gq_weight_bytes(dtype));
}

/* 2^23 + z. */
GQ_INLINE vf zeros_at(const struct gq_weights *w, size_t cell)
{
	return (vf)(GQ_LOAD_U8(w->z + cell) | GQ_MAGIC);
}

/* Bits of the smallest product, without its sign, that becomes infinite; a NaN's are above. */
GQ_INLINE uint32_t infinite_from(enum gptq_dtype dtype)
{
	return dtype == GPTQ_DTYPE_F16 ? 0x477ff000 : dtype == GPTQ_DTYPE_BF16 ? 0x7f7f8000 : 0x7f800000;
}

/* ------------------------------------------------------------------------------------------------ dequantise */

/* Rows [j0, j1) of a block whose rows have any groups. Returns the largest product's bits without signs. */
GQ_INLINE vu dequantise_mixed_rows(enum gptq_dtype dtype, unsigned bits, unsigned j0, unsigned j1,
				   const struct gq_weights *w, size_t k, const struct gq_stretch *at,
				   unsigned char *out, size_t stride)
{
	const unsigned n_words = bits == 3 ? 3 : 1;
	const unsigned char *p = block_at(w, bits, k, at->n0);
	size_t n = at->n1 - at->n0;
	struct cells cells;
	vu largest = {0};

	find_cells(w, k, at->n0, j1, &cells);
	for (size_t i = 0; i < n; i += GQ_LANES) {
		vu words[3];
		unsigned shift;

		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		for (unsigned r = 0; r < n_words; r++)
			words[r] = load_words(p + r * w->rows.row_bytes + i * 4);
		GQ_UNROLL
		for (unsigned j = j0; j < j1; j++) {
			vu code = code_words(words, bits, j, &shift);
			size_t cell = cells.of_row[j] + i;
			vf weights = product(code, shift, bits, scales_at(dtype, w, cell), zeros_at(w, cell));

			largest = GQ_MAX_U32(largest, (vu)weights & 0x7fffffff);
			store_weights(dtype, weights, out + j * stride + i * gq_weight_bytes(dtype));
		}
	}
	return largest;
}

/* false: some weight is NaN, and `out` holds anything. */
GQ_INLINE bool dequantise_mixed_of(enum gptq_dtype dtype, unsigned bits, const struct gq_weights *w,
				   const struct gq_stretch *at, unsigned char *out, size_t stride)
{
	const unsigned n_codes = bits == 3 ? 32 : 32 / bits, some = n_codes < 8 ? n_codes : 8;
	vu largest = {0};

	for (size_t k = at->k0; k < at->k1; k += n_codes, out += n_codes * stride) {
		largest = GQ_MAX_U32(largest, dequantise_mixed_rows(dtype, bits, 0, some, w, k, at, out, stride));
		if (n_codes >= 16)
			largest = GQ_MAX_U32(largest, dequantise_mixed_rows(dtype, bits, 8, 16, w, k, at, out, stride));
		if (n_codes == 32) {
			largest =
				GQ_MAX_U32(largest, dequantise_mixed_rows(dtype, bits, 16, 24, w, k, at, out, stride));
			largest =
				GQ_MAX_U32(largest, dequantise_mixed_rows(dtype, bits, 24, 32, w, k, at, out, stride));
		}
	}
	return !any_from(largest, 0x7f800001);
}

/* The dtype as a constant, for each width. */
#define GQ_DEFINE_DEQUANTISE_MIXED(BITS)                                                                               \
	GQ_TARGET static bool dequantise_mixed_##BITS(const struct gq_weights *w, const struct gq_stretch *at,         \
						      unsigned char *out, size_t stride)                               \
	{                                                                                                              \
		if (w->dtype == GPTQ_DTYPE_F16)                                                                        \
			return dequantise_mixed_of(GPTQ_DTYPE_F16, BITS, w, at, out, stride);                          \
		if (w->dtype == GPTQ_DTYPE_BF16)                                                                       \
			return dequantise_mixed_of(GPTQ_DTYPE_BF16, BITS, w, at, out, stride);                         \
		return dequantise_mixed_of(GPTQ_DTYPE_F32, BITS, w, at, out, stride);                                  \
	}

GQ_DEFINE_DEQUANTISE_MIXED(2)
GQ_DEFINE_DEQUANTISE_MIXED(3)
GQ_DEFINE_DEQUANTISE_MIXED(4)
GQ_DEFINE_DEQUANTISE_MIXED(8)

GQ_TARGET static bool dequantise_mixed(const struct gq_weights *w, const struct gq_stretch *at, unsigned char *out,
				       size_t stride)
{
	if (w->pack.bits == 2)
		return dequantise_mixed_2(w, at, out, stride);
	if (w->pack.bits == 3)
		return dequantise_mixed_3(w, at, out, stride);
	if (w->pack.bits == 4)
		return dequantise_mixed_4(w, at, out, stride);
	return dequantise_mixed_8(w, at, out, stride);
}

/* ------------------------------------------------------------------------------------------------------ same */

/* One block whose rows have any groups; *largest grows to the products' bits without signs. */
GQ_INLINE vu differ_mixed_block(enum gptq_dtype dtype, unsigned bits, bool same_cells, const struct gq_weights *a,
				const struct gq_weights *b, size_t k, const struct gq_stretch *at, vu *largest)
{
	const unsigned n_words = bits == 3 ? 3 : 1, n_codes = n_words * 32 / bits;
	const unsigned char *p = block_at(a, bits, k, at->n0), *q = block_at(b, bits, k, at->n0);
	size_t n = at->n1 - at->n0;
	struct cells cells_a, cells_b;
	vu differ = {0}, top = *largest;

	find_cells(a, k, at->n0, n_codes, &cells_a);
	find_cells(b, k, at->n0, n_codes, &cells_b);
	for (size_t i = 0; i < n; i += GQ_LANES) {
		vu words_a[3], words_b[3];
		unsigned shift;

		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		for (unsigned r = 0; r < n_words; r++) {
			words_a[r] = load_words(p + r * a->rows.row_bytes + i * 4);
			words_b[r] = load_words(q + r * b->rows.row_bytes + i * 4);
		}
		GQ_UNROLL
		for (unsigned j = 0; j < n_codes; j++) {
			vu wa = code_words(words_a, bits, j, &shift), wb = code_words(words_b, bits, j, &shift);
			size_t cell_a = cells_a.of_row[j] + i, cell_b = cells_b.of_row[j] + i;
			vf scale_a = scales_at(dtype, a, cell_a), zero_a = zeros_at(a, cell_a);
			vf scale_b = same_cells ? scale_a : scales_at(dtype, b, cell_b);
			vf zero_b = same_cells ? zero_a : zeros_at(b, cell_b);
			vu product_a = (vu)product(wa, shift, bits, scale_a, zero_a);

			differ |= product_a ^ (vu)product(wb, shift, bits, scale_b, zero_b);
			if (!same_cells)
				top = GQ_MAX_U32(top, product_a & 0x7fffffff);
		}
	}
	*largest = top;
	return differ;
}

GQ_INLINE bool same_mixed_of(enum gptq_dtype dtype, unsigned bits, const struct gq_weights *a,
			     const struct gq_weights *b, const struct gq_stretch *at)
{
	size_t block = bits == 3 ? 32 : 32 / bits;
	vu differ = {0}, largest = {0};

	if (at->same_cells)
		for (size_t k = at->k0; k < at->k1; k += block)
			differ |= differ_mixed_block(dtype, bits, true, a, b, k, at, &largest);
	else
		for (size_t k = at->k0; k < at->k1; k += block)
			differ |= differ_mixed_block(dtype, bits, false, a, b, k, at, &largest);
	/* Where all are equal, what is largest on one side is on the other. */
	return !any(differ) && !any_from(largest, infinite_from(dtype));
}

#define GQ_DEFINE_SAME_MIXED(BITS)                                                                                     \
	GQ_TARGET static bool same_mixed_##BITS(const struct gq_weights *a, const struct gq_weights *b,                \
						const struct gq_stretch *at)                                           \
	{                                                                                                              \
		if (a->dtype == GPTQ_DTYPE_F16)                                                                        \
			return same_mixed_of(GPTQ_DTYPE_F16, BITS, a, b, at);                                          \
		if (a->dtype == GPTQ_DTYPE_BF16)                                                                       \
			return same_mixed_of(GPTQ_DTYPE_BF16, BITS, a, b, at);                                         \
		return same_mixed_of(GPTQ_DTYPE_F32, BITS, a, b, at);                                                  \
	}

GQ_DEFINE_SAME_MIXED(2)
GQ_DEFINE_SAME_MIXED(3)
GQ_DEFINE_SAME_MIXED(4)
GQ_DEFINE_SAME_MIXED(8)

GQ_TARGET static bool same_mixed(const struct gq_weights *a, const struct gq_weights *b, const struct gq_stretch *at)
{
	if (a->pack.bits == 2)
		return same_mixed_2(a, b, at);
	if (a->pack.bits == 3)
		return same_mixed_3(a, b, at);
	if (a->pack.bits == 4)
		return same_mixed_4(a, b, at);
	return same_mixed_8(a, b, at);
}
