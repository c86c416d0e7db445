// SPDX-License-Identifier: Apache-2.0
/*
 * The CUDA proofs beside a device-to-device copy of the same run: data resident, the median of some launches; then the
 * whole way from memory of the host. The codes of one side should be several times the device's cache, and are a quarter
 * of a GiB at 4 bits by default. With --profile each kernel for 4 bits runs once and nothing is measured: that is for
 * another program to do. Usage:
 *
 *   bench_cuda [--profile | ROWS COLUMNS [REPEATS]]
 */
extern "C" {
#include "kernels/cuda_measure.h"
#include "tests/common/layers.h"
}

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

namespace {

constexpr unsigned MAX_REPEATS = 99;

struct Rate {
	double copy; // bytes a second, read plus written
	unsigned repeats;
};

void check(cudaError_t code, const char *what)
{
	if (code != cudaSuccess) {
		fprintf(stderr, "bench_cuda: %s: %s\n", what, cudaGetErrorString(code));
		exit(1);
	}
}

int by_value(const void *a, const void *b)
{
	double x = *static_cast<const double *>(a), y = *static_cast<const double *>(b);

	return (x > y) - (x < y);
}

double median(double *seconds, unsigned n)
{
	qsort(seconds, n, sizeof(seconds[0]), by_value);
	return seconds[n / 2];
}

double now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Read plus written bytes a second of a copy within the device.
double copy_rate(size_t nbytes, unsigned repeats)
{
	double seconds[MAX_REPEATS];
	void *from, *to;
	cudaEvent_t begin, end;

	check(cudaMalloc(&from, nbytes), "allocating");
	check(cudaMalloc(&to, nbytes), "allocating");
	check(cudaMemset(from, 0x5a, nbytes), "filling");
	check(cudaEventCreate(&begin), "event");
	check(cudaEventCreate(&end), "event");
	for (unsigned i = 0; i <= repeats; i++) {
		float ms;

		check(cudaEventRecord(begin), "event");
		check(cudaMemcpyAsync(to, from, nbytes, cudaMemcpyDeviceToDevice), "copying");
		check(cudaEventRecord(end), "event");
		check(cudaEventSynchronize(end), "copying");
		check(cudaEventElapsedTime(&ms, begin, end), "event");
		if (i > 0)
			seconds[i - 1] = 1e-3 * (double)ms;
	}
	check(cudaFree(from), "freeing");
	check(cudaFree(to), "freeing");
	check(cudaEventDestroy(begin), "event");
	check(cudaEventDestroy(end), "event");
	return 2.0 * (double)nbytes / median(seconds, repeats);
}

void compare(struct gq_cuda *cuda, const struct gq_weights *a, const struct gq_weights *b, enum gq_proof proof)
{
	struct gq_comparison found = {};
	struct gptq_error err;
	bool proved;

	if (gq_cuda_compare(cuda, a, b, proof, 0, &found, &proved, &err) != GPTQ_OK || !proved) {
		fprintf(stderr, "bench_cuda: not proved: %s\n", proved ? "" : err.message);
		exit(1);
	}
}

// Packed bytes are those of one side; `moved` says what the proof has to read in all.
void report(struct gq_cuda *cuda, const Rate &rate, const char *name, const struct gq_weights *a,
	    const struct gq_weights *b, enum gq_proof proof, size_t packed)
{
	double seconds[MAX_REPEATS], resident, begin, whole;
	size_t cells = a->n_groups * a->n_columns * (1 + gq_weight_bytes(a->dtype)) * 2;
	size_t codes = a->rows.words == b->rows.words ? (proof == GQ_PROOF_EVERY ? packed : 0) : 2 * packed;

	gq_cuda_limit(cuda, (size_t)8 << 30, (size_t)100 << 30); // one piece
	if (rate.repeats == 0) {
		compare(cuda, a, b, proof);
		return;
	}
	gq_cuda_measure(cuda, rate.repeats, seconds);
	compare(cuda, a, b, proof);
	gq_cuda_measure(cuda, 0, nullptr);
	resident = median(seconds, rate.repeats);
	gq_cuda_limit(cuda, (size_t)32 << 20, (size_t)100 << 30);
	compare(cuda, a, b, proof); // grows what it needs
	begin = now();
	compare(cuda, a, b, proof);
	whole = now() - begin;
	printf("%u bits %-4s %-12s %8.3f ms  must read %6.1f MB  %7.1f GB/s moved (%.2f)  %7.1f GB/s packed (%.2f)   "
	       "from the host %5.1f GB/s\n",
	       a->pack.bits, gptq_dtype_name(a->dtype), name, 1e3 * resident, 1e-6 * (double)(codes + cells),
	       1e-9 * (double)(codes + cells) / resident, (double)(codes + cells) / resident / rate.copy,
	       1e-9 * (double)packed / resident, (double)packed / resident / rate.copy,
	       1e-9 * (double)packed / whole);
	fflush(stdout);
}

void run(struct gq_cuda *cuda, const Rate &rate, const struct layer_spec *spec)
{
	struct layer a = layer_make(spec, 1), b = layer_copy(&a);
	struct gq_weights shared = b.w;

	shared.rows = a.w.rows;
	report(cuda, rate, spec->groups == GROUPS_TRIVIAL ? "every" : "every, order", &a.w, &shared, GQ_PROOF_EVERY,
	       a.words_size);
	report(cuda, rate, spec->groups == GROUPS_TRIVIAL ? "every, two" : "two, order", &a.w, &b.w, GQ_PROOF_EVERY,
	       a.words_size);
	if (spec->groups == GROUPS_TRIVIAL) {
		report(cuda, rate, "table", &a.w, &b.w, GQ_PROOF_TABLE, a.words_size);
	}
	layer_free(&a);
	layer_free(&b);
}

} // namespace

int main(int argc, char **argv)
{
	static const unsigned bits[] = {4, 2, 3, 8};
	static const enum gptq_dtype dtypes[] = {GPTQ_DTYPE_F16, GPTQ_DTYPE_BF16, GPTQ_DTYPE_F32};
	struct layer_spec spec = {};
	Rate rate = {0, 21};
	struct gq_cuda *cuda;
	struct gptq_error err;
	bool profile = argc == 2 && strcmp(argv[1], "--profile") == 0;

	spec.n_rows = argc >= 3 ? strtoul(argv[1], nullptr, 10) : 32768;
	spec.n_columns = argc >= 3 ? strtoul(argv[2], nullptr, 10) : 16384;
	rate.repeats = argc >= 4 ? (unsigned)strtoul(argv[3], nullptr, 10) : 21;
	spec.group_size = 128;
	if ((argc == 2 && !profile) || spec.n_rows == 0 || spec.n_columns == 0 || rate.repeats == 0 || rate.repeats > MAX_REPEATS) {
		fprintf(stderr, "usage: bench_cuda [--profile | ROWS COLUMNS [REPEATS]]\n");
		return 2;
	}
	if (gq_cuda_open(0, &cuda, &err) != GPTQ_OK) {
		fprintf(stderr, "bench_cuda: %s\n", err.message);
		return 77;
	}
	if (profile)
		rate.repeats = 0;
	else
		rate.copy = copy_rate((size_t)2 << 30, rate.repeats);
	printf("%s: a copy of 2 GiB within the device moves %.1f GB/s, read plus written\n"
	       "%zu rows, %zu columns, groups of %zu; medians of %u launches, data resident; ratios to that copy.\n"
	       "every: one set of codes, both sides' scales and zeros. two: both sides' codes. order: act-order.\n"
	       "from the host: packed bytes a second from pageable memory, uploads and all.\n",
	       gq_cuda_name(cuda), 1e-9 * rate.copy, spec.n_rows, spec.n_columns, spec.group_size, rate.repeats);
	for (unsigned width : bits) {
		if (profile && width != 4)
			continue;
		for (enum gptq_dtype dtype : dtypes)
			for (unsigned order = 0; order < 2; order++) {
				if (order && width != 4)
					continue;
				spec.pack.bits = width;
				spec.pack.word_bits = 32;
				spec.dtype = dtype;
				spec.groups = order ? GROUPS_ACT_ORDER : GROUPS_TRIVIAL;
				run(cuda, rate, &spec);
			}
	}
	gq_cuda_close(cuda);
	return 0;
}
