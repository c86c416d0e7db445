/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling struct gptq_error. The place that finds the fault calls gq_fail() and adds what it knows (tensor,
 * offset, found, expected); callers further out add only what is still empty (the file). First error wins.
 */
#ifndef GQ_BASE_ERROR_H
#define GQ_BASE_ERROR_H

#include "gptq/gptq.h"

#include <stdarg.h>
#include <stdbool.h>

/* Clears err, sets status and message; returns status, so that `return gq_fail(err, ...)` reads well. */
__attribute__((format(printf, 3, 4))) enum gptq_status gq_fail(struct gptq_error *err, enum gptq_status status,
							       const char *fmt, ...);

/* As gq_fail with GPTQ_E_IO and the reason of sys_errno added (ENOMEM gives GPTQ_E_NOMEM). */
__attribute__((format(printf, 4, 5))) enum gptq_status gq_fail_errno(struct gptq_error *err, int sys_errno,
								     const char *file, const char *fmt, ...);

enum gptq_status gq_fail_nomem(struct gptq_error *err);

/* Details; err may be NULL. The *_file variant sets the file only if none is set yet. */
void gq_error_file(struct gptq_error *err, const char *file);
void gq_error_tensor(struct gptq_error *err, const char *name, size_t length);
void gq_error_offset(struct gptq_error *err, uint64_t offset);
__attribute__((format(printf, 2, 3))) void gq_error_found(struct gptq_error *err, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void gq_error_expected(struct gptq_error *err, const char *fmt, ...);

/* Printable ASCII alone, as nearly all names are: gq_mask() leaves it as it is. */
bool gq_is_plain(const char *s, size_t n);

/*
 * Copies n bytes of s into dst (size bytes, NUL-terminated) for people: control characters (C0, DEL, C1,
 * and the bidirectional and zero-width ones that can disguise a name) and invalid UTF-8 become \xNN or \u{N};
 * what does not fit ends in "...". With keep_newlines, '\n' stays.
 */
void gq_mask(char *dst, size_t size, const char *s, size_t n, bool keep_newlines);

#endif
