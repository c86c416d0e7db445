/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of one record of a journal: looked at, written, and read back. */
#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/recover.h"
#include "quant/zeros.h"

#include <string.h>
#include <zlib.h>

#define WORTH_STARTING ((size_t)16 << 10)

/* A record in both of its states. Spans stand one after the other, n bytes each. */
struct spans {
	const struct gq_journal *j;
	const struct gq_recovered_file *f;
	const unsigned char *places;    /* NULL: one span, at the record's offset */
	const unsigned char *old_bytes; /* in the payload */
	const unsigned char *new_bytes; /* in the payload, or `shifted` */
	unsigned char *shifted;         /* zero points as they shall be; NULL for labels */
	unsigned char *now;             /* n bytes */
	uint8_t *z;                     /* three rows of zero points */
	size_t n_spans, n, lanes;
};

static uint64_t place_of(const struct spans *s, size_t i)
{
	return s->places ? gq_load_le(s->places + GQ_JOURNAL_PLACE * i, GQ_JOURNAL_PLACE) : s->j->record.offset;
}

enum gptq_status gq_recovery_check_states(const struct gq_journal *j, const void *old_bytes, const void *new_bytes,
					  struct gptq_error *err)
{
	const struct gq_record *r = &j->record;

	if (crc32_z(0, old_bytes, (size_t)r->old_size) != r->crc_before ||
	    crc32_z(0, new_bytes, (size_t)r->new_size) != r->crc_after)
		return gq_journal_damaged(j, "a span is not what its checksum says", err);
	return GPTQ_OK;
}

static enum gptq_status shift(struct spans *s, struct gptq_error *err)
{
	const struct gq_record *r = &s->j->record;

	s->lanes = gq_row_lanes((struct gq_pack){r->bits, r->word_bits}, (size_t)r->row_bytes);
	s->shifted = gq_malloc_array((size_t)r->old_size, 1);
	s->z = gq_malloc_array(s->lanes, 3);
	if (!s->shifted || !s->z)
		return gq_fail_nomem(err);
	if (r->n_columns > s->lanes)
		return gq_journal_damaged(s->j, "more columns than a row has", err);
	memcpy(s->shifted, s->old_bytes, (size_t)r->old_size);
	return gptq_zeros_shift(s->shifted, (size_t)(r->old_size / r->row_bytes), (size_t)r->row_bytes, r->bits,
				r->word_bits, r->from, r->to, r->style, err);
}

static enum gptq_status load(struct spans *s, struct gptq_error *err)
{
	const struct gq_record *r = &s->j->record;
	enum gptq_status status = GPTQ_OK;

	if (r->kind == GQ_RECORD_ZEROS && (!r->bits || r->bits > 8))
		return gq_journal_damaged(s->j, "codes of no known width", err);
	s->n_spans = r->kind == GQ_RECORD_ZEROS ? (size_t)r->n_spans : 1;
	s->n = (size_t)r->old_size / s->n_spans;
	s->places = r->kind == GQ_RECORD_ZEROS ? r->payload : NULL;
	s->old_bytes = r->payload + (s->places ? GQ_JOURNAL_PLACE * s->n_spans : 0);
	/* All of them before the first is touched. That they ascend makes sure that no span writes over another. */
	for (size_t i = 0; i < s->n_spans; i++) {
		if (!gq_span_ok(place_of(s, i), s->n, s->f->size))
			return gq_journal_damaged(s->j, "a span outside its file", err);
		if (i && (place_of(s, i) < place_of(s, i - 1) || place_of(s, i) - place_of(s, i - 1) < s->n))
			return gq_journal_damaged(s->j, "places that are not in their order", err);
	}
	s->now = gq_malloc_array(s->n, 1);
	if (!s->now)
		return gq_fail_nomem(err);
	if (r->kind == GQ_RECORD_ZEROS)
		status = shift(s, err);
	s->new_bytes = s->shifted ? s->shifted : s->old_bytes + r->old_size;
	if (status == GPTQ_OK && s->shifted)
		return crc32_z(0, s->shifted, (size_t)r->new_size) == r->crc_after
			       ? GPTQ_OK /* the old bytes were looked at when they were read */
			       : gq_journal_damaged(s->j, "a span is not what its checksum says", err);
	return status == GPTQ_OK ? gq_recovery_check_states(s->j, s->old_bytes, s->new_bytes, err) : status;
}

/* Is each byte of `now` that of one of the two states? So it is where a write was cut off in the middle. */
static bool is_mixture(const unsigned char *now, const unsigned char *a, const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (now[i] != a[i] && now[i] != b[i])
			return false;
	return true;
}

static enum gptq_status check_span(struct spans *s, size_t i, struct gptq_error *err)
{
	enum gptq_status status = gq_pread_full(s->f->fd, s->now, s->n, place_of(s, i), s->f->name, err);

	if (status == GPTQ_OK && !is_mixture(s->now, s->old_bytes + i * s->n, s->new_bytes + i * s->n, s->n)) {
		status = gq_recovery_fail(s->f->name, err,
					  "these bytes are neither what the journal saved nor what it was to write: "
					  "something else has changed the file since");
		gq_error_offset(err, place_of(s, i));
	}
	return status;
}

/* Reads a written span back and decodes it with the specification's loops: the same zero points as the old bytes. */
static enum gptq_status verify_span(struct gq_recovery *rc, struct spans *s, size_t i, struct gptq_error *err)
{
	const struct gq_record *r = &s->j->record;
	struct gq_rewrite rewrite = {
		{r->bits, r->word_bits}, (size_t)r->row_bytes, (size_t)r->n_columns, r->from, r->to, r->style};
	size_t n = s->n / rewrite.row_bytes, same;
	enum gptq_status status = gq_pread_full(s->f->fd, s->now, s->n, place_of(s, i), s->f->name, err);

	if (status != GPTQ_OK)
		return status;
	same = gq_zeros_first_change(&rewrite, s->old_bytes + i * s->n, s->now, n, s->z);
	if (same < n) {
		status = gq_fail(err, GPTQ_E_MISMATCH, "what was written does not hold the same zero points");
		gq_error_file(err, s->f->name);
		gq_error_offset(err, place_of(s, i) + same * rewrite.row_bytes);
	}
	rc->n_zeros_verified += same * rewrite.n;
	return status;
}

static enum gptq_status write_span(struct gq_recovery *rc, struct spans *s, size_t i, struct gptq_error *err)
{
	const unsigned char *want = (rc->undo ? s->old_bytes : s->new_bytes) + i * s->n;
	enum gptq_status status = gq_pread_full(s->f->fd, s->now, s->n, place_of(s, i), s->f->name, err);

	if (status == GPTQ_OK && memcmp(s->now, want, s->n) != 0) {
		status = gq_pwrite_all(s->f->fd, want, s->n, place_of(s, i), s->f->name, "cannot write", err);
		rc->n_bytes_written += s->n;
	}
	return status == GPTQ_OK && s->z && !rc->undo ? verify_span(rc, s, i, err) : status;
}

enum gptq_status gq_recovery_spans(struct gq_recovery *rc, const struct gq_journal *j, bool check,
				   struct gptq_error *err)
{
	struct spans s = {.j = j};
	enum gptq_status status = gq_recovery_file(rc, j, &s.f, err);
	uint64_t first = 0, last = 0;

	if (status == GPTQ_OK)
		status = load(&s, err);
	if (status == GPTQ_OK) {
		first = place_of(&s, 0);
		last = place_of(&s, s.n_spans - 1);
	}
	for (size_t i = 0; i < s.n_spans && status == GPTQ_OK; i++) {
		if (check)
			status = gq_recovery_plan_span(rc, j, s.f, place_of(&s, i), s.n, err);
		if (status == GPTQ_OK)
			status = check ? check_span(&s, i, err) : write_span(rc, &s, i, err);
	}
	/* The disk can begin while the next record is read; pages of which a span is a small part may change again. */
	if (status == GPTQ_OK && !check && s.n >= WORTH_STARTING)
		gq_start_writing(s.f->fd, first, last - first + s.n);
	gq_free(s.shifted);
	gq_free(s.now);
	gq_free(s.z);
	return status;
}
