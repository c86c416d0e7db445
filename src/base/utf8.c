/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t gq_utf8_next(const char *s, size_t n, uint32_t *codepoint)
{
	const unsigned char *p = (const unsigned char *)s;

	if (n == 0)
		return 0;
	if (p[0] < 0x80) {
		*codepoint = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf && n >= 2 && is_tail(p[1])) {
		*codepoint = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
		return 2;
	}
	if ((p[0] & 0xf0) == 0xe0 && n >= 3 && is_tail(p[1]) && is_tail(p[2])) {
		uint32_t c = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);

		if (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))
			return 0;
		*codepoint = c;
		return 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4 && n >= 4 && is_tail(p[1]) && is_tail(p[2]) && is_tail(p[3])) {
		uint32_t c = (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
			     (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);

		if (c < 0x10000 || c > 0x10ffff)
			return 0;
		*codepoint = c;
		return 4;
	}
	return 0;
}

size_t gq_utf8_valid_prefix(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		uint32_t c;
		uint64_t v[4];
		size_t len;

		/* Headers are almost all ASCII: 32 bytes at a time while no high bit is set. */
		if (n - i >= sizeof(v) &&
		    (memcpy(v, s + i, sizeof(v)), ((v[0] | v[1] | v[2] | v[3]) & 0x8080808080808080u) == 0)) {
			i += sizeof(v);
			continue;
		}
		len = gq_utf8_next(s + i, n - i, &c);
		if (len == 0)
			return i;
		i += len;
	}
	return n;
}
