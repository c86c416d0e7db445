/* SPDX-License-Identifier: Apache-2.0 */
/* What stored zero points mean, one lane at a time. */
#include "quant/zeros.h"

#include "base/checked.h"

const char *gptq_zeros_format_name(enum gptq_zeros_format format)
{
	switch (format) {
	case GPTQ_ZEROS_V1:
		return "v1";
	case GPTQ_ZEROS_V2:
		return "v2";
	case GPTQ_ZEROS_NONE:
		break;
	}
	return "none";
}

const char *gptq_style_name(enum gptq_v1_style style)
{
	switch (style) {
	case GPTQ_STYLE_LANE:
		return "lane";
	case GPTQ_STYLE_WORD:
		return "word";
	case GPTQ_STYLE_GPTQMODEL_3BIT:
		return "gptqmodel-3bit";
	case GPTQ_STYLE_SMEARED:
		return "smeared";
	case GPTQ_STYLE_CLEAN:
		return "clean";
	case GPTQ_STYLE_NONE:
		break;
	}
	return "none";
}

bool gq_pack_ok(struct gq_pack pack)
{
	return gq_layout_stream.supports(pack);
}

size_t gq_row_lanes(struct gq_pack pack, size_t row_bytes)
{
	return row_bytes / pack.bits * 8 + row_bytes % pack.bits * 8 / pack.bits;
}

enum gptq_v1_style gq_style_for_width(enum gptq_v1_style style, unsigned bits)
{
	if (style == GPTQ_STYLE_WORD && bits == 3)
		return GPTQ_STYLE_LANE;
	if (style == GPTQ_STYLE_GPTQMODEL_3BIT && bits != 3)
		return GPTQ_STYLE_WORD;
	return style;
}

enum gptq_v1_style gq_style_at(struct gq_pack pack, enum gptq_v1_style style)
{
	style = gq_style_for_width(style, pack.bits);
	return style == GPTQ_STYLE_WORD || style == GPTQ_STYLE_GPTQMODEL_3BIT ? style : GPTQ_STYLE_LANE;
}

/* Adds (v1 to v2) or subtracts (v2 to v1) 1 in each lane, carrying from lane to lane inside a pack word. */
static void step_words(const uint8_t *in, size_t n_lanes, struct gq_pack pack, bool add, uint8_t *out)
{
	size_t per_word = pack.word_bits / pack.bits;
	int modulus = 1 << pack.bits;

	for (size_t first = 0; first < n_lanes; first += per_word) {
		int carry = 0;

		for (size_t i = first; i < n_lanes && i < first + per_word; i++) {
			int value = add ? in[i] + 1 + carry : in[i] - 1 - carry;

			carry = value < 0 || value >= modulus;
			out[i] = (uint8_t)(value < 0 ? value + modulus : value % modulus);
		}
	}
}

/*
 * Adds or subtracts, mod 2^32, the three constants of GPTQModel before 7.0.0 to the 32-bit words of a row of 3-bit
 * lanes. In a correct "one in each lane" the first and the third would change places:
 *
 *   word 3i 24924924, word 3i+1 92492492, word 3i+2 49249249
 *
 * A whole number of lanes at the end of the row may leave bits of its last word unused; they are 0 here, and the
 * lanes below them do not feel what happens above.
 */
static void step_legacy(const uint8_t *in, size_t n_lanes, bool add, uint8_t *out)
{
	static const uint32_t constants[3] = {0x24924924, 0x92492492, 0x49249249};
	static const struct gq_pack pack = {3, 32};
	unsigned char line[12];

	for (size_t first = 0; first < n_lanes; first += 32) {
		size_t n = n_lanes - first < 32 ? n_lanes - first : 32;

		memset(line, 0, sizeof(line));
		for (size_t i = 0; i < n; i++)
			gq_layout_stream.put_lane(line, pack, i, in[first + i]);
		for (unsigned w = 0; w < 3; w++) {
			uint32_t word = (uint32_t)gq_load_le(line + 4 * w, 4);

			gq_store_le(line + 4 * w, add ? word + constants[w] : word - constants[w], 4);
		}
		for (size_t i = 0; i < n; i++)
			out[first + i] = (uint8_t)gq_layout_stream.get_lane(line, pack, i);
	}
}

static void step(const uint8_t *in, size_t n_lanes, struct gq_pack pack, enum gptq_zeros_format format,
		 enum gptq_v1_style style, bool add, uint8_t *out)
{
	unsigned max = (1U << pack.bits) - 1;

	if (format == GPTQ_ZEROS_V2) {
		memmove(out, in, n_lanes);
		return;
	}
	switch (gq_style_at(pack, style)) {
	case GPTQ_STYLE_WORD:
		step_words(in, n_lanes, pack, add, out);
		break;
	case GPTQ_STYLE_GPTQMODEL_3BIT:
		step_legacy(in, n_lanes, add, out);
		break;
	case GPTQ_STYLE_NONE:
	case GPTQ_STYLE_LANE:
	case GPTQ_STYLE_SMEARED:
	case GPTQ_STYLE_CLEAN:
		for (size_t i = 0; i < n_lanes; i++)
			out[i] = (uint8_t)((add ? in[i] + 1U : in[i] - 1U) & max);
		break;
	}
}

void gq_zeros_decode(const uint8_t *lanes, size_t n_lanes, struct gq_pack pack, enum gptq_zeros_format format,
		     enum gptq_v1_style style, uint8_t *z)
{
	step(lanes, n_lanes, pack, format, style, true, z);
}

void gq_zeros_encode(const uint8_t *z, size_t n_lanes, struct gq_pack pack, enum gptq_zeros_format format,
		     enum gptq_v1_style style, uint8_t *lanes)
{
	step(z, n_lanes, pack, format, style, false, lanes);
}

size_t gq_zeros_first_change(const struct gq_rewrite *rewrite, const void *before, const void *after, size_t n_rows,
			     uint8_t *scratch)
{
	struct gq_pack pack = rewrite->pack;
	size_t lanes = gq_row_lanes(pack, rewrite->row_bytes), r = 0;
	const unsigned char *a = before, *b = after;
	uint8_t *za = scratch + lanes, *zb = za + lanes;

	for (; r < n_rows; r++, a += rewrite->row_bytes, b += rewrite->row_bytes) {
		gq_layout_stream.unpack_line(a, pack, lanes, scratch);
		gq_zeros_decode(scratch, lanes, pack, rewrite->from, rewrite->style, za);
		gq_layout_stream.unpack_line(b, pack, lanes, scratch);
		gq_zeros_decode(scratch, lanes, pack, rewrite->to, rewrite->style, zb);
		if (memcmp(za, zb, rewrite->n) != 0)
			break;
	}
	return r;
}
