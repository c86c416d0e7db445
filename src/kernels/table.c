/* SPDX-License-Identifier: Apache-2.0 */
/* The proof `table`: equal codes, and equal products of every code in every group and column. */
#include "kernels/kernel.h"

#include "base/checked.h"

/* Rows of codes in a block that the layer does not fill. */
static bool last_codes_equal(const struct gq_weights *a, const struct gq_weights *b, size_t k0)
{
	for (size_t k = k0; k < a->n_rows; k++)
		for (size_t n = 0; n < a->n_columns; n++)
			if (gq_layout_stream.get_code(a->rows, a->pack, k, n) !=
			    gq_layout_stream.get_code(b->rows, b->pack, k, n))
				return false;
	return true;
}

bool gq_codes_equal(const struct gq_weights *a, const struct gq_weights *b)
{
	const unsigned char *p = a->rows.words, *q = b->rows.words;
	unsigned block = gq_layout_stream.block_codes(a->pack);
	size_t word_rows = a->n_rows / block * gq_layout_stream.block_words(a->pack);
	size_t row_bytes = a->n_columns * (a->pack.word_bits / 8);

	if (a->pack.bits != b->pack.bits || a->pack.word_bits != b->pack.word_bits || a->n_rows != b->n_rows ||
	    a->n_columns != b->n_columns)
		return false;
	if (a->rows.row_bytes == row_bytes && b->rows.row_bytes == row_bytes) {
		if (memcmp(p, q, word_rows * row_bytes) != 0)
			return false;
	} else {
		for (size_t r = 0; r < word_rows; r++)
			if (memcmp(p + r * a->rows.row_bytes, q + r * b->rows.row_bytes, row_bytes) != 0)
				return false;
	}
	return last_codes_equal(a, b, a->n_rows / block * block);
}

/* Not finite: all bits of the exponent are set. Two loops, so that compilers see loads of one width. */
static uint64_t count_special(enum gptq_dtype dtype, const unsigned char *a, const unsigned char *b, size_t n)
{
	uint32_t exponent = dtype == GPTQ_DTYPE_F16 ? 0x7c00 : 0x7f80;
	uint64_t count = 0;

	if (dtype == GPTQ_DTYPE_F32) {
		exponent = 0x7f800000;
		for (size_t i = 0; i < n; i++)
			count += (~gq_load_le(a + 4 * i, 4) & exponent) == 0 ||
				 (~gq_load_le(b + 4 * i, 4) & exponent) == 0;
	} else {
		for (size_t i = 0; i < n; i++)
			count += (~gq_load_le(a + 2 * i, 2) & exponent) == 0 ||
				 (~gq_load_le(b + 2 * i, 2) & exponent) == 0;
	}
	return count;
}

static bool products_equal(enum gptq_dtype dtype, unsigned bits, const unsigned char *scale_a, unsigned z_a,
			   const unsigned char *scale_b, unsigned z_b)
{
	for (unsigned q = 0; q < 1U << bits; q++)
		if (gq_weight(dtype, scale_a, q, z_a) != gq_weight(dtype, scale_b, q, z_b))
			return false;
	return true;
}

uint64_t gq_tables_differ(const struct gq_weights *a, const struct gq_weights *b, uint64_t *n_special)
{
	enum { CHUNK = 1024 };
	size_t nbytes = gq_weight_bytes(a->dtype), n_cells = a->n_groups * a->n_columns, n;
	const unsigned char *sa = a->scales, *sb = b->scales;
	uint64_t n_differ = 0;

	*n_special = count_special(a->dtype, sa, sb, n_cells);
	for (size_t i = 0; i < n_cells; i += n) {
		n = n_cells - i < CHUNK ? n_cells - i : CHUNK;
		/* The same scale and zero point have the same products. */
		if (memcmp(a->z + i, b->z + i, n) == 0 && memcmp(sa + i * nbytes, sb + i * nbytes, n * nbytes) == 0)
			continue;
		for (size_t j = i; j < i + n; j++)
			n_differ += !products_equal(a->dtype, a->pack.bits, sa + j * nbytes, a->z[j], sb + j * nbytes,
						    b->z[j]);
	}
	return n_differ;
}
