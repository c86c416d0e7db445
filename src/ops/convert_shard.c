/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing one safetensors file in one pass, from front to back:
 *
 *   length, header | tensors ... | qzeros | tensors ... | qzeros | ...
 *    new or copied     copied     shifted     copied     shifted
 *
 * Where the file system can share blocks, all of them are shared first, and only what differs is written over them.
 * Where the header grew, the data move up by `grown` bytes, and no block can be shared.
 */
#include "base/checked.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/convert_internal.h"

#define ROWS_SIZE ((size_t)256 << 10) /* stays in the second-level cache while it is shifted */

struct pass {
	struct gq_writer *w;
	struct gq_unit *unit;
	struct gq_written *out;
	uint32_t shard;
	int src, dst;
	uint64_t grown;
	bool shared;
	struct gq_span *spans; /* of zero points that change, by offset */
	size_t n_spans;
};

/* Picks out the spans that change and makes room for a row of each. */
static enum gptq_status find_spans(struct pass *p, struct gptq_error *err)
{
	const struct gq_unit *u = p->unit;
	const struct gq_span *all = u->spans + u->first_span[p->shard];
	size_t n = u->first_span[p->shard + 1] - u->first_span[p->shard], room = ROWS_SIZE;

	p->spans = gq_malloc_array(n, sizeof(*p->spans));
	if (!p->spans)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct gq_layer *l = &u->source.layers.items[all[i].layer];

		if (!gq_layer_changes(p->w->cv, u, all[i].layer))
			continue;
		p->spans[p->n_spans++] = all[i];
		if (l->zero_row_bytes > room)
			room = (size_t)l->zero_row_bytes;
	}
	if (room > p->w->rows_size) {
		unsigned char *grown = gq_realloc_array(p->w->rows, room, 1);

		if (!grown)
			return gq_fail_nomem(err);
		p->w->rows = grown;
		p->w->rows_size = room;
	}
	return GPTQ_OK;
}

/* Bytes from..to of the source, which stay as they are. */
static enum gptq_status keep(struct pass *p, uint64_t from, uint64_t to, struct gptq_error *err)
{
	struct gq_copy_watch *watch = &p->w->watch;

	if (from == to)
		return GPTQ_OK;
	if (p->shared && !watch->digest)
		return gq_copy_advance(watch, to - from, err);
	return gq_copy_range(p->src, from, p->shared ? -1 : p->dst, from + p->grown, to - from, watch, err);
}

static enum gptq_status put_header(struct pass *p, const struct gq_buf *header, struct gptq_error *err)
{
	unsigned char length[8];
	enum gptq_status status;

	gq_store_le(length, header->size, 8);
	status = gq_copy_put(p->dst, length, 8, 0, &p->w->watch, err);
	if (status == GPTQ_OK)
		status = gq_copy_put(p->dst, header->data, header->size, 8, &p->w->watch, err);
	p->out->n_rewritten += 8 + header->size;
	return status;
}

static enum gptq_status shift(struct pass *p, size_t layer, struct gptq_error *err)
{
	const struct gq_layer *l = &p->unit->source.layers.items[layer];
	const struct gq_conversion *cv = p->w->cv;
	size_t row = (size_t)l->zero_row_bytes, at_once = p->w->rows_size / row;
	enum gptq_status status = GPTQ_OK;

	for (uint64_t g = 0; g < l->groups && status == GPTQ_OK; g += at_once) {
		size_t rows = l->groups - g < at_once ? (size_t)(l->groups - g) : at_once;

		status = gq_tensor_read_at(&p->unit->source.shards, l->qzeros, g * row, p->w->rows, rows * row, err);
		if (status == GPTQ_OK)
			status = gptq_zeros_shift(p->w->rows, rows, row, l->pack.bits, l->pack.word_bits,
						  p->unit->formats[layer], cv->to, gq_layer_style(cv, p->unit, layer),
						  err);
		if (status == GPTQ_OK)
			status = gq_copy_put(p->dst, p->w->rows, rows * row, l->qzeros->offset + p->grown + g * row,
					     &p->w->watch, err);
	}
	p->out->n_rewritten += l->qzeros->nbytes;
	return status;
}

static uint64_t end_of(const struct pass *p, size_t span)
{
	return p->spans[span].offset + p->unit->source.layers.items[p->spans[span].layer].qzeros->nbytes;
}

/* How many spans from i on fit into the buffer, with all that lies between `at` and the last of them. */
static size_t fitting(const struct pass *p, size_t i, uint64_t at)
{
	size_t n = 0;

	while (!p->shared && i + n < p->n_spans && end_of(p, i + n) - at <= p->w->rows_size)
		n++;
	return n;
}

/* Models of experts have small layers by the ten thousand: n spans and what lies between go in one read and one write.
 */
static enum gptq_status shift_together(struct pass *p, size_t first, size_t n, uint64_t at, struct gptq_error *err)
{
	const struct gq_shards *shards = &p->unit->source.shards;
	const struct gq_conversion *cv = p->w->cv;
	size_t size = (size_t)(end_of(p, first + n - 1) - at), changed = 0;
	enum gptq_status status =
		gq_pread_full(p->src, p->w->rows, size, at, shards->items[p->shard].path, err);

	for (size_t i = first; i < first + n && status == GPTQ_OK; i++) {
		size_t layer = p->spans[i].layer;
		const struct gq_layer *l = &p->unit->source.layers.items[layer];

		status = gptq_zeros_shift(p->w->rows + (p->spans[i].offset - at), (size_t)l->groups,
					  (size_t)l->zero_row_bytes, l->pack.bits, l->pack.word_bits,
					  p->unit->formats[layer], cv->to, gq_layer_style(cv, p->unit, layer), err);
		changed += (size_t)l->qzeros->nbytes;
	}
	if (status == GPTQ_OK)
		status = gq_copy_put(p->dst, p->w->rows, size, at + p->grown, &p->w->watch, err);
	p->out->n_rewritten += changed;
	p->w->watch.n_copied += size - changed;
	return status;
}

static enum gptq_status pass(struct pass *p, const struct gq_buf *header, struct gptq_error *err)
{
	const struct gq_shard *s = &p->unit->source.shards.items[p->shard];
	uint64_t at = s->st->data_start;
	enum gptq_status status = header->size ? put_header(p, header, err) : keep(p, 0, at, err);

	for (size_t i = 0, n; i < p->n_spans && status == GPTQ_OK; i += n) {
		n = fitting(p, i, at);
		if (n > 0) {
			status = shift_together(p, i, n, at, err);
		} else {
			n = 1;
			status = keep(p, at, p->spans[i].offset, err);
			if (status == GPTQ_OK)
				status = shift(p, p->spans[i].layer, err);
		}
		at = end_of(p, i + n - 1);
	}
	return status == GPTQ_OK ? keep(p, at, s->size, err) : status;
}

static enum gptq_status write_from(struct pass *p, const struct gq_buf *header, struct gptq_error *err)
{
	struct gq_shards *shards = &p->unit->source.shards;
	const struct gq_shard *s = &shards->items[p->shard];
	enum gptq_status status = GPTQ_OK;

	if (header->size > s->st->header_size)
		p->grown = header->size - s->st->header_size;
	p->out->size = s->size + p->grown;
	p->shared = !p->grown && gq_copy_clone(p->src, p->dst, s->size);
	if (p->shared)
		gq_copy_sparingly(p->dst, true);
	else
		status = gq_copy_reserve(p->dst, p->out->size, p->w->watch.file, err);
	if (status == GPTQ_OK)
		status = pass(p, header, err);
	if (p->shared)
		p->out->n_shared = s->size - p->out->n_rewritten;
	if (status == GPTQ_OK) /* the identity once more: what was copied must be what was judged */
		status = gq_shard_fd(shards, p->shard, &p->src, err);
	return status;
}

enum gptq_status gq_write_shard(struct gq_writer *w, struct gq_unit *u, uint32_t shard, int dst, struct gq_written *out,
				struct gptq_error *err)
{
	struct pass p = {.w = w, .unit = u, .shard = shard, .dst = dst, .out = out};
	struct gq_buf header = {0};
	enum gptq_status status = gq_new_header(w->cv, u, shard, &header, err);

	if (status == GPTQ_OK)
		status = find_spans(&p, err);
	if (status == GPTQ_OK)
		status = gq_shard_hold(&u->source.shards, shard, &p.src, err);
	if (status == GPTQ_OK) {
		status = write_from(&p, &header, err);
		gq_shard_let_go(&u->source.shards, shard);
	}
	gq_free(p.spans);
	gq_buf_free(&header);
	return status;
}
