/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proofs of kernel.h on a CUDA device. Where the build has no CUDA every function that can fail returns
 * GPTQ_E_UNSUPPORTED and says so; nothing else differs for callers. A context is for one thread at a time.
 */
#ifndef GQ_KERNELS_CUDA_H
#define GQ_KERNELS_CUDA_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gq_cuda;

enum gq_proof { GQ_PROOF_EVERY, GQ_PROOF_TABLE };

/*
 * How many devices can be used; 0 with the reason in reason (size bytes, NUL-terminated, may be NULL) where there is
 * none: no driver, a driver that is too old, no device, a build without CUDA.
 */
int gq_cuda_devices(char *reason, size_t size);

/* Opens a device. GPTQ_E_ARG: there are devices, but not this one; GPTQ_E_UNSUPPORTED: there are none. */
enum gptq_status gq_cuda_open(int device, struct gq_cuda **cuda, struct gptq_error *err);
void gq_cuda_close(struct gq_cuda *cuda); /* NULL is allowed */
/* "NVIDIA H200", as long as the context lives. */
const char *gq_cuda_name(const struct gq_cuda *cuda);

/*
 * Compares the weights of two layers. Arguments as gq_compare_every over all rows, and the outcome is the same to the
 * last count. Where a->rows.words == b->rows.words (the caller knows that the codes are the same bytes) they are sent
 * and read once.
 *
 * GQ_PROOF_TABLE needs equal packing, groups and g_of_k. It sets *proved and adds n_weights where codes and products
 * are the same on both sides, and counts nothing else; *proved = false proves nothing. With GQ_PROOF_EVERY *proved is
 * n_differ == 0 of this call.
 *
 * Layers larger than the device's memory go through it in pieces. GPTQ_E_NOMEM: not even a small piece fits.
 * GPTQ_E_IO: the device failed; the message has its reason.
 */
enum gptq_status gq_cuda_compare(struct gq_cuda *cuda, const struct gq_weights *a, const struct gq_weights *b,
				 enum gq_proof proof, uint64_t k_base, struct gq_comparison *out, bool *proved,
				 struct gptq_error *err);

/* Tests: at most this many bytes of codes a piece, and pretend that the device has no more memory than `memory`. */
void gq_cuda_limit(struct gq_cuda *cuda, size_t piece_bytes, size_t memory);

#ifdef __cplusplus
}
#endif

#endif
