/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted over the zero points of a layer. */
#include "quant/zeros.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/mem.h"

/* Room for `copies` rows of lanes, all padding included. */
static uint8_t *row_buffer(const struct gq_qzeros *qz, unsigned copies)
{
	return gq_malloc_array(gq_row_lanes(qz->pack, qz->row_bytes) + 1, copies);
}

/* Unpacks row g with its padding. Returns the number of lanes. */
static size_t load_row(const struct gq_qzeros *qz, size_t g, uint8_t *lanes)
{
	size_t n_lanes = gq_row_lanes(qz->pack, qz->row_bytes);

	qz->layout->unpack_line((const unsigned char *)qz->words + g * qz->row_bytes, qz->pack, n_lanes, lanes);
	return n_lanes;
}

/*
 * Counts in four tables side by side: a byte that stands many times in a row would else wait each time for its own last
 * count to be stored.
 */
static void count_bytes(const unsigned char *p, size_t n, uint64_t counts[4][256])
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		counts[0][p[i]]++;
		counts[1][p[i + 1]]++;
		counts[2][p[i + 2]]++;
		counts[3][p[i + 3]]++;
	}
	for (; i < n; i++)
		counts[0][p[i]]++;
}

/* Is some lane of these bytes M? Bits 2, 4 and 8. */
static bool has_max(const unsigned char *p, size_t n, unsigned bits)
{
	uint64_t lowest = UINT64_MAX / ((1U << bits) - 1), found = 0;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t x = gq_load_le(p + i, n - i < 8 ? (unsigned)(n - i) : 8), all = x;

		for (unsigned s = 1; s < bits; s++)
			all &= x >> s;
		found |= all & lowest;
	}
	return found != 0;
}

/* Adds what the bytes stand for; in a row without M every style reads a lane for itself. */
static void add_bytes(uint64_t counts[4][256], struct gq_pack pack, enum gptq_zeros_format format, uint64_t *hist)
{
	unsigned per_byte = 8 / pack.bits;
	uint8_t z[256];

	for (unsigned i = 0; i < 1U << pack.bits; i++)
		z[i] = (uint8_t)i;
	gq_zeros_decode(z, (size_t)1 << pack.bits, pack, format, GPTQ_STYLE_LANE, z);
	for (unsigned v = 0; v < 256; v++) {
		uint64_t n = counts[0][v] + counts[1][v] + counts[2][v] + counts[3][v];

		for (unsigned i = 0; i < per_byte; i++)
			hist[z[v >> (i * pack.bits) & ((1U << pack.bits) - 1)]] += n;
	}
}

enum gptq_status gq_zeros_figures(const struct gq_qzeros *qz, enum gptq_zeros_format format, enum gptq_v1_style style,
				  struct gq_zero_figures *out, struct gptq_error *err)
{
	unsigned n_values = 1U << qz->pack.bits;
	bool whole = qz->pack.bits != 3 && qz->n * qz->pack.bits % 8 == 0;
	bool alone = format == GPTQ_ZEROS_V2 || gq_style_at(qz->pack, style) == GPTQ_STYLE_LANE;
	uint64_t counts[4][256] = {{0}};
	uint8_t *lanes = row_buffer(qz, 1);

	memset(out, 0, sizeof(*out));
	if (!lanes)
		return gq_fail_nomem(err);
	for (size_t g = 0; g < qz->rows; g++) {
		const unsigned char *row = (const unsigned char *)qz->words + g * qz->row_bytes;
		size_t n_bytes = qz->n * qz->pack.bits / 8;

		if (whole && (alone || !has_max(row, n_bytes, qz->pack.bits))) {
			count_bytes(row, n_bytes, counts);
			continue;
		}
		gq_zeros_decode(lanes, load_row(qz, g, lanes), qz->pack, format, style, lanes);
		for (size_t n = 0; n < qz->n; n++)
			out->hist[lanes[n]]++;
	}
	gq_free(lanes);
	if (whole)
		add_bytes(counts, qz->pack, format, out->hist);

	out->n_zeros = (uint64_t)qz->rows * qz->n;
	out->n_equal_0 = out->hist[0];
	out->n_off_mid = out->n_zeros - out->hist[n_values / 2];
	for (unsigned z = n_values; z-- > 0;)
		if (out->hist[z])
			out->z_min = (uint8_t)z;
	for (unsigned z = 0; z < n_values; z++)
		if (out->hist[z])
			out->z_max = (uint8_t)z;
	return GPTQ_OK;
}

bool gq_zeros_tell(const struct gq_zero_stats *stats, struct gq_pack pack, enum gptq_zeros_format format,
		   enum gptq_v1_style style, struct gq_zero_figures *out)
{
	bool v2 = format == GPTQ_ZEROS_V2;
	unsigned at = gq_style_at(pack, style);

	if (!stats->n_lanes || (!v2 && at != GPTQ_STYLE_LANE && (at != GPTQ_STYLE_WORD || stats->n_max)))
		return false;
	out->n_zeros = stats->n_lanes; /* clearing the histogram would cost more than all the rest */
	out->n_equal_0 = v2 ? stats->n_zero : stats->n_max;
	out->n_off_mid = stats->n_lanes - (v2 ? stats->n_mid : stats->n_below_mid);
	if (v2) {
		out->z_min = stats->lane_min;
		out->z_max = stats->lane_max;
	} else {
		out->z_min = stats->n_max ? 0 : (uint8_t)(stats->lane_min + 1);
		out->z_max = stats->n_max == stats->n_lanes ? 0 : (uint8_t)(stats->lane_high + 1);
	}
	return true;
}

enum gptq_status gq_zeros_compare_styles(const struct gq_qzeros *qz, enum gptq_v1_style a, enum gptq_v1_style b,
					 struct gq_style_difference *out, struct gptq_error *err)
{
	size_t n_lanes = gq_row_lanes(qz->pack, qz->row_bytes);
	uint8_t *lanes = row_buffer(qz, 3), *za, *zb;

	memset(out, 0, sizeof(*out));
	if (!lanes)
		return gq_fail_nomem(err);
	za = lanes + n_lanes;
	zb = za + n_lanes;
	for (size_t g = 0; g < qz->rows; g++) {
		load_row(qz, g, lanes);
		gq_zeros_decode(lanes, n_lanes, qz->pack, GPTQ_ZEROS_V1, a, za);
		gq_zeros_decode(lanes, n_lanes, qz->pack, GPTQ_ZEROS_V1, b, zb);
		for (size_t n = 0; n < qz->n; n++) {
			if (za[n] == zb[n])
				continue;
			if (out->n_lanes++ == 0) {
				out->group = g;
				out->column = n;
				out->lane = lanes[n];
				out->z_a = za[n];
				out->z_b = zb[n];
			}
		}
	}
	gq_free(lanes);
	return GPTQ_OK;
}

/*
 * The bits of lane i that lie in the word where it begins: all but for the top lanes of the first two of three words
 * at 3 bits, which have two bits and one bit there. This is as far as a smear gets.
 */
unsigned gq_lane_mask(struct gq_pack pack, size_t i)
{
	size_t begin = i * pack.bits % pack.word_bits;
	unsigned n_bits = begin + pack.bits > pack.word_bits ? (unsigned)(pack.word_bits - begin) : pack.bits;

	return (1U << n_bits) - 1;
}

/* One pack word's lanes, first..end-1, padding left out. */
static void count_word(const uint8_t *lanes, size_t first, size_t end, struct gq_pack pack, struct gq_zero_stats *out)
{
	uint8_t max = (uint8_t)((1U << pack.bits) - 1);
	size_t low = first, above, full = 0;

	while (low < end && lanes[low] != max) {
		out->n_kept++;
		out->n_kept_zero += lanes[low] == 0;
		low++;
	}
	if (low == end)
		return;
	out->n_first++;
	out->n_max++;
	above = end - low - 1;
	for (size_t i = low + 1; i < end; i++) {
		unsigned mask = gq_lane_mask(pack, i);

		out->n_max += lanes[i] == max;
		full += (lanes[i] & mask) == mask;
	}
	out->n_telling += above;
	if (above >= 2) {
		out->tall_words++;
		out->tall_words_full += full == above;
	}
	out->n_open += full < above;
	if (above >= 1 && full == above) {
		out->damaged_words++;
		out->unknown_zeros += full;
	}
}

typedef uint8_t bytes __attribute__((vector_size(16)));

/* What a row has of each kind. */
struct scan {
	uint8_t min, max, high; /* high: the highest but M; 0 if there is none */
	size_t n_zero, n_mid, n_below_mid;
};

static void scan_lane(uint8_t lane, unsigned bits, struct scan *x)
{
	unsigned mid = 1U << (bits - 1);

	x->min = lane < x->min ? lane : x->min;
	x->max = lane > x->max ? lane : x->max;
	if (lane != 2 * mid - 1)
		x->high = lane > x->high ? lane : x->high;
	x->n_zero += lane == 0;
	x->n_mid += lane == mid;
	x->n_below_mid += lane == mid - 1;
}

static inline bytes larger(bytes a, bytes b)
{
	bytes more = (bytes)(a > b);

	return (a & more) | (b & ~more);
}

/* Most rows hold no M: what they need is counted sixteen lanes at a time. */
static struct scan scan_row(const uint8_t *lanes, size_t n, unsigned bits)
{
	struct scan x = {.min = UINT8_MAX};
	bytes not_min = {0}, max = {0}, high = {0}, mid = (bytes){0} + (uint8_t)(1U << (bits - 1)), all = 2 * mid - 1;
	size_t i = 0;

	while (i + 16 <= n) {
		bytes zeros = {0}, mids = {0}, below = {0};

		for (unsigned j = 0; j < 255 && i + 16 <= n; j++, i += 16) {
			bytes v;

			memcpy(&v, lanes + i, sizeof(v));
			not_min = larger(not_min, ~v);
			max = larger(max, v);
			high = larger(high, v & ~(bytes)(v == all));
			zeros -= (bytes)(v == 0);
			mids -= (bytes)(v == mid);
			below -= (bytes)(v == mid - 1);
		}
		for (unsigned j = 0; j < 16; j++) {
			x.n_zero += zeros[j];
			x.n_mid += mids[j];
			x.n_below_mid += below[j];
		}
	}
	for (unsigned j = 0; j < 16 && n >= 16; j++) {
		uint8_t min = (uint8_t)~not_min[j];

		x.min = min < x.min ? min : x.min;
		x.max = max[j] > x.max ? max[j] : x.max;
		x.high = high[j] > x.high ? high[j] : x.high;
	}
	for (; i < n; i++)
		scan_lane(lanes[i], bits, &x);
	return x;
}

/* Returns whether some lane is M. */
static bool count_row(const uint8_t *lanes, size_t n, struct gq_pack pack, struct gq_zero_stats *out)
{
	struct scan x = scan_row(lanes, n, pack.bits);

	out->n_zero += x.n_zero;
	out->n_mid += x.n_mid;
	out->n_below_mid += x.n_below_mid;
	out->lane_high = x.high > out->lane_high ? x.high : out->lane_high;
	if (x.min < out->lane_min)
		out->lane_min = x.min;
	if (x.max > out->lane_max)
		out->lane_max = x.max;
	if (x.max < (1U << pack.bits) - 1) {
		out->n_kept += n;
		out->n_kept_zero += x.n_zero;
		return false;
	}
	for (size_t w = 1, first = 0; first < n; w++) {
		size_t end = gq_word_first_lane(pack, w);

		count_word(lanes, first, end < n ? end : n, pack, out);
		first = end;
	}
	return true;
}

/* Which of the constant patterns of a symmetric layer a row shows, as bits 1 << enum gq_sentinel. */
static unsigned row_patterns(const uint8_t *lanes, size_t n, size_t n_lanes, struct gq_pack pack, uint8_t *scratch)
{
	unsigned mid = 1U << (pack.bits - 1), per_word = pack.word_bits / pack.bits;
	bool v1 = true, v2 = true, halves = pack.word_bits == 64;
	bool legacy = pack.bits == 3 && n >= 32 && lanes[0] == 0 && lanes[10] == 4;

	for (size_t i = 0; i < n && (v1 || v2 || halves); i++) {
		bool upper = i % per_word >= per_word / 2;

		v1 = v1 && lanes[i] == mid - 1;
		v2 = v2 && lanes[i] == mid;
		halves = halves && lanes[i] == (upper ? mid : mid - 1);
	}
	if (legacy) {
		gq_zeros_decode(lanes, n_lanes, pack, GPTQ_ZEROS_V1, GPTQ_STYLE_GPTQMODEL_3BIT, scratch);
		for (size_t i = 0; i < n; i++)
			legacy = legacy && scratch[i] == mid;
	}
	/* A row that ends in the lower half of its only word is plain v1. */
	return v1 << GQ_SENTINEL_V1 | v2 << GQ_SENTINEL_V2 | legacy << GQ_SENTINEL_LEGACY |
	       (halves && !v1) << GQ_SENTINEL_HALVES;
}

enum gptq_status gq_zero_stats_of(const struct gq_qzeros *qz, struct gq_zero_stats *out, struct gptq_error *err)
{
	size_t n_lanes = gq_row_lanes(qz->pack, qz->row_bytes);
	uint8_t *lanes = row_buffer(qz, 3), *za, *zb;
	unsigned patterns = ~0U;

	memset(out, 0, sizeof(*out));
	if (!lanes)
		return gq_fail_nomem(err);
	za = lanes + n_lanes;
	zb = za + n_lanes;
	out->lane_min = UINT8_MAX;
	for (size_t g = 0; g < qz->rows; g++) {
		bool has_max;

		load_row(qz, g, lanes);
		has_max = count_row(lanes, qz->n, qz->pack, out);
		if (patterns)
			patterns &= row_patterns(lanes, qz->n, n_lanes, qz->pack, za);
		if (qz->pack.bits == 3 || !has_max)
			continue;
		gq_zeros_decode(lanes, n_lanes, qz->pack, GPTQ_ZEROS_V1, GPTQ_STYLE_LANE, za);
		gq_zeros_decode(lanes, n_lanes, qz->pack, GPTQ_ZEROS_V1, GPTQ_STYLE_WORD, zb);
		for (size_t n = 0; n < qz->n; n++)
			out->n_differ += za[n] != zb[n];
	}
	gq_free(lanes);
	out->n_lanes = (uint64_t)qz->rows * qz->n;
	for (unsigned s = GQ_SENTINEL_HALVES; s > GQ_SENTINEL_NONE && out->n_lanes > 0; s--)
		if (patterns >> s & 1)
			out->sentinel = (enum gq_sentinel)s;
	return GPTQ_OK;
}
