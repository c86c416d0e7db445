/* SPDX-License-Identifier: Apache-2.0 */
/* For benchmarks of the CUDA proofs alone. */
#ifndef GQ_KERNELS_CUDA_MEASURE_H
#define GQ_KERNELS_CUDA_MEASURE_H

#include "kernels/cuda.h"

/*
 * Later calls of gq_cuda_compare compare each piece n times more with the data resident and put the device's time for
 * each into seconds[0..n-1] (those of the last piece stay); counts add up. n = 0 ends that.
 */
void gq_cuda_measure(struct gq_cuda *cuda, unsigned n, double *seconds);

#endif
