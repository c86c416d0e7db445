/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of progress for all that an inspection reads: the codes that the survey wants, the bytes of --checksum, and
 * those of --weights-digest. Each step counts its own bytes from 0; here they are added up, so that the share of the
 * whole only grows. How much the survey reads is known only once it begins: until then it counts for nothing.
 */
#include "ops/inspect_internal.h"

/* One of the steps' hooks. */
static void progress(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	struct gq_steps *s = ctx;
	const struct gptq_hooks *outer = s->outer;

	if (total > s->step)
		s->step = total;
	outer->progress(outer->ctx, file, s->before + done, s->before + s->step + s->later);
}

static bool cancelled(void *ctx)
{
	const struct gptq_hooks *outer = ((const struct gq_steps *)ctx)->outer;

	return outer->cancelled && outer->cancelled(outer->ctx);
}

/*
 * Sums of files' sizes, or of what a stream's header claims: where they wrap around, shares are wrong, and nothing
 * else.
 */
static uint64_t digest_bytes(const struct gq_inspection *in)
{
	uint64_t total = 0;

	for (size_t i = 0; i < in->source.layers.n && in->options->weights_digest && !in->report->headers_only; i++)
		total += in->source.layers.items[i].qweight->nbytes;
	return total;
}

enum gptq_status gq_steps_init(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_steps *s = &in->steps;
	const struct gptq_hooks *outer = in->options->hooks;
	enum gptq_status status = GPTQ_OK;

	*s = (struct gq_steps){.outer = outer, .hooks = {.ctx = s, .cancelled = cancelled}};
	if (!outer || !outer->progress)
		return GPTQ_OK;
	s->hooks.progress = progress;
	status = gq_checksum_bytes(in, &s->checksums, err);
	s->digests = digest_bytes(in);
	s->later = s->checksums + s->digests;
	return status;
}

const struct gptq_hooks *gq_step_begin(struct gq_inspection *in, uint64_t nbytes)
{
	struct gq_steps *s = &in->steps;

	s->before += s->step;
	s->step = nbytes;
	s->later -= nbytes < s->later ? nbytes : s->later;
	s->done = 0;
	return s->outer ? &s->hooks : NULL;
}

void gq_step_done(struct gq_inspection *in, const char *file, uint64_t nbytes)
{
	struct gq_steps *s = &in->steps;

	s->done += nbytes;
	if (s->hooks.progress)
		s->hooks.progress(s, file, s->done < s->step ? s->done : s->step, s->step);
}
