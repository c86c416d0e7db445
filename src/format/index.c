/* SPDX-License-Identifier: Apache-2.0 */
#include "format/index.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/slurp.h"
#include "base/tree.h"
#include "format/index_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INDEX_BYTES ((size_t)1 << 30) /* places in it are kept in 32 bits */

bool gq_index_is_shard_name(const char *s, size_t n)
{
	return n > 12 && n < 256 && memcmp(s + n - 12, ".safetensors", 12) == 0 && !memchr(s, '/', n) &&
	       !memchr(s, '\\', n) && !memchr(s, '\0', n);
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum gptq_status bad(size_t offset, struct gptq_error *err, const char *what)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_FORMAT, "%s", what);

	gq_error_offset(err, offset);
	return status;
}

enum gptq_status gq_index_file(struct gq_index *index, struct gq_map *map, const char *name, size_t n, uint32_t *number,
			       struct gptq_error *err)
{
	void *grown;

	if (gq_map_find(map, name, n, number))
		return GPTQ_OK;
	grown = gq_array_more(index->files, index->n_files, sizeof(*index->files));
	if (!grown)
		return gq_fail_nomem(err);
	index->files = grown;
	index->files[index->n_files] = gq_strndup(name, n);
	if (!index->files[index->n_files])
		return gq_fail_nomem(err);
	*number = (uint32_t)index->n_files++;
	if (gq_map_insert(map, index->files[*number], n, *number, NULL) == GQ_MAP_NOMEM)
		return gq_fail_nomem(err);
	return GPTQ_OK;
}

/* The name stays where it stands in the text: what it means is never longer than how it is written. */
static void take_name(struct gq_index *index, const struct gq_json_node *node, struct gq_index_entry *e)
{
	e->at = (uint32_t)(node->key_begin + 1);
	e->tensor_len = (uint32_t)(node->key_end - node->key_begin - 2);
	if (node->key_escaped)
		e->tensor_len = (uint32_t)gq_json_unescape_into(index->text, node->key_begin, node->key_end,
								index->text + e->at);
}

static enum gptq_status read_entry(struct gq_index *index, struct gq_map *map, const struct gq_json_node *node,
				   struct gq_buf *name, struct gptq_error *err)
{
	struct gq_index_entry *e = &index->entries[index->n_entries];
	enum gptq_status status;
	char masked[200];

	if (node->type != GQ_JSON_STRING)
		return bad(node->begin, err, "weight_map: the shard of a tensor is no string");
	name->size = 0;
	gq_json_unescape(index->text, node->begin, node->end, name);
	if (name->failed)
		return gq_fail_nomem(err);
	if (!gq_index_is_shard_name(name->data ? name->data : "", name->size)) {
		status = bad(node->begin, err,
			     "weight_map: a shard must be one plain file name that ends in .safetensors");
		gptq_mask(masked, sizeof(masked), name->data ? name->data : "", name->size);
		gq_error_found(err, "\"%s\"", masked);
		return status;
	}
	status = gq_index_file(index, map, name->data, name->size, &e->file, err);
	if (status != GPTQ_OK)
		return status;
	take_name(index, node, e);
	index->n_entries++;
	return GPTQ_OK;
}

/* Sorts the files and renumbers the entries. */
static enum gptq_status sort_files(struct gq_index *index, struct gptq_error *err)
{
	char **sorted = gq_calloc(index->n_files, sizeof(*sorted));
	uint32_t *new_number = gq_calloc(index->n_files, sizeof(*new_number));

	if (!sorted || !new_number) {
		gq_free(sorted);
		gq_free(new_number);
		return gq_fail_nomem(err);
	}
	memcpy(sorted, index->files, index->n_files * sizeof(*sorted));
	qsort(sorted, index->n_files, sizeof(*sorted), by_string);
	for (size_t i = 0; i < index->n_files; i++) {
		char **at = bsearch(&index->files[i], sorted, index->n_files, sizeof(*sorted), by_string);

		new_number[i] = (uint32_t)(at - sorted);
	}
	for (size_t i = 0; i < index->n_entries; i++)
		index->entries[i].file = new_number[index->entries[i].file];
	gq_free(index->files);
	gq_free(new_number);
	index->files = sorted;
	return GPTQ_OK;
}

static enum gptq_status read_map(struct gq_index *index, struct gptq_error *err)
{
	uint32_t map_node = gq_json_get(&index->tree, 0, "weight_map");
	const struct gq_json_node *nodes = index->tree.nodes;
	enum gptq_status status = GPTQ_OK;
	struct gq_buf name = {0};
	struct gq_map map;

	if (!map_node || nodes[map_node].type != GQ_JSON_OBJECT)
		return bad(0, err, "the index has no object \"weight_map\"");
	if (nodes[map_node].n_children == 0)
		return bad(nodes[map_node].begin, err, "weight_map is empty");
	index->entries = gq_malloc_array(nodes[map_node].n_children, sizeof(*index->entries));
	if (!index->entries)
		return gq_fail_nomem(err);
	gq_map_init(&map);
	for (uint32_t i = nodes[map_node].first; i && status == GPTQ_OK; i = nodes[i].next)
		status = read_entry(index, &map, &nodes[i], &name, err);
	gq_map_free(&map);
	gq_buf_free(&name);
	return status;
}

static int compare_name(const struct gq_index *index, const struct gq_index_entry *e, const char *name, size_t n)
{
	return gq_compare_bytes(gq_index_name(index, e), e->tensor_len, name, n);
}

bool gq_index_find(const struct gq_index *index, const char *name, size_t n, size_t *entry)
{
	size_t begin = 0, end = index->n_entries;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		int c = compare_name(index, &index->entries[middle], name, n);

		if (c == 0) {
			*entry = middle;
			return true;
		}
		if (c < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	return false;
}

bool gq_index_find_next(const struct gq_index *index, const char *name, size_t n, size_t *next)
{
	/* A file lists tensors of one width by name, so that a few entries, of other widths, lie between. */
	enum { NEAR = 8 };
	size_t entry;

	for (size_t i = *next; i < index->n_entries && i < *next + NEAR; i++) {
		const struct gq_index_entry *e = &index->entries[i];

		if (e->tensor_len == n && memcmp(gq_index_name(index, e), name, n) == 0) {
			*next = i + 1;
			return true;
		}
	}
	if (!gq_index_find(index, name, n, &entry))
		return false;
	*next = entry + 1;
	return true;
}

/* Moves the names together, and gives back what the rest of the text took: half and more of it. ascends: they do. */
static void keep_names(struct gq_index *index, bool ascends)
{
	struct gq_index_entry *entries;
	size_t used = 0;
	char *text;

	index->ascends = true;
	for (size_t i = 0; i < index->n_entries; i++) {
		struct gq_index_entry *e = &index->entries[i];

		memmove(index->text + used, index->text + e->at, e->tensor_len);
		e->at = (uint32_t)used;
		used += e->tensor_len;
		index->text[used++] = '\0';
		if (!ascends && i && compare_name(index, e - 1, gq_index_name(index, e), e->tensor_len) >= 0)
			index->ascends = false;
	}
	text = gq_realloc_array(index->text, used, 1);
	entries = gq_realloc_array(index->entries, index->n_entries, sizeof(*index->entries));
	index->text = text ? text : index->text;
	index->text_size = used;
	index->entries = entries ? entries : index->entries;
}

enum gptq_status gq_index_read(const char *dir, const char *name, struct gq_index *index, struct gptq_error *err)
{
	enum gptq_status status;
	bool usual = false;
	size_t size = 0;

	memset(index, 0, sizeof(*index));
	index->name = gq_path_join(dir, name);
	if (!index->name)
		return gq_fail_nomem(err);
	status = gq_read_file(index->name, MAX_INDEX_BYTES, &index->text, &size, err);
	if (status == GPTQ_OK)
		status = gq_index_read_usual(index, size, &usual, err);
	if (status == GPTQ_OK && !usual)
		status = gq_json_parse(index->text, size, 0, &index->tree, err);
	if (status == GPTQ_OK && !usual)
		status = read_map(index, err);
	gq_json_tree_free(&index->tree); /* several times as large as the text */
	if (status == GPTQ_OK)
		status = sort_files(index, err);
	if (status == GPTQ_OK) {
		keep_names(index, usual);
	} else {
		gq_error_file(err, index->name);
		gq_index_free(index);
	}
	return status;
}

void gq_index_forget(struct gq_index *index)
{
	for (size_t i = 0; i < index->n_files; i++)
		gq_free(index->files[i]);
	gq_free(index->files);
	gq_free(index->entries);
	index->files = NULL;
	index->entries = NULL;
	index->n_files = index->n_entries = 0;
}

void gq_index_free(struct gq_index *index)
{
	gq_index_forget(index);
	gq_json_tree_free(&index->tree);
	gq_free(index->text);
	gq_free(index->name);
	memset(index, 0, sizeof(*index));
}

static void describe_more(char *dst, size_t size, uint64_t n)
{
	dst[0] = '\0';
	if (n > 1)
		snprintf(dst, size, " (and %llu more)", (unsigned long long)(n - 1));
}

/* Tensors that the index places in a shard that does not hold them; one problem a shard. */
static enum gptq_status missing_in_shard(const struct gq_index *index, const struct gq_shards *shards, uint32_t shard,
					 const struct gq_index_entry *first, uint64_t n, struct gq_problems *problems,
					 struct gptq_error *err)
{
	struct gptq_error e;
	char more[48];

	describe_more(more, sizeof(more), n);
	gq_fail(&e, GPTQ_E_FORMAT, "%s places this tensor%s in the file, but the file has no such tensor",
		gq_path_base(index->name), more);
	gq_error_tensor(&e, gq_index_name(index, first), first->tensor_len);
	gq_error_file(&e, shards->items[shard].path);
	return gq_problems_add(problems, GQ_CODE_INDEX_NAMES_MISSING_TENSOR, &e, err);
}

static enum gptq_status not_in_index(const struct gq_index *index, const struct gq_shards *shards,
				     const struct gq_tensor *first, uint64_t n, struct gq_problems *problems,
				     struct gptq_error *err)
{
	struct gptq_error e;
	char more[48];

	describe_more(more, sizeof(more), n);
	gq_fail(&e, GPTQ_E_FORMAT, "%s does not list this tensor%s of the file; loaders will not see it",
		gq_path_base(index->name), more);
	gq_error_tensor(&e, first->name, first->name_len);
	gq_error_file(&e, shards->items[first->shard].path);
	return gq_problems_add(problems, GQ_CODE_TENSOR_NOT_IN_INDEX, &e, err);
}

/*
 * An index goes by name, a file by width of elements and then by name: so it goes on at one of two places, behind the
 * last tensor or behind the last before the latest jump. next: these two, the later one first.
 */
static const struct gq_tensor *look_up(const struct gq_index *index, const struct gq_shards *shards,
				       const struct gq_index_entry *e, size_t next[2])
{
	const char *name = gq_index_name(index, e);
	size_t n = e->tensor_len;
	const struct gq_tensor *t = gq_shards_guess(shards, next[0], name, n);

	if (t) {
		next[0]++;
		return t;
	}
	t = gq_shards_guess(shards, next[1], name, n);
	if (!t)
		t = gq_shards_find(shards, name, n);
	if (t) {
		next[1] = next[0];
		next[0] = (size_t)(t - shards->tensors) + 1;
	}
	return t;
}

static const struct gq_tensor *of_entry(const struct gq_shards *shards, size_t i)
{
	return shards->of_entry[i] ? &shards->tensors[shards->of_entry[i] - 1] : NULL;
}

enum gptq_status gq_index_compare(const struct gq_index *index, const struct gq_shards *shards,
				  struct gq_problems *problems, struct gptq_error *err)
{
	const struct gq_index_entry **absent = gq_calloc(shards->n, sizeof(*absent));
	uint64_t *n_absent = gq_calloc(shards->n, sizeof(*n_absent));
	bool *listed = gq_calloc(shards->n_tensors, sizeof(*listed));
	enum gptq_status status = absent && n_absent && listed ? GPTQ_OK : gq_fail_nomem(err);
	const struct gq_tensor *unlisted = NULL;
	size_t next[2] = {0, 0};
	uint64_t n_unlisted = 0;

	for (size_t i = 0; i < index->n_entries && status == GPTQ_OK; i++) {
		const struct gq_index_entry *e = &index->entries[i];
		const struct gq_tensor *t = shards->of_entry ? of_entry(shards, i) : look_up(index, shards, e, next);

		if (t && t->shard == e->file)
			listed[t - shards->tensors] = true;
		else if (shards->items[e->file].st && n_absent[e->file]++ == 0) /* a missing shard was reported */
			absent[e->file] = e;
	}
	for (uint32_t i = 0; i < shards->n && status == GPTQ_OK; i++)
		if (n_absent[i])
			status = missing_in_shard(index, shards, i, absent[i], n_absent[i], problems, err);
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++)
		if (!listed[i] && n_unlisted++ == 0)
			unlisted = &shards->tensors[i];
	if (status == GPTQ_OK && n_unlisted)
		status = not_in_index(index, shards, unlisted, n_unlisted, problems, err);
	gq_free(absent);
	gq_free(n_absent);
	gq_free(listed);
	return status;
}
