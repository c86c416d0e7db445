/* SPDX-License-Identifier: Apache-2.0 */
#include "format/shards.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/tree.h"
#include "format/index.h"
#include "format/shards_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More descriptors than this are not kept open: a checkpoint may have more shards than a process has descriptors. */
#define MAX_OPEN 128

/* A look at the file costs as much as a small read, and models of experts have half a million of these. */
#define CHECK_EVERY 16

enum gptq_status gq_shards_begin(struct gq_shards *shards, struct gptq_error *err)
{
	*shards = (struct gq_shards){0};
	gq_map_init(&shards->by_name);
	shards->lock = gq_malloc_array(1, sizeof(*shards->lock));
	if (shards->lock && pthread_mutex_init(shards->lock, NULL) != 0) {
		gq_free(shards->lock);
		shards->lock = NULL;
	}
	return shards->lock ? GPTQ_OK : gq_fail_nomem(err);
}

/* All that nobody reads from. */
static void close_all(struct gq_shards *shards)
{
	for (size_t i = 0; i < shards->n; i++) {
		struct gq_shard *s = &shards->items[i];

		if (s->fd < 0 || s->users > 0)
			continue;
		close(s->fd);
		s->fd = -1;
		shards->n_open--;
	}
}

/* With the lock held. sure: see that the file is what it was, whenever that was done last. */
static enum gptq_status open_shard(struct gq_shards *shards, struct gq_shard *s, bool sure, struct gptq_error *err)
{
	enum gptq_status status;
	bool check = sure;
	uint64_t size;
	struct stat st;

	if (s->fd < 0) {
		if (shards->n_open >= MAX_OPEN)
			close_all(shards);
		status = gq_open_read(s->path, &s->fd, &size, err);
		if (status != GPTQ_OK) {
			s->fd = -1;
			return status;
		}
		shards->n_open++;
		check = true;
	}
	if (!sure) {
		check = check || s->reads++ % CHECK_EVERY == 0;
		s->read = true;
	}
	if (!check)
		return GPTQ_OK;
	if (fstat(s->fd, &st) != 0)
		return gq_fail_errno(err, errno, s->path, "cannot look at the file");
	if ((uint64_t)st.st_size != s->size || (uint64_t)st.st_dev != s->dev || (uint64_t)st.st_ino != s->ino ||
	    gq_time_ns(st.st_mtim) != s->mtime_ns || gq_time_ns(st.st_ctim) != s->ctime_ns) {
		status = gq_fail(err, GPTQ_E_IO, "the file changed while it was being read");
		gq_error_file(err, s->path);
		return status;
	}
	if (sure)
		s->read = false;
	return GPTQ_OK;
}

static enum gptq_status hold(struct gq_shards *shards, uint32_t shard, bool sure, int *fd, struct gptq_error *err)
{
	struct gq_shard *s = &shards->items[shard];
	enum gptq_status status;

	pthread_mutex_lock(shards->lock);
	status = open_shard(shards, s, sure, err);
	*fd = s->fd;
	s->users += status == GPTQ_OK;
	pthread_mutex_unlock(shards->lock);
	return status;
}

enum gptq_status gq_shard_hold(struct gq_shards *shards, uint32_t shard, int *fd, struct gptq_error *err)
{
	return hold(shards, shard, true, fd, err);
}

enum gptq_status gq_shards_unchanged(struct gq_shards *shards, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	int fd;

	for (size_t i = 0; i < shards->n && status == GPTQ_OK; i++)
		if (shards->items[i].read)
			status = gq_shard_fd(shards, (uint32_t)i, &fd, err);
	return status;
}

void gq_shard_let_go(struct gq_shards *shards, uint32_t shard)
{
	pthread_mutex_lock(shards->lock);
	shards->items[shard].users--;
	pthread_mutex_unlock(shards->lock);
}

enum gptq_status gq_shard_fd(struct gq_shards *shards, uint32_t shard, int *fd, struct gptq_error *err)
{
	enum gptq_status status = gq_shard_hold(shards, shard, fd, err);

	if (status == GPTQ_OK)
		gq_shard_let_go(shards, shard);
	return status;
}

enum gptq_status gq_tensor_read_at(struct gq_shards *shards, const struct gq_tensor *tensor, uint64_t offset, void *dst,
				   size_t nbytes, struct gptq_error *err)
{
	enum gptq_status status;
	int fd;

	status = hold(shards, tensor->shard, false, &fd, err);
	if (status != GPTQ_OK)
		return status;
	status = gq_pread_full(fd, dst, nbytes, tensor->offset + offset, shards->items[tensor->shard].path, err);
	gq_shard_let_go(shards, tensor->shard);
	return status;
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
		s->mtime_ns = gq_time_ns(st.st_mtim);
		s->ctime_ns = gq_time_ns(st.st_ctim);
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
		gq_fail(&e, GPTQ_E_NOTFOUND, "%s: download it again",
			lstat(s->path, &st) == 0 ? "this is a link, and what it leads to is not there"
						 : "the index names this shard, but it is not there");
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

/* Where gathering stands. */
struct gathering {
	size_t capacity;      /* of the table */
	size_t next;          /* behind the entry of the index that was found last */
	uint32_t first, again; /* the first two tensors of one name, if there are any ... */
	uint64_t n_again;     /* ... and how many there are whose name came before */
};

/* Names that the index has as well are taken from there. */
static void lend_names(const struct gq_shards *shards, struct gq_st *st, struct gathering *g)
{
	for (uint32_t i = 0; i < st->n_tensors && shards->of_entry; i++) {
		struct gq_st_tensor *t = &st->tensors[i];

		if (!gq_index_find_next(shards->index, t->name, t->name_size, &g->next))
			continue;
		t->lent = (uint32_t)g->next;
		t->name = gq_index_name(shards->index, &shards->index->entries[g->next - 1]);
	}
}

/* Notes under which number the name is found; *old is one it had before. */
static enum gq_map_result note_name(struct gq_shards *shards, const struct gq_st_tensor *t, uint32_t number,
				    uint32_t *old)
{
	uint32_t *place = t->lent ? &shards->of_entry[t->lent - 1] : NULL;

	if (!place)
		return gq_map_insert(&shards->by_name, t->name, t->name_size, number, old);
	if (*place) {
		*old = *place - 1;
		return GQ_MAP_OLD;
	}
	*place = number + 1;
	return GQ_MAP_NEW;
}

static enum gptq_status add_tensor(struct gq_shards *shards, const struct gq_st *st, const struct gq_st_tensor *t,
				   uint32_t shard, struct gathering *g, struct gptq_error *err)
{
	uint32_t number = (uint32_t)shards->n_tensors, old;
	struct gq_tensor *to = &shards->tensors[number];

	*to = (struct gq_tensor){.name = t->name,
				 .name_len = t->name_size,
				 .dtype = t->dtype,
				 .rank = t->rank,
				 .shape = t->shape,
				 .offset = st->data_start + t->begin,
				 .nbytes = t->end - t->begin,
				 .shard = shard};
	shards->n_tensors++;
	switch (note_name(shards, t, number, &old)) {
	case GQ_MAP_NOMEM:
		return gq_fail_nomem(err);
	case GQ_MAP_OLD:
		if (g->n_again++ == 0) {
			g->first = old;
			g->again = number;
		}
		break;
	case GQ_MAP_NEW:
		shards->n_names++;
		break;
	}
	return GPTQ_OK;
}

/*
 * Moves the table of a shard into the one of all. The shard keeps names, shapes and metadata, and its header's text
 * only if there is a label in it to rewrite: with many shards, texts and tables would take several times the memory.
 */
static enum gptq_status gather(struct gq_shards *shards, uint32_t i, bool keep, struct gathering *g,
			       struct gptq_error *err)
{
	struct gq_st *st = shards->items[i].st;
	enum gptq_status status;

	if (!st)
		return GPTQ_OK;
	lend_names(shards, st, g);
	status = keep ? GPTQ_OK : gq_st_slim(st, gq_st_find_meta(st, "gptq_checkpoint_format") != NULL, err);
	if (status != GPTQ_OK)
		return status;
	if (shards->n_tensors + st->n_tensors >= UINT32_MAX)
		return gq_fail(err, GPTQ_E_LIMIT, "more than 2^32 tensors");
	if (shards->n_tensors + st->n_tensors > g->capacity || !shards->tensors) {
		size_t wanted = shards->n_tensors + st->n_tensors, half_more = g->capacity + g->capacity / 2;
		size_t listed = shards->index ? shards->index->n_entries : 0; /* mostly these are all */
		void *grown;

		wanted = wanted > half_more ? wanted : half_more;
		wanted = wanted > listed ? wanted : listed;
		grown = gq_realloc_array(shards->tensors, wanted, sizeof(*shards->tensors));
		if (!grown)
			return gq_fail_nomem(err);
		shards->tensors = grown;
		g->capacity = wanted;
	}
	for (size_t j = 0; j < st->n_tensors && status == GPTQ_OK; j++)
		status = add_tensor(shards, st, &st->tensors[j], i, g, err);
	if (!keep) {
		gq_free(st->tensors);
		st->tensors = NULL;
		st->n_tensors = 0;
	}
	return status;
}

static enum gptq_status report_twice(struct gq_shards *shards, const struct gathering *g, struct gq_problems *problems,
				     struct gptq_error *err)
{
	return g->n_again ? two_shards(shards, &shards->tensors[g->again], &shards->tensors[g->first], g->n_again - 1,
				       problems, err)
			  : GPTQ_OK;
}

enum gptq_status gq_shards_open_all(const char *dir, const char *const *names, size_t n, struct gq_shards *shards,
				 struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct gathering g = {0};

	shards->items = gq_calloc(n, sizeof(*shards->items));
	if (!shards->items)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n && status == GPTQ_OK; i++) {
		struct gq_shard *s = &shards->items[shards->n++];

		s->fd = -1;
		s->path = dir ? gq_path_join(dir, names[i]) : gq_strdup(names[i]);
		s->name = gq_strdup(dir ? names[i] : gq_path_base(names[i]));
		status = s->path && s->name ? read_header(shards, (uint32_t)i, problems, err) : gq_fail_nomem(err);
		if (status == GPTQ_OK)
			status = gather(shards, (uint32_t)i, false, &g, err);
	}
	return status == GPTQ_OK ? report_twice(shards, &g, problems, err) : status;
}

enum gptq_status gq_shards_open_files(const char *dir, const char *const *names, size_t n_names,
				      struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = gq_shards_begin(shards, err);

	if (status == GPTQ_OK)
		status = gq_shards_open_all(dir, names, n_names, shards, problems, err);
	if (status != GPTQ_OK)
		gq_shards_close(shards);
	return status;
}

enum gptq_status gq_shards_adopt(struct gq_st *st, const char *name, struct gq_shards *shards,
				 struct gq_problems *problems, struct gptq_error *err)
{
	enum gptq_status status = gq_shards_begin(shards, err);
	struct gathering g = {0};

	if (status == GPTQ_OK)
		shards->items = gq_calloc(1, sizeof(*shards->items));
	if (!shards->items) {
		gq_st_free(st);
		gq_shards_close(shards);
		return gq_fail_nomem(err);
	}
	shards->n = 1;
	shards->items[0] = (struct gq_shard){.fd = -1, .st = st, .path = gq_strdup(name), .name = gq_strdup(name)};
	status = shards->items[0].path && shards->items[0].name ? gather(shards, 0, true, &g, err)
								: gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = report_twice(shards, &g, problems, err);
	if (status != GPTQ_OK)
		gq_shards_close(shards);
	return status;
}

void gq_shards_drop_index(struct gq_shards *shards)
{
	if (shards->index)
		gq_index_free(shards->index);
	gq_free(shards->index);
	gq_free(shards->of_entry);
	shards->index = NULL;
	shards->of_entry = NULL;
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
	gq_shards_drop_index(shards);
	gq_free(shards->index_name);
	if (shards->lock)
		pthread_mutex_destroy(shards->lock);
	gq_free(shards->lock);
	*shards = (struct gq_shards){0};
}
