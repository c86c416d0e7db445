/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/copy.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/dispatch.h"
#include "ops/survey_internal.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_MODEL ((uint64_t)1 << 30) /* below this every layer is read */
#define MIN_SAMPLE 16
#define STATS_BUDGET ((uint64_t)12 << 20) /* a thread: what is found must not depend on how many there are */
#define READ_BUFFER ((size_t)2 << 20)

/* ------------------------------------------------------------------------------------- which layers to read */

struct sampling {
	const struct gq_layers *layers;
	const struct gq_survey *sv;
	bool *chosen;
};

static bool needs_codes(const struct sampling *s, size_t i)
{
	return !s->sv->broken[i] && gq_codes_wanted(&s->sv->facts[i].zeros, s->layers->items[i].pack);
}

/* Spreads `want` choices evenly over the layers of one width that need codes. */
static void choose_width(struct sampling *s, unsigned bits, size_t want)
{
	size_t n = 0, seen = 0, taken = 0;

	for (size_t i = 0; i < s->layers->n; i++)
		n += needs_codes(s, i) && s->layers->items[i].pack.bits == bits;
	if (want > n)
		want = n;
	for (size_t i = 0; i < s->layers->n && taken < want; i++) {
		if (!needs_codes(s, i) || s->layers->items[i].pack.bits != bits)
			continue;
		/* The t-th choice is candidate floor((2t + 1) n / 2w): the middles of w equal parts. */
		if (seen == (2 * taken + 1) * n / (2 * want)) {
			s->chosen[i] = true;
			taken++;
		}
		seen++;
	}
}

/* Files that no choice represents get their smallest layer: a file that was converted apart must not stay unseen. */
static enum gptq_status choose_files(struct sampling *s, size_t n_files, struct gptq_error *err)
{
	size_t *smallest = gq_malloc_array(n_files, sizeof(*smallest));

	if (!smallest)
		return gq_fail_nomem(err);
	for (size_t f = 0; f < n_files; f++)
		smallest[f] = SIZE_MAX;
	for (size_t i = 0; i < s->layers->n; i++) {
		size_t *best = &smallest[s->sv->facts[i].shard];

		if (s->chosen[i] || !needs_codes(s, i))
			*best = s->chosen[i] ? SIZE_MAX - 1 : *best;
		else if (*best == SIZE_MAX ||
			 (*best != SIZE_MAX - 1 &&
			  s->layers->items[i].qweight->nbytes < s->layers->items[*best].qweight->nbytes))
			*best = i;
	}
	for (size_t f = 0; f < n_files; f++)
		if (smallest[f] < SIZE_MAX - 1)
			s->chosen[smallest[f]] = true;
	gq_free(smallest);
	return GPTQ_OK;
}

static enum gptq_status choose(struct sampling *s, const struct gq_shards *shards, bool read_all,
			       struct gptq_error *err)
{
	uint64_t total = 0, packed = 0;
	size_t n = 0, want = MIN_SAMPLE;

	for (size_t i = 0; i < shards->n; i++)
		total += shards->items[i].size;
	for (size_t i = 0; i < s->layers->n; i++) {
		n += needs_codes(s, i);
		packed += needs_codes(s, i) ? s->layers->items[i].qweight->nbytes : 0;
	}
	if (read_all || total < SMALL_MODEL) {
		for (size_t i = 0; i < s->layers->n; i++)
			s->chosen[i] = needs_codes(s, i);
		return GPTQ_OK;
	}
	if (packed && total / 50 / (packed / n ? packed / n : 1) + 1 > want)
		want = (size_t)(total / 50 / (packed / n ? packed / n : 1)) + 1;
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		size_t here = 0, share;

		for (size_t i = 0; i < s->layers->n; i++)
			here += needs_codes(s, i) && s->layers->items[i].pack.bits == gq_widths[w];
		share = n ? (want * here + n - 1) / n : 0;
		choose_width(s, gq_widths[w], share < 4 ? 4 : share);
	}
	return choose_files(s, shards->n, err);
}

/* --------------------------------------------------------------------------------------------- reading codes */

/* The widest tile whose statistics fit the budget, a multiple of GQ_STATS_ALIGN. */
static size_t tile_width(const struct gq_stats_layer *sl, size_t n)
{
	size_t width = (n + GQ_STATS_ALIGN - 1) / GQ_STATS_ALIGN * GQ_STATS_ALIGN;

	while (width > GQ_STATS_ALIGN && gq_stats_footprint(sl, width) > STATS_BUDGET)
		width = (width / 2 + GQ_STATS_ALIGN - 1) / GQ_STATS_ALIGN * GQ_STATS_ALIGN;
	return width;
}

/* Word rows r..r+n_rows-1, columns n0..n0+n_cols-1, into buffer, row after row. */
static enum gptq_status read_rows(struct gq_shards *shards, const struct gq_layer *l, uint64_t r, uint64_t n_rows,
				  uint64_t n0, uint64_t n_cols, unsigned char *buffer, struct gptq_error *err)
{
	uint64_t word = l->pack.word_bits / 8, row = l->out_features * word;
	enum gptq_status status = GPTQ_OK;

	if (n_cols == l->out_features)
		return gq_tensor_read_at(shards, l->qweight, r * row, buffer, (size_t)(n_rows * row), err);
	for (uint64_t i = 0; i < n_rows && status == GPTQ_OK; i++)
		status = gq_tensor_read_at(shards, l->qweight, (r + i) * row + n0 * word, buffer + i * n_cols * word,
					   (size_t)(n_cols * word), err);
	return status;
}

static enum gptq_status read_tile(struct gq_shards *shards, const struct gq_layer *l, struct gq_stats *st, uint64_t n0,
				  uint64_t n_cols, unsigned char *buffer, uint64_t rows_at_once, struct gptq_error *err)
{
	unsigned block_words = gq_layout_stream.block_words(l->pack),
		 block_codes = gq_layout_stream.block_codes(l->pack);
	size_t row_bytes = (size_t)n_cols * (l->pack.word_bits / 8);
	enum gptq_status status = GPTQ_OK;

	gq_stats_tile_begin(st, (size_t)n0, (size_t)n_cols);
	for (uint64_t r = 0; r < l->word_rows && status == GPTQ_OK; r += rows_at_once) {
		uint64_t n_rows = l->word_rows - r < rows_at_once ? l->word_rows - r : rows_at_once;
		uint64_t k0 = r / block_words * block_codes,
			 k1 = (r + n_rows + block_words - 1) / block_words * block_codes;
		struct gq_word_rows rows = {.words = buffer, .row_bytes = row_bytes};

		status = read_rows(shards, l, r, n_rows, n0, n_cols, buffer, err);
		if (k1 > l->in_features)
			k1 = l->in_features;
		if (status == GPTQ_OK && k1 > k0)
			gq_stats_rows(st, (size_t)k0, (size_t)(k1 - k0), rows);
	}
	gq_stats_tile_end(st);
	return status;
}

/* Codes in the hands of several threads. */
struct code_reading {
	struct gq_shards *shards;
	const struct gq_layers *layers;
	struct gq_survey *sv;
	size_t *chosen; /* layers */
};

static enum gptq_status read_codes(void *ctx, size_t item, struct gq_work *work, unsigned worker,
				   struct gptq_error *err)
{
	const struct code_reading *r = ctx;
	struct gq_shards *shards = r->shards;
	const struct gq_layer *l = &r->layers->items[r->chosen[item]];
	unsigned block_words = gq_layout_stream.block_words(l->pack);
	struct gq_stats_layer sl = {.k = (size_t)l->in_features,
				    .unpack_block = gq_kernels_get()->unpack,
				    .cells_add = gq_kernels_get()->cells_add};
	struct gq_stats *st = NULL;
	enum gq_g_idx_kind kind;
	enum gptq_status status;
	uint64_t width, at_once;
	int32_t *g_of_k = NULL;
	void *words = NULL;
	unsigned char *buffer = NULL;

	status = gq_read_qzeros(shards, l, &words, &sl.qzeros, err);
	if (status == GPTQ_OK)
		status = gq_read_groups(shards, l, &g_of_k, &kind, err);
	if (status != GPTQ_OK)
		goto out;
	sl.g_of_k = g_of_k;
	width = tile_width(&sl, (size_t)l->out_features);
	if (width > l->out_features)
		width = l->out_features;
	at_once = READ_BUFFER / (width * (l->pack.word_bits / 8)) / block_words * block_words;
	if (at_once > l->word_rows)
		at_once = (l->word_rows + block_words - 1) / block_words * block_words;
	if (at_once == 0)
		at_once = block_words;
	buffer = gq_malloc_array((size_t)(at_once * width), l->pack.word_bits / 8);
	status = buffer ? gq_stats_new(&sl, (size_t)width, &st, err) : gq_fail_nomem(err);
	for (uint64_t n0 = 0; n0 < l->out_features && status == GPTQ_OK; n0 += width) {
		uint64_t n_cols = l->out_features - n0 < width ? l->out_features - n0 : width;

		status = gq_work_tick(work, worker, n_cols * l->word_rows * (l->pack.word_bits / 8),
				      shards->items[l->qweight->shard].name, err);
		if (status == GPTQ_OK)
			status = read_tile(shards, l, st, n0, n_cols, buffer, at_once, err);
	}
	if (status == GPTQ_OK)
		gq_stats_finish(st, &r->sv->codes[item]);
out:
	gq_stats_free(st);
	gq_free(buffer);
	gq_free(g_of_k);
	gq_free(words);
	return status;
}

static enum gptq_status read_chosen(struct gq_shards *shards, const struct gq_layers *layers, const bool *chosen,
				    const struct gq_survey_options *options, struct gq_survey *sv,
				    struct gptq_error *err)
{
	struct code_reading r = {.shards = shards, .layers = layers, .sv = sv};
	unsigned threads;
	enum gptq_status status;

	r.chosen = gq_malloc_array(layers->n, sizeof(*r.chosen));
	if (!r.chosen)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < layers->n; i++) {
		if (!chosen[i])
			continue;
		r.chosen[sv->n_sampled++] = i;
		sv->bytes_sampled += layers->items[i].qweight->nbytes;
	}
	sv->codes = gq_calloc(sv->n_sampled, sizeof(*sv->codes));
	if (!sv->codes) {
		gq_free(r.chosen);
		return gq_fail_nomem(err);
	}
	for (size_t i = 0; i < sv->n_sampled; i++)
		sv->facts[r.chosen[i]].codes = &sv->codes[i];
	threads = gq_work_threads(options->threads ? options->threads : 1, sv->n_sampled);
	threads = threads < GQ_SURVEY_THREADS ? threads : GQ_SURVEY_THREADS;
	status = gq_work_run(sv->n_sampled, threads, read_codes, &r, options->hooks, sv->bytes_sampled, err);
	gq_free(r.chosen);
	return status;
}

enum gptq_status gq_survey_run(struct gq_shards *shards, const struct gq_layers *layers,
			       const struct gq_survey_options *options, struct gq_survey *sv,
			       struct gq_problems *problems, struct gptq_error *err)
{
	struct sampling s = {.layers = layers, .sv = sv};
	enum gptq_status status;
	size_t n = layers->n;

	*sv = (struct gq_survey){.n_layers = n};
	sv->facts = gq_calloc(n, sizeof(*sv->facts));
	sv->verdicts = gq_calloc(n, sizeof(*sv->verdicts));
	sv->g_idx = gq_calloc(n, sizeof(*sv->g_idx));
	sv->odd = gq_calloc(n, sizeof(*sv->odd));
	sv->broken = gq_calloc(n, sizeof(*sv->broken));
	if (options->scales)
		sv->scales = gq_calloc(n, sizeof(*sv->scales));
	s.chosen = gq_calloc(n, sizeof(*s.chosen));
	if (!sv->facts || !sv->verdicts || !sv->g_idx || !sv->odd || !sv->broken || (options->scales && !sv->scales) ||
	    !s.chosen)
		status = gq_fail_nomem(err);
	else
		status = gq_survey_zeros(shards, layers, options->threads ? options->threads : 1, options->hooks, sv,
					 problems, err);
	if (status == GPTQ_OK)
		status = choose(&s, shards, options->read_all, err);
	if (status == GPTQ_OK)
		status = read_chosen(shards, layers, s.chosen, options, sv, err);
	if (status == GPTQ_OK)
		status = gq_shards_unchanged(shards, err);
	if (status == GPTQ_OK)
		status = gq_model_judge(sv->facts, n, sv->verdicts, sv->odd, &sv->model, err);
	gq_free(s.chosen);
	if (status != GPTQ_OK)
		gq_survey_free(sv);
	return status;
}

void gq_survey_free(struct gq_survey *sv)
{
	gq_free(sv->facts);
	gq_free(sv->codes);
	gq_free(sv->verdicts);
	gq_free(sv->g_idx);
	gq_free(sv->odd);
	gq_free(sv->broken);
	gq_free(sv->scales);
	*sv = (struct gq_survey){0};
}
