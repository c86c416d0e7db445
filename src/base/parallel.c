/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256

struct gq_work {
	gq_work_fn fn;
	void *ctx;
	const struct gptq_hooks *hooks;
	uint64_t total;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t ended; /* a thread has no more to do */
	size_t n, next;
	unsigned n_running;
	uint64_t done;
	const char *file; /* that moved last */
	bool cancelled, abandoned;
	size_t failed_item; /* n: none */
	struct gptq_error error;
};

struct worker {
	struct gq_work *work;
	unsigned number;
	pthread_t thread;
};

unsigned gq_work_threads(unsigned jobs, size_t n)
{
	long cores = jobs ? (long)jobs : sysconf(_SC_NPROCESSORS_ONLN);

	if (cores > MAX_THREADS)
		cores = MAX_THREADS;
	if (cores > 0 && (size_t)cores > n)
		cores = (long)n;
	return cores > 0 ? (unsigned)cores : 1;
}

/* The total may be an estimate: labels get longer, headers grow. Nobody is told of more than all, or of all of nothing.
 */
static void tell(const struct gq_work *work, const char *file, uint64_t done)
{
	if (work->total && work->hooks && work->hooks->progress)
		work->hooks->progress(work->hooks->ctx, file, done < work->total ? done : work->total, work->total);
}

enum gptq_status gq_work_tick(struct gq_work *work, unsigned worker, uint64_t bytes, const char *file,
			      struct gptq_error *err)
{
	bool cancelled;
	uint64_t done;

	if (worker == 0 && work->hooks && work->hooks->cancelled && work->hooks->cancelled(work->hooks->ctx)) {
		pthread_mutex_lock(&work->lock);
		work->cancelled = true;
		pthread_mutex_unlock(&work->lock);
	}
	pthread_mutex_lock(&work->lock);
	done = work->done += bytes;
	work->file = file;
	cancelled = work->cancelled || work->abandoned;
	pthread_mutex_unlock(&work->lock);
	if (cancelled)
		return gq_fail(err, GPTQ_E_CANCELLED, "stopped on request; nothing was left behind");
	if (worker == 0)
		tell(work, file, done);
	return GPTQ_OK;
}

void gq_work_abandon(struct gq_work *work)
{
	pthread_mutex_lock(&work->lock);
	work->abandoned = true;
	pthread_mutex_unlock(&work->lock);
}

/* Is this failure to be told rather than the one that is noted? Who was only told to stop has nothing to say. */
static bool is_first(const struct gq_work *work, size_t item, enum gptq_status status)
{
	bool stopped = status == GPTQ_E_CANCELLED;

	if (status == GPTQ_OK || work->failed_item == work->n)
		return status != GPTQ_OK;
	if (stopped != (work->error.status == GPTQ_E_CANCELLED))
		return !stopped;
	return item < work->failed_item;
}

static void work_off(struct gq_work *work, unsigned worker)
{
	pthread_mutex_lock(&work->lock);
	while (work->next < work->n && work->failed_item == work->n && !work->cancelled && !work->abandoned) {
		size_t item = work->next++;
		struct gptq_error e;
		enum gptq_status status;

		pthread_mutex_unlock(&work->lock);
		status = work->fn(work->ctx, item, work, worker, &e);
		pthread_mutex_lock(&work->lock);
		/* Items before this one have begun and will end, so the first failure is always seen. */
		if (is_first(work, item, status)) {
			work->failed_item = item;
			work->error = e;
			work->error.status = status;
		}
	}
	work->n_running--;
	pthread_cond_signal(&work->ended);
	pthread_mutex_unlock(&work->lock);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;

	work_off(w->work, w->number);
	return NULL;
}

/* The calling thread has nothing left to do but to answer for the hooks. */
static void wait_for_others(struct gq_work *work)
{
	pthread_mutex_lock(&work->lock);
	while (work->n_running > 0) {
		const char *file = work->file ? work->file : "";
		uint64_t done = work->done;
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 50 * 1000 * 1000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&work->ended, &work->lock, &until) != ETIMEDOUT || !work->hooks)
			continue;
		pthread_mutex_unlock(&work->lock);
		tell(work, file, done);
		if (work->hooks->cancelled && work->hooks->cancelled(work->hooks->ctx)) {
			pthread_mutex_lock(&work->lock);
			work->cancelled = true;
			continue;
		}
		pthread_mutex_lock(&work->lock);
	}
	pthread_mutex_unlock(&work->lock);
}

enum gptq_status gq_work_run(size_t n, unsigned n_threads, gq_work_fn fn, void *ctx, const struct gptq_hooks *hooks,
			     uint64_t total, struct gptq_error *err)
{
	struct gq_work work = {.fn = fn, .ctx = ctx, .hooks = hooks, .total = total, .n = n, .failed_item = n};
	struct worker *workers = gq_calloc(n_threads, sizeof(*workers));
	unsigned started = 1;
	sigset_t all, before;

	if (!workers)
		return gq_fail_nomem(err);
	pthread_mutex_init(&work.lock, NULL);
	pthread_cond_init(&work.ended, NULL);
	work.n_running = n_threads;
	/* Signals come to the calling thread, which asks the hooks: they end what it waits for. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < n_threads; started++) {
		workers[started] = (struct worker){.work = &work, .number = started};
		if (pthread_create(&workers[started].thread, NULL, run_worker, &workers[started]) != 0)
			break; /* fewer will do */
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_mutex_lock(&work.lock);
	work.n_running -= n_threads - started;
	pthread_mutex_unlock(&work.lock);
	work_off(&work, 0);
	wait_for_others(&work);
	for (unsigned i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_cond_destroy(&work.ended);
	pthread_mutex_destroy(&work.lock);
	gq_free(workers);
	if (work.failed_item < n) {
		if (err)
			*err = work.error;
		return work.error.status;
	}
	return work.cancelled ? gq_fail(err, GPTQ_E_CANCELLED, "stopped on request; nothing was left behind") : GPTQ_OK;
}
