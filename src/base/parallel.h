/* SPDX-License-Identifier: Apache-2.0 */
/* The same work on many items, in several threads. */
#ifndef GQ_BASE_PARALLEL_H
#define GQ_BASE_PARALLEL_H

#include "gptq/gptq.h"

struct gq_work;

/* One item; `worker` counts the threads from 0 and is for gq_work_tick. */
typedef enum gptq_status (*gq_work_fn)(void *ctx, size_t item, struct gq_work *work, unsigned worker,
				       struct gptq_error *err);

/* Threads for `jobs` as the user gave it (0: one a core), for n items; at least 1. */
unsigned gq_work_threads(unsigned jobs, size_t n);

/*
 * Calls fn for items 0..n-1, in n_threads threads, the calling one among them. Items begin in their order. After a
 * failure no other item begins; of several failures the one of the first item is returned, so that the outcome is the
 * same for any number of threads, unless the work was abandoned. Hooks are called from the calling thread alone; total:
 * the bytes of all items; 0: they are no progress, and nobody is told of it.
 */
enum gptq_status gq_work_run(size_t n, unsigned n_threads, gq_work_fn fn, void *ctx, const struct gptq_hooks *hooks,
			     uint64_t total, struct gptq_error *err);

/*
 * For fn, before it returns a failure after which nothing of the other items is wanted: they are given up at their next
 * tick, and this failure is the outcome, which then depends on time.
 */
void gq_work_abandon(struct gq_work *work);

/* For fn, often: so many bytes more are through, of this file. GPTQ_E_CANCELLED: give up. */
enum gptq_status gq_work_tick(struct gq_work *work, unsigned worker, uint64_t bytes, const char *file,
			      struct gptq_error *err);

#endif
