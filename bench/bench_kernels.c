/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed bytes a second on one core: each level's dequantise and `every`, the `table` proof, beside memcpy and memcmp
 * of the same buffers on the same core in the same run. Bytes are those of one side's qweight. Usage:
 *
 *   bench_kernels [ROWS COLUMNS [REPEATS [BITS]]]
 *
 * The generic level is only measured up to 512 rows: it is no contender.
 */
#include "tests/common/layers.h"

#include "kernels/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_REPEATS = 99 };

struct bench {
	struct layer a, b;
	unsigned char *out; /* a band of weights, or a copy of qweight */
	size_t band;        /* rows */
	unsigned repeats;
};

/* Time on the processor, so that neighbours count less. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void fail(const char *what)
{
	fprintf(stderr, "bench_kernels: %s\n", what);
	exit(1);
}

static void run_memcpy(struct bench *bench)
{
	memcpy(bench->out, bench->a.words, bench->a.words_size);
}

/* Through a pointer, so that no compiler knows what it does with equal bytes. */
static int (*volatile compare_bytes)(const void *, const void *, size_t) = memcmp;

static void run_memcmp(struct bench *bench)
{
	if (compare_bytes(bench->a.words, bench->b.words, bench->a.words_size) != 0)
		fail("memcmp found a difference");
}

/* Band by band into one buffer, as a digest takes them. */
static void run_dequantise(struct bench *bench)
{
	const struct gq_weights *w = &bench->a.w;
	size_t stride = w->n_columns * gq_weight_bytes(w->dtype);

	for (size_t k = 0; k < w->n_rows; k += bench->band)
		gq_dequantise(w, k, k + bench->band < w->n_rows ? k + bench->band : w->n_rows, 0, w->n_columns,
			      bench->out, stride);
}

static void run_every(struct bench *bench)
{
	struct gq_comparison found = {0};

	gq_compare_every(&bench->a.w, &bench->b.w, 0, bench->a.w.n_rows, 0, &found);
	if (found.n_differ != 0)
		fail("every found a difference");
}

static void run_table(struct bench *bench)
{
	uint64_t n_special;

	if (!gq_codes_equal(&bench->a.w, &bench->b.w) || gq_tables_differ(&bench->a.w, &bench->b.w, &n_special) != 0)
		fail("table found a difference");
}

/* GB a second: the median of some runs after one to warm up. */
static double rate(struct bench *bench, void (*run)(struct bench *bench))
{
	double seconds[MAX_REPEATS];

	run(bench);
	for (unsigned i = 0; i < bench->repeats; i++) {
		double begin = now();

		run(bench);
		seconds[i] = now() - begin;
	}
	qsort(seconds, bench->repeats, sizeof(seconds[0]), by_value);
	return 1e-9 * (double)bench->a.words_size / seconds[bench->repeats / 2];
}

static void measure(struct bench *bench, const struct layer_spec *spec)
{
	size_t row = spec->n_columns * gq_weight_bytes(spec->dtype), nbytes;
	double compare, table;

	bench->a = layer_make(spec, 1);
	bench->b = layer_copy(&bench->a);
	bench->band = gq_band_rows(spec->pack, row);
	nbytes = bench->band * row > bench->a.words_size ? bench->band * row : bench->a.words_size;
	bench->out = malloc(nbytes);
	if (!bench->out)
		fail("out of memory");
	memset(bench->out, 1, nbytes);
	compare = rate(bench, run_memcmp);
	table = rate(bench, run_table);
	for (const struct gq_kernels *const *k = gq_kernels_all; *k; k++) {
		double copy, dequantise, every;

		if (!gq_kernels_usable(*k) || (*k == &gq_kernels_generic && spec->n_rows > 512))
			continue;
		gq_kernels_set(*k);
		copy = rate(bench, run_memcpy);
		dequantise = rate(bench, run_dequantise);
		every = rate(bench, run_every);
		printf("%u bits %-4s %-7s %-7s  %6.2f %5.2f  %6.2f %5.2f  %6.2f %5.2f  %6.2f %6.2f\n", spec->pack.bits,
		       gptq_dtype_name(spec->dtype), spec->groups == GROUPS_TRIVIAL ? "blocks" : "order", (*k)->name,
		       dequantise, dequantise / copy, every, every / copy, table, table / compare, copy, compare);
		fflush(stdout);
	}
	gq_kernels_set(NULL);
	free(bench->out);
	layer_free(&bench->a);
	layer_free(&bench->b);
}

int main(int argc, char **argv)
{
	static const unsigned bits[] = {4, 2, 3, 8};
	static const enum gptq_dtype dtypes[] = {GPTQ_DTYPE_F16, GPTQ_DTYPE_BF16, GPTQ_DTYPE_F32};
	struct layer_spec spec = {.n_rows = 8192, .n_columns = 8192, .group_size = 128};
	struct bench bench = {.repeats = 5};

	if (argc >= 3) {
		spec.n_rows = strtoul(argv[1], NULL, 10);
		spec.n_columns = strtoul(argv[2], NULL, 10);
	}
	if (argc >= 4)
		bench.repeats = (unsigned)strtoul(argv[3], NULL, 10);
	if (argc == 2 || argc > 5 || spec.n_rows == 0 || spec.n_columns == 0 || bench.repeats == 0 ||
	    bench.repeats > MAX_REPEATS) {
		fprintf(stderr, "usage: bench_kernels [ROWS COLUMNS [REPEATS [BITS]]]\n");
		return 2;
	}
	printf("%zu rows, %zu columns, groups of %zu, 32-bit words; GB/s of packed codes of one side, median of %u "
	       "runs\n"
	       "                           dequantise    every         table\n"
	       "bits   dtype g_idx  level     GB/s /cpy    GB/s /cpy    GB/s /cmp   memcpy memcmp\n",
	       spec.n_rows, spec.n_columns, spec.group_size, bench.repeats);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if (argc == 5 && strtoul(argv[4], NULL, 10) != bits[i])
			continue;
		for (size_t j = 0; j < sizeof(dtypes) / sizeof(dtypes[0]); j++)
			for (unsigned order = 0; order < 2; order++) {
				spec.pack = (struct gq_pack){bits[i], 32};
				spec.dtype = dtypes[j];
				spec.groups = order ? GROUPS_ACT_ORDER : GROUPS_TRIVIAL;
				measure(&bench, &spec);
			}
	}
	return 0;
}
