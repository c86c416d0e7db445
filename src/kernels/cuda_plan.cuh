/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a layer goes through a device for cuda.cu: what is laid out where in the memory there is, and how rows are cut
 * into stretches.
 */
#ifndef GQ_KERNELS_CUDA_PLAN_CUH
#define GQ_KERNELS_CUDA_PLAN_CUH

#include "kernels/cuda_mixed.cuh"

extern "C" {
#include "base/error.h"
#include "kernels/cuda.h"
}

namespace gq {

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

} // namespace gq

struct gq_cuda {
	int device, n_processors;
	size_t shared_bytes; // shared memory that a block of threads can have
	char name[256];
	size_t piece_bytes, memory_limit;
	gq::Arena arena, pinned;
	cudaStream_t streams[2];
	cudaEvent_t begin, end;
	gq::Found *found;    // pinned
	unsigned n_measured; // runs of each piece, for benchmarks
	double *seconds;
};

namespace gq {

inline enum gptq_status fail(const struct gq_cuda *cuda, cudaError_t code, const char *what, struct gptq_error *err)
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

inline size_t take(size_t *at, size_t nbytes)
{
	size_t here = *at;

	*at += (nbytes + 255) / 256 * 256;
	return here;
}

/* --------------------------------------------------------------------------------------------------------- plan */

inline void lay_out(const Layer &layer, Plan *plan)
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

inline size_t rows_of_piece(const Layer &layer, const Plan &plan, size_t piece_bytes)
{
	const struct gq_pack a = layer.side[0]->pack, b = layer.side[1]->pack;
	size_t unit = UNIT_ROWS * a.bits / 8 * plan.columns + (plan.shared ? 0 : UNIT_ROWS * b.bits / 8 * plan.columns);
	size_t all = (layer.side[0]->n_rows + UNIT_ROWS - 1) / UNIT_ROWS, units = piece_bytes / (unit > 0 ? unit : 1);

	units = units < 1 ? 1 : units > all ? all : units;
	return units * UNIT_ROWS;
}

// Grows an arena; cudaErrorMemoryAllocation leaves none.
inline cudaError_t grow_device(struct gq_cuda *cuda, size_t size)
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

inline cudaError_t grow_pinned(struct gq_cuda *cuda, size_t size)
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
inline enum gptq_status make_plan(struct gq_cuda *cuda, const Layer &layer, Plan *plan, struct gptq_error *err)
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

/* ---------------------------------------------------------------------------------------------------- stretches */

// Rows from k on, at most up to k1, that are whole blocks of one group; 0 where the fast way cannot go.
inline size_t fast_rows(const struct gq_weights *w, size_t k, size_t k1)
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
	unsigned n_mixed; // blocks of codes, from the first row on, before all stretches
};

// Blocks of codes among rows [k0, k0 + rows) for the mixed way: all of them, or none where it cannot go or few of them
// have rows of different groups. max_groups: those that shared memory has room for.
inline unsigned mixed_blocks(const Layer &layer, size_t k0, size_t rows, size_t max_groups)
{
	const struct gq_weights *a = layer.side[0], *b = layer.side[1];
	size_t block = a->pack.bits == 3 ? 32 : 32 / a->pack.bits, n_blocks = rows / block, n_mixed = 0;

	if (a->pack.word_bits != 32 || b->pack.word_bits != 32 || a->pack.bits != b->pack.bits ||
	    a->n_groups != b->n_groups || a->n_groups > max_groups ||
	    memcmp(a->g_of_k + k0, b->g_of_k + k0, n_blocks * block * sizeof(a->g_of_k[0])) != 0)
		return 0;
	for (size_t k = k0; k < k0 + n_blocks * block; k += block)
		n_mixed += fast_rows(a, k, k + block) == 0;
	return n_mixed > n_blocks / 64 ? (unsigned)n_blocks : 0;
}

// Cuts rows [k0, k0 + rows) into stretches; k0 is a multiple of UNIT_ROWS.
inline void cut(const Layer &layer, size_t k0, size_t rows, size_t max_groups, Lists *lists)
{
	const struct gq_weights *a = layer.side[0], *b = layer.side[1];
	bool fast = a->pack.word_bits == 32 && b->pack.word_bits == 32 && a->pack.bits == b->pack.bits;

	lists->n_fast = lists->n_exact = 0;
	lists->n_mixed = mixed_blocks(layer, k0, rows, max_groups);
	for (size_t k = k0 + lists->n_mixed * (a->pack.bits == 3 ? 32 : 32 / a->pack.bits), n; k < k0 + rows; k += n) {
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

/* -------------------------------------------------------------------------------------------------- mixed groups */

inline size_t cells_bytes(gq::Dtype dtype)
{
	return dtype == gq::F32 ? sizeof(gq::Cells<gq::F32>) : sizeof(gq::Cells<gq::F16>);
}

inline size_t most_groups(const struct gq_cuda *cuda, gq::Dtype dtype)
{
	return cuda->shared_bytes / (cells_bytes(dtype) * gq::NARROWEST);
}

// Tiles as wide as lets two blocks of threads be on a processor, and so many parts that all processors have about as
// much to do: every part fills its table anew, which costs about as much as a block of codes for each group.
inline gq::Mixed divide(const struct gq_cuda *cuda, const gq::Piece &piece, size_t n_groups, unsigned n_blocks)
{
	constexpr size_t OF_BLOCK = 1024; // bytes of each block of threads that are not for us
	size_t slots = 2 * (size_t)cuda->n_processors, half = (cuda->shared_bytes + OF_BLOCK) / 2 - OF_BLOCK, best = 0;
	gq::Mixed mixed = {n_blocks, (unsigned)n_groups, gq::WIDEST, 0, 1};

	while (mixed.width > gq::NARROWEST && n_groups * mixed.width * cells_bytes(piece.dtype) > half)
		mixed.width /= 2;
	mixed.n_tiles = (piece.n_padded / 2 + mixed.width - 1) / mixed.width;
	for (unsigned parts = 1; parts <= 16 && (parts == 1 || n_blocks / parts >= 64); parts++) {
		size_t rounds = (mixed.n_tiles * (size_t)parts + slots - 1) / slots;
		size_t cost = rounds * (n_groups + n_blocks / parts);

		if (parts == 1 || cost < best) {
			best = cost;
			mixed.n_parts = parts;
		}
	}
	return mixed;
}

} // namespace gq

#endif
