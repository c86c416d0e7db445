/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to a journal. */
#include "base/checked.h"
#include "base/copy.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/parallel.h"
#include "base/slurp.h"
#include "ops/inplace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define SPAN_BYTES ((size_t)1 << 20) /* what a record holds, and is held in memory, where a row is not longer */

/* ----------------------------------------------------------------------------------------------------- targets */

static void name_target(const struct gq_place *place, struct gq_target *t)
{
	t->name = place->file     ? place->file
		  : t->unit->name ? t->unit->name
				  : t->unit->source.shards.items[t->shard].name;
}

bool gq_target_first(const struct gq_conversion *cv, const struct gq_place *place, struct gq_target *t)
{
	*t = (struct gq_target){.unit = cv->units};
	name_target(place, t);
	return true; /* a model has a file */
}

bool gq_target_next(const struct gq_conversion *cv, const struct gq_place *place, struct gq_target *t)
{
	if (++t->shard == t->unit->source.shards.n) {
		t->shard = 0;
		if (++t->unit == cv->units + cv->n_units)
			return false;
	}
	name_target(place, t);
	return true;
}

/* The n-th layer of the file whose zero points change; NULL behind the last. *at counts from first_span[shard] on. */
static const struct gq_layer *next_layer(const struct gq_conversion *cv, const struct gq_target *t, size_t *at,
					 size_t *i)
{
	const struct gq_unit *u = t->unit;

	while (*at < u->first_span[t->shard + 1]) {
		*i = u->spans[(*at)++].layer;
		if (gq_layer_changes(cv, u, *i))
			return &u->source.layers.items[*i];
	}
	return NULL;
}

uint64_t gq_target_zeros(const struct gq_conversion *cv, const struct gq_target *t)
{
	size_t at = t->unit->first_span[t->shard], i;
	const struct gq_layer *l;
	uint64_t n = 0;

	while ((l = next_layer(cv, t, &at, &i)))
		n += l->qzeros->nbytes;
	return n;
}

/* ---------------------------------------------------------------------------------------------------- records */

struct maker {
	struct gq_conversion *cv;
	const struct gq_place *place;
	struct gq_journal_writer w;
	uint32_t n_files;
};

/* The new header of a file and the span of it that differs, counted from the header's text. Empty if none does. */
static enum gptq_status new_header(struct maker *m, const struct gq_target *t, struct gq_buf *header, size_t *begin,
				   size_t *size, struct gptq_error *err)
{
	const struct gq_st *st = t->unit->source.shards.items[t->shard].st;
	enum gptq_status status = gq_new_header(m->cv, t->unit, t->shard, header, err);
	size_t a = 0, b = header->size;

	if (status == GPTQ_OK && header->size && header->size != st->header_size)
		status = gq_fail(err, GPTQ_E_REFUSED, "the header would change its size");
	if (status != GPTQ_OK)
		return status;
	while (a < b && header->data[a] == st->header[a])
		a++;
	while (b > a && header->data[b - 1] == st->header[b - 1])
		b--;
	*begin = a;
	*size = b - a;
	return GPTQ_OK;
}

static enum gptq_status add_file(struct maker *m, const struct gq_target *t, size_t label_begin, size_t label_size,
				 struct gptq_error *err)
{
	struct gq_shards *shards = &t->unit->source.shards;
	const struct gq_shard *s = &shards->items[t->shard];
	struct gq_record r = {.kind = GQ_RECORD_FILE,
			      .ino = s->ino,
			      .size = s->size,
			      .header_size = s->st->data_start,
			      .label_begin = 8 + label_begin,
			      .label_size = label_size,
			      .name = gq_strdup(t->name)};
	bool had = s->st->header != NULL; /* as those with a label have */
	enum gptq_status status = r.name ? gq_shard_header(shards, t->shard, err) : gq_fail_nomem(err);

	if (status == GPTQ_OK) {
		r.header_crc = gq_journal_header_crc(s->st->header, &r);
		status = gq_journal_add(&m->w, &r, NULL, 0, err);
	}
	if (!had) /* headers of many small layers are large, and only one is wanted at a time */
		gq_shard_drop_header(shards, t->shard);
	gq_free(r.name);
	m->n_files++;
	return status;
}

static enum gptq_status add_header(struct maker *m, const struct gq_target *t, uint32_t file,
				   const struct gq_buf *header, size_t begin, size_t size, struct gptq_error *err)
{
	const struct gq_st *st = t->unit->source.shards.items[t->shard].st;
	unsigned char *both = gq_malloc_array(size, 2);
	struct gq_record r = {
		.kind = GQ_RECORD_HEADER, .file = file, .offset = 8 + begin, .old_size = size, .new_size = size};
	enum gptq_status status;

	if (!both)
		return gq_fail_nomem(err);
	memcpy(both, st->header + begin, size);
	memcpy(both + size, header->data + begin, size);
	r.crc_before = (uint32_t)crc32_z(0, both, size);
	r.crc_after = (uint32_t)crc32_z(0, both + size, size);
	status = gq_journal_add(&m->w, &r, both, 2 * size, err);
	gq_free(both);
	m->cv->report->n_bytes_rewritten += size;
	return status;
}

/* Whole rows of one layer, at most SPAN_BYTES where a row is not longer. */
struct piece {
	const struct gq_tensor *qzeros;
	uint64_t at; /* in the tensor */
	uint64_t size, row_bytes, n_columns;
	uint8_t bits, word_bits, from, style;
};

/* Pieces of one shape go into one record. */
static int by_shape(const struct piece *x, const struct piece *y)
{
	const uint64_t a[] = {x->size, x->row_bytes, x->n_columns, x->bits, x->word_bits, x->from, x->style};
	const uint64_t b[] = {y->size, y->row_bytes, y->n_columns, y->bits, y->word_bits, y->from, y->style};

	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static int by_shape_and_place(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;
	uint64_t at_a = a->qzeros->offset + a->at, at_b = b->qzeros->offset + b->at;
	int order = by_shape(a, b);

	return order ? order : (at_a > at_b) - (at_a < at_b);
}

static size_t rows_of_piece(const struct gq_layer *l)
{
	size_t rows = (size_t)(SPAN_BYTES / l->zero_row_bytes);

	return rows == 0 ? 1 : rows < l->groups ? rows : (size_t)l->groups;
}

/* The pieces of a file, sorted. gq_free(*pieces). */
static enum gptq_status cut(const struct maker *m, const struct gq_target *t, struct piece **pieces, size_t *n,
			    struct gptq_error *err)
{
	const size_t begin = t->unit->first_span[t->shard];
	const struct gq_layer *l;
	size_t room = 0, at, i;

	*n = 0;
	for (at = begin; (l = next_layer(m->cv, t, &at, &i));)
		room += (size_t)gq_ceil_div(l->groups, rows_of_piece(l));
	*pieces = gq_malloc_array(room, sizeof(**pieces));
	if (!*pieces)
		return gq_fail_nomem(err);
	for (at = begin; (l = next_layer(m->cv, t, &at, &i));) {
		uint64_t row = l->zero_row_bytes, rows = rows_of_piece(l);

		for (uint64_t g = 0; g < l->groups; g += rows)
			(*pieces)[(*n)++] = (struct piece){
				.qzeros = l->qzeros,
				.at = g * row,
				.size = row * (l->groups - g < rows ? l->groups - g : rows),
				.row_bytes = row,
				.n_columns = l->out_features,
				.bits = (uint8_t)l->pack.bits,
				.word_bits = (uint8_t)l->pack.word_bits,
				.from = (uint8_t)t->unit->formats[i],
				.style = (uint8_t)gq_layer_style(m->cv, t->unit, i),
			};
	}
	qsort(*pieces, *n, sizeof(**pieces), by_shape_and_place);
	return GPTQ_OK;
}

#define AT_ONCE 8 /* records */

/* A record of n pieces of one shape. */
struct filled {
	const struct piece *pieces;
	size_t n;
	unsigned char *places; /* the payload, and room for as many new bytes as there are old ones */
	struct gq_record r;
};

struct filling {
	struct maker *m;
	const struct gq_target *t;
	struct filled some[AT_ONCE];
};

static enum gptq_status fill(void *ctx, size_t item, struct gq_work *work, unsigned worker, struct gptq_error *err)
{
	struct filling *filling = ctx;
	struct filled *f = &filling->some[item];
	struct gq_record *r = &f->r;
	const struct piece *p = f->pieces;
	size_t each = (size_t)p->size, all = (size_t)r->old_size;
	unsigned char *old_bytes, *new_bytes;
	enum gptq_status status = GPTQ_OK;

	(void)work;
	(void)worker;
	f->places = gq_malloc_array(f->n, GQ_JOURNAL_PLACE + 2 * each);
	if (!f->places)
		return gq_fail_nomem(err);
	old_bytes = f->places + f->n * GQ_JOURNAL_PLACE;
	new_bytes = old_bytes + all;
	for (size_t i = 0; i < f->n && status == GPTQ_OK; i++) {
		gq_store_le(f->places + i * GQ_JOURNAL_PLACE, p[i].qzeros->offset + p[i].at, GQ_JOURNAL_PLACE);
		status = gq_tensor_read_at(&filling->t->unit->source.shards, p[i].qzeros, p[i].at, old_bytes + i * each,
					   each, err);
	}
	if (status != GPTQ_OK)
		return status;
	memcpy(new_bytes, old_bytes, all);
	r->crc_before = (uint32_t)crc32_z(0, old_bytes, all);
	status = gptq_zeros_shift(new_bytes, all / (size_t)r->row_bytes, (size_t)r->row_bytes, r->bits, r->word_bits,
				  r->from, r->to, r->style, err);
	r->crc_after = (uint32_t)crc32_z(0, new_bytes, all);
	return status;
}

/* Fills n records in threads and appends them in order. */
static enum gptq_status add_filled(struct filling *filling, size_t n, struct gptq_error *err)
{
	struct maker *m = filling->m;
	enum gptq_status status = gq_check_cancel(m->cv->options->hooks, err);

	if (status == GPTQ_OK)
		status = gq_work_run(n, gq_work_threads(gq_convert_threads(m->cv->options->jobs), n), fill, filling,
				     NULL, 0, err);
	for (size_t i = 0; i < n; i++) {
		struct filled *f = &filling->some[i];

		if (status == GPTQ_OK)
			status = gq_journal_add(&m->w, &f->r, f->places,
						f->n * GQ_JOURNAL_PLACE + (size_t)f->r.old_size, err);
		gq_free(f->places);
		f->places = NULL;
	}
	return status;
}

static struct filled record_of(const struct maker *m, uint32_t file, const struct piece *p, size_t n)
{
	return (struct filled){.pieces = p,
			       .n = n,
			       .r = {.kind = GQ_RECORD_ZEROS,
				     .file = file,
				     .n_spans = n,
				     .old_size = n * p->size,
				     .new_size = n * p->size,
				     .row_bytes = p->row_bytes,
				     .n_columns = p->n_columns,
				     .bits = p->bits,
				     .word_bits = p->word_bits,
				     .from = (enum gptq_zeros_format)p->from,
				     .to = m->cv->to,
				     .style = (enum gptq_v1_style)p->style}};
}

static enum gptq_status add_zeros(struct maker *m, const struct gq_target *t, uint32_t file, struct gptq_error *err)
{
	struct filling filling = {.m = m, .t = t};
	struct piece *pieces = NULL;
	size_t n = 0, filled = 0;
	uint64_t size = 0;
	enum gptq_status status = cut(m, t, &pieces, &n, err);

	for (size_t i = 0, some; i < n && status == GPTQ_OK; i += some) {
		const struct piece *p = &pieces[i];

		for (some = 1; i + some < n && by_shape(p, p + some) == 0 && (some + 1) * p->size <= SPAN_BYTES;)
			some++;
		filling.some[filled++] = record_of(m, file, p, some);
		size += some * p->size;
		if (filled < AT_ONCE && size < GQ_JOURNAL_AT_ONCE && i + some < n)
			continue;
		status = add_filled(&filling, filled, err);
		filled = 0;
		size = 0;
	}
	gq_free(pieces);
	return status;
}

/* Three passes, one a kind of record, so that all zero points stand before all labels. Files are numbered alike. */
static enum gptq_status add_targets(struct maker *m, enum gq_record_kind kind, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	uint32_t file = 0;
	struct gq_target t;

	for (bool more = gq_target_first(m->cv, m->place, &t); more && status == GPTQ_OK;
	     more = gq_target_next(m->cv, m->place, &t)) {
		struct gq_buf header = {0};
		size_t begin = 0, size = 0;

		status = new_header(m, &t, &header, &begin, &size, err);
		if (status == GPTQ_OK && (size || gq_target_zeros(m->cv, &t))) {
			if (kind == GQ_RECORD_FILE)
				status = add_file(m, &t, begin, size, err);
			else if (kind == GQ_RECORD_HEADER && size)
				status = add_header(m, &t, file, &header, begin, size, err);
			else if (kind == GQ_RECORD_ZEROS)
				status = add_zeros(m, &t, file, err);
			file++;
		}
		gq_buf_free(&header);
	}
	return status;
}

/* Is the config still the text that was judged? */
static enum gptq_status check_unchanged(const struct maker *m, const char *name, const struct gq_config_file *judged,
					struct gptq_error *err)
{
	char *path = gq_path_join(m->place->dir, name), *text = NULL;
	size_t size = 0;
	enum gptq_status status =
		path ? gq_read_file(path, GQ_CONFIG_MAX_BYTES, &text, &size, err) : gq_fail_nomem(err);

	if (status == GPTQ_OK && (size != judged->size || memcmp(text, judged->text, size) != 0)) {
		status = gq_fail(err, GPTQ_E_IO, "the file changed while it was being read");
		gq_error_file(err, name);
	}
	gq_free(text);
	gq_free(path);
	return status;
}

static enum gptq_status add_text(struct maker *m, const struct gq_new_text *t, const struct gq_config_file *old_file,
				 struct gptq_error *err)
{
	struct gq_record r = {.kind = GQ_RECORD_CONFIG, .old_size = old_file->size, .new_size = t->size};
	unsigned char *both = gq_malloc_array(old_file->size + t->size, 1);
	enum gptq_status status = GPTQ_OK;
	struct stat st;

	r.name = gq_strdup(t->name);
	if (!both || !r.name)
		status = gq_fail_nomem(err);
	else if (fstatat(m->place->dir_fd, t->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		status = gq_fail_errno(err, errno, t->name, "cannot look at the file");
	if (status == GPTQ_OK)
		status = check_unchanged(m, t->name, old_file, err);
	if (status == GPTQ_OK) {
		r.mode = st.st_mode & 0777;
		memcpy(both, old_file->text, old_file->size);
		memcpy(both + old_file->size, t->data, t->size);
		r.crc_before = (uint32_t)crc32_z(0, both, old_file->size);
		r.crc_after = (uint32_t)crc32_z(0, both + old_file->size, t->size);
		status = gq_journal_add(&m->w, &r, both, old_file->size + t->size, err);
	}
	gq_free(r.name);
	gq_free(both);
	return status;
}

/* What the journal calls old must be what was judged, also where it is a label alone that changes. */
static enum gptq_status check_files(const struct maker *m, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct gq_target t;
	int fd;

	for (bool more = gq_target_first(m->cv, m->place, &t); more && status == GPTQ_OK;
	     more = gq_target_next(m->cv, m->place, &t))
		status = gq_shard_fd(&t.unit->source.shards, t.shard, &fd, err);
	return status;
}

static enum gptq_status write_records(struct maker *m, int fd, const char *path, struct gptq_error *err)
{
	const struct gptq_convert_options *o = m->cv->options;
	struct gq_record plan = {
		.kind = GQ_RECORD_PLAN, .from = m->cv->from, .to = m->cv->to, .style = o->v1_style, .mode = o->relabel};
	static const enum gq_record_kind kinds[] = {GQ_RECORD_FILE, GQ_RECORD_ZEROS, GQ_RECORD_HEADER};
	enum gptq_status status = gq_journal_begin(fd, path, &m->w, err);

	if (status == GPTQ_OK)
		status = gq_journal_add(&m->w, &plan, NULL, 0, err);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && status == GPTQ_OK; k++)
		status = add_targets(m, kinds[k], err);
	for (size_t i = 0; i < m->cv->n_texts && status == GPTQ_OK; i++)
		if (m->cv->texts[i].changed)
			status = add_text(m, &m->cv->texts[i], &m->cv->units[0].source.configs[i], err);
	if (status == GPTQ_OK)
		status = check_files(m, err);
	return status == GPTQ_OK ? gq_journal_end(&m->w, err) : status;
}

/* The configs come last, when it is too late to find out that there is no room for them. */
static enum gptq_status check_room(const struct maker *m, struct gptq_error *err)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < m->cv->n_texts; i++)
		if (m->cv->texts[i].changed && m->cv->texts[i].size > largest)
			largest = m->cv->texts[i].size;
	return largest ? gq_check_space(m->place->dir, 2 * largest + 65536, err) : GPTQ_OK;
}

enum gptq_status gq_inplace_journal(struct gq_conversion *cv, const struct gq_place *place, uint64_t *size,
				    struct gptq_error *err)
{
	struct maker m = {.cv = cv, .place = place};
	char *path = gq_path_join(place->dir, place->journal);
	struct gq_buf temp = {0};
	enum gptq_status status = GPTQ_OK;
	bool renamed = false;
	int fd = -1;

	gq_buf_printf(&temp, "%s" GQ_JOURNAL_NEW, place->journal);
	if (!path || temp.failed)
		status = gq_fail_nomem(err);
	else if (unlinkat(place->dir_fd, temp.data, 0) != 0 && errno != ENOENT)
		status = gq_fail_errno(err, errno, path, "cannot remove what an interrupted run left of a journal");
	if (status == GPTQ_OK) {
		fd = openat(place->dir_fd, temp.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			status = gq_fail_errno(err, errno, path, "cannot create the journal");
		else
			fchmod(fd, 0600); /* whatever umask says; where there are no permissions none are needed */
	}
	if (status == GPTQ_OK)
		status = write_records(&m, fd, path, err);
	if (status == GPTQ_OK)
		status = check_room(&m, err);
	if (fd >= 0 && close(fd) != 0 && status == GPTQ_OK)
		status = gq_fail_errno(err, errno, path, "cannot write the journal");
	if (status == GPTQ_OK) {
		renamed = renameat(place->dir_fd, temp.data, place->dir_fd, place->journal) == 0;
		status = renamed ? gq_fsync(place->dir_fd, place->dir, err)
				 : gq_fail_errno(err, errno, path, "cannot put the journal into place");
	}
	if (status != GPTQ_OK && fd >= 0)
		unlinkat(place->dir_fd, renamed ? place->journal : temp.data, 0);
	*size = m.w.size;
	gq_buf_free(&temp);
	gq_free(path);
	return status;
}
