/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a journal may write. Ours names each byte once: zero points behind the header, labels inside the label's place.
 * One whose records write one over the other, or over the header that files are known by, would lead to a state that is
 * neither the old one nor the new one, so it is refused before anything is touched.
 */
#include "base/error.h"
#include "base/mem.h"
#include "ops/recover.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static enum gptq_status add(struct gq_recovery *rc, struct gq_planned p, struct gptq_error *err)
{
	if (rc->n_planned == rc->room_planned) {
		size_t room = rc->room_planned ? 2 * rc->room_planned : 64;
		struct gq_planned *grown = gq_realloc_array(rc->planned, room, sizeof(*grown));

		if (!grown)
			return gq_fail_nomem(err);
		rc->planned = grown;
		rc->room_planned = room;
	}
	rc->planned[rc->n_planned++] = p;
	return GPTQ_OK;
}

enum gptq_status gq_recovery_plan_span(struct gq_recovery *rc, const struct gq_journal *j,
				       const struct gq_recovered_file *f, uint64_t begin, uint64_t size,
				       struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	uint64_t end = begin + size; /* inside the file: it was checked */
	bool inside = begin >= f->label_begin && end <= f->label_begin + f->label_size;

	if (r->kind == GQ_RECORD_ZEROS && begin < f->header_size)
		return gq_journal_damaged(j, "zero points inside a header", err);
	if (r->kind == GQ_RECORD_HEADER && !inside)
		return gq_journal_damaged(j, "a label outside its place", err);
	return add(rc, (struct gq_planned){f->ino, begin, end, r->crc_before, r->crc_after}, err);
}

/* No file has the number 0: there each name of a config is a span of one byte. */
enum gptq_status gq_recovery_plan_config(struct gq_recovery *rc, const struct gq_journal *j, struct gptq_error *err)
{
	const struct gq_record *r = &j->record;
	uint64_t at = crc32_z(0, (const Bytef *)r->name, strlen(r->name));

	return add(rc, (struct gq_planned){0, at, at + 1, r->crc_before, r->crc_after}, err);
}

static int by_place(const void *a, const void *b)
{
	const struct gq_planned *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* The same twice is harmless: two names of one file, with --force. */
static bool is_same(const struct gq_planned *a, const struct gq_planned *b)
{
	return a->begin == b->begin && a->end == b->end && a->before == b->before && a->after == b->after;
}

enum gptq_status gq_recovery_check_plan(struct gq_recovery *rc, const struct gq_journal *j, struct gptq_error *err)
{
	struct gq_planned *p = rc->planned;

	if (rc->n_planned)
		qsort(p, rc->n_planned, sizeof(*p), by_place);
	for (size_t i = 1; i < rc->n_planned; i++)
		if (p[i].ino == p[i - 1].ino && p[i].begin < p[i - 1].end && !is_same(&p[i], &p[i - 1]))
			return gq_journal_damaged(j, "it writes over what it has written", err);
	return GPTQ_OK;
}
