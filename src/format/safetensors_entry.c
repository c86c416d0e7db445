/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of the header: dtype, shape and data_offsets, in any order and among keys that mean nothing to us. */
#include "base/error.h"
#include "format/dtype.h"
#include "format/safetensors_private.h"

#include <string.h>

enum field {
	F_DTYPE = 1,
	F_SHAPE = 2,
	F_OFFSETS = 4,
	F_ALL = 7,
};

static enum gptq_status dup_event(struct gq_st_parser *p, const struct gq_json_event *ev)
{
	enum gptq_status status = gq_json_dup_event(&p->dup, ev, p->err);

	if (status == GPTQ_E_FORMAT)
		p->diagnosis->fault = GQ_ST_DUPLICATE;
	return status;
}

/* A key that means nothing here, and its value: checked, also for keys that stand twice, and passed over. */
static enum gptq_status pass_over(struct gq_st_parser *p, const struct gq_json_event *key)
{
	unsigned depth = p->js.depth;
	enum gptq_status status = dup_event(p, key);
	struct gq_json_event ev;

	if (status)
		return status;
	do {
		status = gq_st_next(p, &ev);
		if (!status)
			status = dup_event(p, &ev);
	} while (!status && p->js.depth > depth);
	return status;
}

static enum gptq_status read_dtype(struct gq_st_parser *p, struct gq_st_tensor *t)
{
	struct gq_json_event ev;
	enum gptq_status status = gq_st_next(p, &ev);
	char decoded[128]; /* more than the longest name takes when every letter is an escape */
	const char *name;
	size_t n;

	if (status)
		return status;
	if (ev.type == GQ_JSON_OBJECT)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "dtype is written as an object, which few readers take",
					"a string");
	if (ev.type != GQ_JSON_STRING)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "dtype is no string", "a string");
	name = p->st->header + ev.begin + 1;
	n = ev.end - ev.begin - 2;
	if (ev.escaped && n <= sizeof(decoded)) {
		n = gq_json_unescape_into(p->st->header, ev.begin, ev.end, decoded);
		name = decoded;
	}
	if (!gq_dtype_from_name(name, n, &t->dtype))
		return gq_st_fail_value(p, &ev, GQ_ST_DTYPE, "unknown dtype", "one of the 22 types of safetensors 0.8");
	return GPTQ_OK;
}

static enum gptq_status read_shape(struct gq_st_parser *p, struct gq_st_tensor *t)
{
	struct gq_json_event ev;
	enum gptq_status status = gq_st_next(p, &ev);
	uint64_t dim;

	if (status)
		return status;
	if (ev.type != GQ_JSON_ARRAY)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "shape is no list", "a list of whole numbers");
	t->shape = p->st->shapes + p->n_dims;
	for (;;) {
		status = gq_st_next(p, &ev);
		if (status)
			return status;
		if (ev.type == GQ_JSON_ARRAY_END)
			return GPTQ_OK;
		if (ev.type != GQ_JSON_NUMBER || !gq_json_u64(p->st->header, ev.begin, ev.end, &dim) ||
		    p->n_dims >= p->max_dims)
			return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "a dimension of the shape is no whole number",
						"0 to 2^64-1 in plain digits");
		p->st->shapes[p->n_dims++] = dim;
		t->rank++;
	}
}

static enum gptq_status read_offsets(struct gq_st_parser *p, struct gq_st_tensor *t)
{
	static const char pair[] = "a list of two whole numbers";
	uint64_t *const value[2] = {&t->begin, &t->end};
	struct gq_json_event ev;
	enum gptq_status status = gq_st_next(p, &ev);

	if (status)
		return status;
	if (ev.type != GQ_JSON_ARRAY)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "data_offsets are no list", pair);
	for (unsigned i = 0; i < 2; i++) {
		status = gq_st_next(p, &ev);
		if (status)
			return status;
		if (ev.type == GQ_JSON_ARRAY_END)
			return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "data_offsets hold too few numbers", pair);
		if (ev.type != GQ_JSON_NUMBER || !gq_json_u64(p->st->header, ev.begin, ev.end, value[i]))
			return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "a data offset is no whole number",
						"0 to 2^64-1 in plain digits");
	}
	status = gq_st_next(p, &ev);
	if (!status && ev.type != GQ_JSON_ARRAY_END)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "data_offsets hold too many numbers", pair);
	return status;
}

static unsigned which_field(const struct gq_st_parser *p, const struct gq_json_event *key)
{
	const char *text = p->st->header;
	size_t size = key->end - key->begin - 2;

	if (!key->escaped && size != 5 && size != 12)
		return 0;
	if (gq_json_string_is(text, key->begin, key->end, "dtype", 5))
		return F_DTYPE;
	if (gq_json_string_is(text, key->begin, key->end, "shape", 5))
		return F_SHAPE;
	if (gq_json_string_is(text, key->begin, key->end, "data_offsets", 12))
		return F_OFFSETS;
	return 0;
}

static enum gptq_status fail_fields(struct gq_st_parser *p, const struct gq_st_tensor *t, unsigned fields)
{
	const char *missing = "data_offsets";

	if (!(fields & F_DTYPE))
		missing = "dtype";
	else if (!(fields & F_SHAPE))
		missing = "shape";
	gq_st_fail(p->diagnosis, p->err, GQ_ST_ENTRY, "%s is missing", missing);
	gq_error_offset(p->err, GQ_ST_PREFIX + (uint64_t)t->entry_begin);
	gq_error_expected(p->err, "dtype, shape and data_offsets");
	return GPTQ_E_FORMAT;
}

/* One member of an entry, its key read. */
static enum gptq_status read_field(struct gq_st_parser *p, struct gq_st_tensor *t, const struct gq_json_event *key,
				   unsigned *fields, size_t where[F_ALL], bool *others)
{
	unsigned field = which_field(p, key);
	const struct gq_json_event begin = {GQ_JSON_OBJECT, key->begin, key->begin, false};

	if (field & *fields) {
		static const char *const names[] = {
			[F_DTYPE] = "dtype", [F_SHAPE] = "shape", [F_OFFSETS] = "data_offsets"};

		return gq_st_fail_duplicate(p, names[field], strlen(names[field]), where[field], key->begin);
	}
	*fields |= field;
	where[field] = key->begin;
	switch (field) {
	case F_DTYPE:
		return read_dtype(p, t);
	case F_SHAPE:
		return read_shape(p, t);
	case F_OFFSETS:
		return read_offsets(p, t);
	default:
		break;
	}
	if (!*others && dup_event(p, &begin))
		return p->err->status;
	*others = true;
	return pass_over(p, key);
}

/* Behind the n bytes of word if they stand at s, else NULL; NULL stays NULL, so that calls can follow each other. */
static inline const char *literal(const char *s, const char *end, const char *word, size_t n)
{
	return s && (size_t)(end - s) >= n && memcmp(s, word, n) == 0 ? s + n : NULL;
}

/* Behind the plain number at s, of at most 19 digits: more are left to the slow way. */
static inline const char *number(const char *s, const char *end, uint64_t *value)
{
	const char *first = s;
	uint64_t v = 0;

	if (!s)
		return NULL;
	for (; s < end && s - first < 19 && (unsigned char)(*s - '0') < 10; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	*value = v;
	return s == first || (*first == '0' && s - first > 1) || s >= end ? NULL : s;
}

/* Nearly always it is the one of the tensor before (NULL: there is none). */
static const char *fast_dtype(const char *s, const char *end, const struct gq_st_tensor *before, struct gq_st_tensor *t)
{
	const char *same = before ? gptq_dtype_name(before->dtype) : "", *quote;
	size_t n = strlen(same);

	if (n && (size_t)(end - s) > n && memcmp(s, same, n) == 0 && s[n] == '"') {
		t->dtype = before->dtype;
		return s + n + 1;
	}
	quote = memchr(s, '"', (size_t)(end - s) < 16 ? (size_t)(end - s) : 16);

	return quote && gq_dtype_from_name(s, (size_t)(quote - s), &t->dtype) ? quote + 1 : NULL;
}

static const char *fast_shape(struct gq_st_parser *p, const char *s, const char *end, struct gq_st_tensor *t)
{
	if (s < end && *s == ']')
		return s + 1;
	for (; p->n_dims + t->rank < p->max_dims; s++) {
		s = number(s, end, &p->st->shapes[p->n_dims + t->rank]);
		if (!s || (*s != ',' && *s != ']'))
			return NULL;
		t->rank++;
		if (*s == ']')
			return s + 1;
	}
	return NULL;
}

/*
 * Nearly all entries are written without white space and with the three fields alone: those are read without events.
 * False, and nothing is taken, where something else stands.
 */
static bool read_usual_entry(struct gq_st_parser *p, struct gq_st_tensor *t)
{
	const char *text = p->st->header, *end = text + p->st->header_size, *s = text + p->js.pos, *next;
	unsigned fields = 0, field;

	t->entry_begin = (uint32_t)p->js.pos + 1;
	s = literal(s, end, ":", 1);
	for (unsigned i = 0; i < 3 && s; i++, fields |= field) {
		s = literal(s, end, i ? "," : "{", 1);
		if ((next = literal(s, end, "\"dtype\":\"", 9))) {
			field = F_DTYPE;
			s = fast_dtype(next, end, t > p->st->tensors ? t - 1 : NULL, t);
		} else if ((next = literal(s, end, "\"shape\":[", 9))) {
			field = F_SHAPE;
			t->rank = 0;
			s = fast_shape(p, next, end, t);
		} else {
			field = F_OFFSETS;
			s = number(literal(s, end, "\"data_offsets\":[", 16), end, &t->begin);
			s = number(literal(s, end, ",", 1), end, &t->end);
			s = literal(s, end, "]", 1);
		}
	}
	s = literal(s, end, "}", 1);
	if (!s || fields != F_ALL) {
		t->rank = 0;
		return false;
	}
	p->n_dims += t->rank;
	t->entry_end = (uint32_t)(s - text);
	gq_json_value_taken(&p->js, t->entry_end);
	return true;
}

/* The entry of tensor t, from its value on. */
enum gptq_status gq_st_read_entry(struct gq_st_parser *p, struct gq_st_tensor *t)
{
	static const char expected[] = "an object with dtype, shape and data_offsets";
	struct gq_json_event ev;
	enum gptq_status status;
	size_t where[F_ALL];
	unsigned fields = 0;
	bool others = false; /* keys that mean nothing to us */

	if (read_usual_entry(p, t))
		return GPTQ_OK;
	status = gq_st_next(p, &ev);
	if (status)
		return status;
	if (ev.type == GQ_JSON_ARRAY)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "the entry is written as an array, which few readers take",
					expected);
	if (ev.type != GQ_JSON_OBJECT)
		return gq_st_fail_value(p, &ev, GQ_ST_ENTRY, "the entry is no object", expected);
	t->entry_begin = (uint32_t)ev.begin;
	for (;;) {
		status = gq_st_next(p, &ev);
		if (status)
			return status;
		if (ev.type == GQ_JSON_OBJECT_END)
			break;
		status = read_field(p, t, &ev, &fields, where, &others);
		if (status)
			return status;
	}
	t->entry_end = (uint32_t)ev.end;
	if (fields != F_ALL)
		return fail_fields(p, t, fields);
	return others ? dup_event(p, &ev) : GPTQ_OK;
}
