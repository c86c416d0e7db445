/* SPDX-License-Identifier: Apache-2.0 */
/* The weights digests of every sample checkpoint, at every level of the kernels and in several threads. */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "gptq/gptq.h"
#include "kernels/dispatch.h"

static const char *cases_path(void)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/cases", getenv("GQ_TESTDATA") ? getenv("GQ_TESTDATA") : "testdata");
	return path;
}

/* What expect.json says of a layer: the value of weights_sha256 behind the layer's name. */
static const char *expected(const char *text, const char *layer, char hex[65])
{
	char key[256];
	const char *p;

	snprintf(key, sizeof(key), "\"%s\": {", layer);
	p = strstr(text, key);
	p = p ? strstr(p, "\"weights_sha256\": \"") : NULL;
	ck_assert_msg(p != NULL, "expect.json has no digest of %s", layer);
	snprintf(hex, 65, "%.64s", p + strlen("\"weights_sha256\": \""));
	return hex;
}

static unsigned check_case(const char *name, unsigned jobs, char model_digest[65])
{
	struct gptq_inspect_options o = {.struct_size = sizeof(o), .weights_digest = true, .jobs = jobs};
	struct gptq_inspect_report *r;
	struct gptq_error err;
	char path[1024], hex[65], *text;
	unsigned n;

	snprintf(path, sizeof(path), "%s/%s/expect.json", cases_path(), name);
	text = read_text(path);
	if (!text)
		return 0;
	snprintf(path, sizeof(path), "%s/%s/in", cases_path(), name);
	ck_assert_msg(gptq_inspect(path, &o, &r, &err) == GPTQ_OK, "%s: %s", name, err.message);
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct gptq_layer_info *l = &r->layers[i];

		ck_assert_msg(l->weights_sha256 && strcmp(l->weights_sha256, expected(text, l->name, hex)) == 0,
			      "%s: %s: %s, right: %s", name, l->name, l->weights_sha256 ? l->weights_sha256 : "none",
			      hex);
	}
	ck_assert_ptr_nonnull(r->weights_digest);
	strcpy(model_digest, r->weights_digest);
	n = (unsigned)r->n_layers;
	gptq_inspect_report_free(r);
	free(text);
	return n;
}

START_TEST(every_case)
{
	const struct gq_kernels *level = gq_kernels_all[_i];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	if (!gq_kernels_usable(level))
		return;
	gq_kernels_set(level);
	dir = opendir(cases_path());
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		char one[65] = "", many[65] = "";
		unsigned layers = check_case(entry->d_name, 1, one);

		if (layers && check_case(entry->d_name, 3, many))
			ck_assert_str_eq(one, many);
		n += layers;
	}
	closedir(dir);
	gq_kernels_set(NULL);
	ck_assert_uint_gt(n, 200);
}
END_TEST

/* A v1 model whose style is open has no digest, and says how many layers lack one. */
START_TEST(no_digest_where_open)
{
	/* one layer of 64 x 8 weights at 4 bits, one group; lane 0 is 15 and lane 1 is not */
	static const char header[] = "{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[8,8],\"data_offsets\":[0,256]},"
				     "\"m.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[256,260]},"
				     "\"m.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[260,276]}}";
	struct gptq_inspect_options o = {.struct_size = sizeof(o), .weights_digest = true};
	struct gptq_inspect_report *r;
	FILE *f;

	write_safetensors("m.safetensors", header, 276);
	f = fopen("m.safetensors", "r+b");
	ck_assert_ptr_nonnull(f);
	for (unsigned i = 0; i < 256; i++) {
		fseek(f, (long)(8 + sizeof(header) - 1 + i), SEEK_SET);
		fputc((int)(i * 37 + i / 8 * 11) & 255, f);
	}
	fseek(f, (long)(8 + sizeof(header) - 1 + 256), SEEK_SET);
	fputc(0x7f, f);
	fclose(f);
	write_text("quantize_config.json",
		   "{\"bits\": 4, \"group_size\": -1, \"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq\"}\n");
	ck_assert_int_eq(gptq_inspect("m.safetensors", &o, &r, NULL), GPTQ_OK);
	ck_assert_uint_eq(r->n_layers, 1);
	ck_assert_ptr_null(r->layers[0].weights_sha256);
	ck_assert_ptr_null(r->weights_digest);
	ck_assert_uint_eq(r->n_without_digest, 1);
	gptq_inspect_report_free(r);
}
END_TEST

/* What was told of progress. */
struct told {
	uint64_t done, total;
	unsigned n;
	bool shrank;
};

static void note(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	struct told *t = ctx;

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_le(done, total);
	t->shrank = t->shrank || done < t->done || (double)done / (double)total < (double)t->done / (double)t->total;
	*t = (struct told){done, total, t->n + 1, t->shrank};
}

/* All that is read for digests counts, and the share of the whole only grows. */
START_TEST(progress_of_all_steps)
{
	struct told told = {.total = 1};
	struct gptq_hooks hooks = {.ctx = &told, .progress = note};
	struct gptq_inspect_options o = {.struct_size = sizeof(o), .jobs = 1, .hooks = &hooks};
	struct gptq_inspect_report *r;
	char path[1024];
	uint64_t read = 0;

	snprintf(path, sizeof(path), "%s/w4-g32-asym/in", cases_path());
	o.tensors = _i & 1;
	o.checksum = _i & 1 ? GPTQ_CHECKSUM_SHA256 : GPTQ_CHECKSUM_NONE;
	o.weights_digest = _i & 2;
	ck_assert_int_eq(gptq_inspect(path, &o, &r, NULL), GPTQ_OK);
	for (size_t i = 0; i < r->n_layers && o.weights_digest; i++)
		read += r->layers[i].in_features * r->layers[i].out_features * r->layers[i].bits / 8;
	if (o.tensors)
		read += r->tensor_bytes;
	ck_assert(!told.shrank);
	ck_assert_uint_ge(told.done, read);
	ck_assert_uint_gt(told.n, _i ? r->n_layers : 0);
	if (_i)
		ck_assert_uint_eq(told.done, told.total);
	gptq_inspect_report_free(r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("digest");
	TCase *tc = tcase_create("digest");
	int levels = 0;

	while (gq_kernels_all[levels])
		levels++;
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_loop_test(tc, every_case, 0, levels);
	tcase_add_test(tc, no_digest_where_open);
	tcase_add_loop_test(tc, progress_of_all_steps, 0, 4);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
