/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads the checkpoint right, and the end of a report. */
#include "base/mem.h"
#include "ops/inspect_internal.h"
#include "ops/readers.h"

const char *gptq_reader_answer_name(enum gptq_reader_answer answer)
{
	static const char *const names[] = {"reads right", "refuses", "silently wrong", "not known"};

	return (size_t)answer < sizeof(names) / sizeof(names[0]) ? names[answer] : "not known";
}

enum gptq_status gq_inspect_readers(struct gq_inspection *in, struct gptq_error *err)
{
	if (!in->source.layers.n && !in->report->other_format)
		return GPTQ_OK;
	return gq_readers_of(&in->source, in->surveyed ? &in->survey : NULL, in->formats, in->styles, in->report->verdict,
			     NULL, &in->report->readers, &in->report->n_readers, err);
}

static void free_layer(struct gptq_layer_info *l)
{
	for (size_t i = 0; i < l->n_shards; i++)
		gq_free(l->shards[i]);
	gq_free(l->shards);
	gq_free(l->name);
	gq_free(l->weights_sha256);
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
		free_layer(&r->layers[i]);
	for (size_t i = 0; i < r->n_tensors; i++) {
		gq_free(r->tensors[i].name);
		gq_free(r->tensors[i].shape);
		gq_free(r->tensors[i].shard);
		gq_free(r->tensors[i].digest);
	}
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
	gq_free(r->other_format);
	gq_free(r->other_format_text);
	gq_free(r->weights_digest);
	gq_free(r);
}
