/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of the CUDA runtime as cuda.cu uses, on the CPU: memory is memory, streams finish at once, and a launch runs
 * thread after thread. Kernels here share atomic counters, and at most memory that is written before the one place
 * where all threads wait and read behind it: such kernels run twice, once for each phase. So this computes what a
 * device does, and machines without one can test the source, under sanitizers too. GQ_EMULATED_MEMORY: bytes of the
 * device, decimal. Shared memory is so small that tests reach layers that do not fit.
 */
#ifndef GQ_EMULATED_CUDA_RUNTIME_H
#define GQ_EMULATED_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GQ_CUDA_EMULATED 1
#define __CUDA_ARCH__ 900
#define __device__
#define __global__
#define __launch_bounds__(...)

struct Dim3 {
	unsigned x;
};
static thread_local Dim3 threadIdx, blockIdx, blockDim, gridDim;

#define GQ_LAUNCH(kernel, n_blocks, n_threads, stream, ...)                                                            \
	do {                                                                                                           \
		(void)(stream);                                                                                        \
		gridDim.x = (unsigned)(n_blocks);                                                                      \
		blockDim.x = (unsigned)(n_threads);                                                                    \
		for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                                             \
			for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                                 \
				kernel(__VA_ARGS__);                                                                   \
	} while (0)

#define GQ_LAUNCH_SHARED(kernel, n_blocks, n_threads, n_shared, stream, ...)                                           \
	do {                                                                                                           \
		(void)(stream);                                                                                        \
		if ((size_t)(n_shared) > EMULATED_SHARED)                                                              \
			abort();                                                                                       \
		gridDim.x = (unsigned)(n_blocks);                                                                      \
		blockDim.x = (unsigned)(n_threads);                                                                    \
		for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {                                           \
			emulated_shared = malloc(n_shared);                                                            \
			if (!emulated_shared)                                                                          \
				abort();                                                                               \
			memset(emulated_shared, 0xa5, n_shared);                                                       \
			for (emulated_phase = 0; emulated_phase < 2; emulated_phase++)                                 \
				for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                         \
					kernel(__VA_ARGS__);                                                           \
			free(emulated_shared);                                                                         \
		}                                                                                                      \
	} while (0)
#define GQ_PHASE(n) (emulated_phase == (n))
#define GQ_DYNAMIC_SHARED(name) void *name = emulated_shared
enum { EMULATED_SHARED = 24 << 10 };
static thread_local unsigned emulated_phase;
static thread_local void *emulated_shared;

static inline void __syncthreads()
{
}

struct uint2 {
	uint32_t x, y;
};
struct uint4 {
	uint32_t x, y, z, w;
};

template <class T> static inline T __ldcs(const T *p)
{
	if ((uintptr_t)p % sizeof(T) != 0)
		abort();
	return *p;
}

static inline uint32_t __shfl_sync(unsigned, uint32_t x, int)
{
	return x;
}

/* Byte i of the outcome is the one that hexadecimal digit i of the selector names, of x (0 to 3) or y (4 to 7). */
static inline uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t selector)
{
	uint64_t both = (uint64_t)y << 32 | x;
	uint32_t out = 0;

	for (unsigned i = 0; i < 4; i++)
		out |= (uint32_t)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
	return out;
}

static inline float __fmul_rn(float a, float b)
{
	return a * b;
}

static inline float __fadd_rn(float a, float b)
{
	return a + b;
}

static inline float __fmaf_rn(float a, float b, float c)
{
	return fmaf(a, b, c);
}

static inline uint32_t __float_as_uint(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float __uint_as_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline void atomicAdd(unsigned long long *p, unsigned long long n)
{
	*p += n;
}

static inline void atomicMin(unsigned long long *p, unsigned long long n)
{
	*p = n < *p ? n : *p;
}

typedef enum {
	cudaSuccess,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInsufficientDriver = 35,
	cudaErrorNoDevice = 100,
} cudaError_t;
typedef struct Stream *cudaStream_t;
typedef struct Event *cudaEvent_t;
enum {
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaHostAllocDefault,
	cudaStreamNonBlocking,
	cudaFuncAttributeMaxDynamicSharedMemorySize,
};
struct cudaDeviceProp {
	char name[256];
	int multiProcessorCount;
	size_t sharedMemPerBlockOptin;
};

static inline size_t emulated_memory(void)
{
	const char *text = getenv("GQ_EMULATED_MEMORY");

	return text ? strtoull(text, NULL, 10) : (size_t)1 << 30;
}

static inline const char *cudaGetErrorString(cudaError_t code)
{
	return code == cudaErrorMemoryAllocation ? "out of memory"
	       : code == cudaErrorNoDevice       ? "no device"
						 : "no error";
}

static inline cudaError_t cudaGetDeviceCount(int *n)
{
	*n = 1;
	return cudaSuccess;
}

static inline cudaError_t cudaDriverGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

static inline cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int)
{
	return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
	strcpy(properties->name, "emulated");
	properties->multiProcessorCount = 1;
	properties->sharedMemPerBlockOptin = EMULATED_SHARED;
	return cudaSuccess;
}

static inline cudaError_t cudaFuncSetAttribute(const void *, int, int)
{
	return cudaSuccess;
}

static inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
	*free_bytes = *all_bytes = emulated_memory();
	return cudaSuccess;
}

/* Filled with a pattern, as memory on a device holds what was there before. */
static inline cudaError_t cudaMalloc(void **p, size_t size)
{
	*p = size <= emulated_memory() ? aligned_alloc(256, (size + 255) / 256 * 256) : NULL;
	if (*p)
		memset(*p, 0xa5, size);
	return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaHostAlloc(void **p, size_t size, unsigned)
{
	*p = malloc(size);
	return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFree(void *p)
{
	free(p);
	return cudaSuccess;
}

static inline cudaError_t cudaFreeHost(void *p)
{
	free(p);
	return cudaSuccess;
}

static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t)
{
	memset(p, value, n);
	return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, int, cudaStream_t)
{
	memcpy(dst, src, n);
	return cudaSuccess;
}

static inline cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
					    size_t height, int, cudaStream_t)
{
	for (size_t i = 0; i < height; i++)
		memcpy((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch, width);
	return cudaSuccess;
}

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
	*stream = NULL;
	return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	*event = NULL;
	return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t)
{
	return cudaSuccess;
}

static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
	*ms = 1;
	return cudaSuccess;
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t)
{
	return cudaSuccess;
}

#endif
