/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of tensors, and of the blobs of a hub cache, whose names are their digests. */
#include "base/copy.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/inspect_internal.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_SIZE ((size_t)1 << 20)

/* Either kind of digest behind one face. */
struct digest {
	EVP_MD_CTX *ctx; /* NULL for CRC-32 */
	uint32_t crc;
};

static enum gptq_status digest_begin(struct digest *d, const EVP_MD *md, struct gptq_error *err)
{
	*d = (struct digest){.crc = (uint32_t)crc32(0, NULL, 0)};
	if (!md)
		return GPTQ_OK;
	d->ctx = EVP_MD_CTX_new();
	if (!d->ctx || !EVP_DigestInit_ex(d->ctx, md, NULL))
		return gq_fail_nomem(err);
	return GPTQ_OK;
}

static void digest_add(struct digest *d, const void *data, size_t n)
{
	if (d->ctx)
		EVP_DigestUpdate(d->ctx, data, n);
	else
		d->crc = (uint32_t)crc32_z(d->crc, data, n);
}

/* Lower-case hex into hex (at least 2 * EVP_MAX_MD_SIZE + 1 bytes). */
static void digest_end(struct digest *d, char *hex)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!d->ctx) {
		sprintf(hex, "%08x", d->crc);
		return;
	}
	EVP_DigestFinal_ex(d->ctx, sum, &n);
	for (unsigned i = 0; i < n; i++)
		sprintf(hex + 2 * (size_t)i, "%02x", sum[i]);
	EVP_MD_CTX_free(d->ctx);
	d->ctx = NULL;
}

static enum gptq_status digest_tensor(struct gq_inspection *in, const struct gq_tensor *t, const EVP_MD *md,
				      unsigned char *buffer, char *hex, struct gptq_error *err)
{
	struct digest d;
	enum gptq_status status = digest_begin(&d, md, err);

	for (uint64_t at = 0; at < t->nbytes && status == GPTQ_OK; at += BUFFER_SIZE) {
		size_t n = t->nbytes - at < BUFFER_SIZE ? (size_t)(t->nbytes - at) : BUFFER_SIZE;

		status = gq_check_cancel(in->options->hooks, err);
		if (status == GPTQ_OK)
			status = gq_tensor_read_at(&in->source.shards, t, at, buffer, n, err);
		if (status == GPTQ_OK)
			digest_add(&d, buffer, n);
	}
	if (status == GPTQ_OK)
		digest_end(&d, hex);
	EVP_MD_CTX_free(d.ctx);
	return status;
}

static bool is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* The digest that a blob's name claims: SHA-256 of its bytes, or Git's SHA-1 of "blob SIZE\0" and its bytes. */
static enum gptq_status digest_blob(struct gq_inspection *in, const char *path, const char *name, unsigned char *buffer,
				    char *hex, struct gptq_error *err)
{
	bool git = strlen(name) == 40;
	struct digest d = {0};
	uint64_t size;
	int fd;
	enum gptq_status status = gq_open_read(path, &fd, &size, err);

	if (status != GPTQ_OK)
		return status;
	status = digest_begin(&d, git ? EVP_sha1() : EVP_sha256(), err);
	if (status == GPTQ_OK && git) {
		char head[48];

		digest_add(&d, head, (size_t)snprintf(head, sizeof(head), "blob %llu", (unsigned long long)size) + 1);
	}
	for (uint64_t at = 0; at < size && status == GPTQ_OK; at += BUFFER_SIZE) {
		size_t n = size - at < BUFFER_SIZE ? (size_t)(size - at) : BUFFER_SIZE;

		status = gq_check_cancel(in->options->hooks, err);
		if (status == GPTQ_OK)
			status = gq_pread_full(fd, buffer, n, at, path, err);
		if (status == GPTQ_OK)
			digest_add(&d, buffer, n);
	}
	if (status == GPTQ_OK)
		digest_end(&d, hex);
	EVP_MD_CTX_free(d.ctx);
	close(fd);
	return status;
}

/* A link into a cache's blobs: its target's name is the digest of its bytes. */
static enum gptq_status check_blob(struct gq_inspection *in, const struct gq_tree_entry *e, unsigned char *buffer,
				   struct gptq_error *err)
{
	char target[4096], hex[2 * EVP_MAX_MD_SIZE + 1];
	char *path = gq_path_join(in->source.dir, e->path);
	const char *name;
	enum gptq_status status = GPTQ_OK;
	ssize_t n = path ? readlink(path, target, sizeof(target) - 1) : -1;

	if (!path)
		return gq_fail_nomem(err);
	if (n > 0) {
		target[n] = '\0';
		name = gq_path_base(target);
		if (strstr(target, "blobs/") && (is_hex(name, 64) || is_hex(name, 40))) {
			status = digest_blob(in, path, name, buffer, hex, err);
			if (status == GPTQ_OK && strcmp(hex, name) != 0)
				status = gq_find(in, GQ_CODE_BLOB_HASH_MISMATCH, e->path, err,
						 "the blob's name promises %s, but its bytes give %s: it is damaged or was "
						 "changed; delete it and download it again",
						 name, hex);
		}
	}
	gq_free(path);
	return status;
}

enum gptq_status gq_inspect_checksums(struct gq_inspection *in, struct gptq_error *err)
{
	const EVP_MD *md = in->options->checksum == GPTQ_CHECKSUM_SHA256 ? EVP_sha256() : NULL;
	struct gptq_inspect_report *r = in->report;
	const struct gq_tree *tree = &in->source.tree;
	enum gptq_status status = GPTQ_OK;
	unsigned char *buffer;

	if (in->options->checksum == GPTQ_CHECKSUM_NONE || r->kind == GPTQ_KIND_STREAM)
		return GPTQ_OK;
	buffer = gq_malloc_array(BUFFER_SIZE, 1);
	if (!buffer)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < r->n_tensors && status == GPTQ_OK; i++) {
		char hex[2 * EVP_MAX_MD_SIZE + 1];

		status = digest_tensor(in, &in->source.shards.tensors[i], md, buffer, hex, err);
		if (status == GPTQ_OK && !(r->tensors[i].digest = gq_strdup(hex)))
			status = gq_fail_nomem(err);
	}
	for (size_t i = 0; i < tree->n_entries && md && status == GPTQ_OK; i++)
		if (tree->entries[i].is_link && !tree->entries[i].is_dir && tree->entries[i].ino)
			status = check_blob(in, &tree->entries[i], buffer, err);
	gq_free(buffer);
	return status;
}
