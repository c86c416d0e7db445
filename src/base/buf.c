/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool reserve(struct gq_buf *buf, size_t extra)
{
	size_t want, capacity = buf->capacity ? buf->capacity : 256;
	char *data;

	if (buf->failed)
		return false;
	if (extra > SIZE_MAX / 4 - buf->size) {
		buf->failed = true;
		return false;
	}
	want = buf->size + extra + 1;
	if (want <= buf->capacity)
		return true;
	while (capacity < want)
		capacity *= 2;
	data = gq_realloc_array(buf->data, capacity, 1);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->capacity = capacity;
	return true;
}

void gq_buf_add(struct gq_buf *buf, const void *data, size_t n)
{
	if (!reserve(buf, n))
		return;
	if (n)
		memcpy(buf->data + buf->size, data, n);
	buf->size += n;
	buf->data[buf->size] = '\0';
}

void gq_buf_puts(struct gq_buf *buf, const char *s)
{
	gq_buf_add(buf, s, strlen(s));
}

void gq_buf_printf(struct gq_buf *buf, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(buf, (size_t)n)) {
		buf->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(buf->data + buf->size, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf->size += (size_t)n;
}

void gq_buf_free(struct gq_buf *buf)
{
	gq_free(buf->data);
	memset(buf, 0, sizeof(*buf));
}
