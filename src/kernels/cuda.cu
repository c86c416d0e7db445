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

#include "kernels/cuda_device.cuh"

#include <stdio.h>
#include <string.h>

// Another way to launch kernels stands here where tests run them on the CPU.
#ifndef GQ_LAUNCH
#define GQ_LAUNCH(kernel, n_blocks, n_threads, stream, ...) kernel<<<n_blocks, n_threads, 0, stream>>>(__VA_ARGS__)
#endif

namespace
{

constexpr size_t UNIT_ROWS = 32;          // whole blocks in every packing
constexpr size_t PIECE_BYTES = 32u << 20; // of codes, by default
constexpr size_t LEAST_COLUMNS = 1024;    // a chunk is not cut below this
constexpr size_t STRETCH_BLOCKS = 16;     // blocks of a stretch, at most: enough threads for layers of one group

struct Arena {
	unsigned char *memory;
	size_t size;
};

// What the two sides of a chunk and of a piece need, and where it lies in the arenas.
struct Plan {
	size_t columns, padded, rows; // of a chunk and of a piece
	bool shared;                  // both sides have the same words
	unsigned n_slots;
	size_t word_rows[2], pitch[2];            // of a piece
	size_t scales[2], z[2], groups[2], found; // offsets, device
	size_t slot, slot_size;                   // offset of the first slot, device
	size_t words[2], fast, exact;             // offsets in a slot, device and pinned
	size_t device_size, pinned_size;
};

struct Layer {
	const struct gq_weights *side[2];
	enum gq_proof proof;
	size_t k_tail; // table: rows from here on do not fill a block
};

} // namespace

struct gq_cuda {
	int device, n_processors;
	char name[256];
	size_t piece_bytes, memory_limit;
	Arena arena, pinned;
	cudaStream_t streams[2];
	cudaEvent_t begin, end;
	gq::Found *found;    // pinned
	unsigned n_measured; // runs of each piece, for benchmarks
	double *seconds;
};

namespace
{

enum gptq_status fail(const struct gq_cuda *cuda, cudaError_t code, const char *what, struct gptq_error *err)
{
	if (code == cudaErrorMemoryAllocation)
		return gq_fail(err, GPTQ_E_NOMEM, "CUDA device %d (%s): %s: %s", cuda->device, cuda->name, what,
			       cudaGetErrorString(code));
	return gq_fail(err, GPTQ_E_IO, "CUDA device %d (%s): %s: %s", cuda->device, cuda->name, what,
		       cudaGetErrorString(code));
}

#define TRY(call)                                                                                                      \
	do {                                                                                                           \
		cudaError_t code_ = (call);                                                                            \
		if (code_ != cudaSuccess)                                                                              \
			return fail(cuda, code_, #call, err);                                                          \
	} while (0)

size_t take(size_t *at, size_t nbytes)
{
	size_t here = *at;

	*at += (nbytes + 255) / 256 * 256;
	return here;
}

/* --------------------------------------------------------------------------------------------------------- plan */

void lay_out(const Layer &layer, Plan *plan)
{
	const struct gq_weights *w = layer.side[0];
	size_t device = 0, slot = 0;

	plan->padded = (plan->columns + 3) / 4 * 4;
	plan->n_slots = plan->rows >= w->n_rows && plan->columns >= w->n_columns ? 1 : 2;
	plan->found = take(&device, sizeof(gq::Found));
	for (unsigned i = 0; i < 2; i++) {
		const struct gq_pack pack = layer.side[i]->pack;

		plan->word_rows[i] = plan->rows * pack.bits / pack.word_bits;
		plan->pitch[i] = (plan->columns * (pack.word_bits / 8) + 15) / 16 * 16;
		plan->scales[i] = take(&device, layer.side[i]->n_groups * plan->padded * gq_weight_bytes(w->dtype));
		plan->z[i] = take(&device, layer.side[i]->n_groups * plan->padded);
		plan->groups[i] = take(&device, w->n_rows * sizeof(int32_t));
		plan->words[i] =
			i == 1 && plan->shared ? plan->words[0] : take(&slot, plan->word_rows[i] * plan->pitch[i]);
	}
	plan->fast = take(&slot, plan->rows * sizeof(gq::Stretch));
	plan->exact = take(&slot, plan->rows * sizeof(gq::Stretch));
	plan->slot = device;
	plan->slot_size = slot;
	plan->device_size = device + plan->n_slots * slot;
	plan->pinned_size = plan->n_slots * slot;
}

size_t rows_of_piece(const Layer &layer, const Plan &plan, size_t piece_bytes)
{
	const struct gq_pack a = layer.side[0]->pack, b = layer.side[1]->pack;
	size_t unit = UNIT_ROWS * a.bits / 8 * plan.columns + (plan.shared ? 0 : UNIT_ROWS * b.bits / 8 * plan.columns);
	size_t all = (layer.side[0]->n_rows + UNIT_ROWS - 1) / UNIT_ROWS, units = piece_bytes / (unit > 0 ? unit : 1);

	units = units < 1 ? 1 : units > all ? all : units;
	return units * UNIT_ROWS;
}

// Grows an arena; cudaErrorMemoryAllocation leaves none.
cudaError_t grow_device(struct gq_cuda *cuda, size_t size)
{
	cudaError_t code;

	if (cuda->arena.size >= size)
		return cudaSuccess;
	cudaFree(cuda->arena.memory);
	cuda->arena.memory = nullptr;
	cuda->arena.size = 0;
	if (size > cuda->memory_limit)
		return cudaErrorMemoryAllocation;
	code = cudaMalloc(reinterpret_cast<void **>(&cuda->arena.memory), size);
	if (code == cudaSuccess)
		cuda->arena.size = size;
	else
		cudaGetLastError();
	return code;
}

cudaError_t grow_pinned(struct gq_cuda *cuda, size_t size)
{
	cudaError_t code;

	if (cuda->pinned.size >= size)
		return cudaSuccess;
	cudaFreeHost(cuda->pinned.memory);
	cuda->pinned.memory = nullptr;
	cuda->pinned.size = 0;
	code = cudaHostAlloc(reinterpret_cast<void **>(&cuda->pinned.memory), size, cudaHostAllocDefault);
	if (code == cudaSuccess)
		cuda->pinned.size = size;
	else
		cudaGetLastError();
	return code;
}

// The largest pieces that there is memory for.
enum gptq_status make_plan(struct gq_cuda *cuda, const Layer &layer, Plan *plan, struct gptq_error *err)
{
	size_t piece_bytes = cuda->piece_bytes;
	cudaError_t code;

	plan->columns = layer.side[0]->n_columns;
	plan->shared = layer.side[0]->rows.words == layer.side[1]->rows.words;
	for (;;) {
		plan->rows = rows_of_piece(layer, *plan, piece_bytes);
		lay_out(layer, plan);
		code = grow_device(cuda, plan->device_size);
		if (code == cudaSuccess)
			code = grow_pinned(cuda, plan->pinned_size);
		if (code == cudaSuccess)
			return GPTQ_OK;
		if (code != cudaErrorMemoryAllocation)
			return fail(cuda, code, "allocating", err);
		if (plan->rows > UNIT_ROWS)
			piece_bytes /= 2;
		else if (plan->columns > LEAST_COLUMNS)
			plan->columns = (plan->columns / 2 + 3) / 4 * 4;
		else
			return fail(cuda, code, "no memory for even a small part of a layer", err);
	}
}

/* ------------------------------------------------------------------------------------------------------- upload */

gq::Dtype dtype_of(enum gptq_dtype dtype)
{
	return dtype == GPTQ_DTYPE_F16 ? gq::F16 : dtype == GPTQ_DTYPE_BF16 ? gq::BF16 : gq::F32;
}

// Scales, zero points and groups of a chunk of columns; the piece as far as the chunk fixes it.
enum gptq_status begin_chunk(struct gq_cuda *cuda, const Layer &layer, const Plan &plan, size_t n0, size_t columns,
			     gq::Piece *piece, struct gptq_error *err)
{
	unsigned char *base = cuda->arena.memory;
	size_t nbytes = gq_weight_bytes(layer.side[0]->dtype);

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
			TRY(cudaMemset(base + plan.scales[i], 0, w->n_groups * plan.padded * nbytes));
			TRY(cudaMemset(base + plan.z[i], 0, w->n_groups * plan.padded));
		}
		TRY(cudaMemcpy2D(base + plan.scales[i], plan.padded * nbytes, scales, w->n_columns * nbytes,
				 columns * nbytes, w->n_groups, cudaMemcpyHostToDevice));
		TRY(cudaMemcpy2D(base + plan.z[i], plan.padded, w->z + n0, w->n_columns, columns, w->n_groups,
				 cudaMemcpyHostToDevice));
		TRY(cudaMemcpy(base + plan.groups[i], w->g_of_k, w->n_rows * sizeof(int32_t), cudaMemcpyHostToDevice));
	}
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

// Rows from k on, at most up to k1, that are whole blocks of one group; 0 where the fast way cannot go.
size_t fast_rows(const struct gq_weights *w, size_t k, size_t k1)
{
	size_t block = w->pack.bits == 3 ? 32 : 32 / w->pack.bits, end = k;

	if (k % block != 0)
		return 0;
	if (k1 > k + STRETCH_BLOCKS * block)
		k1 = k + STRETCH_BLOCKS * block;
	while (end < k1 && w->g_of_k[end] == w->g_of_k[k])
		end++;
	return (end - k) / block * block;
}

struct Lists {
	gq::Stretch *fast, *exact;
	unsigned n_fast, n_exact;
};

// Cuts rows [k0, k0 + rows) into stretches; k0 is a multiple of UNIT_ROWS.
void cut(const Layer &layer, size_t k0, size_t rows, Lists *lists)
{
	const struct gq_weights *a = layer.side[0], *b = layer.side[1];
	bool fast = a->pack.word_bits == 32 && b->pack.word_bits == 32 && a->pack.bits == b->pack.bits;

	lists->n_fast = lists->n_exact = 0;
	for (size_t k = k0, n; k < k0 + rows; k += n) {
		size_t n_a = fast ? fast_rows(a, k, k0 + rows) : 0, n_b = fast ? fast_rows(b, k, k0 + rows) : 0;
		gq::Stretch stretch = {(uint32_t)(k - k0), 0, {a->g_of_k[k], b->g_of_k[k]}};
		gq::Stretch *last = lists->n_exact > 0 ? &lists->exact[lists->n_exact - 1] : nullptr;

		n = n_a < n_b ? n_a : n_b;
		stretch.k1 = (uint32_t)(k - k0 + n);
		if (n > 0) {
			lists->fast[lists->n_fast++] = stretch;
			continue;
		}
		n = 1;
		if (last && last->k1 == stretch.k0 && last->k1 - last->k0 < UNIT_ROWS) {
			last->k1++;
		} else {
			stretch.k1 = stretch.k0 + 1;
			lists->exact[lists->n_exact++] = stretch;
		}
	}
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

size_t tiles(size_t columns, size_t of_block)
{
	return (columns + of_block - 1) / of_block;
}

void launch_every(const gq::Piece &piece, const Plan &plan, const gq::Stretch *fast, unsigned n_fast,
		  const gq::Stretch *exact, unsigned n_exact, gq::Found *found, cudaStream_t stream)
{
	unsigned bits = piece.side[0].bits;
	unsigned n_tiles = (unsigned)tiles(piece.n_padded, gq::THREADS * gq::COLUMNS);
	Kernel kernel = plan.shared ? kernel_of<true>(piece.dtype, bits) : kernel_of<false>(piece.dtype, bits);

	if (n_fast > 0)
		GQ_LAUNCH(kernel, n_tiles * n_fast, gq::THREADS, stream, piece, fast, n_tiles, found);
	n_tiles = (unsigned)tiles(piece.n_columns, gq::THREADS);
	if (n_exact > 0)
		GQ_LAUNCH(gq::compare_exact, n_tiles * n_exact, gq::THREADS, stream, piece, exact, n_tiles, found);
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
	Lists lists;                 // counts; pointers to the device
	size_t whole_rows, n_groups; // table: rows that fill blocks; groups on the first piece of a chunk, else 0
	bool every;
};

enum gptq_status launch(struct gq_cuda *cuda, const Plan &plan, const Launch &what, cudaStream_t stream,
			struct gptq_error *err)
{
	gq::Found *found = reinterpret_cast<gq::Found *>(cuda->arena.memory + plan.found);

	if (!what.every) {
		launch_table(cuda, what.piece, plan, what.whole_rows, found, stream);
		if (what.n_groups > 0)
			GQ_LAUNCH(gq::compare_cells, cuda->n_processors * 8, 256, stream, what.piece, what.n_groups,
				  found);
	}
	launch_every(what.piece, plan, what.lists.fast, what.lists.n_fast, what.lists.exact, what.lists.n_exact, found,
		     stream);
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
	Launch what = {chunk, {}, 0, 0, layer.proof == GQ_PROOF_EVERY};
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
		cut(layer, k0, rows, &what.lists);
		TRY(cudaMemcpyAsync(device + plan.fast, what.lists.fast, what.lists.n_fast * sizeof(gq::Stretch),
				    cudaMemcpyHostToDevice, stream));
		TRY(cudaMemcpyAsync(device + plan.exact, what.lists.exact, what.lists.n_exact * sizeof(gq::Stretch),
				    cudaMemcpyHostToDevice, stream));
	}
	what.lists.fast = reinterpret_cast<gq::Stretch *>(device + plan.fast);
	what.lists.exact = reinterpret_cast<gq::Stretch *>(device + plan.exact);
	what.whole_rows = tail - k0 < rows ? tail - k0 : rows;
	what.n_groups = k0 == 0 ? layer.side[0]->n_groups : 0;
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
	TRY(cudaMemcpy(cuda->arena.memory + plan.found, cuda->found, sizeof(*cuda->found), cudaMemcpyHostToDevice));
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
	TRY(cudaMemcpy(cuda->found, cuda->arena.memory + plan.found, sizeof(*cuda->found), cudaMemcpyDeviceToHost));
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
	int n = 0;
	cudaError_t code = cudaGetDeviceCount(&n);

	if (code == cudaSuccess && n == 0)
		code = cudaErrorNoDevice;
	if (reason && size > 0)
		snprintf(reason, size, "%s", code == cudaSuccess ? "" : cudaGetErrorString(code));
	if (code != cudaSuccess)
		cudaGetLastError();
	return code == cudaSuccess ? n : 0;
}

namespace
{

enum gptq_status set_up(struct gq_cuda *cuda, struct gptq_error *err)
{
	cudaDeviceProp properties;
	size_t free_bytes, all_bytes;

	TRY(cudaGetDeviceProperties(&properties, cuda->device));
	snprintf(cuda->name, sizeof(cuda->name), "%s", properties.name);
	cuda->n_processors = properties.multiProcessorCount;
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
