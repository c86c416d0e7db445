// SPDX-License-Identifier: Apache-2.0
/*
 * The host's side of the CUDA proofs. A layer goes through the device in chunks of columns (one, unless its scales and
 * zero points are too large) and pieces of rows: while one piece is compared the next is copied into pinned memory and
 * on to the device. Two slots, a stream each, take turns.
 *
 * All device memory is one allocation, all pinned memory another; both stay for the next layer. What is laid out in
 * them is a plan; where it does not fit the pieces shrink, then the chunks.
 */
extern "C" {
#include "base/error.h"
#include "base/mem.h"
#include "kernels/cuda.h"
#include "kernels/cuda_measure.h"
}

#include <cuda_runtime.h>

// Tests that run kernels on the CPU have other ways to launch them. GQ_PHASE(0) is what a kernel does before its
// threads wait for each other, GQ_PHASE(1) what it does then.
#if !defined(GQ_CUDA_EMULATED)
#define GQ_LAUNCH(kernel, n_blocks, n_threads, stream, ...) kernel<<<n_blocks, n_threads, 0, stream>>>(__VA_ARGS__)
#define GQ_LAUNCH_SHARED(kernel, n_blocks, n_threads, n_shared, stream, ...)                                           \
	kernel<<<n_blocks, n_threads, n_shared, stream>>>(__VA_ARGS__)
#define GQ_PHASE(n) true
#define GQ_DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#endif

#include "kernels/cuda_plan.cuh"

#include <stdio.h>
#include <string.h>

using namespace gq;

namespace {

/* ------------------------------------------------------------------------------------------------------- upload */

gq::Dtype dtype_of(enum gptq_dtype dtype)
{
	return dtype == GPTQ_DTYPE_F16 ? gq::F16 : dtype == GPTQ_DTYPE_BF16 ? gq::BF16 : gq::F32;
}

// Scales, zero points and groups of a chunk of columns; the piece as far as the chunk fixes it. They are on the device
// when this returns, so that both streams may read them. A copy from pageable memory that is not tied to a stream may
// still be under way when it returns.
enum gptq_status begin_chunk(struct gq_cuda *cuda, const Layer &layer, const Plan &plan, size_t n0, size_t columns,
			     gq::Piece *piece, struct gptq_error *err)
{
	unsigned char *base = cuda->arena.memory;
	size_t nbytes = gq_weight_bytes(layer.side[0]->dtype);
	cudaStream_t stream = cuda->streams[0];

	*piece = gq::Piece();
	piece->dtype = dtype_of(layer.side[0]->dtype);
	piece->n_columns = (unsigned)columns;
	piece->n_padded = (unsigned)plan.padded;
	piece->first_column = n0;
	piece->all_columns = layer.side[0]->n_columns;
	for (unsigned i = 0; i < 2; i++) {
		const struct gq_weights *w = layer.side[i];
		const unsigned char *scales = static_cast<const unsigned char *>(w->scales) + n0 * nbytes;
		gq::Side *side = &piece->side[i];

		side->pitch = plan.pitch[i];
		side->bits = w->pack.bits;
		side->word_bits = w->pack.word_bits;
		side->scales = base + plan.scales[i];
		side->z = base + plan.z[i];
		if (columns < plan.padded) {
			TRY(cudaMemsetAsync(base + plan.scales[i], 0, w->n_groups * plan.padded * nbytes, stream));
			TRY(cudaMemsetAsync(base + plan.z[i], 0, w->n_groups * plan.padded, stream));
		}
		TRY(cudaMemcpy2DAsync(base + plan.scales[i], plan.padded * nbytes, scales, w->n_columns * nbytes,
				      columns * nbytes, w->n_groups, cudaMemcpyHostToDevice, stream));
		TRY(cudaMemcpy2DAsync(base + plan.z[i], plan.padded, w->z + n0, w->n_columns, columns, w->n_groups,
				      cudaMemcpyHostToDevice, stream));
		TRY(cudaMemcpyAsync(base + plan.groups[i], w->g_of_k, w->n_rows * sizeof(int32_t),
				    cudaMemcpyHostToDevice, stream));
	}
	TRY(cudaStreamSynchronize(stream));
	return GPTQ_OK;
}

// Copies word rows of one side into pinned memory, as they shall lie on the device. Returns the bytes.
size_t stage_words(const struct gq_weights *w, size_t k0, size_t rows, size_t n0, size_t columns, size_t pitch,
		   unsigned char *dst)
{
	size_t per_block = w->pack.bits == 3 ? 32 : w->pack.word_bits / w->pack.bits, words = w->pack.bits == 3 ? 3 : 1;
	size_t word_rows = (rows + per_block - 1) / per_block * words, row_bytes = columns * (w->pack.word_bits / 8);
	const unsigned char *src = static_cast<const unsigned char *>(w->rows.words) +
				   k0 / per_block * words * w->rows.row_bytes + n0 * (w->pack.word_bits / 8);

	if (row_bytes == pitch && w->rows.row_bytes == pitch) {
		memcpy(dst, src, word_rows * pitch);
		return word_rows * pitch;
	}
	for (size_t r = 0; r < word_rows; r++) {
		memcpy(dst + r * pitch, src + r * w->rows.row_bytes, row_bytes);
		memset(dst + r * pitch + row_bytes, 0, pitch - row_bytes);
	}
	return word_rows * pitch;
}

/* ---------------------------------------------------------------------------------------------------------- run */

using Kernel = void (*)(gq::Piece, const gq::Stretch *, unsigned, gq::Found *);

template <gq::Dtype DTYPE, bool SHARED> Kernel kernel_of_bits(unsigned bits)
{
	switch (bits) {
	case 2:
		return gq::compare_fast<DTYPE, 2, SHARED>;
	case 3:
		return gq::compare_fast<DTYPE, 3, SHARED>;
	case 4:
		return gq::compare_fast<DTYPE, 4, SHARED>;
	default:
		return gq::compare_fast<DTYPE, 8, SHARED>;
	}
}

template <bool SHARED> Kernel kernel_of(gq::Dtype dtype, unsigned bits)
{
	if (dtype == gq::F16)
		return kernel_of_bits<gq::F16, SHARED>(bits);
	if (dtype == gq::BF16)
		return kernel_of_bits<gq::BF16, SHARED>(bits);
	return kernel_of_bits<gq::F32, SHARED>(bits);
}

using MixedKernel = void (*)(gq::Piece, gq::Mixed, gq::Found *);

template <gq::Dtype DTYPE, bool SHARED> MixedKernel mixed_kernel_of_bits(unsigned bits)
{
	switch (bits) {
	case 2:
		return gq::compare_mixed<DTYPE, 2, SHARED>;
	case 3:
		return gq::compare_mixed<DTYPE, 3, SHARED>;
	case 4:
		return gq::compare_mixed<DTYPE, 4, SHARED>;
	default:
		return gq::compare_mixed<DTYPE, 8, SHARED>;
	}
}

template <bool SHARED> MixedKernel mixed_kernel_of(gq::Dtype dtype, unsigned bits)
{
	if (dtype == gq::F16)
		return mixed_kernel_of_bits<gq::F16, SHARED>(bits);
	if (dtype == gq::BF16)
		return mixed_kernel_of_bits<gq::BF16, SHARED>(bits);
	return mixed_kernel_of_bits<gq::F32, SHARED>(bits);
}

size_t tiles(size_t columns, size_t of_block)
{
	return (columns + of_block - 1) / of_block;
}

void launch_mixed(const struct gq_cuda *cuda, const gq::Piece &piece, const Plan &plan, size_t n_groups,
		  unsigned n_blocks, gq::Found *found, cudaStream_t stream)
{
	gq::Mixed mixed = divide(cuda, piece, n_groups, n_blocks);
	size_t n_shared = n_groups * mixed.width * cells_bytes(piece.dtype);
	MixedKernel kernel = plan.shared ? mixed_kernel_of<true>(piece.dtype, piece.side[0].bits)
					 : mixed_kernel_of<false>(piece.dtype, piece.side[0].bits);

	// The most there is, and not what is needed here: another thread may set it between this and the launch. A failure
	// stays for cudaGetLastError.
	if (cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
				 (int)cuda->shared_bytes) != cudaSuccess)
		return;
	GQ_LAUNCH_SHARED(kernel, mixed.n_tiles * mixed.n_parts, gq::MIXED_THREADS, n_shared, stream, piece, mixed,
			 found);
}

void launch_every(const struct gq_cuda *cuda, const gq::Piece &piece, const Plan &plan, const Lists &lists,
		  size_t n_groups, gq::Found *found, cudaStream_t stream)
{
	unsigned bits = piece.side[0].bits;
	unsigned n_tiles = (unsigned)tiles(piece.n_padded, gq::THREADS * gq::COLUMNS);
	Kernel kernel = plan.shared ? kernel_of<true>(piece.dtype, bits) : kernel_of<false>(piece.dtype, bits);

	if (lists.n_mixed > 0)
		launch_mixed(cuda, piece, plan, n_groups, lists.n_mixed, found, stream);
	if (lists.n_fast > 0)
		GQ_LAUNCH(kernel, n_tiles * lists.n_fast, gq::THREADS, stream, piece, lists.fast, n_tiles, found);
	n_tiles = (unsigned)tiles(piece.n_columns, gq::THREADS);
	if (lists.n_exact > 0)
		GQ_LAUNCH(gq::compare_exact, n_tiles * lists.n_exact, gq::THREADS, stream, piece, lists.exact, n_tiles,
			  found);
}

void launch_table(struct gq_cuda *cuda, const gq::Piece &piece, const Plan &plan, size_t rows, gq::Found *found,
		  cudaStream_t stream)
{
	const gq::Side &a = piece.side[0], &b = piece.side[1];
	size_t word_rows = rows * a.bits / a.word_bits, n = word_rows * a.pitch / 16;

	if (!plan.shared && n > 0)
		GQ_LAUNCH(gq::compare_bytes, cuda->n_processors * 8, 256, stream,
			  reinterpret_cast<const uint4 *>(a.words), reinterpret_cast<const uint4 *>(b.words), n, found);
}

// Everything of one piece that a benchmark repeats.
struct Launch {
	gq::Piece piece;
	Lists lists;       // counts; pointers to the device
	size_t whole_rows; // table: rows that fill blocks
	size_t n_groups;
	bool every, first; // first piece of a chunk
};

enum gptq_status launch(struct gq_cuda *cuda, const Plan &plan, const Launch &what, cudaStream_t stream,
			struct gptq_error *err)
{
	gq::Found *found = reinterpret_cast<gq::Found *>(cuda->arena.memory + plan.found);

	if (!what.every) {
		launch_table(cuda, what.piece, plan, what.whole_rows, found, stream);
		if (what.first)
			GQ_LAUNCH(gq::compare_cells, cuda->n_processors * 8, 256, stream, what.piece, what.n_groups,
				  found);
	}
	launch_every(cuda, what.piece, plan, what.lists, what.n_groups, found, stream);
	TRY(cudaGetLastError());
	return GPTQ_OK;
}

// For benchmarks: the same launch again and again, the data resident.
enum gptq_status measure(struct gq_cuda *cuda, const Plan &plan, const Launch &what, cudaStream_t stream,
			 struct gptq_error *err)
{
	for (unsigned i = 0; i < cuda->n_measured; i++) {
		enum gptq_status status;
		float ms;

		TRY(cudaStreamSynchronize(stream));
		TRY(cudaEventRecord(cuda->begin, stream));
		status = launch(cuda, plan, what, stream, err);
		if (status != GPTQ_OK)
			return status;
		TRY(cudaEventRecord(cuda->end, stream));
		TRY(cudaEventSynchronize(cuda->end));
		TRY(cudaEventElapsedTime(&ms, cuda->begin, cuda->end));
		cuda->seconds[i] = 1e-3 * (double)ms;
	}
	return GPTQ_OK;
}

// Sends rows [k0, k0 + rows) and compares them, in one of the slots once that is free.
enum gptq_status run_piece(struct gq_cuda *cuda, const Layer &layer, const Plan &plan, const gq::Piece &chunk,
			   size_t k0, size_t rows, unsigned slot, struct gptq_error *err)
{
	unsigned char *device = cuda->arena.memory + plan.slot + slot * plan.slot_size;
	unsigned char *pinned = cuda->pinned.memory + slot * plan.slot_size;
	cudaStream_t stream = cuda->streams[slot];
	size_t tail = layer.proof == GQ_PROOF_EVERY ? k0 : layer.k_tail > k0 ? layer.k_tail : k0;
	Launch what = {chunk, {}, 0, layer.side[0]->n_groups, layer.proof == GQ_PROOF_EVERY, k0 == 0};
	enum gptq_status status;

	TRY(cudaStreamSynchronize(stream));
	what.piece.first_row = k0;
	for (unsigned i = 0; i < 2; i++) {
		gq::Side *side = &what.piece.side[i];

		side->words = device + plan.words[i];
		side->groups = reinterpret_cast<const int32_t *>(cuda->arena.memory + plan.groups[i]) + k0;
		if (i == 0 || !plan.shared) {
			size_t n = stage_words(layer.side[i], k0, rows, chunk.first_column, chunk.n_columns,
					       plan.pitch[i], pinned + plan.words[i]);

			TRY(cudaMemcpyAsync(device + plan.words[i], pinned + plan.words[i], n, cudaMemcpyHostToDevice,
					    stream));
		}
	}
	what.lists.fast = reinterpret_cast<gq::Stretch *>(pinned + plan.fast);
	what.lists.exact = reinterpret_cast<gq::Stretch *>(pinned + plan.exact);
	if (tail < k0 + rows) {
		cut(layer, k0, rows, most_groups(cuda, chunk.dtype), &what.lists);
		TRY(cudaMemcpyAsync(device + plan.fast, what.lists.fast, what.lists.n_fast * sizeof(gq::Stretch),
				    cudaMemcpyHostToDevice, stream));
		TRY(cudaMemcpyAsync(device + plan.exact, what.lists.exact, what.lists.n_exact * sizeof(gq::Stretch),
				    cudaMemcpyHostToDevice, stream));
	}
	what.lists.fast = reinterpret_cast<gq::Stretch *>(device + plan.fast);
	what.lists.exact = reinterpret_cast<gq::Stretch *>(device + plan.exact);
	what.whole_rows = tail - k0 < rows ? tail - k0 : rows;
	status = launch(cuda, plan, what, stream, err);
	if (status == GPTQ_OK && cuda->n_measured > 0)
		status = measure(cuda, plan, what, stream, err);
	return status;
}

enum gptq_status run_layer(struct gq_cuda *cuda, const Layer &layer, const Plan &plan, struct gptq_error *err)
{
	size_t n_rows = layer.side[0]->n_rows, n_columns = layer.side[0]->n_columns;
	unsigned slot = 0;

	memset(cuda->found, 0, sizeof(*cuda->found));
	cuda->found->first = ~0ULL;
	TRY(cudaMemcpyAsync(cuda->arena.memory + plan.found, cuda->found, sizeof(*cuda->found), cudaMemcpyHostToDevice,
			    cuda->streams[0]));
	for (size_t n0 = 0; n0 < n_columns; n0 += plan.columns) {
		size_t columns = n_columns - n0 < plan.columns ? n_columns - n0 : plan.columns;
		gq::Piece chunk;
		enum gptq_status status = begin_chunk(cuda, layer, plan, n0, columns, &chunk, err);

		for (size_t k = 0; k < n_rows && status == GPTQ_OK; k += plan.rows) {
			status = run_piece(cuda, layer, plan, chunk, k, n_rows - k < plan.rows ? n_rows - k : plan.rows,
					   slot, err);
			slot = (slot + 1) % plan.n_slots;
		}
		// Scales and zero points are in use until here.
		TRY(cudaStreamSynchronize(cuda->streams[0]));
		TRY(cudaStreamSynchronize(cuda->streams[1]));
		if (status != GPTQ_OK)
			return status;
	}
	TRY(cudaMemcpyAsync(cuda->found, cuda->arena.memory + plan.found, sizeof(*cuda->found), cudaMemcpyDeviceToHost,
			    cuda->streams[0]));
	TRY(cudaStreamSynchronize(cuda->streams[0]));
	return GPTQ_OK;
}

void add_found(const gq::Found &found, const Layer &layer, uint64_t k_base, struct gq_comparison *out)
{
	const struct gq_weights *a = layer.side[0];
	uint64_t k = k_base + found.first / a->n_columns, n = found.first % a->n_columns;

	for (unsigned i = 0; i < 2; i++) {
		out->n_nan[i] += found.n_nan[i];
		out->n_inf[i] += found.n_inf[i];
	}
	if (found.n_differ > 0 && (out->n_differ == 0 || k < out->first_k || (k == out->first_k && n < out->first_n))) {
		out->first_k = k;
		out->first_n = n;
		for (unsigned i = 0; i < 2; i++)
			out->first[i] = gq_weight_at(layer.side[i], (size_t)(k - k_base), (size_t)n);
	}
	out->n_differ += found.n_differ;
}

} // namespace

/* ----------------------------------------------------------------------------------------------- C interface */

extern "C" enum gptq_status gq_cuda_compare(struct gq_cuda *cuda, const struct gq_weights *a,
					    const struct gq_weights *b, enum gq_proof proof, uint64_t k_base,
					    struct gq_comparison *out, bool *proved, struct gptq_error *err)
{
	size_t block = gq_layout_stream.block_codes(a->pack);
	Layer layer = {{a, b}, proof, a->n_rows / block * block};
	uint64_t n_weights = (uint64_t)a->n_rows * a->n_columns;
	enum gptq_status status;
	Plan plan;

	*proved = n_weights == 0;
	if (n_weights == 0)
		return GPTQ_OK;
	TRY(cudaSetDevice(cuda->device));
	status = make_plan(cuda, layer, &plan, err);
	if (status == GPTQ_OK)
		status = run_layer(cuda, layer, plan, err);
	if (status != GPTQ_OK)
		return status;
	*proved = cuda->found->n_differ == 0 && cuda->found->bytes_differ == 0 && cuda->found->cells_differ == 0;
	if (proof == GQ_PROOF_EVERY)
		add_found(*cuda->found, layer, k_base, out);
	if (proof == GQ_PROOF_EVERY || *proved)
		out->n_weights += n_weights;
	return GPTQ_OK;
}

extern "C" int gq_cuda_devices(char *reason, size_t size)
{
	int n = 0, driver = 0;
	cudaError_t code = cudaGetDeviceCount(&n);
	const char *why;

	if (code == cudaSuccess && n == 0)
		code = cudaErrorNoDevice;
	why = cudaGetErrorString(code);
	// The runtime calls a driver that is not there too old.
	if (code == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
		why = "no CUDA driver is installed";
	if (reason && size > 0)
		snprintf(reason, size, "%s", code == cudaSuccess ? "" : why);
	if (code != cudaSuccess)
		cudaGetLastError();
	return code == cudaSuccess ? n : 0;
}

namespace {

enum gptq_status set_up(struct gq_cuda *cuda, struct gptq_error *err)
{
	cudaDeviceProp properties;
	size_t free_bytes, all_bytes;

	TRY(cudaGetDeviceProperties(&properties, cuda->device));
	snprintf(cuda->name, sizeof(cuda->name), "%s", properties.name);
	cuda->n_processors = properties.multiProcessorCount;
	cuda->shared_bytes = properties.sharedMemPerBlockOptin;
	TRY(cudaSetDevice(cuda->device));
	TRY(cudaMemGetInfo(&free_bytes, &all_bytes));
	cuda->memory_limit = free_bytes / 10 * 9;
	for (unsigned i = 0; i < 2; i++)
		TRY(cudaStreamCreateWithFlags(&cuda->streams[i], cudaStreamNonBlocking));
	TRY(cudaEventCreate(&cuda->begin));
	TRY(cudaEventCreate(&cuda->end));
	TRY(cudaHostAlloc(reinterpret_cast<void **>(&cuda->found), sizeof(*cuda->found), cudaHostAllocDefault));
	return GPTQ_OK;
}

} // namespace

extern "C" enum gptq_status gq_cuda_open(int device, struct gq_cuda **out, struct gptq_error *err)
{
	char reason[256];
	int n = gq_cuda_devices(reason, sizeof(reason));
	struct gq_cuda *cuda;
	enum gptq_status status;

	*out = nullptr;
	if (n == 0)
		return gq_fail(err, GPTQ_E_UNSUPPORTED, "no CUDA device can be used: %s", reason);
	if (device < 0 || device >= n)
		return gq_fail(err, GPTQ_E_ARG, "there is no CUDA device %d: the devices are 0 to %d", device, n - 1);
	cuda = static_cast<struct gq_cuda *>(gq_calloc(1, sizeof(*cuda)));
	if (!cuda)
		return gq_fail_nomem(err);
	cuda->device = device;
	cuda->piece_bytes = PIECE_BYTES;
	status = set_up(cuda, err);
	if (status != GPTQ_OK) {
		gq_cuda_close(cuda);
		return status;
	}
	*out = cuda;
	return GPTQ_OK;
}

extern "C" void gq_cuda_close(struct gq_cuda *cuda)
{
	if (!cuda)
		return;
	cudaSetDevice(cuda->device);
	cudaFree(cuda->arena.memory);
	cudaFreeHost(cuda->pinned.memory);
	cudaFreeHost(cuda->found);
	for (unsigned i = 0; i < 2; i++)
		if (cuda->streams[i])
			cudaStreamDestroy(cuda->streams[i]);
	if (cuda->begin)
		cudaEventDestroy(cuda->begin);
	if (cuda->end)
		cudaEventDestroy(cuda->end);
	cudaGetLastError();
	gq_free(cuda);
}

extern "C" const char *gq_cuda_name(const struct gq_cuda *cuda)
{
	return cuda->name;
}

extern "C" void gq_cuda_limit(struct gq_cuda *cuda, size_t piece_bytes, size_t memory)
{
	cuda->piece_bytes = piece_bytes;
	cuda->memory_limit = memory;
	cudaFree(cuda->arena.memory);
	cuda->arena = Arena();
}

extern "C" void gq_cuda_measure(struct gq_cuda *cuda, unsigned n, double *seconds)
{
	cuda->n_measured = n;
	cuda->seconds = seconds;
}
