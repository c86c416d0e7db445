/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_checks.h"

#include "base/checked.h"
#include "kernels/half.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

struct layer_spec spec_at(uint64_t i, size_t max_rows, size_t max_columns)
{
	static const struct gq_pack packs[] = {{4, 32}, {2, 32}, {3, 32}, {8, 32}, {2, 8},  {4, 8}, {8, 8},
					       {2, 16}, {4, 16}, {8, 16}, {2, 64}, {4, 64}, {8, 64}};
	static const enum gptq_dtype dtypes[] = {GPTQ_DTYPE_F16, GPTQ_DTYPE_BF16, GPTQ_DTYPE_F32};
	static const size_t group_sizes[] = {1, 7, 8, 32, 64, 100, 128, 1000};
	uint64_t state = i;
	struct layer_spec spec = {
		.pack = packs[random_below(&state, 8) < 6 ? i % 4 : i % N_OF(packs)],
		.dtype = dtypes[i / 4 % N_OF(dtypes)],
		.groups = (enum group_kind)(i / 12 % 3),
		.scales = (enum scale_kind)(i / 36 % 5),
		.n_rows = 1 + random_below(&state, max_rows),
		.n_columns = 1 + random_below(&state, max_columns),
		.group_size = group_sizes[random_below(&state, N_OF(group_sizes))],
	};

	if (random_below(&state, 8) == 0)
		spec.n_columns = 1;
	if (random_below(&state, 4) == 0)
		spec.padding = random_below(&state, 17);
	if (random_below(&state, 2) == 0)
		spec.n_rows = (spec.n_rows + 31) / 32 * 32;
	return spec;
}

void spec_print(const struct layer_spec *spec)
{
	static const char *const groups[] = {"blocks", "act-order", "runs"};
	static const char *const scales[] = {"usual", "any bits", "subnormal", "large", "special"};

	fprintf(stderr,
		"%u bits in words of %u, %s, %zu rows, %zu columns, groups of %zu (%s), scales: %s, padding %zu\n",
		spec->pack.bits, spec->pack.word_bits, gptq_dtype_name(spec->dtype), spec->n_rows, spec->n_columns,
		spec->group_size, groups[spec->groups], scales[spec->scales], spec->padding);
}

/* 1 NaN, 2 infinite, 0 neither. */
static unsigned special(enum gptq_dtype dtype, uint32_t value)
{
	uint32_t infinity = dtype == GPTQ_DTYPE_F16 ? 0x7c00 : dtype == GPTQ_DTYPE_BF16 ? 0x7f80 : 0x7f800000;

	value &= dtype == GPTQ_DTYPE_F32 ? 0x7fffffff : 0x7fff;
	return value > infinity ? 1 : value == infinity ? 2 : 0;
}

struct gq_comparison compare_one_by_one(const struct gq_weights *a, const struct gq_weights *b, uint64_t k_base)
{
	struct gq_comparison out = {.n_weights = (uint64_t)a->n_rows * a->n_columns};

	for (size_t k = 0; k < a->n_rows; k++)
		for (size_t n = 0; n < a->n_columns; n++) {
			struct gq_weight_at at[2] = {gq_weight_at(a, k, n), gq_weight_at(b, k, n)};

			for (unsigned side = 0; side < 2; side++) {
				out.n_nan[side] += special(a->dtype, at[side].value) == 1;
				out.n_inf[side] += special(a->dtype, at[side].value) == 2;
			}
			if (at[0].value == at[1].value || out.n_differ++ > 0)
				continue;
			out.first_k = k_base + k;
			out.first_n = n;
			out.first[0] = at[0];
			out.first[1] = at[1];
		}
	return out;
}

static void comparison_print(const char *name, const struct gq_comparison *c)
{
	fprintf(stderr,
		"  %s: %" PRIu64 " weights, %" PRIu64 " differ, NaN %" PRIu64 " %" PRIu64 ", infinite %" PRIu64
		" %" PRIu64,
		name, c->n_weights, c->n_differ, c->n_nan[0], c->n_nan[1], c->n_inf[0], c->n_inf[1]);
	if (c->n_differ > 0)
		fprintf(stderr, ", first at row %" PRIu64 ", column %" PRIu64 ": %x %x, codes %u %u, zeros %u %u",
			c->first_k, c->first_n, (unsigned)c->first[0].value, (unsigned)c->first[1].value,
			c->first[0].code, c->first[1].code, c->first[0].z, c->first[1].z);
	fprintf(stderr, "\n");
}

static bool weights_at_equal(const struct gq_weight_at *x, const struct gq_weight_at *y)
{
	return x->value == y->value && x->code == y->code && x->z == y->z;
}

bool comparisons_equal(const struct gq_comparison *found, const struct gq_comparison *expected)
{
	bool equal = found->n_weights == expected->n_weights && found->n_differ == expected->n_differ;

	for (unsigned side = 0; side < 2; side++)
		equal = equal && found->n_nan[side] == expected->n_nan[side] &&
			found->n_inf[side] == expected->n_inf[side];
	if (equal && found->n_differ > 0)
		equal = found->first_k == expected->first_k && found->first_n == expected->first_n &&
			weights_at_equal(&found->first[0], &expected->first[0]) &&
			weights_at_equal(&found->first[1], &expected->first[1]);
	if (!equal) {
		comparison_print("found", found);
		comparison_print("expected", expected);
	}
	return equal;
}

/* One rectangle; out has exactly the bytes from its first to its last weight. */
static bool check_rectangle(const struct layer *layer, size_t k0, size_t k1, size_t n0, size_t n1, size_t extra)
{
	const struct gq_weights *w = &layer->w;
	size_t nbytes = gq_weight_bytes(w->dtype), width = (n1 - n0) * nbytes, stride = width + extra;
	size_t size = k1 > k0 && width > 0 ? (k1 - k0 - 1) * stride + width : 0;
	unsigned char *out = malloc(size > 0 ? size : 1);
	bool good = true;

	if (!out)
		exit(99);
	memset(out, 0xa5, size);
	gq_dequantise(w, k0, k1, n0, n1, out, stride);
	for (size_t i = 0; i < size && good; i++) {
		size_t k = k0 + i / stride, n = n0 + i % stride / nbytes;
		unsigned expected = 0xa5;

		if (i % stride < width)
			expected = gq_weight_at(w, k, n).value >> i % stride % nbytes * 8 & 0xff;
		if (out[i] == expected)
			continue;
		fprintf(stderr, "%s, byte of row %zu, column %zu: found %02x, expected %02x\n", gq_kernels_name(), k, n,
			out[i], expected);
		spec_print(&layer->spec);
		good = false;
	}
	free(out);
	return good;
}

bool check_dequantise(const struct layer *layer, uint64_t seed)
{
	size_t n_rows = layer->w.n_rows, n_columns = layer->w.n_columns;
	bool good = check_rectangle(layer, 0, n_rows, 0, n_columns, 0);

	for (unsigned i = 0; i < 3 && good; i++) {
		size_t k0 = random_below(&seed, n_rows), n0 = random_below(&seed, n_columns);

		good = check_rectangle(layer, k0, k0 + random_below(&seed, n_rows - k0 + 1), n0,
				       n0 + random_below(&seed, n_columns - n0 + 1), random_below(&seed, 9));
	}
	return good;
}

bool check_compare(const struct layer *a, const struct layer *b, uint64_t seed)
{
	size_t middle = random_below(&seed, a->w.n_rows + 1);
	struct gq_comparison expected = compare_one_by_one(&a->w, &b->w, 1000), whole = {0}, halves = {0};

	gq_compare_every(&a->w, &b->w, 0, a->w.n_rows, 1000, &whole);
	gq_compare_every(&a->w, &b->w, middle, a->w.n_rows, 1000, &halves);
	gq_compare_every(&a->w, &b->w, 0, middle, 1000, &halves);
	if (comparisons_equal(&whole, &expected) && comparisons_equal(&halves, &expected))
		return true;
	fprintf(stderr, "%s, compare: ", gq_kernels_name());
	spec_print(&a->spec);
	return false;
}
