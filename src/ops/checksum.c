/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of tensors, and of the blobs of a hub cache, whose names are their digests. */
#include "base/copy.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/inspect_internal.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
	const char *file = in->source.shards.items[t->shard].name;
	struct digest d;
	enum gptq_status status = digest_begin(&d, md, err);

	for (uint64_t at = 0; at < t->nbytes && status == GPTQ_OK; at += BUFFER_SIZE) {
		size_t n = t->nbytes - at < BUFFER_SIZE ? (size_t)(t->nbytes - at) : BUFFER_SIZE;

		status = gq_check_cancel(in->options->hooks, err);
		if (status == GPTQ_OK)
			status = gq_tensor_read_at(&in->source.shards, t, at, buffer, n, err);
		if (status != GPTQ_OK)
			break;
		digest_add(&d, buffer, n);
		gq_step_done(in, file, n);
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
		if (status != GPTQ_OK)
			break;
		digest_add(&d, buffer, n);
		gq_step_done(in, gq_path_base(path), n);
	}
	if (status == GPTQ_OK)
		digest_end(&d, hex);
	EVP_MD_CTX_free(d.ctx);
	close(fd);
	return status;
}

/* What is done with each link into a cache's blobs; place: how the checkpoint calls it, name: the blob's. */
typedef enum gptq_status (*blob_fn)(struct gq_inspection *in, const char *path, const char *place, const char *name,
				    void *ctx, struct gptq_error *err);

static enum gptq_status count_blob(struct gq_inspection *in, const char *path, const char *place, const char *name,
				   void *ctx, struct gptq_error *err)
{
	uint64_t *nbytes = ctx;
	struct stat st;

	(void)in, (void)place, (void)name, (void)err;
	*nbytes += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
	return GPTQ_OK;
}

static enum gptq_status check_blob(struct gq_inspection *in, const char *path, const char *place, const char *name,
				   void *ctx, struct gptq_error *err)
{
	char hex[2 * EVP_MAX_MD_SIZE + 1];
	enum gptq_status status = digest_blob(in, path, name, ctx, hex, err);

	if (status != GPTQ_OK || strcmp(hex, name) == 0)
		return status;
	return gq_find(in, GQ_CODE_BLOB_HASH_MISMATCH, place, err,
		       "the blob's name promises the digest %s, but its bytes have %s: it is damaged or was changed; "
		       "delete it "
		       "and download it again",
		       name, hex);
}

/* A link into a cache's blobs: its target's name is the digest of its bytes. Anything else is none of ours. */
static enum gptq_status with_blob(struct gq_inspection *in, const char *path, const char *place, blob_fn fn, void *ctx,
				  struct gptq_error *err)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *name;

	if (n <= 0)
		return GPTQ_OK;
	target[n] = '\0';
	name = gq_path_base(target);
	if (!strstr(target, "blobs/") || !(is_hex(name, 64) || is_hex(name, 40)))
		return GPTQ_OK;
	return fn(in, path, place, name, ctx, err);
}

static enum gptq_status with_blobs(struct gq_inspection *in, blob_fn fn, void *ctx, struct gptq_error *err)
{
	const struct gq_tree *tree = &in->source.tree;
	enum gptq_status status = GPTQ_OK;

	if (in->source.file)
		return with_blob(in, in->source.file, gq_path_base(in->source.file), fn, ctx, err);
	for (size_t i = 0; i < tree->n_entries && status == GPTQ_OK; i++) {
		const struct gq_tree_entry *e = &tree->entries[i];
		char *path;

		if (!e->is_link || e->is_dir || !e->ino)
			continue;
		path = gq_path_join(in->source.dir, e->path);
		status = path ? with_blob(in, path, e->path, fn, ctx, err) : gq_fail_nomem(err);
		gq_free(path);
	}
	return status;
}

static bool is_asked_for(const struct gq_inspection *in)
{
	return in->options->checksum != GPTQ_CHECKSUM_NONE && in->report->kind != GPTQ_KIND_STREAM;
}

enum gptq_status gq_checksum_bytes(struct gq_inspection *in, uint64_t *nbytes, struct gptq_error *err)
{
	*nbytes = 0;
	if (!is_asked_for(in))
		return GPTQ_OK;
	for (size_t i = 0; i < in->source.shards.n_tensors && in->options->tensors; i++)
		*nbytes += in->source.shards.tensors[i].nbytes;
	return in->options->checksum == GPTQ_CHECKSUM_SHA256 ? with_blobs(in, count_blob, nbytes, err) : GPTQ_OK;
}

enum gptq_status gq_inspect_checksums(struct gq_inspection *in, struct gptq_error *err)
{
	const EVP_MD *md = in->options->checksum == GPTQ_CHECKSUM_SHA256 ? EVP_sha256() : NULL;
	struct gptq_inspect_report *r = in->report;
	enum gptq_status status = GPTQ_OK;
	unsigned char *buffer;

	if (!is_asked_for(in))
		return GPTQ_OK;
	(void)gq_step_begin(in, in->steps.checksums);
	buffer = gq_malloc_array(BUFFER_SIZE, 1);
	if (!buffer)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < r->n_tensors && status == GPTQ_OK; i++) {
		char hex[2 * EVP_MAX_MD_SIZE + 1];

		status = digest_tensor(in, &in->source.shards.tensors[i], md, buffer, hex, err);
		if (status == GPTQ_OK && !(r->tensors[i].digest = gq_strdup(hex)))
			status = gq_fail_nomem(err);
	}
	if (status == GPTQ_OK && md)
		status = with_blobs(in, check_blob, buffer, err);
	gq_free(buffer);
	return status;
}
