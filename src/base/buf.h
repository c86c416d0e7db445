/* SPDX-License-Identifier: Apache-2.0 */
/* A growable run of bytes that is always NUL-terminated behind its last byte. */
#ifndef GQ_BASE_BUF_H
#define GQ_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct gq_buf {
	char *data; /* NULL while empty */
	size_t size;
	size_t capacity;
	bool failed; /* an append ran out of memory: data is what came before */
};

/* Appends; after the first failure all later appends do nothing, so one test of `failed` at the end is enough. */
void gq_buf_add(struct gq_buf *buf, const void *data, size_t n);
void gq_buf_puts(struct gq_buf *buf, const char *s);
__attribute__((format(printf, 2, 3))) void gq_buf_printf(struct gq_buf *buf, const char *fmt, ...);
void gq_buf_free(struct gq_buf *buf);

#endif
