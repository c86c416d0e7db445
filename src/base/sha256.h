/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of bytes as they pass by. */
#ifndef GQ_BASE_SHA256_H
#define GQ_BASE_SHA256_H

#include "gptq/gptq.h"

#define GQ_SHA256_HEX 65 /* with the NUL */

struct gq_sha256 {
	void *state; /* libcrypto's */
};

/* Begins anew, also a digest that was ended or given up. GPTQ_E_NOMEM. */
enum gptq_status gq_sha256_begin(struct gq_sha256 *d, struct gptq_error *err);
enum gptq_status gq_sha256_add(struct gq_sha256 *d, const void *data, size_t n, struct gptq_error *err);
/* The digest in lower-case hexadecimal. */
enum gptq_status gq_sha256_end(struct gq_sha256 *d, char hex[GQ_SHA256_HEX], struct gptq_error *err);
/* Safe on a zeroed struct. */
void gq_sha256_free(struct gq_sha256 *d);

#endif
