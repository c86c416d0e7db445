/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zero points of a file as they were written, against those of the source. Layers are taken as they lie in the
 * file: models of experts have small ones by the ten thousand, and those that lie together are read together.
 */
#include "base/file.h"
#include "base/mem.h"
#include "ops/convert_check.h"

#include <string.h>

#define BUFFER_SIZE ((size_t)256 << 10)
#define GAP ((uint64_t)4 << 10) /* copying so many bytes that nobody wants takes less than another call */

/* Zero points that lie in one piece, or nearly so, on both sides. */
struct run {
	uint64_t in, out, size;
	size_t n; /* layers */
};

static enum gptq_status differs(const struct gq_layer *l, uint64_t g, size_t n, unsigned was, unsigned is,
				struct gptq_error *err)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_MISMATCH,
					  "what was written does not hold the same zero points: group %llu, column %zu",
					  (unsigned long long)g, n);

	gq_error_tensor(err, l->name, l->name_len);
	gq_error_found(err, "%u", is);
	gq_error_expected(err, "%u", was);
	return status;
}

/* Decodes row by row with the specification's loops and compares: n rows, which begin with row g of layer i. */
static enum gptq_status compare_rows(const struct gq_checked_file *f, size_t i, uint64_t g, const unsigned char *in,
				     const unsigned char *out, size_t n, struct gptq_error *err)
{
	const struct gq_conversion *cv = f->c->cv;
	const struct gq_unit *u = f->c->unit;
	const struct gq_layer *l = &u->source.layers.items[i];
	struct gq_rewrite rewrite = {l->pack,
				     (size_t)l->zero_row_bytes,
				     (size_t)l->out_features,
				     u->formats[i],
				     gq_layer_changes(cv, u, i) ? cv->to : u->formats[i],
				     gq_layer_style(cv, u, i)};
	size_t n_lanes = gq_row_lanes(l->pack, rewrite.row_bytes);
	const uint8_t *za = f->checker->lanes + n_lanes, *zb = za + n_lanes;
	size_t same = gq_zeros_first_change(&rewrite, in, out, n, f->checker->lanes);

	for (size_t k = 0; same < n && k < rewrite.n; k++)
		if (za[k] != zb[k])
			return differs(l, g + same, k, za[k], zb[k], err);
	f->checker->n_zeros += (uint64_t)n * rewrite.n;
	return GPTQ_OK;
}

enum gptq_status gq_checker_room(struct gq_checker *c, const struct gq_unit *u, uint32_t shard, struct gptq_error *err)
{
	size_t size = BUFFER_SIZE, n_lanes = 0;

	for (size_t i = u->first_span[shard]; i < u->first_span[shard + 1]; i++) {
		const struct gq_layer *l = &u->source.layers.items[u->spans[i].layer];
		size_t row = (size_t)l->zero_row_bytes, lanes = gq_row_lanes(l->pack, row);

		size = row > size ? row : size;
		n_lanes = lanes > n_lanes ? lanes : n_lanes;
	}
	if (size > c->size) {
		gq_free(c->in);
		gq_free(c->out);
		c->in = gq_malloc_array(size, 1);
		c->out = gq_malloc_array(size, 1);
		c->size = c->in && c->out ? size : 0;
	}
	if (n_lanes > c->n_lanes || !c->lanes) {
		gq_free(c->lanes);
		c->lanes = gq_malloc_array(n_lanes, 3);
		c->n_lanes = c->lanes ? n_lanes : 0;
	}
	return c->size && c->lanes ? GPTQ_OK : gq_fail_nomem(err);
}

void gq_checker_free(struct gq_checker *c)
{
	gq_free(c->in);
	gq_free(c->out);
	gq_free(c->lanes);
}

/* Where are the zero points of layer i in what was written? False: they are not there. */
static bool find_written(const struct gq_checked_file *f, size_t i, uint64_t *offset)
{
	const struct gq_tensor *was = f->c->unit->source.layers.items[i].qzeros, *is;
	size_t number = (size_t)(was - f->c->unit->source.shards.tensors) - f->first + f->first_written;

	*offset = was->offset;
	if (!f->written)
		return true;
	is = gq_shards_guess(f->written, number, was->name, was->name_len);
	if (!is)
		is = gq_shards_find(f->written, was->name, was->name_len);
	if (!is || is->shard != f->number || is->nbytes != was->nbytes)
		return false;
	*offset = is->offset;
	return true;
}

/* Which of n spans to take with the first. */
static enum gptq_status find_run(const struct gq_checked_file *f, const struct gq_span *spans, size_t n,
				 struct run *run, struct gptq_error *err)
{
	const struct gq_layer *layers = f->c->unit->source.layers.items;
	const struct gq_tensor *was = layers[spans[0].layer].qzeros;
	uint64_t out;

	*run = (struct run){.in = was->offset, .size = was->nbytes, .n = 1};
	if (!find_written(f, spans[0].layer, &run->out)) {
		enum gptq_status status = gq_fail(err, GPTQ_E_MISMATCH, "the tensor is not in what was written");

		gq_error_tensor(err, was->name, was->name_len);
		return status;
	}
	for (; run->n < n; run->n++) {
		uint64_t begin, end;

		was = layers[spans[run->n].layer].qzeros;
		begin = was->offset - run->in;
		end = begin + was->nbytes;
		if (begin > run->size + GAP || end > f->checker->size || !find_written(f, spans[run->n].layer, &out) ||
		    out - run->out != begin)
			break;
		run->size = end;
	}
	return GPTQ_OK;
}

enum gptq_status gq_read_both(const struct gq_checked_file *f, uint64_t in, uint64_t out, size_t n,
			      struct gptq_error *err)
{
	enum gptq_status status = gq_pread_full(f->in, f->checker->in, n, in, f->in_path, err);

	return status == GPTQ_OK ? gq_pread_full(f->out, f->checker->out, n, out, f->out_path, err) : status;
}

static enum gptq_status check_run(const struct gq_checked_file *f, const struct gq_span *spans, const struct run *run,
				  struct gptq_error *err)
{
	enum gptq_status status = gq_read_both(f, run->in, run->out, (size_t)run->size, err);

	for (size_t i = 0; i < run->n && status == GPTQ_OK; i++) {
		const struct gq_layer *l = &f->c->unit->source.layers.items[spans[i].layer];
		size_t at = (size_t)(spans[i].offset - run->in);

		status = compare_rows(f, spans[i].layer, 0, f->checker->in + at, f->checker->out + at,
				      (size_t)l->groups, err);
	}
	return status;
}

/* A layer that is larger than the buffers. */
static enum gptq_status check_large(const struct gq_checked_file *f, size_t i, const struct run *run,
				    struct gptq_error *err)
{
	const struct gq_layer *l = &f->c->unit->source.layers.items[i];
	size_t row = (size_t)l->zero_row_bytes, at_once = f->checker->size / row;
	enum gptq_status status = GPTQ_OK;

	for (uint64_t g = 0; g < l->groups && status == GPTQ_OK; g += at_once) {
		size_t n = l->groups - g < at_once ? (size_t)(l->groups - g) : at_once;

		status = gq_read_both(f, run->in + g * row, run->out + g * row, n * row, err);
		if (status == GPTQ_OK)
			status = compare_rows(f, i, g, f->checker->in, f->checker->out, n, err);
	}
	return status;
}

enum gptq_status gq_check_zeros(const struct gq_checked_file *f, struct gq_work *work, unsigned worker,
				struct gptq_error *err)
{
	const struct gq_unit *u = f->c->unit;
	const struct gq_span *spans = u->spans + u->first_span[f->shard];
	size_t n = u->first_span[f->shard + 1] - u->first_span[f->shard];
	enum gptq_status status = GPTQ_OK;
	struct run run = {0};

	for (size_t i = 0; i < n && status == GPTQ_OK; i += run.n) {
		status = find_run(f, spans + i, n - i, &run, err);
		if (status == GPTQ_OK)
			status = gq_work_tick(work, worker, 0, u->source.shards.items[f->shard].name, err);
		if (status == GPTQ_OK)
			status = run.size > f->checker->size ? check_large(f, spans[i].layer, &run, err)
							     : check_run(f, spans + i, &run, err);
	}
	return status;
}
