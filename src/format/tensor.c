/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor's name says, and a header's text a second time. */
#include "base/file.h"
#include "base/mem.h"
#include "format/index.h"

#include <string.h>

bool gq_shards_hold_qzeros(const struct gq_shards *shards)
{
	size_t module_len;

	for (size_t i = 0; i < shards->n_tensors; i++)
		if (gq_tensor_is(&shards->tensors[i], "qzeros", &module_len))
			return true;
	return false;
}

char *gq_shards_kept_name(const struct gq_shards *shards, const struct gq_tensor *tensor)
{
	uintptr_t begin, at = (uintptr_t)tensor->name;

	if (!shards->of_entry)
		return NULL;
	begin = (uintptr_t)shards->index->text;
	return at >= begin && at - begin < shards->index->text_size ? shards->index->text + (at - begin) : NULL;
}

char *gq_shards_take_names(struct gq_shards *shards)
{
	char *names = shards->index ? shards->index->text : NULL;

	if (names)
		shards->index->text = NULL;
	return names;
}

enum gptq_status gq_shard_header(struct gq_shards *shards, uint32_t shard, struct gptq_error *err)
{
	struct gq_st *st = shards->items[shard].st;
	enum gptq_status status;
	char *text;
	int fd;

	if (st->header)
		return GPTQ_OK;
	text = gq_malloc_array((size_t)st->header_size, 1);
	if (!text)
		return gq_fail_nomem(err);
	status = gq_shard_fd(shards, shard, &fd, err);
	if (status == GPTQ_OK)
		status = gq_pread_full(fd, text, (size_t)st->header_size, 8, shards->items[shard].path, err);
	if (status == GPTQ_OK)
		st->header = text;
	else
		gq_free(text);
	return status;
}

void gq_shard_drop_header(struct gq_shards *shards, uint32_t shard)
{
	gq_free(shards->items[shard].st->header);
	shards->items[shard].st->header = NULL;
}

const struct gq_tensor *gq_shards_find(const struct gq_shards *shards, const char *name, size_t n)
{
	uint32_t i;
	size_t entry;

	if (shards->of_entry && gq_index_find(shards->index, name, n, &entry))
		return shards->of_entry[entry] ? &shards->tensors[shards->of_entry[entry] - 1] : NULL;
	return gq_map_find(&shards->by_name, name, n, &i) ? &shards->tensors[i] : NULL;
}

const struct gq_tensor *gq_shards_guess(const struct gq_shards *shards, size_t i, const char *name, size_t n)
{
	const struct gq_tensor *t;

	/* Fewer names than there are tensors: some stand twice, and this may be the second of them. */
	if (i >= shards->n_tensors || shards->n_names != shards->n_tensors)
		return NULL;
	t = &shards->tensors[i];
	if (t->name_len != n)
		return NULL;
	return n == 0 || memcmp(t->name, name, n) == 0 ? t : NULL;
}
