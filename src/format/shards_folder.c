/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a folder are the model's: those of its index, or all at its top. */
#include "base/file.h"
#include "base/mem.h"
#include "base/tree.h"
#include "format/index.h"
#include "format/shards_private.h"

#include <stdlib.h>
#include <string.h>

static bool is_top_level(const char *name)
{
	return !strchr(name, '/');
}

/* Repacked copies that AutoGPTQ leaves beside the model; no loader takes them for the model. */
static bool is_cache_file(const char *name)
{
	return strncmp(name, "autogptq_model_", 15) == 0;
}

/* The index file to use, or NULL. Two indexes are a problem: loaders would not agree on the model. */
static enum gptq_status pick_index(const char *const *names, size_t n, const char **index, struct gptq_error *err)
{
	*index = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!is_top_level(names[i]) || !gq_has_suffix(names[i], ".safetensors.index.json"))
			continue;
		if (*index)
			return gq_fail(err, GPTQ_E_FORMAT,
				       "two index files, %s and %s, and loaders do not agree on which counts: keep the "
				       "one that belongs to the model",
				       *index, names[i]);
		*index = names[i];
	}
	return GPTQ_OK;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* list is sorted: a folder may hold 100,000 files, and as many shards. */
static bool contains(const char *const *list, size_t n, const char *name)
{
	return n && bsearch(&name, list, n, sizeof(*list), by_string);
}

static enum gptq_status note_strays(struct gq_shards *shards, const char *const *names, size_t n,
				    const char *const *model, size_t n_model, struct gptq_error *err)
{
	for (size_t i = 0; i < n; i++) {
		void *grown;

		if (!gq_has_suffix(names[i], ".safetensors") || contains(model, n_model, names[i]))
			continue;
		grown = gq_array_more(shards->stray, shards->n_stray, sizeof(*shards->stray));
		if (!grown)
			return gq_fail_nomem(err);
		shards->stray = grown;
		shards->stray[shards->n_stray] = gq_strdup(names[i]);
		if (!shards->stray[shards->n_stray])
			return gq_fail_nomem(err);
		shards->n_stray++;
	}
	return GPTQ_OK;
}

/* Without an index: every top-level safetensors file. list has room for n names. */
static size_t list_top_level(const char *const *names, size_t n, const char **list)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (is_top_level(names[i]) && gq_has_suffix(names[i], ".safetensors") && !is_cache_file(names[i]))
			list[k++] = names[i];
	return k;
}

/* Every top-level file, as if there were no index. n: how many were found. */
static enum gptq_status open_top_level(const char *dir, const char *const *names, size_t n_names,
				       struct gq_shards *shards, size_t *n, struct gq_problems *problems,
				       struct gptq_error *err)
{
	const char **list = gq_calloc(n_names, sizeof(*list));
	enum gptq_status status;

	*n = list ? list_top_level(names, n_names, list) : 0;
	status = list ? gq_shards_open_all(dir, list, *n, shards, problems, err) : gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = note_strays(shards, names, n_names, list, *n, err);
	gq_free(list);
	return status;
}

/* An index that cannot be used is a problem; what lies there is looked at all the same. */
static enum gptq_status open_without(const struct gptq_error *why, const char *dir, const char *const *names,
				     size_t n_names, struct gq_shards *shards, struct gq_problems *problems,
				     struct gptq_error *err)
{
	enum gptq_status status = gq_problems_add(problems, GQ_CODE_INDEX_INVALID, why, err);
	size_t n;

	return status == GPTQ_OK ? open_top_level(dir, names, n_names, shards, &n, problems, err) : status;
}

/* By an index that ascends names are found as they are; any other one only tells how many there will be. */
static bool make_room(struct gq_shards *shards)
{
	size_t n = shards->index->n_entries;

	if (!shards->index->ascends)
		return gq_map_reserve(&shards->by_name, (uint32_t)n);
	shards->of_entry = gq_calloc(n, sizeof(*shards->of_entry));
	return shards->of_entry != NULL;
}

static enum gptq_status open_indexed(const char *dir, const char *index_name, const char *const *names, size_t n_names,
				     struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	struct gq_index *index = gq_calloc(1, sizeof(*index));
	struct gptq_error e;
	enum gptq_status status = index ? gq_index_read(dir, index_name, index, &e) : GPTQ_E_NOMEM;

	if (status != GPTQ_OK)
		gq_free(index);
	if (status == GPTQ_E_NOMEM)
		return gq_fail_nomem(err);
	if (status != GPTQ_OK)
		return open_without(&e, dir, names, n_names, shards, problems, err);
	shards->index = index;
	shards->index_name = gq_strdup(index_name);
	if (shards->index_name && make_room(shards))
		status = gq_shards_open_all(dir, (const char *const *)index->files, index->n_files, shards, problems,
					    err);
	else
		status = gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = gq_index_compare(index, shards, problems, err);
	if (status == GPTQ_OK)
		status = note_strays(shards, names, n_names, (const char *const *)index->files, index->n_files, err);
	if (!shards->of_entry)
		gq_shards_drop_index(shards);
	return status;
}

enum gptq_status gq_shards_open_folder(const char *dir, const char *const *names, size_t n_names,
				       struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = gq_shards_begin(shards, err);
	const char *index;
	struct gptq_error e;
	size_t n = 0;

	if (status != GPTQ_OK)
		return status;
	if (pick_index(names, n_names, &index, &e) != GPTQ_OK) {
		gq_error_file(&e, dir);
		status = open_without(&e, dir, names, n_names, shards, problems, err);
	} else if (index) {
		status = open_indexed(dir, index, names, n_names, shards, problems, err);
	} else {
		status = open_top_level(dir, names, n_names, shards, &n, problems, err);
		if (status == GPTQ_OK && n == 0)
			status = gq_fail(err, GPTQ_E_NOTFOUND, "no safetensors file in this folder");
	}
	if (status != GPTQ_OK) {
		gq_error_file(err, dir);
		gq_shards_close(shards);
	}
	return status;
}
