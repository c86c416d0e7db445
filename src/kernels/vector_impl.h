/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vector levels, written once. A level's file defines these and includes this file; nobody else does.
 *
 *   GQ_LANES            columns of a vector: 4, 8 or 16
 *   GQ_TARGET           the function attribute that turns its instructions on, or nothing
 *   GQ_LOAD_F16(p)      GQ_LANES half-precision numbers at p as a vf
 *   GQ_STORE_F16(p, v)  the way back, to nearest even, subnormals kept
 *   GQ_LOAD_U8(p)       GQ_LANES bytes at p as a vu; GQ_LOAD_U16(p) likewise
 *   GQ_STORE_U8(p, v)   the way back, of a vu whose lanes fit; GQ_STORE_U16(p, v) likewise
 *   GQ_MAX_U32(a, b)    the larger lanes of two vu
 *   GQ_FMA(a, b, c)     a * b + c of three vf, rounded once
 *
 * A code becomes a difference without a conversion: q in the low bits of the float32 number 2^23 makes 2^23 + q, and
 * less 2^23 + z that is q - z, exactly, with +0 where they are equal. Where a block has one group, a few codes of a
 * word share a shift: the third of them, of 4 bits, is 2^23 + 2^8 q, and the fused multiply-add that subtracts 2^15 + z
 * brings it back.
 */
#include "kernels/dispatch.h"
#include "kernels/half.h"

typedef uint32_t vu __attribute__((vector_size(4 * GQ_LANES)));
typedef float vf __attribute__((vector_size(4 * GQ_LANES)));

#define GQ_INLINE static inline __attribute__((always_inline)) GQ_TARGET

#define GQ_MAGIC 0x4b000000U /* 2^23 */

/*
 * Before loops over the codes of a block, so that shifts become constants. Not with sanitizers: what they add to each
 * code takes minutes to compile.
 */
#if defined(__clang__)
#if __has_feature(address_sanitizer)
#define GQ_UNROLL
#else
#define GQ_UNROLL _Pragma("clang loop unroll(full)")
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define GQ_UNROLL
#else
#define GQ_UNROLL _Pragma("GCC unroll 32")
#endif

GQ_INLINE vu load_words(const void *p)
{
	vu v;

	memcpy(&v, p, sizeof(v));
	return v;
}

GQ_INLINE vf load_floats(const float *p)
{
	vf v;

	memcpy(&v, p, sizeof(v));
	return v;
}

GQ_INLINE vf load_scales(enum gptq_dtype dtype, const unsigned char *p)
{
	if (dtype == GPTQ_DTYPE_F16)
		return GQ_LOAD_F16(p);
	if (dtype == GPTQ_DTYPE_F32)
		return (vf)load_words(p);
	return (vf)(GQ_LOAD_U16(p) << 16);
}

/* Not for NaN. */
GQ_INLINE void store_weights(enum gptq_dtype dtype, vf weights, unsigned char *p)
{
	vu bits = (vu)weights;

	if (dtype == GPTQ_DTYPE_F16) {
		GQ_STORE_F16(p, weights);
	} else if (dtype == GPTQ_DTYPE_F32) {
		memcpy(p, &bits, sizeof(bits));
	} else {
		GQ_STORE_U16(p, (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	}
}

GQ_INLINE bool any(vu v)
{
	uint32_t all = 0;

	for (unsigned i = 0; i < GQ_LANES; i++)
		all |= v[i];
	return all != 0;
}

/* Is some lane at least the limit? */
GQ_INLINE bool any_from(vu v, uint32_t limit)
{
	bool found = false;

	for (unsigned i = 0; i < GQ_LANES; i++)
		found |= v[i] >= limit;
	return found;
}

/* Lanes of -1 where |x| is not below the limit; NaN never is. */
GQ_INLINE vu not_below(vf x, float limit)
{
	vf magnitude = (vf)((vu)x & 0x7fffffff);

	return ~(vu)(magnitude < limit);
}

/* -------------------------------------------------------------------------------------------------- one row */

/*
 * A scale below this, times the largest difference of codes of that many bits, stays below infinity however it is
 * rounded.
 */
GQ_INLINE float tame_below(enum gptq_dtype dtype, unsigned bits)
{
	return (dtype == GPTQ_DTYPE_F16 ? 65504.0f : 0x1.fep127f) / (float)((1U << bits) - 1);
}

/* false: a weight may be NaN or infinite, and the row holds anything. */
GQ_INLINE bool row_of(enum gptq_dtype dtype, const uint8_t *codes, const uint8_t *z, const unsigned char *scales,
		      size_t n, unsigned char *out)
{
	const size_t nbytes = gq_weight_bytes(dtype);
	vu over = {0};

	for (size_t i = 0; i < n; i += GQ_LANES) {
		vf scale, difference;

		/* The last vector overlaps the one before. */
		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		scale = load_scales(dtype, scales + i * nbytes);
		over |= not_below(scale, tame_below(dtype, 8));
		difference = (vf)(GQ_LOAD_U8(codes + i) | GQ_MAGIC) - (vf)(GQ_LOAD_U8(z + i) | GQ_MAGIC);
		store_weights(dtype, scale * difference, out + i * nbytes);
	}
	return !any(over);
}

GQ_TARGET static bool row(enum gptq_dtype dtype, const uint8_t *codes, const uint8_t *z, const void *scales, size_t n,
			  void *out)
{
	bool done = false;

	if (n < GQ_LANES)
		done = false;
	else if (dtype == GPTQ_DTYPE_F16)
		done = row_of(GPTQ_DTYPE_F16, codes, z, scales, n, out);
	else if (dtype == GPTQ_DTYPE_BF16)
		done = row_of(GPTQ_DTYPE_BF16, codes, z, scales, n, out);
	else
		done = row_of(GPTQ_DTYPE_F32, codes, z, scales, n, out);
	return done || gq_kernels_generic.row(dtype, codes, z, scales, n, out);
}

/* ------------------------------------------------------------------------------------------ words of a block */

/* How many codes of a word go behind one shift; 3-bit codes do not lie so well. */
#define GQ_EACH(bits) ((bits) == 3 ? 1u : (bits) == 8 ? 2u : 4u)

/* Scales and zero points of one group in the columns of a stretch, widened. */
struct columns {
	float scale[GQ_TILE];
	float less[4][GQ_TILE]; /* -(2^(23 - bits i) + z), for those of GQ_EACH */
};

/* false: some scale is not below the limit. each: how many of `less` are wanted. */
GQ_INLINE bool widen(const struct gq_weights *w, const struct gq_stretch *at, float limit, unsigned each,
		     struct columns *out)
{
	size_t n = at->n1 - at->n0, nbytes = gq_weight_bytes(w->dtype);
	size_t cell = (size_t)w->g_of_k[at->k0] * w->n_columns + at->n0;
	const unsigned char *scales = (const unsigned char *)w->scales + cell * nbytes;
	const unsigned bits = w->pack.bits;
	vu over = {0};

	for (size_t i = 0; i < n; i += GQ_LANES) {
		vf scale;
		vu z;

		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		z = GQ_LOAD_U8(w->z + cell + i);
		scale = load_scales(w->dtype, scales + i * nbytes);
		over |= not_below(scale, limit);
		memcpy(out->scale + i, &scale, sizeof(scale));
		for (unsigned j = 0; j < each; j++) {
			/* the unit of the fraction of 2^(23 - s) is 2^-s, so that its bits are z << s */
			vu less = z << j * bits | ((GQ_MAGIC | 0x80000000U) - (j * bits << 23));

			memcpy(out->less[j] + i, &less, sizeof(less));
		}
	}
	return !any(over);
}

/* The same, in registers, for a vector of columns. */
struct widened {
	vf scale, less[4];
};

GQ_INLINE struct widened load_widened(const struct columns *columns, unsigned bits, size_t i)
{
	struct widened v = {.scale = load_floats(columns->scale + i)};

	for (unsigned j = 0; j < GQ_EACH(bits); j++)
		v.less[j] = load_floats(columns->less[j] + i);
	return v;
}

/* The products of one code row; `words` has the codes at `shift`, anything else around them. */
GQ_INLINE vf product(vu words, unsigned shift, unsigned bits, vf scale, vf zero)
{
	vu code = words >> shift & ((1U << bits) - 1);

	return scale * ((vf)(code | GQ_MAGIC) - zero);
}

/* Code rows 10 and 21 of a 3-bit block straddle word rows; what lies above a code is masked later. */
GQ_INLINE vu straddling(vu low, vu high, unsigned split)
{
	return low >> (32 - split) | high << split;
}

/* The words that hold code row j of a block, and where in them; constants once loops are unrolled. */
GQ_INLINE vu code_words(const vu *words, unsigned bits, unsigned j, unsigned *shift)
{
	unsigned bit = j * bits, word = bit / 32;

	*shift = bit % 32;
	if (*shift + bits <= 32)
		return words[word];
	*shift = 0;
	return straddling(words[word], words[word + 1], 32 - bit % 32);
}

/* The products of code row j of a block whose rows have one group. */
GQ_INLINE vf product_of_row(const vu *words, unsigned bits, unsigned j, const struct widened *columns)
{
	const unsigned i = j % GQ_EACH(bits), at = i * bits;
	unsigned shift;
	vu w = code_words(words, bits, j - i, &shift);
	vf code = (vf)((w >> shift & ((1U << bits) - 1) << at) | GQ_MAGIC);
	const vf back = (vf){0} + 1.0f / (float)(1U << at);

	return columns->scale * (at == 0 ? code + columns->less[0] : GQ_FMA(code, back, columns->less[i]));
}

GQ_INLINE bool supported(const struct gq_weights *w, const struct gq_stretch *at)
{
	return w->pack.word_bits == 32 && at->n1 - at->n0 >= GQ_LANES;
}

GQ_INLINE const unsigned char *block_at(const struct gq_weights *w, unsigned bits, size_t k, size_t n0)
{
	return (const unsigned char *)w->rows.words + k * bits / 32 * w->rows.row_bytes + n0 * 4;
}

#include "kernels/vector_mixed.h"

/* ---------------------------------------------------------------------------------------------------- unpack */

GQ_INLINE void unpack_block_of(unsigned bits, const unsigned char *p, size_t row_bytes, size_t n, unsigned n_codes,
			       uint8_t *codes, size_t stride)
{
	const unsigned n_words = bits == 3 ? (n_codes * 3 + 31) / 32 : 1;

	for (size_t i = 0; i < n; i += GQ_LANES) {
		vu words[4];
		unsigned shift;

		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		for (unsigned r = 0; r < n_words; r++)
			words[r] = load_words(p + r * row_bytes + i * 4);
		for (unsigned j = 0; j < n_codes; j++) {
			vu w = code_words(words, bits, j, &shift);

			GQ_STORE_U8(codes + j * stride + i, w >> shift & ((1U << bits) - 1));
		}
	}
}

GQ_TARGET static void unpack(struct gq_word_rows rows, struct gq_pack pack, size_t n0, size_t n_cols, unsigned n_codes,
			     uint8_t *codes, size_t stride)
{
	const unsigned char *p = (const unsigned char *)rows.words + n0 * 4;

#ifdef GQ_UNPACK_4
	if (GQ_UNPACK_4(rows, pack, n0, n_cols, n_codes, codes, stride))
		return;
#endif
	if (pack.word_bits != 32 || n_cols < GQ_LANES)
		gq_layout_stream.unpack_block(rows, pack, n0, n_cols, n_codes, codes, stride);
	else if (pack.bits == 2)
		unpack_block_of(2, p, rows.row_bytes, n_cols, n_codes, codes, stride);
	else if (pack.bits == 3)
		unpack_block_of(3, p, rows.row_bytes, n_cols, n_codes, codes, stride);
	else if (pack.bits == 4)
		unpack_block_of(4, p, rows.row_bytes, n_cols, n_codes, codes, stride);
	else
		unpack_block_of(8, p, rows.row_bytes, n_cols, n_codes, codes, stride);
}

/* ------------------------------------------------------------------------------------------------ dequantise */

/*
 * Rows [j0, j1) of a block, all columns, a shift for each: stretches may be short here, and then more constants would
 * cost more than they save. Few rows, as a cache keeps few rows whose distance is a power of two.
 */
GQ_INLINE void dequantise_rows(enum gptq_dtype dtype, unsigned bits, unsigned j0, unsigned j1, const unsigned char *p,
			       size_t row_bytes, const struct columns *at, size_t n, unsigned char *out, size_t stride)
{
	const unsigned n_words = bits == 3 ? 3 : 1;

	for (size_t i = 0; i < n; i += GQ_LANES) {
		vf scale, zero;
		vu words[3];
		unsigned shift;

		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		scale = load_floats(at->scale + i);
		zero = -load_floats(at->less[0] + i);
		for (unsigned r = 0; r < n_words; r++)
			words[r] = load_words(p + r * row_bytes + i * 4);
		GQ_UNROLL
		for (unsigned j = j0; j < j1; j++) {
			vu w = code_words(words, bits, j, &shift);

			store_weights(dtype, product(w, shift, bits, scale, zero),
				      out + j * stride + i * gq_weight_bytes(dtype));
		}
	}
}

GQ_INLINE void dequantise_block(enum gptq_dtype dtype, unsigned bits, const unsigned char *p, size_t row_bytes,
				const struct columns *at, size_t n, unsigned char *out, size_t stride)
{
	const unsigned n_codes = bits == 3 ? 32 : 32 / bits, some = n_codes < 8 ? n_codes : 8;

	dequantise_rows(dtype, bits, 0, some, p, row_bytes, at, n, out, stride);
	if (n_codes >= 16)
		dequantise_rows(dtype, bits, 8, 16, p, row_bytes, at, n, out, stride);
	if (n_codes == 32) {
		dequantise_rows(dtype, bits, 16, 24, p, row_bytes, at, n, out, stride);
		dequantise_rows(dtype, bits, 24, 32, p, row_bytes, at, n, out, stride);
	}
}

GQ_INLINE void dequantise_blocks(enum gptq_dtype dtype, unsigned bits, const struct gq_weights *w,
				 const struct gq_stretch *at, const struct columns *columns, unsigned char *out,
				 size_t stride)
{
	size_t block = bits == 3 ? 32 : 32 / bits;

	for (size_t k = at->k0; k < at->k1; k += block, out += block * stride)
		dequantise_block(dtype, bits, block_at(w, bits, k, at->n0), w->rows.row_bytes, columns, at->n1 - at->n0,
				 out, stride);
}

/* The dtype as a constant, for each width. */
#define GQ_DEFINE_DEQUANTISE(BITS)                                                                                     \
	GQ_TARGET static void dequantise_##BITS(const struct gq_weights *w, const struct gq_stretch *at,               \
						const struct columns *columns, unsigned char *out, size_t stride)      \
	{                                                                                                              \
		if (w->dtype == GPTQ_DTYPE_F16)                                                                        \
			dequantise_blocks(GPTQ_DTYPE_F16, BITS, w, at, columns, out, stride);                          \
		else if (w->dtype == GPTQ_DTYPE_BF16)                                                                  \
			dequantise_blocks(GPTQ_DTYPE_BF16, BITS, w, at, columns, out, stride);                         \
		else                                                                                                   \
			dequantise_blocks(GPTQ_DTYPE_F32, BITS, w, at, columns, out, stride);                          \
	}

GQ_DEFINE_DEQUANTISE(2)
GQ_DEFINE_DEQUANTISE(3)
GQ_DEFINE_DEQUANTISE(4)
GQ_DEFINE_DEQUANTISE(8)

GQ_TARGET static bool dequantise(const struct gq_weights *w, const struct gq_stretch *at, void *out, size_t stride)
{
	struct columns columns;

	if (!supported(w, at))
		return false;
	if (at->mixed)
		return dequantise_mixed(w, at, out, stride);
	/* Finite scales give no NaN; products may well become infinite. */
	if (!widen(w, at, gq_float_of_bits(0x7f800000), 1, &columns))
		return false;
	if (w->pack.bits == 2)
		dequantise_2(w, at, &columns, out, stride);
	else if (w->pack.bits == 3)
		dequantise_3(w, at, &columns, out, stride);
	else if (w->pack.bits == 4)
		dequantise_4(w, at, &columns, out, stride);
	else
		dequantise_8(w, at, &columns, out, stride);
	return true;
}

/* ------------------------------------------------------------------------------------------------------ same */

/*
 * Products of both sides as float32 bits: where they are equal, so are the rounded ones. Returns bits that are not 0
 * where some product differs.
 */
GQ_INLINE vu differ_block(unsigned bits, const unsigned char *p, size_t row_bytes_a, const unsigned char *q,
			  size_t row_bytes_b, const struct columns *a, const struct columns *b, size_t n)
{
	const unsigned n_words = bits == 3 ? 3 : 1, n_codes = n_words * 32 / bits;
	vu differ = {0};

	for (size_t i = 0; i < n; i += GQ_LANES) {
		struct widened columns_a, columns_b;
		vu words_a[3], words_b[3];

		if (n - i < GQ_LANES)
			i = n - GQ_LANES;
		columns_a = load_widened(a, bits, i);
		columns_b = load_widened(b, bits, i);
		for (unsigned r = 0; r < n_words; r++) {
			words_a[r] = load_words(p + r * row_bytes_a + i * 4);
			words_b[r] = load_words(q + r * row_bytes_b + i * 4);
		}
		GQ_UNROLL
		for (unsigned j = 0; j < n_codes; j++)
			differ |= (vu)product_of_row(words_a, bits, j, &columns_a) ^
				  (vu)product_of_row(words_b, bits, j, &columns_b);
	}
	return differ;
}

GQ_INLINE bool same_blocks(unsigned bits, const struct gq_weights *a, const struct gq_weights *b,
			   const struct gq_stretch *at, const struct columns *columns_a,
			   const struct columns *columns_b)
{
	size_t block = bits == 3 ? 32 : 32 / bits;
	vu differ = {0};

	for (size_t k = at->k0; k < at->k1; k += block)
		differ |= differ_block(bits, block_at(a, bits, k, at->n0), a->rows.row_bytes,
				       block_at(b, bits, k, at->n0), b->rows.row_bytes, columns_a, columns_b,
				       at->n1 - at->n0);
	return !any(differ);
}

#define GQ_DEFINE_SAME(BITS)                                                                                           \
	GQ_TARGET static bool same_##BITS(const struct gq_weights *a, const struct gq_weights *b,                      \
					  const struct gq_stretch *at, const struct columns *columns_a,                \
					  const struct columns *columns_b)                                             \
	{                                                                                                              \
		return same_blocks(BITS, a, b, at, columns_a, columns_b);                                              \
	}

GQ_DEFINE_SAME(2)
GQ_DEFINE_SAME(3)
GQ_DEFINE_SAME(4)
GQ_DEFINE_SAME(8)

GQ_TARGET static bool same(const struct gq_weights *a, const struct gq_weights *b, const struct gq_stretch *at)
{
	float limit = tame_below(a->dtype, a->pack.bits);
	struct columns columns[2];

	if (!supported(a, at) || !supported(b, at) || a->pack.bits != b->pack.bits)
		return false;
	if (at->mixed)
		return same_mixed(a, b, at);
	if (!widen(a, at, limit, GQ_EACH(a->pack.bits), &columns[0]) ||
	    !widen(b, at, limit, GQ_EACH(b->pack.bits), &columns[1]))
		return false;
	if (a->pack.bits == 2)
		return same_2(a, b, at, &columns[0], &columns[1]);
	if (a->pack.bits == 3)
		return same_3(a, b, at, &columns[0], &columns[1]);
	if (a->pack.bits == 4)
		return same_4(a, b, at, &columns[0], &columns[1]);
	return same_8(a, b, at, &columns[0], &columns[1]);
}
