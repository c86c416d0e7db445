/* SPDX-License-Identifier: Apache-2.0 */
/* Are the weights of two layers, or the bytes of two tensors, the same? */
#ifndef GQ_OPS_PROVE_H
#define GQ_OPS_PROVE_H

#include "base/parallel.h"
#include "kernels/cuda.h"
#include "ops/weights.h"

#include <pthread.h>

/* So many threads feed a GPU at once: one cannot copy as fast as the bus takes it. */
#define GQ_CUDA_LANES 8

/* Where and how; one for all threads. */
struct gq_prover {
	enum gptq_method method;
	enum gptq_device device; /* CPU or CUDA */
	unsigned number;         /* of the GPU */
	struct gq_cuda *lanes[GQ_CUDA_LANES], *idle[GQ_CUDA_LANES];
	unsigned n_lanes, n_idle; /* opened when they are needed ... */
	bool enough;              /* ... until one could not be, or ran out of the device's memory */
	pthread_mutex_t lock;
	pthread_cond_t freed; /* a lane */
	char *note;           /* why it is not a GPU, if one was looked for; NULL */
	size_t tile, run;     /* bytes of one side at once: scales and zero points of a tile, words of a run */
};

/* GPTQ_E_UNSUPPORTED, GPTQ_E_ARG: the GPU that was asked for is not there. */
enum gptq_status gq_prover_open(enum gptq_method method, enum gptq_device device, unsigned number,
				struct gq_prover *prover, struct gptq_error *err);
void gq_prover_close(struct gq_prover *prover);
/* "avx512", "NVIDIA H200". */
const char *gq_prover_name(const struct gq_prover *prover);

struct gq_layer_proof {
	enum gptq_method method; /* what decided: TABLE or EVERY */
	struct gq_comparison found;
	uint64_t n_nan[2], n_inf[2]; /* scales */
};

/*
 * Compares two layers of the same in_features, out_features and dtype. GPTQ_E_UNSUPPORTED: the method is TABLE, and
 * packing or groups are not the same. For gq_work_run.
 */
enum gptq_status gq_prove_layer(struct gq_prover *prover, const struct gq_reading at[2], struct gq_work *work,
				unsigned worker, struct gq_layer_proof *proof, struct gptq_error *err);

/* Two tensors of the same size in bytes: how many bytes differ, and the first of them. */
struct gq_tensor_proof {
	uint64_t n_differ, first;
};
enum gptq_status gq_prove_tensor(struct gq_shards *const shards[2], const struct gq_tensor *const tensors[2],
				 struct gq_work *work, unsigned worker, struct gq_tensor_proof *proof,
				 struct gptq_error *err);

#endif
