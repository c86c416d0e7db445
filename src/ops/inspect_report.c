/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads the checkpoint right, and the end of a report. */
#include "base/mem.h"
#include "ops/inspect_internal.h"
#include "ops/readers.h"

#include <string.h>

const char *gptq_reader_answer_name(enum gptq_reader_answer answer)
{
	static const char *const names[] = {"reads right", "refuses", "silently wrong", "not known"};

	return (size_t)answer < sizeof(names) / sizeof(names[0]) ? names[answer] : "not known";
}

enum gptq_status gq_inspect_readers(struct gq_inspection *in, struct gptq_error *err)
{
	struct gptq_inspect_report *r = in->report;
	enum gptq_status status;
	bool broken = false;

	if (!in->source.layers.n && !r->other.name)
		return GPTQ_OK;
	status = gq_readers_of(&in->source, in->surveyed ? &in->survey : NULL, in->formats, in->styles, r->verdict,
			       NULL, &r->readers, NULL, &r->n_readers, err);
	for (size_t i = 0; i < in->source.problems.n; i++)
		broken = broken || in->source.problems.items[i].code != GQ_CODE_TENSOR_NOT_IN_INDEX;
	/* What a loader makes of a checkpoint that is not whole was never looked at. */
	for (size_t i = 0; i < r->n_readers && broken && !r->other.name; i++) {
		r->readers[i].answer = GPTQ_READER_UNKNOWN;
		r->readers[i].reason = "the checkpoint is not whole: see the findings";
	}
	return status;
}

enum gptq_status gq_inspect_name_shards(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_shards *shards = &in->source.shards;

	in->shard_names = gq_arena_take(in->arena, shards->n, sizeof(*in->shard_names));
	if (!in->shard_names)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < shards->n; i++) {
		const char *name = shards->items[i].name;
		char masked[512];

		gq_mask(masked, sizeof(masked), name, strlen(name), false);
		in->shard_names[i] = gq_arena_text(in->arena, masked);
		if (!in->shard_names[i])
			return gq_fail_nomem(err);
	}
	return GPTQ_OK;
}

void gptq_inspect_report_free(struct gptq_inspect_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_label_sources; i++) {
		gq_free(r->label_sources[i].file);
		gq_free(r->label_sources[i].key);
		gq_free(r->label_sources[i].value);
	}
	for (size_t i = 0; i < r->n_layers; i++)
		gq_free(r->layers[i].weights_sha256);
	for (size_t i = 0; i < r->n_tensors; i++)
		gq_free(r->tensors[i].digest);
	for (size_t i = 0; i < r->n_findings; i++) {
		gq_free(r->findings[i].where);
		gq_free(r->findings[i].text);
	}
	gq_free(r->label_sources);
	gq_free(r->layers);
	gq_free(r->tensors);
	gq_free(r->findings);
	gq_free(r->readers);
	gq_free(r->path);
	gq_free(r->label);
	gq_free(r->evidence);
	gq_free(r->producer);
	gq_free(r->other.name);
	gq_free(r->other.text);
	gq_free(r->weights_digest);
	gq_arena_free(&((struct gq_report *)r)->arena);
	gq_free(((struct gq_report *)r)->names);
	gq_free(r);
}
