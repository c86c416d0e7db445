/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of several tiles and runs of rows, proved whole and in pieces. */
#define _XOPEN_SOURCE 700

#include "bits.h"
#include "gptq/gptq.h"
#include "ops/prove.h"
#include "ops/source.h"
#include "scratch.h"

enum { WIDE_K = 200, WIDE_N = 150 };

/* One layer of several tiles and runs: A in 4 bits, B the same codes in 8, with one weight changed if asked for. */
static void write_wide(const char *path, unsigned bits, bool changed)
{
	size_t rows = ((size_t)WIDE_K * bits + 31) / 32, zero_words = ((size_t)WIDE_N * bits + 31) / 32;
	size_t sizes[] = {rows * WIDE_N * 4, 2 * zero_words * 4, (size_t)2 * WIDE_N * 2},
	       all = sizes[0] + sizes[1] + sizes[2];
	unsigned char *data = calloc(all, 1);
	char header[512];
	uint64_t n;
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	state = 99;
	for (size_t k = 0; k < WIDE_K; k++) {
		for (size_t c = 0; c < WIDE_N; c++) {
			size_t bit = k * bits, at = (bit / 32 * WIDE_N + c) * 32 + bit % 32;
			unsigned q = below(16) ^ (changed && ((k == 130 && c == 3) || (k == 120 && c == 149)));

			set_bits(data, at, bits, q);
		}
	}
	for (size_t g = 0; g < 2; g++) {
		for (size_t c = 0; c < WIDE_N; c++) {
			set_bits(data + sizes[0], g * zero_words * 32 + c * bits, bits, 1 + below(14));
			set_bits(data + sizes[0] + sizes[1], (g * WIDE_N + c) * 16, 16, 0x2000 + below(0x800));
		}
	}
	snprintf(header, sizeof(header),
		 "{\"x.qweight\":{\"dtype\":\"I32\",\"shape\":[%zu,%d],\"data_offsets\":[0,%zu]},"
		 "\"x.qzeros\":{\"dtype\":\"I32\",\"shape\":[2,%zu],\"data_offsets\":[%zu,%zu]},"
		 "\"x.scales\":{\"dtype\":\"F16\",\"shape\":[2,%d],\"data_offsets\":[%zu,%zu]}}",
		 rows, WIDE_N, sizes[0], zero_words, sizes[0], sizes[0] + sizes[1], WIDE_N, sizes[0] + sizes[1], all);
	n = strlen(header);
	fwrite(&n, 8, 1, f);
	fwrite(header, 1, n, f);
	fwrite(data, 1, all, f);
	ck_assert_int_eq(fclose(f), 0);
	free(data);
}

struct proving {
	struct gq_prover prover;
	struct gq_reading at[2];
	struct gq_layer_proof proof;
};

static enum gptq_status prove(void *ctx, size_t item, struct gq_work *work, unsigned worker, struct gptq_error *err)
{
	struct proving *p = ctx;

	(void)item;
	return gq_prove_layer(&p->prover, p->at, work, worker, &p->proof, err);
}

/* The whole layer at once, and in pieces of several sizes: the same outcome. */
static void check_pieces(const char *a, const char *b, enum gptq_method method, uint64_t n_differ)
{
	static const size_t bytes[][2] = {{1 << 20, 1 << 20}, {1, 1}, {1, 1 << 20}, {1 << 20, 1}, {900, 4000}};
	const char *paths[2] = {a, b};
	struct gq_source_options so = {0};
	struct gq_source sources[2];
	struct proving p = {0};

	ck_assert_int_eq(gq_prover_open(method, GPTQ_DEVICE_CPU, 0, &p.prover, NULL), GPTQ_OK);
	for (unsigned s = 0; s < 2; s++) {
		ck_assert_int_eq(gq_source_open(paths[s], &so, &sources[s], NULL), GPTQ_OK);
		ck_assert_uint_eq(sources[s].layers.n, 1);
		p.at[s] = (struct gq_reading){&sources[s].shards, sources[s].layers.items, GPTQ_ZEROS_V2,
					      GPTQ_STYLE_NONE};
	}
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		p.prover.tile = bytes[i][0];
		p.prover.run = bytes[i][1];
		ck_assert_int_eq(gq_work_run(1, 1, prove, &p, NULL, 0, NULL), GPTQ_OK);
		ck_assert_uint_eq(p.proof.found.n_weights, (uint64_t)WIDE_K * WIDE_N);
		ck_assert_uint_eq(p.proof.found.n_differ, n_differ);
		if (n_differ) {
			ck_assert_uint_eq(p.proof.found.first_k, 120);
			ck_assert_uint_eq(p.proof.found.first_n, 149);
			ck_assert_uint_eq(p.proof.found.first[0].code ^ 1U, p.proof.found.first[1].code);
		}
	}
	for (unsigned s = 0; s < 2; s++)
		gq_source_close(&sources[s]);
	gq_prover_close(&p.prover);
}

START_TEST(pieces)
{
	write_wide("a.safetensors", 4, false);
	write_wide("b.safetensors", 8, false);
	write_wide("c.safetensors", 4, true);
	check_pieces("a.safetensors", "a.safetensors", GPTQ_METHOD_TABLE, 0);
	check_pieces("a.safetensors", "a.safetensors", GPTQ_METHOD_EVERY, 0);
	check_pieces("a.safetensors", "b.safetensors", GPTQ_METHOD_AUTO, 0);
	check_pieces("a.safetensors", "c.safetensors", GPTQ_METHOD_TABLE, 2);
	check_pieces("c.safetensors", "b.safetensors", GPTQ_METHOD_AUTO, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prove");
	TCase *tc = tcase_create("pieces");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, pieces);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
