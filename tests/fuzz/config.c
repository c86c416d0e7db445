/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses the kind of file and what is recorded, the rest is the text of a config. Whatever a rewrite
 * makes must read, say the target everywhere, and stay as it is when it is rewritten again.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "format/labels.h"

#include <stdlib.h>
#include <string.h>

static const char *file_name(enum gq_config_kind kind)
{
	return kind == GQ_CONFIG_MODEL ? "config.json" : "quantize_config.json";
}

static enum gptq_status read_text(enum gq_config_kind kind, const char *text, size_t size, struct gq_config_file *file)
{
	struct gptq_error err;
	enum gptq_status status = gq_config_read(file_name(kind), kind, text, size, file, &err);

	MUST(status == GPTQ_OK || status == GPTQ_E_FORMAT || status == GPTQ_E_LIMIT);
	if (status != GPTQ_OK)
		MUST(err.message[0]);
	return status;
}

static bool is_foreign(const struct gq_config_file *file)
{
	for (size_t i = 0; i < file->n_places; i++)
		if (file->places[i].label == GQ_LABEL_FOREIGN || file->places[i].label == GQ_LABEL_UNKNOWN)
			return true;
	return false;
}

static bool has_gptq(const struct gq_config_file *file)
{
	for (size_t i = 0; i < file->n_configs; i++)
		if (file->configs[i].is_gptq)
			return true;
	return false;
}

/* Does any config hold the key of our records, be it in what form? */
static bool has_record(const struct gq_config_file *file)
{
	for (size_t i = 0; i < file->n_configs; i++)
		if (gq_json_get(&file->tree, file->configs[i].node, "gptq_tools"))
			return true;
	return false;
}

static void check_spans(const struct gq_config_file *file)
{
	for (size_t i = 0; i < file->n_places; i++) {
		const struct gq_label_place *p = &file->places[i];

		MUST(p->begin < p->end && p->end <= file->size && p->config < file->n_configs);
		MUST(p->key && p->value && p->file && (p->label == GQ_LABEL_FOREIGN) == (p->format != NULL));
	}
}

/* Reads the text and looks whether it says the target, and the record. */
static void check_made(enum gq_config_kind kind, const struct gq_buf *made, enum gq_label target, const char *record,
		       bool gptq)
{
	struct gq_config_file file;
	struct gq_labels labels;
	struct gptq_error err;
	const char *style = NULL;

	MUST(read_text(kind, made->data ? made->data : "", made->size, &file) == GPTQ_OK);
	MUST(has_gptq(&file) == gptq);
	MUST(gq_labels_combine(&file, 1, NULL, 0, &labels, &err) == GPTQ_OK);
	MUST(labels.consistent && !labels.culprit);
	MUST(labels.value == target || (labels.value == GQ_LABEL_ABSENT && !gptq));
	if (!record)
		MUST(gq_labels_record(&file, 1, &style, &err) == GPTQ_OK && !style);
	gq_labels_free(&labels);
	if (record && record[0] && gptq) {
		for (size_t i = 0; i < file.n_configs; i++)
			if (file.configs[i].is_gptq)
				MUST(file.configs[i].v1_style && strcmp(file.configs[i].v1_style, record) == 0);
	}
	gq_config_free(&file);
}

/* The text with every label saying `target`; false where it is refused. */
static bool rewrite(enum gq_config_kind kind, const char *text, size_t size, enum gq_label target, const char *record,
		    struct gq_buf *out)
{
	struct gq_config_file file;
	struct gptq_error err;
	enum gptq_status status;
	bool foreign;

	*out = (struct gq_buf){0};
	MUST(read_text(kind, text, size, &file) == GPTQ_OK);
	foreign = is_foreign(&file);
	status = gq_config_rewrite(&file, target, record, out, &err);
	MUST((status == GPTQ_E_REFUSED) == foreign);
	MUST(status == GPTQ_OK || foreign);
	if (status == GPTQ_OK)
		check_made(kind, out, target, record, has_gptq(&file));
	gq_config_free(&file);
	return status == GPTQ_OK;
}

static bool same(const struct gq_buf *a, const struct gq_buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void round_trip(enum gq_config_kind kind, const struct gq_config_file *file, enum gq_label target,
		       const char *record)
{
	enum gq_label other = target == GQ_LABEL_V1 ? GQ_LABEL_V2 : GQ_LABEL_V1;
	struct gq_buf once, again, there, back, kept;

	if (!rewrite(kind, file->text, file->size, target, record, &once))
		return;
	/* twice is once */
	MUST(rewrite(kind, once.data, once.size, target, record, &again));
	MUST(same(&once, &again));
	/* to the other format and back, records staying */
	MUST(rewrite(kind, once.data, once.size, other, GQ_RECORD_KEEP, &there));
	MUST(rewrite(kind, there.data, there.size, target, GQ_RECORD_KEEP, &back));
	MUST(same(&once, &back));
	gq_buf_free(&there);
	gq_buf_free(&back);
	/* a record that comes and goes leaves nothing behind */
	if (record && record[0] && !has_record(file)) {
		MUST(rewrite(kind, file->text, file->size, target, GQ_RECORD_KEEP, &kept));
		MUST(rewrite(kind, kept.data, kept.size, target, record, &there));
		MUST(rewrite(kind, there.data, there.size, target, NULL, &back));
		MUST(same(&kept, &back));
		gq_buf_free(&kept);
		gq_buf_free(&there);
		gq_buf_free(&back);
	}
	gq_buf_free(&once);
	gq_buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	unsigned choice = fuzz_u8(&in);
	enum gq_config_kind kind = choice & 1 ? GQ_CONFIG_MODEL : GQ_CONFIG_STANDALONE;
	const char *record = choice & 2 ? "gptqmodel-3bit" : choice & 4 ? NULL : GQ_RECORD_KEEP;
	const char *text = fuzz_guarded(SLOT_B, in.data, in.size);
	struct gq_config_file file;

	if (read_text(kind, text, in.size, &file) != GPTQ_OK)
		return 0;
	MUST(file.size == in.size && (in.size == 0 || memcmp(file.text, text, in.size) == 0));
	check_spans(&file);
	round_trip(kind, &file, choice & 8 ? GQ_LABEL_V1 : GQ_LABEL_V2, record);
	gq_config_free(&file);
	return 0;
}
