/* SPDX-License-Identifier: Apache-2.0 */
#include "layers.h"

#include "base/checked.h"
#include "kernels/half.h"

#include <stdio.h>
#include <stdlib.h>

static void *need(size_t nbytes)
{
	void *p = malloc(nbytes > 0 ? nbytes : 1);

	if (!p) {
		fprintf(stderr, "out of memory: %zu bytes\n", nbytes);
		exit(99);
	}
	return p;
}

uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

size_t random_below(uint64_t *state, size_t n)
{
	return n > 0 ? (size_t)(random_next(state) % n) : 0;
}

static size_t word_rows(const struct layer_spec *spec)
{
	return (size_t)gq_ceil_div(spec->n_rows, gq_layout_stream.block_codes(spec->pack)) *
	       gq_layout_stream.block_words(spec->pack);
}

static void make_groups(struct layer *layer, uint64_t *state)
{
	const struct layer_spec *spec = &layer->spec;
	int32_t *g = layer->g_of_k;

	for (size_t k = 0; k < spec->n_rows; k++)
		g[k] = (int32_t)(k / spec->group_size);
	if (spec->groups == GROUPS_ACT_ORDER)
		for (size_t k = spec->n_rows; k > 1; k--) {
			size_t other = random_below(state, k);
			int32_t kept = g[k - 1];

			g[k - 1] = g[other];
			g[other] = kept;
		}
	if (spec->groups == GROUPS_RUNS)
		for (size_t k = 0, left = 0; k < spec->n_rows; k++, left--) {
			if (left == 0)
				left = 1 + random_below(state, 100);
			g[k] = k > 0 && left > 1 ? g[k - 1] : (int32_t)random_below(state, layer->w.n_groups);
		}
}

static uint32_t usual_scale(enum gptq_dtype dtype, float magnitude, uint64_t r)
{
	float x = magnitude * (0.25f + (float)(r >> 40) * 0x1p-24f) * (r & 1 && r & 2 ? -1.0f : 1.0f);

	return dtype == GPTQ_DTYPE_F16    ? gq_f32_to_f16(x)
	       : dtype == GPTQ_DTYPE_BF16 ? gq_f32_to_bf16(x)
					  : gq_bits_of_float(x);
}

static uint32_t make_scale(enum gptq_dtype dtype, enum scale_kind kind, uint64_t r)
{
	static const uint32_t f16[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,
				       0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfd01};
	static const uint32_t f32[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
				       0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffa00001};
	bool small = dtype == GPTQ_DTYPE_F16;

	switch (kind) {
	case SCALES_ANY_BITS:
		return (uint32_t)(r >> 32);
	case SCALES_SUBNORMAL:
		return usual_scale(dtype, small ? 0x1p-22f : dtype == GPTQ_DTYPE_BF16 ? 0x1p-131f : 0x1p-145f, r);
	case SCALES_LARGE:
		return usual_scale(dtype, small ? 30000.0f : 0x1p125f, r);
	case SCALES_SPECIAL:
		if (r >> 60 < 12)
			return small ? f16[r >> 60] : f32[r >> 60] >> (dtype == GPTQ_DTYPE_BF16 ? 16 : 0);
		break;
	case SCALES_USUAL:
		break;
	}
	return usual_scale(dtype, 0.02f, r);
}

struct layer layer_make(const struct layer_spec *spec, uint64_t seed)
{
	size_t row_bytes = spec->n_columns * (spec->pack.word_bits / 8) + spec->padding;
	size_t n_groups = (size_t)gq_ceil_div(spec->n_rows, spec->group_size), nbytes = gq_weight_bytes(spec->dtype);
	size_t n_cells = n_groups * spec->n_columns;
	struct layer layer = {
		.spec = *spec, .words_size = word_rows(spec) * row_bytes, .scales_size = n_cells * nbytes};

	layer.words = need(layer.words_size);
	layer.scales = need(layer.scales_size);
	layer.z = need(n_cells);
	layer.g_of_k = need(spec->n_rows * sizeof(*layer.g_of_k));
	layer.w = (struct gq_weights){
		.rows = {layer.words, row_bytes},
		.pack = spec->pack,
		.dtype = spec->dtype,
		.scales = layer.scales,
		.z = layer.z,
		.g_of_k = layer.g_of_k,
		.n_rows = spec->n_rows,
		.n_columns = spec->n_columns,
		.n_groups = n_groups,
	};
	for (size_t i = 0; i < layer.words_size; i += 8) {
		uint64_t r = random_next(&seed);

		memcpy(layer.words + i, &r, layer.words_size - i < 8 ? layer.words_size - i : 8);
	}
	for (size_t i = 0; i < n_cells; i++) {
		layer.z[i] = (uint8_t)(random_next(&seed) & ((1U << spec->pack.bits) - 1));
		gq_store_le(layer.scales + i * nbytes, make_scale(spec->dtype, spec->scales, random_next(&seed)),
			    (unsigned)nbytes);
	}
	make_groups(&layer, &seed);
	return layer;
}

static void *copy_of(const void *p, size_t nbytes)
{
	return memcpy(need(nbytes), p, nbytes);
}

struct layer layer_copy(const struct layer *layer)
{
	struct layer copy = *layer;
	size_t n_cells = layer->w.n_groups * layer->w.n_columns;

	copy.w.rows.words = copy.words = copy_of(layer->words, layer->words_size);
	copy.w.scales = copy.scales = copy_of(layer->scales, layer->scales_size);
	copy.w.z = copy.z = copy_of(layer->z, n_cells);
	copy.w.g_of_k = copy.g_of_k = copy_of(layer->g_of_k, layer->w.n_rows * sizeof(*layer->g_of_k));
	return copy;
}

/* Column n of qweight is a line whose words lie a row apart: the code's bits are found word by word. */
static void put_code(struct layer *layer, size_t k, size_t n, unsigned code)
{
	struct gq_pack pack = layer->spec.pack;
	unsigned word_bytes = pack.word_bits / 8;

	for (unsigned i = 0; i < pack.bits; i++) {
		size_t bit = k * pack.bits + i;
		unsigned char *p = layer->words + bit / pack.word_bits * layer->w.rows.row_bytes + n * word_bytes;
		uint64_t mask = UINT64_C(1) << bit % pack.word_bits, word = gq_load_le(p, word_bytes);

		gq_store_le(p, code >> i & 1 ? word | mask : word & ~mask, word_bytes);
	}
}

struct layer layer_repack(const struct layer *layer, struct gq_pack pack)
{
	struct layer_spec spec = layer->spec;
	struct layer copy;
	size_t n_cells = layer->w.n_groups * layer->w.n_columns;

	spec.pack = pack;
	copy = layer_make(&spec, 1);
	memcpy(copy.scales, layer->scales, layer->scales_size);
	memcpy(copy.z, layer->z, n_cells);
	memcpy(copy.g_of_k, layer->g_of_k, layer->w.n_rows * sizeof(*layer->g_of_k));
	for (size_t k = 0; k < spec.n_rows; k++)
		for (size_t n = 0; n < spec.n_columns; n++)
			put_code(&copy, k, n, gq_layout_stream.get_code(layer->w.rows, layer->w.pack, k, n));
	return copy;
}

void layer_free(struct layer *layer)
{
	free(layer->words);
	free(layer->scales);
	free(layer->z);
	free(layer->g_of_k);
}

void layer_damage(struct layer *layer, unsigned n_flips, uint64_t seed)
{
	size_t n_cells = layer->w.n_groups * layer->w.n_columns;

	for (unsigned i = 0; i < n_flips; i++) {
		unsigned bit = 1U << random_below(&seed, 8);

		switch (random_below(&seed, 5)) {
		case 0:
			layer->z[random_below(&seed, n_cells)] ^= 1U << random_below(&seed, layer->spec.pack.bits);
			break;
		case 1:
			layer->scales[random_below(&seed, layer->scales_size)] ^= (unsigned char)bit;
			break;
		case 2:
			layer->g_of_k[random_below(&seed, layer->w.n_rows)] =
				(int32_t)random_below(&seed, layer->w.n_groups);
			break;
		default:
			layer->words[random_below(&seed, layer->words_size)] ^= (unsigned char)bit;
			break;
		}
	}
}
