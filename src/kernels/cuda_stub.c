/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for cuda.cu in builds without CUDA. */
#include "kernels/cuda.h"

#include "base/error.h"

#include <stdio.h>

#define REASON "this build has no CUDA support"

int gq_cuda_devices(char *reason, size_t size)
{
	if (reason && size > 0)
		snprintf(reason, size, "%s", REASON);
	return 0;
}

enum gptq_status gq_cuda_open(int device, struct gq_cuda **cuda, struct gptq_error *err)
{
	(void)device;
	*cuda = NULL;
	return gq_fail(err, GPTQ_E_UNSUPPORTED, "no CUDA device can be used: %s", REASON);
}

void gq_cuda_close(struct gq_cuda *cuda)
{
	(void)cuda;
}

const char *gq_cuda_name(const struct gq_cuda *cuda)
{
	(void)cuda;
	return "none";
}

enum gptq_status gq_cuda_compare(struct gq_cuda *cuda, const struct gq_weights *a, const struct gq_weights *b,
				 enum gq_proof proof, uint64_t k_base, struct gq_comparison *out, bool *proved,
				 struct gptq_error *err)
{
	(void)cuda, (void)a, (void)b, (void)proof, (void)k_base, (void)out;
	*proved = false;
	return gq_fail(err, GPTQ_E_UNSUPPORTED, "%s", REASON);
}

void gq_cuda_limit(struct gq_cuda *cuda, size_t piece_bytes, size_t memory)
{
	(void)cuda, (void)piece_bytes, (void)memory;
}
