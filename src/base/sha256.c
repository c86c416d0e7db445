/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include "base/error.h"

#include <openssl/evp.h>
#include <stdio.h>

enum gptq_status gq_sha256_begin(struct gq_sha256 *d, struct gptq_error *err)
{
	if (!d->state)
		d->state = EVP_MD_CTX_new();
	if (!d->state || !EVP_DigestInit_ex(d->state, EVP_sha256(), NULL))
		return gq_fail_nomem(err);
	return GPTQ_OK;
}

enum gptq_status gq_sha256_add(struct gq_sha256 *d, const void *data, size_t n, struct gptq_error *err)
{
	return EVP_DigestUpdate(d->state, data, n) ? GPTQ_OK : gq_fail(err, GPTQ_E_NOMEM, "the digest failed");
}

enum gptq_status gq_sha256_end(struct gq_sha256 *d, char hex[GQ_SHA256_HEX], struct gptq_error *err)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!EVP_DigestFinal_ex(d->state, sum, &n) || n != (GQ_SHA256_HEX - 1) / 2)
		return gq_fail(err, GPTQ_E_NOMEM, "the digest failed");
	for (unsigned i = 0; i < n; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", sum[i]);
	return GPTQ_OK;
}

void gq_sha256_free(struct gq_sha256 *d)
{
	EVP_MD_CTX_free(d->state);
	d->state = NULL;
}
