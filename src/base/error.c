/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "base/checked.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
	[GPTQ_OK] = "ok",
	[GPTQ_E_NOMEM] = "no-memory",
	[GPTQ_E_IO] = "io",
	[GPTQ_E_FORMAT] = "format",
	[GPTQ_E_UNSUPPORTED] = "unsupported",
	[GPTQ_E_ARG] = "argument",
	[GPTQ_E_LIMIT] = "limit",
	[GPTQ_E_NOTFOUND] = "not-found",
	[GPTQ_E_REFUSED] = "refused",
	[GPTQ_E_MISMATCH] = "mismatch",
	[GPTQ_E_CANCELLED] = "cancelled",
};

const char *gptq_status_name(enum gptq_status status)
{
	size_t n = sizeof(status_names) / sizeof(status_names[0]);

	return (size_t)status < n ? status_names[status] : "unknown";
}

/* Characters that move or hide others on a terminal: never shown as they are. */
static bool is_deceptive(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

bool gq_is_plain(const char *s, size_t n)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	bool plain = true;

	/* Eight bytes at a time: the highest bit of one is set, or comes to be when 0x20 is taken away or 1 is added. */
	for (; n >= 8 && plain; n -= 8, s += 8) {
		uint64_t v = gq_load_le64(s);

		plain = ((v | (v - ones * 0x20) | (v + ones)) & high) == 0;
	}
	for (size_t i = 0; i < n && plain; i++)
		plain = (unsigned char)(s[i] - 0x20) < 0x5f;
	return plain;
}

void gq_mask(char *dst, size_t size, const char *s, size_t n, bool keep_newlines)
{
	size_t used = 0, cut = 0; /* cut: the last place from where "..." still fits */

	if (size == 0)
		return;
	if (n < size && gq_is_plain(s, n)) {
		if (n)
			memcpy(dst, s, n);
		dst[n] = '\0';
		return;
	}
	for (size_t i = 0; i < n;) {
		uint32_t c;
		char piece[16];
		size_t len = gq_utf8_next(s + i, n - i, &c);
		size_t plen;

		if (len == 0) {
			plen = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)s[i]);
			len = 1;
		} else if (is_deceptive(c) && !(keep_newlines && c == '\n')) {
			plen = (size_t)snprintf(piece, sizeof(piece), c < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)c);
		} else {
			plen = len;
			memcpy(piece, s + i, len);
		}
		if (used + 4 <= size)
			cut = used;
		if (used + plen + 1 > size) {
			used = cut;
			for (unsigned k = 0; k < 3 && used + 1 < size; k++)
				dst[used++] = '.';
			break;
		}
		memcpy(dst + used, piece, plen);
		used += plen;
		i += len;
	}
	dst[used] = '\0';
}

void gptq_mask(char *dst, size_t size, const char *s, size_t n)
{
	gq_mask(dst, size, s, n, false);
}

__attribute__((format(printf, 4, 0))) static void set_text(char *dst, size_t size, bool keep_newlines, const char *fmt,
							   va_list ap)
{
	char raw[4096];
	int n = vsnprintf(raw, sizeof(raw), fmt, ap);

	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(raw))
		n = sizeof(raw) - 1;
	gq_mask(dst, size, raw, (size_t)n, keep_newlines);
}

enum gptq_status gq_fail(struct gptq_error *err, enum gptq_status status, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return status;
	memset(err, 0, sizeof(*err));
	err->status = status;
	err->offset = GPTQ_NO_OFFSET;
	va_start(ap, fmt);
	set_text(err->message, sizeof(err->message), true, fmt, ap);
	va_end(ap);
	return status;
}

enum gptq_status gq_fail_errno(struct gptq_error *err, int sys_errno, const char *file, const char *fmt, ...)
{
	enum gptq_status status = sys_errno == ENOMEM ? GPTQ_E_NOMEM : GPTQ_E_IO;
	va_list ap;

	if (!err)
		return status;
	memset(err, 0, sizeof(*err));
	err->status = status;
	err->sys_errno = sys_errno;
	err->offset = GPTQ_NO_OFFSET;
	va_start(ap, fmt);
	set_text(err->message, sizeof(err->message), true, fmt, ap);
	va_end(ap);
	if (sys_errno) {
		size_t used = strlen(err->message);
		char reason[128] = "";

		if (strerror_r(sys_errno, reason, sizeof(reason)) != 0)
			snprintf(reason, sizeof(reason), "errno %d", sys_errno);
		snprintf(err->message + used, sizeof(err->message) - used, "%s%s", used ? ": " : "", reason);
	}
	gq_error_file(err, file);
	return status;
}

enum gptq_status gq_fail_nomem(struct gptq_error *err)
{
	return gq_fail(err, GPTQ_E_NOMEM, "out of memory");
}

void gq_error_file(struct gptq_error *err, const char *file)
{
	if (err && file && !err->file[0])
		gq_mask(err->file, sizeof(err->file), file, strlen(file), false);
}

void gq_error_tensor(struct gptq_error *err, const char *name, size_t length)
{
	if (err)
		gq_mask(err->tensor, sizeof(err->tensor), name, length, false);
}

void gq_error_offset(struct gptq_error *err, uint64_t offset)
{
	if (err)
		err->offset = offset;
}

void gq_error_found(struct gptq_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	set_text(err->found, sizeof(err->found), false, fmt, ap);
	va_end(ap);
}

void gq_error_expected(struct gptq_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	set_text(err->expected, sizeof(err->expected), false, fmt, ap);
	va_end(ap);
}

/* Appends to a snprintf-style cursor: *used keeps counting past the end of dst. */
__attribute__((format(printf, 4, 5))) static void append(char *dst, size_t size, size_t *used, const char *fmt, ...)
{
	va_list ap;
	size_t room = *used < size ? size - *used : 0;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? dst + *used : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		*used += (size_t)n;
}

size_t gptq_error_format(const struct gptq_error *err, char *dst, size_t size)
{
	size_t used = 0;
	const char *sep = " (";

	if (size)
		dst[0] = '\0';
	if (err->file[0])
		append(dst, size, &used, "%s: ", err->file);
	if (err->tensor[0])
		append(dst, size, &used, "tensor \"%s\": ", err->tensor);
	append(dst, size, &used, "%s", err->message);
	if (err->offset != GPTQ_NO_OFFSET) {
		append(dst, size, &used, "%sat byte %llu", sep, (unsigned long long)err->offset);
		sep = "; ";
	}
	if (err->found[0]) {
		append(dst, size, &used, "%sfound %s", sep, err->found);
		sep = "; ";
	}
	if (err->expected[0]) {
		append(dst, size, &used, "%sexpected %s", err->found[0] ? ", " : sep, err->expected);
		sep = "; ";
	}
	if (sep[0] == ';')
		append(dst, size, &used, ")");
	return used;
}
