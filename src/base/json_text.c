/* SPDX-License-Identifier: Apache-2.0 */
/* What the spans that the scanner has checked mean: strings and integers. */
#include "base/json.h"

#include <string.h>

static unsigned hex4(const char *p)
{
	unsigned v = 0;

	for (unsigned i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)p[i];

		v = v << 4 | ((c & 0x40u ? c + 9u : c) & 15u); /* letters have bit 6 set and A is 1 */
	}
	return v;
}

/* UTF-8 of a code point; a lone surrogate gets the three bytes that the same pattern gives. */
static size_t encode(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The bytes that the escape at text[*pos] (its backslash) stands for; moves *pos behind it, at most to end. */
static size_t decode_escape(const char *text, size_t *pos, size_t end, char out[4])
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	size_t at = *pos;
	uint32_t c, low;
	const char *p;

	if (end - at < 2) {
		*pos = end;
		return 0;
	}
	if (text[at + 1] != 'u' || end - at < 6) {
		p = text[at + 1] ? strchr(from, text[at + 1]) : NULL;
		out[0] = p ? to[p - from] : text[at + 1];
		*pos = at + 2;
		return 1;
	}
	c = hex4(text + at + 2);
	*pos = at + 6;
	if (c >= 0xd800 && c <= 0xdbff && end - *pos >= 6 && text[*pos] == '\\' && text[*pos + 1] == 'u') {
		low = hex4(text + *pos + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			*pos += 6;
		}
	}
	return encode(c, out);
}

/* The plain bytes from pos up to the next backslash or end. */
static size_t plain_run(const char *text, size_t pos, size_t end)
{
	const char *slash = memchr(text + pos, '\\', end - pos);

	return slash ? (size_t)(slash - text) - pos : end - pos;
}

size_t gq_json_unescape_into(const char *text, size_t begin, size_t end, char *dst)
{
	size_t pos = begin + 1, used = 0;

	for (end--; pos < end;) {
		size_t n = plain_run(text, pos, end);
		char piece[4];

		memmove(dst + used, text + pos, n);
		used += n;
		pos += n;
		if (pos >= end)
			break;
		n = decode_escape(text, &pos, end, piece);
		memcpy(dst + used, piece, n);
		used += n;
	}
	return used;
}

void gq_json_unescape(const char *text, size_t begin, size_t end, struct gq_buf *out)
{
	size_t pos = begin + 1;

	for (end--; pos < end;) {
		size_t n = plain_run(text, pos, end);
		char piece[4];

		gq_buf_add(out, text + pos, n);
		pos += n;
		if (pos >= end)
			break;
		n = decode_escape(text, &pos, end, piece);
		gq_buf_add(out, piece, n);
	}
}

bool gq_json_string_is(const char *text, size_t begin, size_t end, const char *s, size_t n)
{
	size_t pos = begin + 1;

	for (end--; pos < end;) {
		size_t len = plain_run(text, pos, end);
		char piece[4];
		const char *p = text + pos;

		if (len == 0) {
			len = decode_escape(text, &pos, end, piece);
			p = piece;
		} else {
			pos += len;
		}
		if (len > n || memcmp(p, s, len) != 0)
			return false;
		s += len;
		n -= len;
	}
	return n == 0;
}

bool gq_json_u64(const char *text, size_t begin, size_t end, uint64_t *value)
{
	uint64_t v = 0;

	if (begin >= end)
		return false;
	for (size_t i = begin; i < end; i++) {
		unsigned digit = (unsigned char)text[i] - (unsigned)'0';

		if (digit > 9 || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*value = v;
	return true;
}

bool gq_json_i64(const char *text, size_t begin, size_t end, int64_t *value)
{
	bool negative = begin < end && text[begin] == '-';
	uint64_t v;

	if (!gq_json_u64(text, begin + negative, end, &v) || v > (uint64_t)INT64_MAX + negative)
		return false;
	*value = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}
