/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that claim to be large, and large ones that a stranger made: what is asked of memory must follow the
 * bytes that are there. A limit on the address space makes that a property and no measurement (not under
 * AddressSanitizer, which needs terabytes of it); where time could grow with a square, work is counted or the input is
 * so large that the square would never end.
 */
#define _GNU_SOURCE /* nftw, RLIMIT_AS */
#include "scratch.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "format/config.h"
#include "format/safetensors.h"
#include "gptq/gptq.h"
#include "quant/dynamic.h"

#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#define MIB ((size_t)1 << 20)

/* From here on the process may take n bytes more than it has. The test's process ends with the test. */
static void set_limit(size_t n)
{
#ifdef HAVE_ASAN
	(void)n;
#else
	struct rlimit limit;
	char line[256];
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert(f && fgets(line, sizeof(line), f));
	fclose(f);
	if (getenv("CK_FORK")) /* under valgrind, which has its own needs */
		return;
	pages = strtoul(line, NULL, 10);
	limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + n;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
#endif
}

/* The test that runs, and its limit. */
static const char *running;
#define limit_memory(n) (running = __func__, set_limit(n))

/* What it took, for the record; nothing depends on it. */
static void leave(void)
{
	struct rusage use;

	if (running && getrusage(RUSAGE_SELF, &use) == 0)
		printf("%s: %ld MiB at most, %ld ms\n", running, use.ru_maxrss / 1024,
		       (long)((use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
			      (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000));
	running = NULL;
	scratch_leave();
}

/* A file of that length field, text and size in all; what is not written is a hole. */
static void write_claim(const char *path, uint64_t length, const char *text, size_t n, off_t size)
{
	unsigned char prefix[8];
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	for (unsigned i = 0; i < 8; i++)
		prefix[i] = (unsigned char)(length >> (8 * i));
	ck_assert_uint_eq(fwrite(prefix, 1, 8, f), 8);
	ck_assert_uint_eq(fwrite(text, 1, n, f), n);
	ck_assert_int_eq(fflush(f), 0);
	if (size)
		ck_assert_int_eq(ftruncate(fileno(f), size), 0);
	fclose(f);
}

static enum gptq_status inspect(const char *path, bool headers, const char *want_code, size_t *n_findings)
{
	struct gptq_inspect_options o = {.struct_size = sizeof(o), .headers = headers};
	struct gptq_inspect_report *r;
	struct gptq_error err;
	enum gptq_status status = gptq_inspect(path, &o, &r, &err);
	bool found = !want_code;

	if (status != GPTQ_OK)
		return status;
	for (size_t i = 0; i < r->n_findings; i++)
		found = found || strcmp(r->findings[i].code, want_code) == 0;
	ck_assert_msg(found, "%s: no finding %s, but %s", path, want_code,
		      r->n_findings ? r->findings[0].code : "none");
	if (n_findings)
		*n_findings = r->n_findings;
	gptq_inspect_report_free(r);
	return GPTQ_OK;
}

/* Lengths and offsets up to 8 and 16 exabytes, in files of some bytes and in a hole of 1 TiB. */
START_TEST(exabytes)
{
	static const char tensor[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1152921504606846976],"
				     "\"data_offsets\":[0,1152921504606846976]}}";
	static const char qzeros[] =
		"{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[134217728,8],\"data_offsets\":[0,4294967296]},"
		"\"m.qzeros\":{\"dtype\":\"I32\",\"shape\":[134217728,1],\"data_offsets\":[4294967296,4831838208]},"
		"\"m.scales\":{\"dtype\":\"F16\",\"shape\":[134217728,8],\"data_offsets\":[4831838208,6979321856]}}";

	limit_memory(64 * MIB);
	write_claim("a.safetensors", UINT64_C(1) << 63, "{}", 2, 0);
	ck_assert_int_eq(inspect("a.safetensors", false, "shard-unreadable", NULL), GPTQ_OK);
	write_claim("b.safetensors", UINT64_MAX, "{}", 2, (off_t)1 << 40);
	ck_assert_int_eq(inspect("b.safetensors", false, "shard-unreadable", NULL), GPTQ_OK);
	write_claim("c.safetensors", UINT64_C(99999999), "{}", 2, 0);
	ck_assert_int_eq(inspect("c.safetensors", false, "shard-short", NULL), GPTQ_OK);
	write_claim("d.safetensors", sizeof(tensor) - 1, tensor, sizeof(tensor) - 1, 0);
	ck_assert_int_eq(inspect("d.safetensors", false, "shard-short", NULL), GPTQ_OK);
	write_claim("e.safetensors", sizeof(qzeros) - 1, qzeros, sizeof(qzeros) - 1, 0);
	ck_assert_int_eq(inspect("e.safetensors", false, "shard-short", NULL), GPTQ_OK);
}
END_TEST

/* 100 MB of header that are one nest. */
START_TEST(nested_header)
{
	size_t n = 100000000;
	char *text = malloc(n);

	ck_assert_ptr_nonnull(text);
	memset(text, '[', n);
	memcpy(text, "{\"a\":", 5);
	write_claim("a.safetensors", n, text, n, 0);
	free(text);
	limit_memory(10 * n + 64 * MIB);
	ck_assert_int_eq(inspect("a.safetensors", false, "shard-unreadable", NULL), GPTQ_OK);
}
END_TEST

static enum gptq_status parse_nested(const char *open, const char *middle, const char *shut, unsigned depth)
{
	struct gq_buf text = {0};
	struct gq_json_tree tree = {0};
	struct gptq_error err;
	enum gptq_status status;

	for (unsigned i = 0; i < depth; i++)
		gq_buf_puts(&text, open);
	gq_buf_puts(&text, middle);
	for (unsigned i = 0; i < depth; i++)
		gq_buf_puts(&text, shut);
	status = gq_json_parse(text.data, text.size, 0, &tree, &err);
	gq_json_tree_free(&tree);
	gq_buf_free(&text);
	return status;
}

START_TEST(depth)
{
	ck_assert_int_eq(parse_nested("[", "", "]", 127), GPTQ_OK);
	ck_assert_int_eq(parse_nested("[", "", "]", 128), GPTQ_E_FORMAT);
	ck_assert_int_eq(parse_nested("{\"a\":", "1", "}", 127), GPTQ_OK);
	ck_assert_int_eq(parse_nested("{\"a\":", "1", "}", 128), GPTQ_E_FORMAT);
	ck_assert_int_eq(parse_nested("[", "", "", 1000000), GPTQ_E_FORMAT);
}
END_TEST

/* A million tensors of nothing, each half of a layer: a million errors, of which a thousand are kept. */
START_TEST(million_tensors)
{
	struct gq_buf text = {0};
	size_t n = 0, rounds = unit_rounds(1000000);

	for (size_t i = 0; i < rounds; i++)
		gq_buf_printf(&text, "%s\"%zx.qweight\":{\"dtype\":\"I32\",\"shape\":[0,8],\"data_offsets\":[0,0]}",
			      i ? "," : "{", i);
	gq_buf_puts(&text, "}");
	ck_assert(!text.failed);
	write_claim("a.safetensors", text.size, text.data, text.size, 0);
	/* ten times the header and 64 MiB are what the specification allows */
	limit_memory(10 * text.size + 64 * MIB);
	ck_assert_int_eq(inspect("a.safetensors", false, "tensor-missing", &n), GPTQ_OK);
	ck_assert_uint_lt(n, 1100);
	gq_buf_free(&text);
}
END_TEST

/* An index of a million tensors in a million shards, none of which is there. */
START_TEST(million_shards)
{
	struct gq_buf text = {0};
	size_t n = 0, rounds = unit_rounds(1000000);

	ck_assert_int_eq(mkdir("M", 0777), 0);
	gq_buf_puts(&text, "{\"weight_map\":");
	for (size_t i = 0; i < rounds; i++)
		gq_buf_printf(&text, "%s\"%zx.qweight\":\"%zx.safetensors\"", i ? "," : "{", i, i);
	gq_buf_puts(&text, "}}");
	ck_assert(!text.failed);
	write_bytes("M/model.safetensors.index.json", text.data, text.size);
	limit_memory(16 * text.size + 64 * MIB);
	ck_assert_int_eq(inspect("M", true, "shard-missing", &n), GPTQ_OK);
	ck_assert_uint_lt(n, 1100);
	gq_buf_free(&text);
}
END_TEST

/* Configs of 16 MiB: one nest, a million configs, a million members; a byte more is too large. */
START_TEST(large_configs)
{
	static const char *const openings[] = {"[", "{\"a\":{\"quantization_config\":{\"bits\":4}},", "{\"a\":1,",
					       "[[],"};
	size_t n = GQ_CONFIG_MAX_BYTES;
	char *text = malloc(n + 1);

	ck_assert_ptr_nonnull(text);
	limit_memory(96 * n);
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		struct gq_config_file file;
		struct gptq_error err;
		size_t len = strlen(openings[i]);

		for (size_t at = 0; at < n; at++)
			text[at] = openings[i][at % len];
		ck_assert_int_eq(gq_config_read("config.json", GQ_CONFIG_MODEL, text, n, &file, &err), GPTQ_E_FORMAT);
	}
	for (size_t at = 0; at <= n; at++)
		text[at] = ' ';
	ck_assert_int_eq(gq_config_read("config.json", GQ_CONFIG_MODEL, text, n + 1, &(struct gq_config_file){0}, NULL),
			 GPTQ_E_LIMIT);
	free(text);
}
END_TEST

/* Every sub-object is a quantisation config: too many. */
START_TEST(many_configs)
{
	struct gq_buf text = {0};
	struct gq_config_file file;
	struct gptq_error err;
	size_t i = 0;

	while (text.size < GQ_CONFIG_MAX_BYTES - 100)
		gq_buf_printf(&text, "%s\"%zx\":{\"quantization_config\":{\"bits\":4}}", i ? "," : "{", i), i++;
	gq_buf_puts(&text, "}");
	limit_memory(64 * GQ_CONFIG_MAX_BYTES);
	ck_assert_int_eq(gq_config_read("config.json", GQ_CONFIG_MODEL, text.data, text.size, &file, &err),
			 GPTQ_E_LIMIT);
	gq_buf_free(&text);
}
END_TEST

/* As many rules as there may be, none of them dear, on many paths: the cost of all together is limited. */
START_TEST(many_rules)
{
	struct gq_buf text = {0};
	struct gq_config_file file;
	struct gq_dynamic *dynamic;
	struct gptq_error err;
	size_t n_limits = 0, rounds = unit_rounds(400);

	gq_buf_puts(&text, "{\"bits\":4,\"group_size\":128,\"dynamic\":{");
	for (unsigned i = 0; i < 65536; i++)
		gq_buf_printf(&text, "%s\".*%xb\":{}", i ? "," : "", i);
	gq_buf_puts(&text, "}}");
	limit_memory(512 * MIB);
	ck_assert_int_eq(
		gq_config_read("quantize_config.json", GQ_CONFIG_STANDALONE, text.data, text.size, &file, &err),
		GPTQ_OK);
	ck_assert_int_eq(gq_dynamic_new(&file, &file.configs[0], &dynamic, &err), GPTQ_OK);
	for (size_t i = 0; i < rounds; i++)
		n_limits += gq_dynamic_match(dynamic, "model.layers.0.mlp", 18, NULL) == GQ_DYNAMIC_LIMIT;
	if (rounds == 400)
		ck_assert(n_limits > 50 && n_limits < 350);
	ck_assert_int_eq(gq_dynamic_check(dynamic, &err), GPTQ_OK);
	gq_dynamic_free(dynamic);
	gq_config_free(&file);
	gq_buf_free(&text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("claims");
	TCase *tc = tcase_create("core");

	setvbuf(stdout, NULL, _IOLBF, 0);
	tcase_set_timeout(tc, 560);
	tcase_add_checked_fixture(tc, scratch_enter, leave);
	tcase_add_test(tc, exabytes);
	tcase_add_test(tc, nested_header);
	tcase_add_test(tc, depth);
	tcase_add_test(tc, million_tensors);
	tcase_add_test(tc, million_shards);
	tcase_add_test(tc, large_configs);
	tcase_add_test(tc, many_configs);
	tcase_add_test(tc, many_rules);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
