/* SPDX-License-Identifier: Apache-2.0 */
/* The header's JSON as a table of tensors. One pass of the scanner; nothing is looked at twice. */
#include "base/checked.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_dup.h"
#include "base/mem.h"
#include "format/safetensors_private.h"

#include <stdio.h>
#include <string.h>

/* {"dtype":"U8","shape":[],"data_offsets":[0,1]} with a name of no bytes before it. */
#define MIN_ENTRY_BYTES 48

static bool only_nul(const char *p, size_t n)
{
	while (n && p[n - 1] == '\0')
		n--;
	return n == 0;
}

/* Do the tensors end where the file does if the data begin at `at`, inside of what is called the header? */
static bool covers_data(const struct gq_st *st, size_t at)
{
	uint64_t last = 0, there;

	if (!gq_add_u64(st->header_size - at, st->data_size, &there))
		return false;
	for (uint32_t i = 0; i < st->n_tensors; i++) {
		if (st->tensors[i].end > last)
			last = st->tensors[i].end;
	}
	return last > 0 && last == there;
}

/* Something follows the header's JSON, at `at` of its text: name the cause if it is a known one. */
static void explain_rest(struct gq_st_parser *p, size_t at)
{
	static const char broken[] = ",\"__metadata__\"";
	const char *text = p->st->header;
	size_t n = (size_t)p->st->header_size;

	if (covers_data(p->st, at))
		gq_st_fail(p->diagnosis, p->err, GQ_ST_LENGTH, "the header length is %zu too large: it covers data",
			   n - at);
	else if (only_nul(text + at, n - at))
		gq_st_fail(p->diagnosis, p->err, GQ_ST_NUL_PADDED,
			   "the header is padded with NUL where spaces (0x20) must stand, %zu of them", n - at);
	else if (n - at >= sizeof(broken) - 1 && memcmp(text + at, broken, sizeof(broken) - 1) == 0)
		gq_st_fail(p->diagnosis, p->err, GQ_ST_JSON,
			   "__metadata__ stands outside the JSON object: safetensors 0.4 wrote such files when there "
			   "were no tensors");
}

/* The scanner refused something: move its position into the file, and name the causes that are well known. */
static enum gptq_status scan_failed(struct gq_st_parser *p, enum gptq_status status)
{
	const char *text = p->st->header;
	size_t n = (size_t)p->st->header_size, at = (size_t)p->err->offset;

	if (status != GPTQ_E_FORMAT)
		return status;
	p->diagnosis->fault = GQ_ST_JSON;
	if (at == 0 && n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		gq_st_fail(p->diagnosis, p->err, GQ_ST_JSON, "a byte order mark stands before the header's JSON");
	else if (at > 0 && at < n && p->js.depth == 0)
		explain_rest(p, at);
	gq_error_offset(p->err, GQ_ST_PREFIX + (uint64_t)at);
	return status;
}

enum gptq_status gq_st_next(struct gq_st_parser *p, struct gq_json_event *ev)
{
	enum gptq_status status = gq_json_next(&p->js, ev, p->err);

	return status ? scan_failed(p, status) : GPTQ_OK;
}

/* The value of event ev is not what must stand there. */
enum gptq_status gq_st_fail_value(struct gq_st_parser *p, const struct gq_json_event *ev, enum gq_st_fault fault,
				  const char *what, const char *expected)
{
	size_t end = ev->end;

	if (ev->type == GQ_JSON_OBJECT || ev->type == GQ_JSON_ARRAY)
		end = (size_t)p->st->header_size; /* a bracket alone says little */
	if (end - ev->begin > 48)
		end = ev->begin + 48;
	gq_st_fail(p->diagnosis, p->err, fault, "%s", what);
	gq_error_offset(p->err, GQ_ST_PREFIX + (uint64_t)ev->begin);
	gq_error_found(p->err, "%.*s", (int)(end - ev->begin), p->st->header + ev->begin);
	gq_error_expected(p->err, "%s", expected);
	return GPTQ_E_FORMAT;
}

enum gptq_status gq_st_fail_duplicate(struct gq_st_parser *p, const char *key, size_t n, size_t first, size_t second)
{
	p->diagnosis->fault = GQ_ST_DUPLICATE;
	return gq_json_dup_fail(key, n, first + GQ_ST_PREFIX, second + GQ_ST_PREFIX, p->err);
}

/* The bytes of a string or key: those of the text itself or, with escapes, a decoded copy. */
static enum gptq_status take_string(struct gq_st_parser *p, const struct gq_json_event *ev, const char **bytes,
				    uint32_t *n)
{
	struct gq_st *st = p->st;

	if (!ev->escaped) {
		*bytes = st->header + ev->begin + 1;
		*n = (uint32_t)(ev->end - ev->begin - 2);
		return GPTQ_OK;
	}
	/* Decoded strings are shorter than their text, so room for the whole header is room for all of them. */
	if (!st->strings) {
		st->strings = gq_malloc_array((size_t)st->header_size, 1);
		if (!st->strings)
			return gq_fail_nomem(p->err);
	}
	*bytes = st->strings + p->strings_used;
	*n = (uint32_t)gq_json_unescape_into(st->header, ev->begin, ev->end, st->strings + p->strings_used);
	p->strings_used += *n;
	return GPTQ_OK;
}

static enum gptq_status read_tensor(struct gq_st_parser *p, const struct gq_json_event *key)
{
	struct gq_st *st = p->st;
	struct gq_st_tensor *t = &st->tensors[st->n_tensors];
	enum gptq_status status;
	uint32_t before = 0;

	if (st->n_tensors >= p->max_tensors) /* so much text cannot hold so many whole entries: one is broken */
		return gq_st_fail_value(p, key, GQ_ST_ENTRY, "the entries are too short to be tensors",
					"whole entries");
	memset(t, 0, sizeof(*t));
	status = take_string(p, key, &t->name, &t->name_size);
	if (status)
		return status;
	switch (gq_st_names_add(&p->names, st->tensors, st->n_tensors, &before)) {
	case GQ_MAP_NEW:
		break;
	case GQ_MAP_NOMEM:
		return gq_fail_nomem(p->err);
	case GQ_MAP_OLD:
		p->diagnosis->fault = GQ_ST_DUPLICATE;
		gq_fail(p->err, GPTQ_E_FORMAT, "the header has this tensor twice");
		gq_error_tensor(p->err, t->name, t->name_size);
		gq_error_offset(p->err, GQ_ST_PREFIX + (uint64_t)key->begin);
		gq_error_found(p->err, "its first entry at byte %llu",
			       (unsigned long long)(GQ_ST_PREFIX + (uint64_t)st->tensors[before].entry_begin));
		gq_error_expected(p->err, "each name once: readers differ on which of the two counts");
		return GPTQ_E_FORMAT;
	}
	status = gq_st_read_entry(p, t);
	if (status)
		gq_error_tensor(p->err, t->name, t->name_size);
	st->n_tensors++;
	return status;
}

/* A value in __metadata__ is no string. */
static enum gptq_status fail_meta(struct gq_st_parser *p, const struct gq_json_event *ev, const char *key, uint32_t n)
{
	char shown[128], what[320];

	gq_mask(shown, sizeof(shown), key, n, false);
	if ((n == 5 && memcmp(key, "shape", 5) == 0) || (n == 12 && memcmp(key, "data_offsets", 12) == 0))
		snprintf(what, sizeof(what),
			 "\"%s\" in __metadata__ is no string: a tensor was given the name "
			 "__metadata__, which the format reserves",
			 shown);
	else
		snprintf(what, sizeof(what), "\"%s\" in __metadata__ is no string", shown);
	return gq_st_fail_value(p, ev, GQ_ST_METADATA, what, "a string: only strings may stand in __metadata__");
}

static enum gptq_status add_meta(struct gq_st_parser *p, const struct gq_json_event *key)
{
	struct gq_st *st = p->st;
	struct gq_json_event ev;
	struct gq_st_meta *meta;
	enum gptq_status status;
	uint32_t before = 0;

	if (st->n_metadata == p->max_metadata) {
		uint32_t capacity = p->max_metadata ? p->max_metadata + p->max_metadata / 2 : 8;

		meta = gq_realloc_array(st->metadata, capacity, sizeof(*meta));
		if (!meta)
			return gq_fail_nomem(p->err);
		st->metadata = meta;
		p->max_metadata = capacity;
	}
	meta = &st->metadata[st->n_metadata];
	status = take_string(p, key, &meta->key, &meta->key_size);
	if (status)
		return status;
	switch (gq_map_insert(&p->meta_keys, meta->key, meta->key_size, (uint32_t)key->begin, &before)) {
	case GQ_MAP_NEW:
		break;
	case GQ_MAP_NOMEM:
		return gq_fail_nomem(p->err);
	case GQ_MAP_OLD:
		return gq_st_fail_duplicate(p, meta->key, meta->key_size, before, key->begin);
	}
	status = gq_st_next(p, &ev);
	if (status)
		return status;
	if (ev.type != GQ_JSON_STRING)
		return fail_meta(p, &ev, meta->key, meta->key_size);
	meta->value_begin = (uint32_t)ev.begin;
	meta->value_end = (uint32_t)ev.end;
	st->n_metadata++;
	return take_string(p, &ev, &meta->value, &meta->value_size);
}

static enum gptq_status read_metadata(struct gq_st_parser *p, const struct gq_json_event *key)
{
	struct gq_st *st = p->st;
	struct gq_json_event ev;
	enum gptq_status status;

	if (p->seen_metadata)
		return gq_st_fail_duplicate(p, "__metadata__", 12, p->metadata_key, key->begin);
	p->seen_metadata = true;
	p->metadata_key = key->begin;
	status = gq_st_next(p, &ev);
	if (status)
		return status;
	st->metadata_begin = (uint32_t)ev.begin;
	st->metadata_end = (uint32_t)ev.end;
	if (ev.type == GQ_JSON_NULL)
		return GPTQ_OK;
	if (ev.type != GQ_JSON_OBJECT)
		return gq_st_fail_value(p, &ev, GQ_ST_METADATA, "__metadata__ is no map",
					"an object of strings, or null");
	st->has_metadata = true;
	for (;;) {
		status = gq_st_next(p, &ev);
		if (status)
			return status;
		if (ev.type == GQ_JSON_OBJECT_END)
			break;
		status = add_meta(p, &ev);
		if (status)
			return status;
	}
	st->metadata_end = (uint32_t)ev.end;
	return GPTQ_OK;
}

/* How many of n bytes are a or b. Counted in bytes first, which compilers turn into vectors. */
static size_t count(const char *p, size_t n, char a, char b)
{
	size_t total = 0;

	while (n > 0) {
		size_t block = n < 240 ? n : 240;
		unsigned char hits = 0;

		for (size_t i = 0; i < block; i++)
			hits = (unsigned char)(hits + ((p[i] == a) | (p[i] == b)));
		total += hits;
		p += block;
		n -= block;
	}
	return total;
}

/*
 * Tables are taken once, as large as the text can need at most: every dimension stands behind a comma or a '[', and
 * every entry has its '{' and its least length. Pages that nothing is written to cost nothing.
 */
static enum gptq_status take_tables(struct gq_st_parser *p)
{
	struct gq_st *st = p->st;
	size_t n = (size_t)st->header_size, braces = count(st->header, n, '{', '{');
	size_t dims = count(st->header, n, ',', '[');

	p->max_dims = dims;
	p->max_tensors = n / MIN_ENTRY_BYTES + 1;
	if (p->max_tensors > braces)
		p->max_tensors = braces;
	st->tensors = gq_malloc_array((size_t)p->max_tensors + 1, sizeof(*st->tensors));
	st->shapes = gq_malloc_array(dims, sizeof(*st->shapes));
	if (!st->tensors || !st->shapes)
		return gq_fail_nomem(p->err);
	return GPTQ_OK;
}

static enum gptq_status read_header(struct gq_st_parser *p)
{
	struct gq_json_event ev;
	enum gptq_status status = gq_st_next(p, &ev);

	if (status)
		return status;
	if (ev.type != GQ_JSON_OBJECT)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "the header is JSON, but no object",
					"an object of tensors");
	for (;;) {
		status = gq_st_next(p, &ev);
		if (status)
			return status;
		if (ev.type == GQ_JSON_OBJECT_END)
			break;
		if (gq_json_string_is(p->st->header, ev.begin, ev.end, "__metadata__", 12))
			status = read_metadata(p, &ev);
		else
			status = read_tensor(p, &ev);
		if (status)
			return status;
	}
	return gq_st_next(p, &ev); /* white space alone, or an error */
}

/* Gives back what the tables did not need. Shapes follow each other in header order, so their places are known. */
static void trim_tables(struct gq_st_parser *p)
{
	struct gq_st *st = p->st;
	struct gq_st_tensor *tensors = gq_realloc_array(st->tensors, st->n_tensors, sizeof(*tensors));
	uint64_t *shapes = gq_realloc_array(st->shapes, (size_t)p->n_dims, sizeof(*shapes));

	if (tensors)
		st->tensors = tensors;
	if (shapes)
		st->shapes = shapes;
	shapes = st->shapes;
	for (uint32_t i = 0; i < st->n_tensors; i++) {
		st->tensors[i].shape = shapes;
		shapes += st->tensors[i].rank;
	}
}

/* mapped: names that stand twice are found where they stand. Else *differ tells in the end. */
static enum gptq_status read_table(struct gq_st *st, bool mapped, bool *differ, struct gq_st_diagnosis *diagnosis,
				   struct gptq_error *err)
{
	struct gq_st_parser p = {.st = st, .diagnosis = diagnosis, .err = err};
	enum gptq_status status = take_tables(&p);

	if (status)
		return status;
	gq_st_names_init(&p.names, mapped);
	gq_json_init(&p.js, st->header, (size_t)st->header_size, 0);
	gq_json_dup_init(&p.dup, st->header);
	p.dup.origin = GQ_ST_PREFIX;
	gq_map_init(&p.meta_keys);
	status = read_header(&p);
	*differ = !status && gq_st_names_differ(&p.names, st->tensors, st->n_tensors);
	gq_st_names_free(&p.names);
	gq_map_free(&p.meta_keys);
	gq_json_dup_free(&p.dup);
	if (!status)
		trim_tables(&p);
	return status;
}

/* As it was before read_table(). */
static void forget_table(struct gq_st *st)
{
	gq_free(st->tensors);
	gq_free(st->shapes);
	gq_free(st->strings);
	gq_free(st->metadata);
	st->tensors = NULL;
	st->shapes = NULL;
	st->strings = NULL;
	st->metadata = NULL;
	st->n_tensors = st->n_metadata = st->metadata_begin = st->metadata_end = 0;
	st->has_metadata = false;
}

enum gptq_status gq_st_read_table(struct gq_st *st, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	bool differ;
	enum gptq_status status = read_table(st, false, &differ, diagnosis, err);

	if (status == GPTQ_E_NOMEM || (!status && differ))
		return status;
	/* Something is wrong, and a name that stands twice may be so before it: what comes first is to be told. */
	forget_table(st);
	return read_table(st, true, &differ, diagnosis, err);
}
