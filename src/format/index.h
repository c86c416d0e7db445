/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a sharded checkpoint: {"metadata": {...}, "weight_map": {tensor name: shard file}}. */
#ifndef GQ_FORMAT_INDEX_H
#define GQ_FORMAT_INDEX_H

#include "base/json.h"
#include "format/shards.h"

struct gq_index {
	char *name; /* its path, for messages */
	char *text; /* the names, one behind the other: no JSON any more */
	size_t text_size;
	struct gq_json_tree tree; /* only while it is read, and only if it is not as usual */
	char **files; /* the shards it names, each once, sorted */
	size_t n_files;
	struct gq_index_entry {
		uint32_t at; /* in text: the tensor's name, unescaped, NUL-terminated, may hold NUL */
		uint32_t tensor_len;
		uint32_t file; /* index in files */
	} *entries;
	size_t n_entries;
	bool ascends; /* each name after the one before it, byte by byte */
};

static inline const char *gq_index_name(const struct gq_index *index, const struct gq_index_entry *e)
{
	return index->text + e->at;
}

/*
 * Reads and checks dir/name. Every shard name must be one plain component that ends in ".safetensors".
 * GPTQ_E_FORMAT for anything else, with file and offset; GPTQ_E_IO; GPTQ_E_LIMIT; GPTQ_E_NOMEM.
 */
enum gptq_status gq_index_read(const char *dir, const char *name, struct gq_index *index, struct gptq_error *err);
void gq_index_free(struct gq_index *index);

/* The entry of that name, in an index that ascends. */
bool gq_index_find(const struct gq_index *index, const char *name, size_t n, size_t *entry);

/* The same for someone who asks for names in nearly the same order: *next is where the last one was found, plus 1. */
bool gq_index_find_next(const struct gq_index *index, const char *name, size_t n, size_t *next);

/* Compares with the shards that were opened from it (same order as index->files); differences become problems. */
enum gptq_status gq_index_compare(const struct gq_index *index, const struct gq_shards *shards,
				  struct gq_problems *problems, struct gptq_error *err);

#endif
