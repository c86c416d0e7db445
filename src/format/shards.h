/* SPDX-License-Identifier: Apache-2.0 */
/* The safetensors files of one checkpoint and all tensors in them. */
#ifndef GQ_FORMAT_SHARDS_H
#define GQ_FORMAT_SHARDS_H

#include "base/codes.h"
#include "base/map.h"
#include "format/safetensors.h"

#include <pthread.h>
#include <string.h>

/*
 * One file. Its descriptor is opened when needed. That the file is still what it was is checked whenever it is opened,
 * at every so many reads, and by gq_shard_fd, gq_shard_hold and gq_shards_unchanged: what was read is to be trusted
 * only after one of these.
 */
struct gq_shard {
	char *path;      /* as the system needs it */
	char *name;      /* relative to the checkpoint, for messages and for OUT */
	int fd;          /* -1 while closed */
	unsigned users;  /* reads under way on fd: it is not closed under them */
	bool read;       /* since the identity was checked ... */
	unsigned reads;  /* ... and how often, from one check to the next */
	uint64_t size, dev, ino;
	int64_t mtime_ns, ctime_ns;
	struct gq_st *st; /* NULL if the header could not be read */
};

/* One tensor. name: borrowed from the index or the file's table; shape: from the latter. */
struct gq_tensor {
	const char *name; /* may hold NUL bytes */
	uint32_t name_len;
	enum gptq_dtype dtype;
	const uint64_t *shape;
	uint32_t rank;
	uint32_t shard;
	uint64_t offset; /* from the start of the file */
	uint64_t nbytes;
};

struct gq_index;

struct gq_shards {
	struct gq_shard *items;
	size_t n;
	unsigned n_open;
	pthread_mutex_t *lock;     /* of descriptors: n_open, and fd and users of every file */
	struct gq_tensor *tensors; /* by shard, in header order */
	size_t n_tensors;
	/*
	 * name -> index in tensors; the first of two of one name. What an index lists whose names ascend is found
	 * there, and borrows its name from there: that spares a copy of all names and most of the map.
	 */
	struct gq_index *index;
	uint32_t *of_entry;     /* of each entry the index in tensors, plus 1; 0: no file has it. NULL: no such index */
	struct gq_map by_name;  /* all others */
	size_t n_names;         /* different ones */
	char *index_name;       /* "model.safetensors.index.json"; NULL if there is none */
	char **stray;           /* other *.safetensors below the folder, relative */
	size_t n_stray;
};

/*
 * Opens the safetensors files of folder `dir`. names: relative paths of all its files (subfolders too), sorted; only
 * top-level ones can be shards. With an index its shards are the model, without one every top-level *.safetensors
 * but GPTQModel's and AutoGPTQ's cache files (autogptq_model_*). What is wrong with single files goes to problems.
 * GPTQ_E_NOTFOUND if there is no safetensors file at all; GPTQ_E_NOMEM.
 */
enum gptq_status gq_shards_open_folder(const char *dir, const char *const *names, size_t n_names,
				       struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err);

/* The same for the given files, relative to dir (NULL: as they are), as one model without an index. */
enum gptq_status gq_shards_open_files(const char *dir, const char *const *names, size_t n_names,
				      struct gq_shards *shards, struct gq_problems *problems, struct gptq_error *err);

/* One file whose header came by another way (a stream): takes over st. No data can be read from it. */
enum gptq_status gq_shards_adopt(struct gq_st *st, const char *name, struct gq_shards *shards,
				 struct gq_problems *problems, struct gptq_error *err);

void gq_shards_close(struct gq_shards *shards);

/*
 * Is it the tensor `suffix` of some module, "a.b.suffix" or "suffix" alone? Then *module_len is that of "a.b", or 0.
 * Here, and so built into its callers, where the suffix is a constant: each tensor is asked several times.
 */
static inline bool gq_tensor_is(const struct gq_tensor *tensor, const char *suffix, size_t *module_len)
{
	size_t n = tensor->name_len, m = strlen(suffix);

	if (n < m || memcmp(tensor->name + n - m, suffix, m) != 0)
		return false;
	if (n > m && tensor->name[n - m - 1] != '.')
		return false;
	*module_len = n == m ? 0 : n - m - 1;
	return true;
}

/* The name of a tensor as NUL-terminated text that gq_shards_take_names() gives away; NULL if it does not lie there. */
char *gq_shards_kept_name(const struct gq_shards *shards, const struct gq_tensor *tensor);

/* Before closing: such names belong to the caller from now on, all to be freed by one gq_free(). NULL if none are. */
char *gq_shards_take_names(struct gq_shards *shards);

/*
 * Makes sure that the text of a shard's header is in memory (items[shard].st->header): it is given up after opening
 * unless it holds a label, and read again here. What gq_shard_fd and reading give.
 */
enum gptq_status gq_shard_header(struct gq_shards *shards, uint32_t shard, struct gptq_error *err);
void gq_shard_drop_header(struct gq_shards *shards, uint32_t shard);

/* Is some tensor a module's qzeros? */
bool gq_shards_hold_qzeros(const struct gq_shards *shards);

const struct gq_tensor *gq_shards_find(const struct gq_shards *shards, const char *name, size_t n);

/* Tensor i if that is what gq_shards_find would give, else NULL: for those who can guess where the next one is. */
const struct gq_tensor *gq_shards_guess(const struct gq_shards *shards, size_t i, const char *name, size_t n);

/*
 * Opens (or hands out again) the descriptor of a shard, which stays open until the next call on these shards: for one
 * thread. GPTQ_E_IO, also if the file is no longer the one whose header was read (size, inode, or a time of change
 * differ).
 */
enum gptq_status gq_shard_fd(struct gq_shards *shards, uint32_t shard, int *fd, struct gptq_error *err);

/* The same, for several threads: the descriptor stays open until gq_shard_let_go(), which belongs to a success alone.
 */
enum gptq_status gq_shard_hold(struct gq_shards *shards, uint32_t shard, int *fd, struct gptq_error *err);
void gq_shard_let_go(struct gq_shards *shards, uint32_t shard);

/* Are all files that were read from what they were? GPTQ_E_IO if not. For one thread. */
enum gptq_status gq_shards_unchanged(struct gq_shards *shards, struct gptq_error *err);

/* Reads nbytes of a tensor from its byte `offset` on. The span was checked against the file's size. Several threads may
 * read at once. */
enum gptq_status gq_tensor_read_at(struct gq_shards *shards, const struct gq_tensor *tensor, uint64_t offset, void *dst,
				   size_t nbytes, struct gptq_error *err);

#endif
