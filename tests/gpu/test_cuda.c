/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA proofs against the CPU's one-by-one comparison: counts and first difference must agree exactly. Exit 77
 * where there is no device. Usage: test_cuda [LAYERS [MAX_ROWS MAX_COLUMNS]], or test_cuda --levels for the CPU levels
 * of this machine.
 */
#include "common/kernel_checks.h"
#include "kernels/cuda.h"
#include "kernels/dispatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gq_cuda *cuda;
static uint64_t n_compared, n_differing, n_special, n_proved;

static bool explain(const char *what, const struct layer *a, uint64_t seed, const struct gptq_error *err)
{
	char text[2048] = "";

	if (err)
		gptq_error_format(err, text, sizeof(text));
	fprintf(stderr, "FAILED: %s, layer %" PRIu64 "%s%s: ", what, seed, err ? ": " : "", text);
	spec_print(&a->spec);
	return false;
}

static bool check_every(const struct layer *a, const struct layer *b, uint64_t seed)
{
	struct gq_comparison expected = compare_one_by_one(&a->w, &b->w, 5), found = {0};
	struct gptq_error err;
	bool proved;

	if (gq_cuda_compare(cuda, &a->w, &b->w, GQ_PROOF_EVERY, 5, &found, &proved, &err) != GPTQ_OK)
		return explain("every", a, seed, &err);
	if (!comparisons_equal(&found, &expected) || proved != (expected.n_differ == 0))
		return explain("every", a, seed, NULL);
	n_compared += expected.n_weights;
	n_differing += expected.n_differ;
	n_special += expected.n_nan[0] + expected.n_inf[0];
	return true;
}

/* Layers whose rows and groups are the same: the proof must hold for equal ones, and never for different ones. */
static bool check_table(const struct layer *a, const struct layer *b, uint64_t seed)
{
	uint64_t special;
	bool expected = gq_codes_equal(&a->w, &b->w) && gq_tables_differ(&a->w, &b->w, &special) == 0, proved;
	bool equal = compare_one_by_one(&a->w, &b->w, 0).n_differ == 0;
	struct gq_comparison found = {0};
	struct gptq_error err;

	if (memcmp(a->g_of_k, b->g_of_k, a->w.n_rows * sizeof(*a->g_of_k)) != 0)
		return true;
	if (gq_cuda_compare(cuda, &a->w, &b->w, GQ_PROOF_TABLE, 0, &found, &proved, &err) != GPTQ_OK)
		return explain("table", a, seed, &err);
	if ((proved && !equal) || (expected && !proved))
		return explain("table", a, seed, NULL);
	n_proved += proved;
	return true;
}

/* A copy, the same words, and damage, under limits that cut the layer into pieces or leave it whole. */
static bool check_layer(uint64_t i, size_t max_rows, size_t max_columns)
{
	static const struct gq_pack wide[] = {{8, 32}, {4, 64}, {4, 16}};
	struct layer_spec spec = spec_at(i, max_rows, i % 5 == 0 ? max_columns * 4 : max_columns);
	struct layer a = layer_make(&spec, i), b = layer_copy(&a), c;
	struct gq_weights words = b.w;
	bool good;

	gq_cuda_limit(cuda, i % 3 == 0 ? 1 : i % 3 == 1 ? 4096 : (size_t)32 << 20, (size_t)1 << 30);
	good = check_every(&a, &b, i) && check_table(&a, &b, i);
	words.rows.words = a.w.rows.words;
	b.w = words;
	good = good && check_every(&a, &b, i) && check_table(&a, &b, i);
	b.w.rows.words = b.words;
	for (unsigned n = 1; n <= 64 && good; n *= 8) {
		layer_damage(&b, n, i + n);
		good = check_every(&a, &b, i) && check_table(&a, &b, i);
		b.w.rows.words = a.w.rows.words;
		good = good && check_every(&a, &b, i);
		b.w.rows.words = b.words;
	}
	if (good && spec.pack.bits == 4) {
		c = layer_repack(&a, wide[i % 3]);
		good = check_every(&a, &c, i);
		layer_damage(&c, 2, i);
		good = good && check_every(&a, &c, i);
		layer_free(&c);
	}
	layer_free(&a);
	layer_free(&b);
	return good;
}

/* As little memory as makes the layer go through in small pieces, and less than any piece. */
static bool check_small_memory(void)
{
	struct layer_spec spec = {
		.pack = {4, 32}, .dtype = GPTQ_DTYPE_F16, .n_rows = 1024, .n_columns = 4100, .group_size = 128};
	struct layer a = layer_make(&spec, 1), b = layer_copy(&a);
	struct gq_comparison found = {0};
	struct gptq_error err;
	bool good = true, proved;

	layer_damage(&b, 100, 1);
	for (size_t memory = (size_t)16 << 20; memory >= 200000 && good; memory /= 2) {
		gq_cuda_limit(cuda, (size_t)32 << 20, memory);
		good = check_every(&a, &b, memory);
	}
	gq_cuda_limit(cuda, (size_t)32 << 20, 1000);
	if (good && gq_cuda_compare(cuda, &a.w, &b.w, GQ_PROOF_EVERY, 0, &found, &proved, &err) != GPTQ_E_NOMEM)
		good = explain("1000 bytes were enough", &a, 1000, NULL);
	gq_cuda_limit(cuda, (size_t)32 << 20, (size_t)1 << 30);
	layer_free(&a);
	layer_free(&b);
	return good;
}

static int run_levels(void)
{
	for (const struct gq_kernels *const *k = gq_kernels_all; *k; k++) {
		uint64_t n = 0;

		if (!gq_kernels_usable(*k)) {
			printf("%s: not on this processor\n", (*k)->name);
			continue;
		}
		gq_kernels_set(*k);
		for (uint64_t i = 0; i < 600; i++) {
			struct layer_spec spec = spec_at(i, 300, i % 16 == 0 ? 1100 : 70);
			struct layer a = layer_make(&spec, i), b = layer_copy(&a);

			layer_damage(&b, (unsigned)(i / 7 % 4), i);
			if (!check_dequantise(&a, i) || !check_compare(&a, &b, i))
				return 1;
			n += spec.n_rows * spec.n_columns;
			layer_free(&a);
			layer_free(&b);
		}
		printf("%s: %" PRIu64 " weights in 600 layers agree\n", (*k)->name, n);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t n_layers = argc > 1 ? strtoull(argv[1], NULL, 10) : 720;
	size_t max_rows = argc > 3 ? strtoul(argv[2], NULL, 10) : 300;
	size_t max_columns = argc > 3 ? strtoul(argv[3], NULL, 10) : 150;
	struct gptq_error err;
	char reason[256];
	bool good = true;

	if (argc > 1 && strcmp(argv[1], "--levels") == 0)
		return run_levels();
	if (gq_cuda_devices(reason, sizeof(reason)) == 0) {
		printf("skipped: no CUDA device: %s\n", reason);
		return 77;
	}
	if (gq_cuda_open(0, &cuda, &err) != GPTQ_OK) {
		gptq_error_format(&err, reason, sizeof(reason));
		fprintf(stderr, "cannot open the device: %s\n", reason);
		return 1;
	}
	for (uint64_t i = 0; i < n_layers && good; i++)
		good = check_layer(i, max_rows, max_columns);
	good = good && check_small_memory();
	printf("%s: %s: %" PRIu64 " weights compared, %" PRIu64 " different, %" PRIu64 " NaN or infinite, %" PRIu64
	       " tables proved\n",
	       gq_cuda_name(cuda), good ? "passed" : "FAILED", n_compared, n_differing, n_special, n_proved);
	gq_cuda_close(cuda);
	return good ? 0 : 1;
}
