/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor of a stream on its way. What is found wrong ends the output before the bytes that hold it. */
#include "base/checked.h"
#include "base/mem.h"
#include "ops/stream_internal.h"

#include <string.h>

#define MAX_ROWS ((uint64_t)1 << 26) /* of weights without g_idx, whose groups are worked out in memory */

static enum gptq_status refuse(const struct gq_layer *l, struct gptq_error *err, const char *what)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_REFUSED, "%s\nthe output is cut off here", what);

	gq_error_tensor(err, l->name, l->name_len);
	return status;
}

/* ------------------------------------------------------------------------------------------------------ checks */

/* What a run of rows shows that is v1: is its style told, or does none make a difference? */
static enum gptq_status check_v1(struct gq_stream *s, const struct gq_layer *l, const struct gq_zero_stats *z,
				 enum gptq_v1_style style, struct gptq_error *err)
{
	bool accept = s->cv->options->accept_damaged;
	unsigned w = gq_width_index(l->pack.bits);

	if (z->sentinel == GQ_SENTINEL_HALVES)
		return refuse(l, err,
			      "the halves of the 64-bit pack words are shifted differently, as GPTQModel's v1 writer "
			      "leaves them: neither v1 nor v2");
	if (s->refuse_3bit && l->pack.bits == 3 && z->n_max && !accept)
		return refuse(l, err,
			      "auto-round's 3-bit v1 writer mixes borrows and smears where a zero point is 0, and here "
			      "it is; --accept-damaged converts all the same, lane by lane");
	if (l->pack.bits == 3 && ((z->sentinel == GQ_SENTINEL_LEGACY && style != GPTQ_STYLE_GPTQMODEL_3BIT) ||
				  (z->sentinel == GQ_SENTINEL_V1 && style == GPTQ_STYLE_GPTQMODEL_3BIT)))
		return refuse(
			l, err,
			"the zero points are those of a symmetric layer in another v1 style than the one that was "
			"given, recorded or meant by the producer; --v1-style settles it");
	if (style == GPTQ_STYLE_SMEARED && z->damaged_words && !accept)
		return refuse(l, err,
			      "the producer smeared zero points of 0 over those above them, and here some are lost; "
			      "--accept-damaged converts all the same, lane by lane");
	if (style == GPTQ_STYLE_SMEARED && z->n_open)
		return refuse(l, err,
			      "the producer smeared zero points of 0 over those above them, but these are not smeared; "
			      "--v1-style settles it");
	if (!s->unsettled[w])
		return GPTQ_OK;
	if (l->pack.bits == 3 ? z->sentinel != GQ_SENTINEL_V1 : z->n_telling != 0)
		return refuse(
			l, err,
			"how this v1 stores zero points of 0 is open, it matters here, and a stream shows too late "
			"what could tell; --v1-style, or --config with a producer or a record, settles it");
	return GPTQ_OK;
}

/* All lanes of a layer as a symmetric one has them in the other format. */
static enum gptq_status check_layer(const struct gq_stream *s, size_t i, bool all_v1, bool all_v2,
				    struct gptq_error *err)
{
	const struct gq_unit *u = &s->cv->units[0];
	const struct gq_layer *l = &u->source.layers.items[i];
	bool v1 = u->formats[i] == GPTQ_ZEROS_V1;

	if (s->judged || l->groups * l->out_features < 8 || (v1 ? !all_v2 : !all_v1))
		return GPTQ_OK;
	return refuse(
		l, err,
		v1 ? "taken for v1, but every zero point is stored as the midpoint, as a symmetric layer is in v2"
		   : "taken for v2, but every zero point is stored as the midpoint less one, as a symmetric layer "
		     "is in v1");
}

enum gptq_status gq_stream_check_groups(const struct gq_layer *l, struct gptq_error *err)
{
	enum gq_g_idx_kind kind;
	enum gptq_status status;
	int32_t *g_of_k;

	if (l->in_features > MAX_ROWS) {
		status = gq_fail(err, GPTQ_E_LIMIT, "too many rows without g_idx");
		gq_error_tensor(err, l->name, l->name_len);
		return status;
	}
	g_of_k = gq_malloc_array((size_t)l->in_features, sizeof(*g_of_k));
	status = g_of_k ? gq_layer_groups(l, NULL, g_of_k, &kind, err) : gq_fail_nomem(err);
	gq_free(g_of_k);
	return status;
}

/* ------------------------------------------------------------------------------------------------- zero points */

static void count(struct gq_stream *s, const struct gq_layer *l, const struct gq_zero_figures *f,
		  const struct gq_zero_stats *z)
{
	struct gptq_convert_report *r = s->cv->report;

	for (unsigned i = 0; i < r->n_widths; i++) {
		struct gptq_convert_width *w = &r->widths[i];

		if (w->bits != l->pack.bits)
			continue;
		w->n_zeros += f->n_zeros;
		w->n_zeros_at_0 += f->n_equal_0;
		w->zero_min = f->z_min < w->zero_min ? f->z_min : w->zero_min;
		w->zero_max = f->z_max > w->zero_max ? f->z_max : w->zero_max;
		if (w->style == GPTQ_STYLE_SMEARED) {
			w->n_unknown += z->unknown_zeros;
			w->n_damaged_words += z->damaged_words;
		}
	}
}

/* What goes out must decode to what came in, by the specification's loops. */
static enum gptq_status verify(struct gq_stream *s, size_t i, const struct gq_qzeros *a, const unsigned char *after,
			       struct gptq_error *err)
{
	const struct gq_unit *u = &s->cv->units[0];
	const struct gq_layer *l = &u->source.layers.items[i];
	struct gq_rewrite rewrite = {
		l->pack, a->row_bytes, a->n, u->formats[i], s->cv->to, gq_layer_style(s->cv, u, i)};

	if (gq_zeros_first_change(&rewrite, a->words, after, a->rows, s->lanes) < a->rows) {
		enum gptq_status status = gq_fail(err, GPTQ_E_MISMATCH, "the shifted zero points are not the same");

		gq_error_tensor(err, l->name, l->name_len);
		return status;
	}
	s->cv->report->n_zeros_verified += a->rows * a->n;
	return GPTQ_OK;
}

static enum gptq_status note_first(struct gq_stream *s, const struct gq_layer *l, struct gptq_error *err)
{
	struct gptq_convert_report *r = s->cv->report;
	unsigned bytes = l->pack.word_bits / 8;
	char shown[GQ_LAYER_SHOWN];

	gq_free(r->first_layer);
	r->first_layer = gq_strdup(gq_layer_shown(shown, l));
	r->word_bits = l->pack.word_bits;
	r->first_word_before = gq_load_le(s->before, bytes);
	r->first_word_after = gq_load_le(s->block, bytes);
	return r->first_layer ? GPTQ_OK : gq_fail_nomem(err);
}

/* A run of rows, in s->block: looked at, shifted, verified. */
static enum gptq_status do_rows(struct gq_stream *s, size_t i, size_t rows, struct gq_zero_stats *z,
				struct gptq_error *err)
{
	const struct gq_unit *u = &s->cv->units[0];
	const struct gq_layer *l = &u->source.layers.items[i];
	enum gptq_v1_style style = gq_layer_style(s->cv, u, i);
	struct gq_qzeros qz = {.words = s->before,
			       .rows = rows,
			       .row_bytes = (size_t)l->zero_row_bytes,
			       .n = (size_t)l->out_features,
			       .pack = l->pack,
			       .layout = &gq_layout_stream};
	struct gq_zero_figures f;
	enum gptq_status status;

	memcpy(s->before, s->block, rows * qz.row_bytes);
	status = gq_zero_stats_of(&qz, z, err);
	if (status == GPTQ_OK && !s->judged && gq_layer_changes(s->cv, u, i) && u->formats[i] == GPTQ_ZEROS_V1)
		status = check_v1(s, l, z, style, err);
	if (status == GPTQ_OK)
		status = gq_zeros_figures(&qz, u->formats[i], style, &f, err);
	if (status != GPTQ_OK)
		return status;
	if (!s->judged)
		count(s, l, &f, z);
	if (!gq_layer_changes(s->cv, u, i))
		return GPTQ_OK;
	if (s->cv->to == GPTQ_ZEROS_V1 && f.n_equal_0 && !s->cv->write_style)
		return refuse(l, err,
			      "a zero point is 0, and v1 has no encoding of 0 that all readers agree on; --v1-style "
			      "lane|word|gptqmodel-3bit chooses one");
	status = gptq_zeros_shift(s->block, rows, qz.row_bytes, l->pack.bits, l->pack.word_bits, u->formats[i],
				  s->cv->to, style, err);
	return status == GPTQ_OK ? verify(s, i, &qz, s->block, err) : status;
}

static enum gptq_status do_qzeros(struct gq_stream *s, size_t i, struct gptq_error *err)
{
	const struct gq_unit *u = &s->cv->units[0];
	const struct gq_layer *l = &u->source.layers.items[i];
	size_t row = (size_t)l->zero_row_bytes, at_once = s->room / row;
	enum gptq_status status = GPTQ_OK;
	bool all_v1 = true, all_v2 = true;

	for (uint64_t g = 0; g < l->groups && status == GPTQ_OK; g += at_once) {
		size_t rows = l->groups - g < at_once ? (size_t)(l->groups - g) : at_once;
		struct gq_zero_stats z;

		status = gq_pipe_read(&s->pipe, s->block, rows * row, err);
		if (status == GPTQ_OK)
			status = do_rows(s, i, rows, &z, err);
		if (status != GPTQ_OK)
			break;
		all_v1 = all_v1 && (z.sentinel == GQ_SENTINEL_V1 || z.sentinel == GQ_SENTINEL_LEGACY);
		all_v2 = all_v2 && z.sentinel == GQ_SENTINEL_V2;
		if (i == 0 && g == 0 && !s->judged)
			status = note_first(s, l, err);
		if (status == GPTQ_OK)
			status = gq_pipe_put(&s->pipe, s->block, rows * row, err);
	}
	if (gq_layer_changes(s->cv, u, i))
		s->cv->report->n_bytes_rewritten += l->qzeros->nbytes;
	return status == GPTQ_OK ? check_layer(s, i, all_v1, all_v2, err) : status;
}

/* ------------------------------------------------------------------------------------------------------- others */

/* -G..G-1; *all_zero is cleared by any other number than 0. */
static enum gptq_status check_g_idx(const struct gq_layer *l, const unsigned char *data, size_t n, unsigned width,
				    bool *all_zero, struct gptq_error *err)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t raw = gq_load_le(data + i * width, width);
		int64_t v = width == 4 ? (int64_t)(int32_t)(uint32_t)raw : (int64_t)raw;
		enum gptq_status status;

		*all_zero = *all_zero && v == 0;
		if (v < (int64_t)l->groups && v >= -(int64_t)l->groups)
			continue;
		status = gq_fail(err, GPTQ_E_FORMAT,
				 "g_idx names a group that is not there; the output is cut off here");
		gq_error_tensor(err, l->g_idx->name, l->g_idx->name_len);
		gq_error_found(err, "%lld", (long long)v);
		gq_error_expected(err, "%lld to %llu", -(long long)l->groups, (unsigned long long)l->groups - 1);
		return status;
	}
	return GPTQ_OK;
}

static enum gptq_status copy(struct gq_stream *s, const struct gq_tensor *t, const struct gq_layer *g_idx_of,
			     struct gptq_error *err)
{
	unsigned width = g_idx_of ? gptq_dtype_bits(t->dtype) / 8 : 1;
	enum gptq_status status = GPTQ_OK;
	bool all_zero = true;

	for (uint64_t at = 0; at < t->nbytes && status == GPTQ_OK;) {
		size_t n = t->nbytes - at < GQ_PIPE_BLOCK ? (size_t)(t->nbytes - at) : GQ_PIPE_BLOCK;

		status = gq_pipe_read(&s->pipe, s->block, n, err);
		if (status == GPTQ_OK && g_idx_of)
			status = check_g_idx(g_idx_of, s->block, n / width, width, &all_zero, err);
		if (status == GPTQ_OK)
			status = gq_pipe_put(&s->pipe, s->block, n, err);
		at += n;
	}
	if (status == GPTQ_OK && g_idx_of && all_zero && g_idx_of->groups > 1)
		status = gq_stream_check_groups(g_idx_of, err);
	return status;
}

enum gptq_status gq_stream_tensor(struct gq_stream *s, const struct gq_tensor *t, struct gptq_error *err)
{
	const struct gq_source *source = &s->cv->units[0].source;
	uint32_t layer = s->layer_of[t - source->shards.tensors];
	const struct gq_layer *l = layer ? &source->layers.items[layer - 1] : NULL;

	if (l && l->qzeros == t)
		return do_qzeros(s, layer - 1, err);
	return copy(s, t, l && !s->judged ? l : NULL, err);
}
