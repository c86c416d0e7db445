/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Survey, writing and proof each count their own bytes from 0. Who watches a conversion is told of one count over all
 * of them: what is behind the step in hand and what is still ahead of it are added to its own figures.
 */
#include "ops/convert_internal.h"

static bool pass_on_cancelled(void *ctx)
{
	const struct gq_progress *p = ctx;

	return p->to->cancelled(p->to->ctx);
}

static void pass_on(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	const struct gq_progress *p = ctx;

	p->to->progress(p->to->ctx, file, p->behind + done, p->behind + total + p->ahead);
}

void gq_progress_begin(struct gq_progress *p, const struct gptq_hooks *to)
{
	*p = (struct gq_progress){.to = to};
	p->hooks = (struct gptq_hooks){.ctx = p,
				       .cancelled = to && to->cancelled ? pass_on_cancelled : NULL,
				       .progress = to && to->progress ? pass_on : NULL};
}

void gq_progress_step(struct gq_progress *p, uint64_t done, uint64_t ahead)
{
	p->behind += done;
	p->ahead = ahead;
}

uint64_t gq_unit_proof_bytes(const struct gq_unit *u)
{
	uint64_t n = 0;

	for (size_t i = 0; i < u->source.shards.n; i++) {
		const struct gq_shard *s = &u->source.shards.items[i];

		n += s->st ? s->size - s->st->data_start : 0; /* not readable: that will be told */
	}
	return 2 * n; /* of IN and of OUT */
}

/* Of units from `first` on. */
static uint64_t proof_ahead(const struct gq_conversion *cv, size_t first)
{
	uint64_t n = 0;

	for (size_t i = first; i < cv->n_units && cv->options->verify_weights; i++)
		n += gq_unit_proof_bytes(&cv->units[i]);
	return n;
}

void gq_progress_survey(struct gq_conversion *cv, uint64_t done)
{
	const struct gq_source *s = &cv->units[0].source;
	uint64_t n = s->file ? s->shards.items[0].size : 0;

	for (size_t i = 0; i < s->tree.n_entries; i++)
		n += s->tree.entries[i].is_dir ? 0 : s->tree.entries[i].size;
	gq_progress_step(&cv->progress, done, cv->out && !cv->options->dry_run ? n + proof_ahead(cv, 0) : 0);
}

void gq_progress_write(struct gq_conversion *cv)
{
	gq_progress_step(&cv->progress, 0, proof_ahead(cv, 0));
}

void gq_progress_prove(struct gq_conversion *cv, const struct gq_unit *u, uint64_t done)
{
	gq_progress_step(&cv->progress, done, proof_ahead(cv, (size_t)(u - cv->units) + 1));
}
