/* SPDX-License-Identifier: Apache-2.0 */
/* What shards.c does for shards_folder.c. */
#ifndef GQ_FORMAT_SHARDS_PRIVATE_H
#define GQ_FORMAT_SHARDS_PRIVATE_H

#include "format/shards.h"

enum gptq_status gq_shards_begin(struct gq_shards *shards, struct gptq_error *err);

/* Gives up the index. No name may be borrowed from it. */
void gq_shards_drop_index(struct gq_shards *shards);

/* Opens dir/names[i], or names[i] where dir is NULL, in a table that was begun; what is wrong with one is a problem. */
enum gptq_status gq_shards_open_all(const char *dir, const char *const *names, size_t n, struct gq_shards *shards,
				    struct gq_problems *problems, struct gptq_error *err);

#endif
