/* SPDX-License-Identifier: Apache-2.0 */
#include "format/shards.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/tree.h"
#include "format/index.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More descriptors than this are not kept open: a checkpoint may have more shards than a process has descriptors. */
#define MAX_OPEN 128

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void close_all(struct gq_shards *shards)
{
	for (size_t i = 0; i < shards->n; i++) {
		if (shards->items[i].fd >= 0)
			close(shards->items[i].fd);
		shards->items[i].fd = -1;
	}
	shards->n_open = 0;
}

enum gptq_status gq_shard_fd(struct gq_shards *shards, uint32_t shard, int *fd, struct gptq_error *err)
{
	struct gq_shard *s = &shards->items[shard];
	enum gptq_status status;
	uint64_t size;
	struct stat st;

	if (s->fd < 0) {
		if (shards->n_open >= MAX_OPEN)
			close_all(shards);
		status = gq_open_read(s->path, &s->fd, &size, err);
		if (status != GPTQ_OK)
			return status;
		shards->n_open++;
	}
	if (fstat(s->fd, &st) != 0)
		return gq_fail_errno(err, errno, s->path, "cannot look at the file");
	if ((uint64_t)st.st_size != s->size || (uint64_t)st.st_dev != s->dev || (uint64_t)st.st_ino != s->ino ||
	    mtime_of(&st) != s->mtime_ns) {
		status = gq_fail(err, GPTQ_E_IO, "the file changed while it was being read");
		gq_error_file(err, s->path);
		return status;
	}
	*fd = s->fd;
	return GPTQ_OK;
}

enum gptq_status gq_tensor_read_at(struct gq_shards *shards, const struct gq_tensor *tensor, uint64_t offset, void *dst,
				   size_t nbytes, struct gptq_error *err)
{
	int fd;
	enum gptq_status status = gq_shard_fd(shards, tensor->shard, &fd, err);

	if (status != GPTQ_OK)
		return status;
	return gq_pread_full(fd, dst, nbytes, tensor->offset + offset, shards->items[tensor->shard].path, err);
}

static enum gq_code code_of_fault(enum gq_st_fault fault)
{
	switch ((int)fault) {
	case GQ_ST_SHORT:
		return GQ_CODE_SHARD_SHORT;
	case GQ_ST_TRAILING:
		return GQ_CODE_SHARD_TRAILING_BYTES;
	case GQ_ST_LFS:
		return GQ_CODE_LFS_POINTER;
	case GQ_ST_NOT_SAFETENSORS:
		return GQ_CODE_NOT_SAFETENSORS;
	default:
		return GQ_CODE_SHARD_UNREADABLE;
	}
}

/* Reads the header of one shard; what is wrong with it becomes a problem. */
static enum gptq_status read_header(struct gq_shards *shards, uint32_t i, struct gq_problems *problems,
				    struct gptq_error *err)
{
	struct gq_shard *s = &shards->items[i];
	struct gq_st_diagnosis diagnosis = {.fault = GQ_ST_SYSTEM};
	struct gptq_error e;
	enum gptq_status status;
	struct stat st;
	enum gq_code code;

	status = gq_open_read(s->path, &s->fd, &s->size, &e);
	if (status == GPTQ_OK && fstat(s->fd, &st) != 0)
		status = gq_fail_errno(&e, errno, s->path, "cannot look at the file");
	if (status == GPTQ_OK) {
		shards->n_open++;
		s->size = (uint64_t)st.st_size;
		s->dev = (uint64_t)st.st_dev;
		s->ino = (uint64_t)st.st_ino;
		s->mtime_ns = mtime_of(&st);
		status = gq_st_open(s->fd, s->size, s->path, NULL, &s->st, &diagnosis, &e);
		if (shards->n_open > MAX_OPEN)
			close_all(shards);
	}
	if (status == GPTQ_OK)
		return GPTQ_OK;
	if (status == GPTQ_E_NOMEM)
		return gq_fail_nomem(err);
	code = status == GPTQ_E_NOTFOUND ? GQ_CODE_SHARD_MISSING : code_of_fault(diagnosis.fault);
	if (code == GQ_CODE_SHARD_MISSING) {
		gq_fail(&e, GPTQ_E_NOTFOUND, "the index names this shard, but it is not there");
		gq_error_file(&e, s->path);
	}
	return gq_problems_add(problems, code, &e, err);
}

static enum gptq_status two_shards(struct gq_shards *shards, const struct gq_tensor *a, const struct gq_tensor *b,
				   uint64_t n_more, struct gq_problems *problems, struct gptq_error *err)
{
	struct gptq_error e;

	gq_fail(&e, GPTQ_E_FORMAT, "the same tensor is also in %s%s; %s", shards->items[b->shard].name,
		n_more ? ", and so are others: the files are not one model" : "",
		shards->index_name ? "take one of them out" : "move the file that is not the model's elsewhere");
	gq_error_tensor(&e, a->name, a->name_len);
	gq_error_file(&e, shards->items[a->shard].path);
	return gq_problems_add(problems, GQ_CODE_TENSOR_IN_TWO_SHARDS, &e, err);
}

/* One table of all tensors, with a map from their names. */
static enum gptq_status gather(struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	const struct gq_tensor *twice = NULL, *first = NULL;
	uint64_t n = 0, n_twice = 0;

	for (size_t i = 0; i < shards->n; i++)
		n += shards->items[i].st ? shards->items[i].st->n_tensors : 0;
	if (n >= UINT32_MAX)
		return gq_fail(err, GPTQ_E_LIMIT, "more than 2^32 tensors");
	shards->tensors = gq_calloc((size_t)n, sizeof(*shards->tensors));
	if (!shards->tensors)
		return gq_fail_nomem(err);
	for (uint32_t i = 0; i < shards->n; i++) {
		const struct gq_st *st = shards->items[i].st;

		for (size_t j = 0; st && j < st->n_tensors; j++) {
			const struct gq_st_tensor *t = &st->tensors[j];
			struct gq_tensor *to = &shards->tensors[shards->n_tensors];
			uint32_t old;

			*to = (struct gq_tensor){.name = t->name,
						 .name_len = t->name_size,
						 .dtype = t->dtype,
						 .rank = t->rank,
						 .shape = t->shape,
						 .offset = st->data_start + t->begin,
						 .nbytes = t->end - t->begin,
						 .shard = i};
			switch (gq_map_insert(&shards->by_name, to->name, to->name_len, (uint32_t)shards->n_tensors,
					      &old)) {
			case GQ_MAP_NOMEM:
				return gq_fail_nomem(err);
			case GQ_MAP_OLD:
				if (n_twice++ == 0) {
					first = &shards->tensors[old];
					twice = to;
				}
				break;
			case GQ_MAP_NEW:
				break;
			}
			shards->n_tensors++;
		}
	}
	return n_twice ? two_shards(shards, twice, first, n_twice - 1, problems, err) : GPTQ_OK;
}

const struct gq_tensor *gq_shards_find(const struct gq_shards *shards, const char *name, size_t n)
{
	uint32_t i;

	return gq_map_find(&shards->by_name, name, n, &i) ? &shards->tensors[i] : NULL;
}

static enum gptq_status open_all(const char *dir, const char *const *names, size_t n, struct gq_shards *shards,
				 struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	shards->items = gq_calloc(n, sizeof(*shards->items));
	if (!shards->items)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n && status == GPTQ_OK; i++) {
		struct gq_shard *s = &shards->items[shards->n++];

		s->fd = -1;
		s->path = dir ? gq_path_join(dir, names[i]) : gq_strdup(names[i]);
		s->name = gq_strdup(dir ? names[i] : gq_path_base(names[i]));
		status = s->path && s->name ? read_header(shards, (uint32_t)i, problems, err) : gq_fail_nomem(err);
	}
	return status == GPTQ_OK ? gather(shards, problems, err) : status;
}

enum gptq_status gq_shards_open_files(const char *dir, const char *const *names, size_t n_names,
				      struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status;

	*shards = (struct gq_shards){0};
	gq_map_init(&shards->by_name);
	status = open_all(dir, names, n_names, shards, problems, err);
	if (status != GPTQ_OK)
		gq_shards_close(shards);
	return status;
}

enum gptq_status gq_shards_adopt(struct gq_st *st, const char *name, struct gq_shards *shards,
				 struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	*shards = (struct gq_shards){0};
	gq_map_init(&shards->by_name);
	shards->items = gq_calloc(1, sizeof(*shards->items));
	if (!shards->items) {
		gq_st_free(st);
		return gq_fail_nomem(err);
	}
	shards->n = 1;
	shards->items[0] = (struct gq_shard){.fd = -1, .st = st, .path = gq_strdup(name), .name = gq_strdup(name)};
	status = shards->items[0].path && shards->items[0].name ? gather(shards, problems, err) : gq_fail_nomem(err);
	if (status != GPTQ_OK)
		gq_shards_close(shards);
	return status;
}

bool gq_shards_hold_qzeros(const struct gq_shards *shards)
{
	for (size_t i = 0; i < shards->n_tensors; i++) {
		const struct gq_tensor *t = &shards->tensors[i];

		if ((t->name_len == 6 || (t->name_len > 6 && t->name[t->name_len - 7] == '.')) &&
		    memcmp(t->name + t->name_len - 6, "qzeros", 6) == 0)
			return true;
	}
	return false;
}

void gq_shards_close(struct gq_shards *shards)
{
	close_all(shards);
	for (size_t i = 0; i < shards->n; i++) {
		gq_st_free(shards->items[i].st);
		gq_free(shards->items[i].path);
		gq_free(shards->items[i].name);
	}
	for (size_t i = 0; i < shards->n_stray; i++)
		gq_free(shards->stray[i]);
	gq_free(shards->stray);
	gq_free(shards->items);
	gq_free(shards->tensors);
	gq_map_free(&shards->by_name);
	gq_free(shards->index_name);
	*shards = (struct gq_shards){0};
}

/* ------------------------------------------------------------------------------------------------- folders */

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

static bool contains(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static enum gptq_status note_strays(struct gq_shards *shards, const char *const *names, size_t n,
				    const char *const *model, size_t n_model, struct gptq_error *err)
{
	for (size_t i = 0; i < n; i++) {
		void *grown;

		if (!gq_has_suffix(names[i], ".safetensors") || contains(model, n_model, names[i]))
			continue;
		grown = gq_realloc_array(shards->stray, shards->n_stray + 1, sizeof(*shards->stray));
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

static enum gptq_status open_indexed(const char *dir, const char *index_name, const char *const *names, size_t n_names,
				     struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	struct gq_index index;
	struct gptq_error e;
	enum gptq_status status = gq_index_read(dir, index_name, &index, &e);

	if (status == GPTQ_E_NOMEM)
		return gq_fail_nomem(err);
	if (status != GPTQ_OK)
		return gq_problems_add(problems, GQ_CODE_INDEX_INVALID, &e, err);
	shards->index_name = gq_strdup(index_name);
	status = shards->index_name ? open_all(dir, (const char *const *)index.files, index.n_files, shards, problems, err)
				    : gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = gq_index_compare(&index, shards, problems, err);
	if (status == GPTQ_OK)
		status = note_strays(shards, names, n_names, (const char *const *)index.files, index.n_files, err);
	gq_index_free(&index);
	return status;
}

enum gptq_status gq_shards_open_folder(const char *dir, const char *const *names, size_t n_names,
				       struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status;
	const char *index, **list = NULL;
	size_t n = 0;

	*shards = (struct gq_shards){0};
	gq_map_init(&shards->by_name);
	status = pick_index(names, n_names, &index, err);
	if (status == GPTQ_OK && index) {
		status = open_indexed(dir, index, names, n_names, shards, problems, err);
	} else if (status == GPTQ_OK) {
		list = gq_calloc(n_names, sizeof(*list));
		n = list ? list_top_level(names, n_names, list) : 0;
		if (!list)
			status = gq_fail_nomem(err);
		else if (n == 0)
			status = gq_fail(err, GPTQ_E_NOTFOUND, "no safetensors file in this folder");
		else
			status = open_all(dir, list, n, shards, problems, err);
		if (status == GPTQ_OK)
			status = note_strays(shards, names, n_names, list, n, err);
	}
	gq_free(list);
	if (status != GPTQ_OK) {
		gq_error_file(err, dir);
		gq_shards_close(shards);
	}
	return status;
}
