/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual index:
 *
 *   {"metadata": {...}, "weight_map": {"a": "model-1.safetensors", "b": "model-1.safetensors", ...}}
 *
 * with names in ASCII, without escapes, each after the one before it byte by byte, so that none stands twice. All of
 * weight_map is read here; around it the scanner goes, as strict as ever. Anything else is left to the slow way.
 */
#include "base/bytes.h"
#include "base/json_dup.h"
#include "base/mem.h"
#include "format/index_private.h"

#include <string.h>

/* "":"x.safetensors", with a name of no bytes. */
#define MIN_ENTRY_BYTES 19

struct scan {
	struct gq_index *index;
	const char *text;
	size_t size, pos;
	struct gq_map files;
	size_t shard, shard_len; /* where the latest shard name stands in the text, and its length ... */
	uint32_t number;         /* ... and its number */
};

static void skip_space(struct scan *s)
{
	while (s->pos < s->size && (s->text[s->pos] == ' ' || s->text[s->pos] == '\n' || s->text[s->pos] == '\r' ||
				    s->text[s->pos] == '\t'))
		s->pos++;
}

/* Moves behind c, and the white space around it. */
static bool pass(struct scan *s, char c)
{
	skip_space(s);
	if (s->pos >= s->size || s->text[s->pos] != c)
		return false;
	s->pos++;
	skip_space(s);
	return true;
}

/* Moves behind the string at pos, if it is a plain one; *at and *n are its bytes. */
static bool plain_string(struct scan *s, size_t *at, size_t *n)
{
	size_t end;

	if (s->pos >= s->size || s->text[s->pos] != '"')
		return false;
	*at = s->pos + 1;
	end = gq_json_plain_end(s->text, *at, s->size);
	if (end >= s->size || s->text[end] != '"')
		return false;
	*n = end - *at;
	s->pos = end + 1;
	return true;
}

/* The shard behind a name: nearly always that of the name before. */
static bool read_shard(struct scan *s, uint32_t *file, enum gptq_status *status, struct gptq_error *err)
{
	size_t at = s->pos, n;

	if (s->shard_len && s->size - at > s->shard_len + 2 &&
	    memcmp(s->text + at, s->text + s->shard - 1, s->shard_len + 2) == 0) {
		s->pos = at + s->shard_len + 2;
	} else {
		if (!plain_string(s, &at, &n) || !gq_index_is_shard_name(s->text + at, n))
			return false;
		*status = gq_index_file(s->index, &s->files, s->text + at, n, &s->number, err);
		if (*status != GPTQ_OK)
			return false;
		s->shard = at;
		s->shard_len = n;
	}
	*file = s->number;
	return true;
}

static bool ascends(const struct scan *s, const struct gq_index_entry *a, const struct gq_index_entry *b)
{
	return gq_compare_bytes(s->text + a->at, a->tensor_len, s->text + b->at, b->tensor_len) < 0;
}

/* The value of "weight_map", from the colon on. False: it is not as usual, or *status says what failed. */
static bool read_pairs(struct scan *s, enum gptq_status *status, struct gptq_error *err)
{
	struct gq_index *index = s->index;

	if (!pass(s, ':') || !pass(s, '{'))
		return false;
	for (;;) {
		struct gq_index_entry *e = &index->entries[index->n_entries];
		size_t at, n;

		if (!plain_string(s, &at, &n) || !pass(s, ':'))
			return false;
		e->at = (uint32_t)at;
		e->tensor_len = (uint32_t)n;
		if (!read_shard(s, &e->file, status, err))
			return false;
		if (index->n_entries++ && !ascends(s, e - 1, e))
			return false;
		if (!pass(s, ','))
			break;
	}
	return pass(s, '}');
}

/* All of the text, with weight_map where it comes: `js` and `dup` see the rest. False: as above. */
static bool read_all(struct scan *s, struct gq_json *js, struct gq_json_dup *dup, enum gptq_status *status,
		     struct gptq_error *err)
{
	struct gq_json_event ev = {0};

	while (gq_json_next(js, &ev, NULL) == GPTQ_OK && ev.type != GQ_JSON_DONE) {
		*status = gq_json_dup_event(dup, &ev, err);
		if (*status != GPTQ_OK)
			return false;
		if (ev.type != GQ_JSON_KEY || js->depth != 1 ||
		    !gq_json_string_is(s->text, ev.begin, ev.end, "weight_map", 10))
			continue;
		s->pos = ev.end;
		if (s->index->n_entries || !read_pairs(s, status, err))
			return false;
		gq_json_value_taken(js, s->pos);
	}
	return ev.type == GQ_JSON_DONE && s->index->n_entries;
}

enum gptq_status gq_index_read_usual(struct gq_index *index, size_t size, bool *usual, struct gptq_error *err)
{
	struct scan s = {.index = index, .text = index->text, .size = size};
	enum gptq_status status = GPTQ_OK;
	struct gq_json_dup dup;
	struct gq_json js;

	/* As many as the text can hold at most: pages that nothing is written to cost nothing. */
	index->entries = gq_malloc_array(size / MIN_ENTRY_BYTES + 1, sizeof(*index->entries));
	if (!index->entries)
		return gq_fail_nomem(err);
	gq_map_init(&s.files);
	gq_json_init(&js, s.text, size, 0);
	gq_json_dup_init(&dup, s.text);
	*usual = read_all(&s, &js, &dup, &status, err);
	gq_json_dup_free(&dup);
	gq_map_free(&s.files);
	if (*usual)
		return GPTQ_OK;
	gq_index_forget(index);
	return status == GPTQ_E_NOMEM ? status : GPTQ_OK;
}
