/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GQ_BASE_UTF8_H
#define GQ_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the code point at s (n bytes left) as Unicode 15 table 3-7 allows: no overlong forms, no surrogates,
 * nothing above U+10FFFF. Returns its length in bytes (1..4) and the code point, or 0 if the bytes are not
 * well-formed or n is 0.
 */
size_t gq_utf8_next(const char *s, size_t n, uint32_t *codepoint);

/* Offset of the first byte that is not part of well-formed UTF-8; n if all is well. */
size_t gq_utf8_valid_prefix(const char *s, size_t n);

#endif
