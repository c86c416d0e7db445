/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/prove.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* A GPU wants more at once. */
#define TILE ((size_t)8 << 20)
#define RUN ((size_t)2 << 20)
#define CUDA_TILE ((size_t)32 << 20)
#define CUDA_RUN ((size_t)64 << 20)

#define CHUNK ((size_t)1 << 20) /* bytes of a plain tensor */

/* ------------------------------------------------------------------------------------------------------ devices */

static enum gptq_status open_gpu(struct gq_prover *prover, unsigned number, struct gptq_error *err)
{
	enum gptq_status status = gq_cuda_open((int)number, &prover->lanes[0], err);

	if (status != GPTQ_OK)
		return status;
	prover->device = GPTQ_DEVICE_CUDA;
	prover->number = number;
	prover->n_lanes = prover->n_idle = 1;
	prover->idle[0] = prover->lanes[0];
	prover->tile = CUDA_TILE;
	prover->run = CUDA_RUN;
	return GPTQ_OK;
}

enum gptq_status gq_prover_open(enum gptq_method method, enum gptq_device device, unsigned number,
				struct gq_prover *prover, struct gptq_error *err)
{
	char reason[512];

	*prover = (struct gq_prover){.method = method, .device = GPTQ_DEVICE_CPU, .tile = TILE, .run = RUN};
	pthread_mutex_init(&prover->lock, NULL);
	pthread_cond_init(&prover->freed, NULL);
	if (device == GPTQ_DEVICE_CPU)
		return GPTQ_OK;
	if (device == GPTQ_DEVICE_CUDA)
		return open_gpu(prover, number, err);
	if (gq_cuda_devices(reason, sizeof(reason)) > 0) {
		struct gptq_error e;

		if (open_gpu(prover, 0, &e) == GPTQ_OK)
			return GPTQ_OK;
		gptq_error_format(&e, reason, sizeof(reason));
	}
	prover->note = gq_strdup(reason);
	return prover->note ? GPTQ_OK : gq_fail_nomem(err);
}

void gq_prover_close(struct gq_prover *prover)
{
	for (unsigned i = 0; i < prover->n_lanes; i++)
		gq_cuda_close(prover->lanes[i]);
	pthread_cond_destroy(&prover->freed);
	pthread_mutex_destroy(&prover->lock);
	gq_free(prover->note);
}

const char *gq_prover_name(const struct gq_prover *prover)
{
	return prover->device == GPTQ_DEVICE_CUDA ? gq_cuda_name(prover->lanes[0]) : gq_kernels_name();
}

/* An idle lane, or a new one, or, where there are enough or no more will open, the next that becomes idle. */
static struct gq_cuda *take_lane(struct gq_prover *prover)
{
	struct gq_cuda *lane = NULL;
	struct gptq_error e;

	pthread_mutex_lock(&prover->lock);
	if (prover->n_idle == 0 && prover->n_lanes < GQ_CUDA_LANES && !prover->enough) {
		prover->enough = gq_cuda_open((int)prover->number, &lane, &e) != GPTQ_OK;
		if (lane)
			prover->lanes[prover->n_lanes++] = lane;
	}
	while (!lane && prover->n_idle == 0)
		pthread_cond_wait(&prover->freed, &prover->lock);
	if (!lane)
		lane = prover->idle[--prover->n_idle];
	pthread_mutex_unlock(&prover->lock);
	return lane;
}

static void give_lane(struct gq_prover *prover, struct gq_cuda *lane)
{
	pthread_mutex_lock(&prover->lock);
	prover->idle[prover->n_idle++] = lane;
	pthread_cond_signal(&prover->freed);
	pthread_mutex_unlock(&prover->lock);
}

/* A lane that ran out of the device's memory while there are others goes. False: it is the last one. */
static bool retire_lane(struct gq_prover *prover, struct gq_cuda *lane)
{
	bool others;

	pthread_mutex_lock(&prover->lock);
	others = prover->n_lanes > 1;
	prover->enough = true;
	for (unsigned i = 0; i < prover->n_lanes && others; i++) {
		if (prover->lanes[i] == lane) {
			prover->lanes[i] = prover->lanes[--prover->n_lanes];
			gq_cuda_close(lane);
			break;
		}
	}
	pthread_mutex_unlock(&prover->lock);
	return others;
}

/* ------------------------------------------------------------------------------------------------------- layers */

/* Two layers in hand. */
struct pair {
	struct gq_prover *prover;
	struct gq_side sides[2];
	struct gq_work *work;
	unsigned worker;
	struct gq_layer_proof *proof;
	bool table;  /* what is tried: table, or every */
	bool failed; /* table proves nothing */
};

/* The same packing and the same groups. */
static bool table_applies(const struct gq_side sides[2])
{
	const struct gq_layer *a = sides[0].at.layer, *b = sides[1].at.layer;

	return a->pack.bits == b->pack.bits && a->pack.word_bits == b->pack.word_bits && a->groups == b->groups &&
	       memcmp(sides[0].g_of_k, sides[1].g_of_k, (size_t)a->in_features * sizeof(*sides[0].g_of_k)) == 0;
}

/* What was found in columns from n0 on joins the rest. */
static void merge(struct gq_comparison *to, const struct gq_comparison *found, size_t n0)
{
	uint64_t n = found->first_n + n0;

	to->n_weights += found->n_weights;
	if (found->n_differ &&
	    (!to->n_differ || found->first_k < to->first_k || (found->first_k == to->first_k && n < to->first_n))) {
		to->first_k = found->first_k;
		to->first_n = n;
		to->first[0] = found->first[0];
		to->first[1] = found->first[1];
	}
	to->n_differ += found->n_differ;
}

static enum gptq_status compare_on_gpu(struct pair *p, const struct gq_weights w[2], size_t k0, size_t n0,
				       struct gptq_error *err)
{
	enum gq_proof proof = p->table ? GQ_PROOF_TABLE : GQ_PROOF_EVERY;
	struct gq_weights b = w[1];
	struct gq_comparison found = {0};
	enum gptq_status status;
	struct gq_cuda *lane;
	bool proved = false;

	/* Codes that are the same bytes need to go there only once. */
	if (!p->table && gq_codes_equal(&w[0], &w[1]))
		b.rows = w[0].rows;
	do {
		lane = take_lane(p->prover);
		status = gq_cuda_compare(lane, &w[0], &b, proof, k0, &found, &proved, err);
	} while (status == GPTQ_E_NOMEM && retire_lane(p->prover, lane));
	give_lane(p->prover, lane);
	if (status == GPTQ_OK && p->table)
		p->failed = !proved;
	merge(&p->proof->found, &found, n0);
	return status;
}

static enum gptq_status compare_run(struct pair *p, const struct gq_weights w[2], size_t k0, size_t n0,
				    struct gptq_error *err)
{
	struct gq_comparison found = {0};

	if (p->prover->device == GPTQ_DEVICE_CUDA)
		return compare_on_gpu(p, w, k0, n0, err);
	if (p->table) {
		found.n_weights = (uint64_t)w[0].n_rows * w[0].n_columns;
		p->failed = !gq_codes_equal(&w[0], &w[1]);
	} else {
		gq_compare_every(&w[0], &w[1], 0, w[0].n_rows, k0, &found);
	}
	merge(&p->proof->found, &found, n0);
	return GPTQ_OK;
}

static enum gptq_status compare_rows(struct pair *p, size_t n0, size_t rows, struct gptq_error *err)
{
	const struct gq_layer *l = p->sides[0].at.layer;
	const char *file = p->sides[0].at.shards->items[l->qweight->shard].name;
	size_t k = (size_t)l->in_features;
	enum gptq_status status = GPTQ_OK;

	for (size_t k0 = 0; k0 < k && status == GPTQ_OK && !p->failed; k0 += rows) {
		size_t k1 = k - k0 < rows ? k : k0 + rows;
		struct gq_weights w[2];
		uint64_t bytes = 0;

		for (unsigned s = 0; s < 2 && status == GPTQ_OK; s++) {
			status = gq_side_run(&p->sides[s], k0, k1, &w[s], err);
			bytes += (uint64_t)(k1 - k0) * (p->sides[s].n1 - p->sides[s].n0) * w[s].pack.bits / 8;
		}
		if (status == GPTQ_OK)
			status = compare_run(p, w, k0, n0, err);
		if (status == GPTQ_OK)
			status = gq_work_tick(p->work, p->worker, bytes, file, err);
	}
	return status;
}

/* A tile's tables alone. */
static bool tables_differ(const struct pair *p)
{
	struct gq_weights a, b;
	uint64_t n_special;

	gq_side_cells(&p->sides[0], &a);
	gq_side_cells(&p->sides[1], &b);
	return gq_tables_differ(&a, &b, &n_special) != 0;
}

/* All tiles by one method. */
static enum gptq_status compare_by(struct pair *p, enum gptq_method method, struct gptq_error *err)
{
	size_t n = (size_t)p->sides[0].at.layer->out_features, columns, rows, other;
	enum gptq_status status = GPTQ_OK;

	*p->proof = (struct gq_layer_proof){.method = method};
	p->table = method == GPTQ_METHOD_TABLE;
	p->failed = false;
	columns = gq_side_columns(&p->sides[0], p->prover->tile);
	other = gq_side_columns(&p->sides[1], p->prover->tile);
	columns = other < columns ? other : columns;
	rows = gq_side_rows(&p->sides[0], columns, p->prover->run);
	other = gq_side_rows(&p->sides[1], columns, p->prover->run);
	rows = other < rows ? other : rows;
	for (unsigned s = 0; s < 2; s++)
		p->sides[s].n_nan = p->sides[s].n_inf = 0;
	for (size_t n0 = 0; n0 < n && status == GPTQ_OK && !p->failed; n0 += columns) {
		size_t n1 = n - n0 < columns ? n : n0 + columns;

		for (unsigned s = 0; s < 2 && status == GPTQ_OK; s++)
			status = gq_side_tile(&p->sides[s], n0, n1, err);
		if (status == GPTQ_OK && p->table && p->prover->device == GPTQ_DEVICE_CPU)
			p->failed = tables_differ(p);
		if (status == GPTQ_OK && !p->failed)
			status = compare_rows(p, n0, rows, err);
	}
	for (unsigned s = 0; s < 2; s++) {
		p->proof->n_nan[s] = p->sides[s].n_nan;
		p->proof->n_inf[s] = p->sides[s].n_inf;
	}
	return status;
}

static enum gptq_status cannot_by_table(const struct gq_layer *l, struct gptq_error *err)
{
	enum gptq_status status =
		gq_fail(err, GPTQ_E_UNSUPPORTED,
			"the table proof needs the same packing and groups on both sides; --method auto "
			"takes the other one here");

	gq_error_tensor(err, l->name, l->name_len);
	return status;
}

enum gptq_status gq_prove_layer(struct gq_prover *prover, const struct gq_reading at[2], struct gq_work *work,
				unsigned worker, struct gq_layer_proof *proof, struct gptq_error *err)
{
	struct pair p = {.prover = prover, .work = work, .worker = worker, .proof = proof};
	enum gptq_method method = prover->method;
	enum gptq_status status = gq_side_open(&at[0], &p.sides[0], err);

	if (status == GPTQ_OK)
		status = gq_side_open(&at[1], &p.sides[1], err);
	if (status == GPTQ_OK && method != GPTQ_METHOD_EVERY) {
		bool applies = table_applies(p.sides);

		if (!applies && method == GPTQ_METHOD_TABLE)
			status = cannot_by_table(at[0].layer, err);
		method = applies ? GPTQ_METHOD_TABLE : GPTQ_METHOD_EVERY;
	}
	if (status == GPTQ_OK)
		status = compare_by(&p, method, err);
	/* Other codes or other products may still make the same weights. */
	if (status == GPTQ_OK && p.failed)
		status = compare_by(&p, GPTQ_METHOD_EVERY, err);
	gq_side_close(&p.sides[0]);
	gq_side_close(&p.sides[1]);
	return status;
}

/* ------------------------------------------------------------------------------------------------------ tensors */

static void compare_bytes(const unsigned char *a, const unsigned char *b, size_t n, uint64_t at,
			  struct gq_tensor_proof *proof)
{
	if (memcmp(a, b, n) == 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i] && proof->n_differ++ == 0)
			proof->first = at + i;
}

enum gptq_status gq_prove_tensor(struct gq_shards *const shards[2], const struct gq_tensor *const tensors[2],
				 struct gq_work *work, unsigned worker, struct gq_tensor_proof *proof,
				 struct gptq_error *err)
{
	uint64_t nbytes = tensors[0]->nbytes;
	size_t room = nbytes < CHUNK ? (size_t)nbytes : CHUNK;
	unsigned char *bytes = gq_malloc_array(room, 2);
	enum gptq_status status = bytes ? GPTQ_OK : gq_fail_nomem(err);

	*proof = (struct gq_tensor_proof){0};
	for (uint64_t at = 0; at < nbytes && status == GPTQ_OK; at += room) {
		size_t n = nbytes - at < room ? (size_t)(nbytes - at) : room;

		for (unsigned s = 0; s < 2 && status == GPTQ_OK; s++)
			status = gq_tensor_read_at(shards[s], tensors[s], at, bytes + s * room, n, err);
		if (status == GPTQ_OK) {
			compare_bytes(bytes, bytes + room, n, at, proof);
			status = gq_work_tick(work, worker, 2 * n, shards[0]->items[tensors[0]->shard].name, err);
		}
	}
	gq_free(bytes);
	return status;
}
