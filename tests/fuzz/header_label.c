/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is the JSON text of a safetensors header. Setting the label in its metadata must leave all else as it
 * was, give a header that reads, and change nothing the second time.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "format/labels.h"
#include "format/safetensors.h"

#include <string.h>

static struct gq_st *parse(const char *text, size_t n)
{
	struct gq_st *st = NULL;
	struct gptq_error err;
	struct gq_st_diagnosis diagnosis;

	return gq_st_parse(text, n, GQ_ST_ANY_SIZE, NULL, &st, &diagnosis, &err) == GPTQ_OK ? st : NULL;
}

static void set_label(const struct gq_st *st, enum gq_label target, struct gq_buf *out)
{
	const struct gq_st_meta *m = gq_st_find_meta(st, "gptq_checkpoint_format");
	size_t n = (size_t)st->header_size;
	struct gptq_error err;

	*out = (struct gq_buf){0};
	MUST(gq_header_set_label(fuzz_guarded(SLOT_C, st->header, n), n, m->value_begin, m->value_end, target, out,
				 &err) == GPTQ_OK);
	MUST(out->size >= n && (out->size == n || out->size % 8 == 0));
}

/* Are the two headers alike but for the value of the label? */
static void compare(const struct gq_st *a, const struct gq_st *b, enum gq_label target)
{
	const struct gq_st_meta *m = gq_st_find_meta(b, "gptq_checkpoint_format");
	const char *word = gq_label_word(target);

	MUST(m && m->value_size == strlen(word) && memcmp(m->value, word, m->value_size) == 0);
	MUST(a->n_tensors == b->n_tensors && a->n_metadata == b->n_metadata && a->data_size == b->data_size);
	for (uint32_t i = 0; i < a->n_tensors; i++) {
		const struct gq_st_tensor *s = &a->tensors[i], *t = &b->tensors[i];

		MUST(s->begin == t->begin && s->end == t->end && s->dtype == t->dtype && s->rank == t->rank);
		MUST(s->name_size == t->name_size && memcmp(s->name, t->name, s->name_size) == 0);
		MUST(s->entry_end - s->entry_begin == t->entry_end - t->entry_begin);
		MUST(memcmp(a->header + s->entry_begin, b->header + t->entry_begin, s->entry_end - s->entry_begin) ==
		     0);
	}
	for (uint32_t i = 0; i < a->n_metadata; i++) {
		const struct gq_st_meta *s = &a->metadata[i], *t = &b->metadata[i];

		MUST(s->key_size == t->key_size && memcmp(s->key, t->key, s->key_size) == 0);
		MUST(t == m || (s->value_size == t->value_size && memcmp(s->value, t->value, s->value_size) == 0));
	}
}

static void run(const struct gq_st *st, enum gq_label target)
{
	enum gq_label other = target == GQ_LABEL_V1 ? GQ_LABEL_V2 : GQ_LABEL_V1;
	struct gq_buf once, twice, there, back;
	struct gq_st *made, *gone;

	set_label(st, target, &once);
	made = parse(once.data, once.size);
	MUST(made);
	compare(st, made, target);
	set_label(made, target, &twice);
	MUST(twice.size == once.size && memcmp(twice.data, once.data, once.size) == 0);
	/* there and back: the same but for spaces at the end, since a header that grew does not shrink again */
	set_label(made, other, &there);
	gone = parse(there.data, there.size);
	MUST(gone);
	set_label(gone, target, &back);
	MUST(back.size == there.size && back.size >= once.size);
	MUST(memcmp(back.data, once.data, once.size) == 0 || once.data[once.size - 1] != ' ');
	if (there.size == once.size)
		MUST(memcmp(back.data, once.data, once.size) == 0);
	gq_st_free(made);
	gq_st_free(gone);
	gq_buf_free(&once);
	gq_buf_free(&twice);
	gq_buf_free(&there);
	gq_buf_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gq_st *st = parse(fuzz_guarded(SLOT_B, data, size), size);

	if (!st)
		return 0;
	if (gq_st_find_meta(st, "gptq_checkpoint_format")) {
		run(st, GQ_LABEL_V1);
		run(st, GQ_LABEL_V2);
	}
	gq_st_free(st);
	return 0;
}
