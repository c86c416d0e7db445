/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

/* What may come next. */
enum state {
	S_VALUE,       /* a value: at the start, or after ',' in an array */
	S_FIRST_VALUE, /* after '[': a value or ']' */
	S_FIRST_KEY,   /* after '{': a key or '}' */
	S_KEY,         /* after ',' in an object */
	S_COLON,       /* after a key */
	S_AFTER,       /* after a value inside an object or array: ',' or the closing bracket */
	S_END,         /* after the root value: white space alone */
};

/* Bytes that end the fast part of a string: controls, '"', '\\' and everything beyond ASCII. */
static inline bool is_special(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c >= 0x80;
}

/*
 * Which of eight bytes end the fast part: their highest bit is set. The usual "is there a zero byte" trick, three times
 * over; it may mark more behind the first, which is right for certain.
 */
static inline uint64_t specials(uint64_t v)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');

	return ((quote - ones) | (slash - ones) | (v - ones * 0x20) | v) & high;
}

size_t gq_json_plain_end(const char *text, size_t pos, size_t size)
{
	for (; size - pos >= 8; pos += 8) {
		uint64_t found = specials(gq_load_le64(text + pos));

		if (found)
			return pos + (size_t)__builtin_ctzll(found) / 8;
	}
	while (pos < size && !is_special((unsigned char)text[pos]))
		pos++;
	return pos;
}

static inline bool is_digit(const struct gq_json *js, size_t pos)
{
	return pos < js->size && (unsigned char)(js->text[pos] - '0') < 10;
}

static inline void skip_space(struct gq_json *js)
{
	size_t pos = js->pos;

	while (pos < js->size) {
		char c = js->text[pos];

		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			break;
		pos++;
	}
	js->pos = pos;
}

/* The byte at pos cannot stand there. */
static enum gptq_status fail_at(const struct gq_json *js, size_t pos, struct gptq_error *err, const char *what)
{
	gq_fail(err, GPTQ_E_FORMAT, "invalid JSON: %s", what);
	gq_error_offset(err, pos);
	if (pos >= js->size) {
		gq_error_found(err, "the end of the text");
	} else {
		unsigned char c = (unsigned char)js->text[pos];

		if (c > 0x20 && c < 0x7f)
			gq_error_found(err, "'%c'", c);
		else
			gq_error_found(err, "byte 0x%02x", c);
	}
	return GPTQ_E_FORMAT;
}

/* Four hex digits at pos; -1 if there are none. */
static int hex4(const char *text, size_t size, size_t pos)
{
	int v = 0;

	if (pos > size || size - pos < 4)
		return -1;
	for (unsigned i = 0; i < 4; i++) {
		char c = text[pos + i];

		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v * 16 + (c - 'A' + 10);
		else
			return -1;
	}
	return v;
}

static inline bool is_high(int c)
{
	return c >= 0xd800 && c <= 0xdbff;
}

static inline bool is_low(int c)
{
	return c >= 0xdc00 && c <= 0xdfff;
}

/* The low half of a surrogate pair if its escape stands at pos, else -1. */
static int low_half(const char *text, size_t size, size_t pos)
{
	int c;

	if (pos > size || size - pos < 6 || text[pos] != '\\' || text[pos + 1] != 'u')
		return -1;
	c = hex4(text, size, pos + 2);
	return is_low(c) ? c : -1;
}

/* Checks the escape whose backslash is at *pos and moves *pos behind it. */
static enum gptq_status check_escape(const struct gq_json *js, size_t *pos, struct gptq_error *err)
{
	size_t at = *pos;
	int c;

	if (at + 1 >= js->size)
		return fail_at(js, js->size, err, "the text ends inside a string");
	if (js->text[at + 1] && strchr("\"\\/bfnrt", js->text[at + 1])) {
		*pos = at + 2;
		return GPTQ_OK;
	}
	if (js->text[at + 1] != 'u')
		return fail_at(js, at + 1, err, "no such escape in a string");
	c = hex4(js->text, js->size, at + 2);
	if (c < 0)
		return fail_at(js, at, err, "\\u needs four hexadecimal digits");
	*pos = at + 6;
	if (is_high(c) && low_half(js->text, js->size, at + 6) >= 0)
		*pos = at + 12;
	else if ((is_high(c) || is_low(c)) && !(js->flags & GQ_JSON_LONE_SURROGATES))
		return fail_at(js, at, err, "half of a surrogate pair stands alone");
	return GPTQ_OK;
}

/* The string that starts at js->pos (its opening quote). */
static enum gptq_status scan_string(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	const char *text = js->text;
	size_t size = js->size, pos = js->pos + 1;

	ev->begin = js->pos;
	ev->escaped = false;
	for (;;) {
		unsigned char c;
		uint32_t codepoint;
		size_t len;

		pos = gq_json_plain_end(text, pos, size);
		if (pos >= size)
			return fail_at(js, size, err, "the text ends inside a string");
		c = (unsigned char)text[pos];
		if (c == '"')
			break;
		if (c == '\\') {
			enum gptq_status status = check_escape(js, &pos, err);

			if (status)
				return status;
			ev->escaped = true;
			continue;
		}
		if (c < 0x20)
			return fail_at(js, pos, err, "a control byte inside a string must be escaped");
		len = gq_utf8_next(text + pos, size - pos, &codepoint);
		if (len == 0)
			return fail_at(js, pos, err, "not UTF-8");
		pos += len;
	}
	js->pos = ev->end = pos + 1;
	return GPTQ_OK;
}

/*
 * Would serde_json take the number for infinite? It keeps the first digits that fit 64 bits, then scales by a power
 * of ten in double precision, so do the same. Only numbers with an exponent or more than 308 bytes can be.
 */
static bool is_infinite(const char *p, const char *end)
{
	static const double large[] = {1e289, 1e290, 1e291, 1e292, 1e293, 1e294, 1e295, 1e296, 1e297, 1e298,
				       1e299, 1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308};
	uint64_t digits = 0, next;
	int64_t exponent = 0, written = 0;
	bool full = false, after_point = false, negative = false;

	for (; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '-')
			continue;
		if (*p == '.') {
			after_point = true;
			continue;
		}
		if (!full && !__builtin_mul_overflow(digits, (uint64_t)10, &next) &&
		    !__builtin_add_overflow(next, (uint64_t)(*p - '0'), &next)) {
			digits = next;
			exponent -= after_point;
		} else {
			full = true;
			exponent += !after_point;
		}
	}
	if (digits == 0)
		return false;
	if (p < end)
		p++;
	for (; p < end; p++) {
		if (*p == '-')
			negative = true;
		else if (*p != '+' && written < INT32_MAX)
			written = written * 10 + (*p - '0');
	}
	exponent += negative ? -written : written;
	if (exponent < 289)
		return false;
	return exponent > 308 || __builtin_isinf((double)digits * large[exponent - 289]);
}

static bool literal(struct gq_json *js, size_t pos, const char *word)
{
	size_t n = strlen(word);

	if (js->size - pos < n || memcmp(js->text + pos, word, n) != 0)
		return false;
	js->pos = pos + n;
	return true;
}

static enum gptq_status scan_number(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	size_t pos = js->pos;
	bool has_exponent = false;

	ev->begin = pos;
	if (js->text[pos] == '-') {
		pos++;
		if ((js->flags & GQ_JSON_NAN) && literal(js, pos, "Infinity")) {
			ev->end = js->pos;
			return GPTQ_OK;
		}
	}
	if (!is_digit(js, pos))
		return fail_at(js, pos, err, "a digit is missing in a number");
	if (js->text[pos] == '0' && is_digit(js, pos + 1))
		return fail_at(js, pos, err, "a number must not begin with a zero");
	while (is_digit(js, pos))
		pos++;
	if (pos < js->size && js->text[pos] == '.') {
		if (!is_digit(js, ++pos))
			return fail_at(js, pos, err, "a digit is missing behind the decimal point");
		while (is_digit(js, pos))
			pos++;
	}
	if (pos < js->size && (js->text[pos] == 'e' || js->text[pos] == 'E')) {
		has_exponent = true;
		pos++;
		if (pos < js->size && (js->text[pos] == '+' || js->text[pos] == '-'))
			pos++;
		if (!is_digit(js, pos))
			return fail_at(js, pos, err, "a digit is missing in an exponent");
		while (is_digit(js, pos))
			pos++;
	}
	if ((has_exponent || pos - ev->begin > 308) && !(js->flags & GQ_JSON_NAN) &&
	    is_infinite(js->text + ev->begin, js->text + pos))
		return fail_at(js, ev->begin, err, "the number is out of range");
	js->pos = ev->end = pos;
	return GPTQ_OK;
}

/* After a complete value. */
static inline void value_done(struct gq_json *js)
{
	js->state = js->depth ? S_AFTER : S_END;
}

static enum gptq_status open_level(struct gq_json *js, struct gq_json_event *ev, bool object, struct gptq_error *err)
{
	unsigned bit = 1u << (js->depth % 8);

	if (js->depth >= GQ_JSON_MAX_DEPTH)
		return fail_at(js, js->pos, err, "nested more than 127 levels deep");
	if (object)
		js->is_object[js->depth / 8] |= (unsigned char)bit;
	else
		js->is_object[js->depth / 8] &= (unsigned char)~bit;
	js->depth++;
	js->state = object ? S_FIRST_KEY : S_FIRST_VALUE;
	ev->type = object ? GQ_JSON_OBJECT : GQ_JSON_ARRAY;
	ev->begin = js->pos++;
	ev->end = js->pos;
	return GPTQ_OK;
}

static enum gptq_status close_level(struct gq_json *js, struct gq_json_event *ev, bool object)
{
	js->depth--;
	ev->type = object ? GQ_JSON_OBJECT_END : GQ_JSON_ARRAY_END;
	ev->begin = js->pos++;
	ev->end = js->pos;
	value_done(js);
	return GPTQ_OK;
}

static inline bool in_object(const struct gq_json *js)
{
	unsigned level = js->depth - 1;

	return js->is_object[level / 8] >> (level % 8) & 1;
}

static enum gptq_status scan_word(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	size_t pos = js->pos;

	if (literal(js, pos, "true"))
		ev->type = GQ_JSON_TRUE;
	else if (literal(js, pos, "false"))
		ev->type = GQ_JSON_FALSE;
	else if (literal(js, pos, "null"))
		ev->type = GQ_JSON_NULL;
	else if ((js->flags & GQ_JSON_NAN) && (literal(js, pos, "NaN") || literal(js, pos, "Infinity")))
		ev->type = GQ_JSON_NUMBER;
	else
		return fail_at(js, pos, err, pos < js->size ? "no value can begin here" : "a value is missing");
	ev->begin = pos;
	ev->end = js->pos;
	value_done(js);
	return GPTQ_OK;
}

static enum gptq_status scan_value(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	char c = js->pos < js->size ? js->text[js->pos] : '\0';
	enum gptq_status status;

	if (c == '{' || c == '[')
		return open_level(js, ev, c == '{', err);
	if (c == '"') {
		ev->type = GQ_JSON_STRING;
		status = scan_string(js, ev, err);
	} else if (c == '-' || (unsigned char)(c - '0') < 10) {
		ev->type = GQ_JSON_NUMBER;
		status = scan_number(js, ev, err);
	} else {
		return scan_word(js, ev, err);
	}
	if (!status)
		value_done(js);
	return status;
}

static enum gptq_status scan_key(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	enum gptq_status status;

	if (js->pos >= js->size || js->text[js->pos] != '"') {
		const char *what = "a key in quotes must stand here";

		if (js->state == S_FIRST_KEY)
			what = "a key in quotes or '}' must stand here";
		else if (js->pos < js->size && js->text[js->pos] == '}')
			what = "a comma stands before '}'";
		return fail_at(js, js->pos, err, what);
	}
	ev->type = GQ_JSON_KEY;
	status = scan_string(js, ev, err);
	if (!status)
		js->state = S_COLON;
	return status;
}

/* After a value: passes the comma and gives the event behind it, or closes the level. */
static enum gptq_status scan_after(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	bool object = in_object(js);
	char c = js->pos < js->size ? js->text[js->pos] : '\0';

	if (c == (object ? '}' : ']'))
		return close_level(js, ev, object);
	if (c != ',')
		return fail_at(js, js->pos, err, object ? "',' or '}' must stand here" : "',' or ']' must stand here");
	js->pos++;
	js->state = object ? S_KEY : S_VALUE;
	skip_space(js);
	if (object)
		return scan_key(js, ev, err);
	if (js->pos < js->size && js->text[js->pos] == ']')
		return fail_at(js, js->pos, err, "a comma stands before ']'");
	return scan_value(js, ev, err);
}

void gq_json_init(struct gq_json *js, const char *text, size_t size, unsigned flags)
{
	memset(js, 0, sizeof(*js));
	js->text = text;
	js->size = size;
	js->flags = flags;
	js->state = S_VALUE;
	if ((flags & GQ_JSON_BOM) && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		js->pos = 3;
}

enum gptq_status gq_json_next(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err)
{
	skip_space(js);
	ev->escaped = false;
	switch ((enum state)js->state) {
	case S_FIRST_VALUE:
		if (js->pos < js->size && js->text[js->pos] == ']')
			return close_level(js, ev, false);
		return scan_value(js, ev, err);
	case S_VALUE:
		return scan_value(js, ev, err);
	case S_FIRST_KEY:
		if (js->pos < js->size && js->text[js->pos] == '}')
			return close_level(js, ev, true);
		return scan_key(js, ev, err);
	case S_KEY:
		return scan_key(js, ev, err);
	case S_COLON:
		if (js->pos >= js->size || js->text[js->pos] != ':')
			return fail_at(js, js->pos, err, "':' must stand between key and value");
		js->pos++;
		js->state = S_VALUE;
		skip_space(js);
		return scan_value(js, ev, err);
	case S_AFTER:
		return scan_after(js, ev, err);
	case S_END:
		break;
	}
	if (js->pos < js->size)
		return fail_at(js, js->pos, err, "something follows the end of the value");
	ev->type = GQ_JSON_DONE;
	ev->begin = ev->end = js->pos;
	return GPTQ_OK;
}

enum gptq_status gq_json_skip(struct gq_json *js, const struct gq_json_event *ev, struct gptq_error *err)
{
	unsigned outside = js->depth - 1;
	struct gq_json_event inner;

	if (ev->type != GQ_JSON_OBJECT && ev->type != GQ_JSON_ARRAY)
		return GPTQ_OK;
	while (js->depth > outside) {
		enum gptq_status status = gq_json_next(js, &inner, err);

		if (status)
			return status;
	}
	return GPTQ_OK;
}

void gq_json_value_taken(struct gq_json *js, size_t end)
{
	js->pos = end;
	value_done(js);
}
