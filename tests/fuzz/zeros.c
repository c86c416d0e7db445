/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw words as zero points and codes of one layer. Every exact style must come back bit by bit, packed words must say
 * what plain loops say, and statistics and verdict must hold together whatever the words are.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "quant/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shape {
	struct gq_pack pack;
	size_t rows, row_bytes, n, k;
};

static const enum gptq_v1_style exact[] = {GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, GPTQ_STYLE_GPTQMODEL_3BIT};

/* Small, but all widths and ragged ends. */
static bool choose(struct fuzz_input *in, struct shape *s)
{
	static const unsigned bits[] = {2, 3, 4, 8}, words[] = {32, 8, 16, 64};
	unsigned choice = fuzz_u8(in);
	size_t word, lanes;

	s->pack = (struct gq_pack){bits[choice & 3], words[choice >> 2 & 3]};
	if (!gq_pack_ok(s->pack))
		return false;
	word = s->pack.word_bits / 8;
	s->rows = 1 + (choice >> 4 & 3);
	s->row_bytes = word * (1 + fuzz_u8(in) % 12u);
	lanes = gq_row_lanes(s->pack, s->row_bytes);
	s->n = lanes - fuzz_u8(in) % (lanes < 12 ? lanes : 12u);
	s->k = 1 + fuzz_u8(in) % 160u;
	return true;
}

static void unpack(const uint8_t *words, const struct shape *s, uint8_t *lanes)
{
	size_t n = gq_row_lanes(s->pack, s->row_bytes);

	for (size_t r = 0; r < s->rows; r++)
		gq_layout_stream.unpack_line(words + r * s->row_bytes, s->pack, n, lanes + r * n);
}

/* v1 to v2 and back in one style, and both against the plain loops. */
static void round_trip(const uint8_t *words, const struct shape *s, enum gptq_v1_style style)
{
	size_t size = s->rows * s->row_bytes, n = gq_row_lanes(s->pack, s->row_bytes);
	uint8_t *work = fuzz_guarded(SLOT_C, words, size);
	uint8_t *before = malloc(s->rows * n), *after = malloc(s->rows * n), *z = malloc(n), *lanes = malloc(n);
	struct gptq_error err;

	MUST(before && after && z && lanes);
	unpack(words, s, before);
	MUST(gptq_zeros_shift(work, s->rows, s->row_bytes, s->pack.bits, s->pack.word_bits, GPTQ_ZEROS_V1,
			      GPTQ_ZEROS_V2, style, &err) == GPTQ_OK);
	unpack(work, s, after);
	for (size_t r = 0; r < s->rows; r++) {
		gq_zeros_decode(before + r * n, n, s->pack, GPTQ_ZEROS_V1, style, z);
		MUST(memcmp(z, after + r * n, n) == 0);
		gq_zeros_encode(z, n, s->pack, GPTQ_ZEROS_V1, style, lanes);
		MUST(memcmp(lanes, before + r * n, n) == 0);
	}
	MUST(gptq_zeros_shift(work, s->rows, s->row_bytes, s->pack.bits, s->pack.word_bits, GPTQ_ZEROS_V2,
			      GPTQ_ZEROS_V1, style, &err) == GPTQ_OK);
	MUST(memcmp(work, words, size) == 0);
	free(before);
	free(after);
	free(z);
	free(lanes);
}

static void check_figures(const struct gq_qzeros *qz, enum gptq_zeros_format format, enum gptq_v1_style style)
{
	struct gq_zero_figures f;
	struct gptq_error err;
	uint64_t sum = 0;

	MUST(gq_zeros_figures(qz, format, style, &f, &err) == GPTQ_OK);
	for (unsigned i = 0; i < 256; i++)
		sum += f.hist[i];
	MUST(sum == f.n_zeros && f.n_zeros == qz->rows * qz->n && f.n_equal_0 == f.hist[0]);
	MUST(f.z_min <= f.z_max && f.z_max < 1u << qz->pack.bits && f.hist[f.z_min] && f.hist[f.z_max]);
}

static void check_zero_stats(const struct gq_qzeros *qz, struct gq_zero_stats *stats)
{
	struct gq_style_difference d;
	struct gptq_error err;

	MUST(gq_zero_stats_of(qz, stats, &err) == GPTQ_OK);
	MUST(stats->n_lanes == qz->rows * qz->n && stats->n_max <= stats->n_lanes);
	MUST(stats->n_kept + stats->n_first + stats->n_telling == stats->n_lanes);
	MUST(stats->n_kept_zero <= stats->n_kept && stats->tall_words_full <= stats->tall_words);
	MUST(stats->lane_min <= stats->lane_max && stats->n_differ <= stats->n_telling);
	MUST(gq_zeros_compare_styles(qz, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, &d, &err) == GPTQ_OK);
	MUST(d.n_lanes == stats->n_differ);
	MUST(d.n_lanes == 0 || (d.group < qz->rows && d.column < qz->n && d.z_a != d.z_b));
}

/* The rest of the input, over and over, as qweight and as group numbers. */
static void judge(const struct gq_qzeros *qz, const struct gq_zero_stats *zeros, const struct shape *s,
		  struct fuzz_input *in)
{
	size_t word = s->pack.word_bits / 8, rows = (s->k * s->pack.bits + s->pack.word_bits - 1) / s->pack.word_bits;
	size_t row_bytes = s->n * word, size;
	unsigned blocks = gq_layout_stream.block_words(s->pack);
	uint8_t *fill;
	int32_t *g = malloc(s->k * sizeof(*g));
	struct gq_code_stats codes;
	struct gq_layer_facts facts = {.pack = s->pack, .zeros = *zeros, .codes = &codes};
	struct gq_layer_verdict verdict, again;
	struct gq_model_verdict model;
	struct gptq_error err;
	bool odd;

	rows = (rows + blocks - 1) / blocks * blocks;
	size = rows * row_bytes;
	fill = malloc(size);
	MUST(fill && g);
	for (size_t i = 0; i < s->k; i++)
		g[i] = (int32_t)((in->size & 1 ? i * s->rows / s->k : fuzz_u8(in)) % s->rows);
	for (size_t i = 0; i < size; i++)
		fill[i] = in->size ? in->data[i % in->size] : 0;
	MUST(gq_stats_of(&(struct gq_stats_layer){.qzeros = *qz, .k = s->k, .g_of_k = g},
			 (struct gq_word_rows){fuzz_guarded(SLOT_D, fill, size), row_bytes}, &codes, &err) == GPTQ_OK);
	MUST(codes.n_codes <= s->k * s->n && codes.n_kept <= codes.n_lanes);
	(void)gq_codes_wanted(zeros, s->pack);
	gq_layer_judge(&facts, &verdict);
	MUST(verdict.verdict == GPTQ_VERDICT_V1 || verdict.verdict == GPTQ_VERDICT_V2 ||
	     verdict.verdict == GPTQ_VERDICT_UNDETERMINED);
	MUST((verdict.verdict == GPTQ_VERDICT_UNDETERMINED) == (verdict.rule == GQ_RULE_NONE));
	MUST(gq_model_judge(&facts, 1, &again, &odd, &model, &err) == GPTQ_OK);
	MUST(again.verdict == verdict.verdict && again.rule == verdict.rule && model.verdict != GPTQ_VERDICT_MIXED);
	MUST(model.n_layers == 1);
	free(fill);
	free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct gq_zero_stats zeros;
	struct gq_qzeros qz;
	struct shape s;
	const uint8_t *words, *raw;
	size_t need, got;
	uint8_t *whole;

	if (!choose(&in, &s))
		return 0;
	need = s.rows * s.row_bytes;
	raw = fuzz_bytes(&in, need, &got);
	whole = calloc(need, 1);
	MUST(whole);
	if (got)
		memcpy(whole, raw, got);
	words = fuzz_guarded(SLOT_B, whole, need);
	free(whole);
	qz = (struct gq_qzeros){words, s.rows, s.row_bytes, s.n, s.pack, &gq_layout_stream};
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
		round_trip(words, &s, exact[i]);
		check_figures(&qz, GPTQ_ZEROS_V1, exact[i]);
	}
	check_figures(&qz, GPTQ_ZEROS_V2, GPTQ_STYLE_NONE);
	check_zero_stats(&qz, &zeros);
	judge(&qz, &zeros, &s, &in);
	return 0;
}
