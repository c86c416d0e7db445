/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ways to read an index share. */
#ifndef GQ_FORMAT_INDEX_PRIVATE_H
#define GQ_FORMAT_INDEX_PRIVATE_H

#include "format/index.h"

/* Is it one plain component that ends in ".safetensors"? */
bool gq_index_is_shard_name(const char *s, size_t n);

/* The shard number of name, added if it is new. files is sorted only afterwards: a map finds it until then. */
enum gptq_status gq_index_file(struct gq_index *index, struct gq_map *map, const char *name, size_t n, uint32_t *number,
			       struct gptq_error *err);

/* Gives up entries and files. */
void gq_index_forget(struct gq_index *index);

/*
 * Reads an index (its text, of size bytes) that is written as programs write it, in one pass and without a tree of its
 * values. *usual: it is one, and files and entries are filled. If not, nothing is, and nothing is said of why: the slow
 * way answers for that. GPTQ_E_NOMEM is the only failure.
 */
enum gptq_status gq_index_read_usual(struct gq_index *index, size_t size, bool *usual, struct gptq_error *err);

#endif
