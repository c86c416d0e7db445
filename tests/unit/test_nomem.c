/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out, at every single allocation of the public calls, over every kind of input. Each sweep prints
 * how many allocations there were. After each failure no file, descriptor or byte is left over (AddressSanitizer's
 * leak check at the end of the test), and the error says what it is.
 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "gptq/gptq.h"

/* Two layers of 84 bytes; a key that is escaped, and a label. */
#define HEADER(a, b)                                                                                                   \
	"{\"" a ".qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[0,32]},"                              \
	"\"" a ".qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[32,36]},"                               \
	"\"" a ".scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[36,52]},"                               \
	"\"" a ".g_idx\":{\"dtype\":\"I32\",\"shape\":[8],\"data_offsets\":[52,84]},"                                  \
	"\"" b ".qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[84,116]},"                             \
	"\"" b ".qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[116,120]},"                             \
	"\"" b ".scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[120,136]},"                             \
	"\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq\",\"\\u0061uto_gptq_version\":\"0.7.1\"}}        "
#define N_DATA 136

static void write_model(const char *path, const char *header, uint32_t word)
{
	unsigned char zeros[4];
	int fd;

	write_safetensors(path, header, N_DATA);
	for (unsigned i = 0; i < 4; i++)
		zeros[i] = (unsigned char)(word >> (8 * i));
	fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, zeros, 4, (off_t)(8 + strlen(header) + 32)), 4);
	ck_assert_int_eq(pwrite(fd, zeros, 4, (off_t)(8 + strlen(header) + 116)), 4);
	close(fd);
}

#define QUANTIZE                                                                                                       \
	"{\n  \"bits\": 4,\n  \"group_size\": 8,\n  \"quant_method\": \"gptq\",\n  \"sym\": true,\n"                   \
	"  \"dynamic\": {\"-:.*gate\": {}, \"+:a\\\\.0\": {\"bits\": 4}},\n"                                           \
	"  \"meta\": {\"quantizer\": [\"gptqmodel:5.8.0\"]},\n  \"checkpoint_format\": \"gptq\"\n}\n"

/* Everything that a folder can have: two shards, an index, three configs, a stray, subfolders, weights of others. */
static void make_folder(const char *dir, uint32_t word)
{
	ck_assert_int_eq(mkdir(dir, 0777), 0);
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("sub", 0777), 0);
	write_model("model-1.safetensors", HEADER("a.0", "a.1"), word);
	write_model("model-2.safetensors", HEADER("b.0", "b.experts.1"), word);
	write_model("left-over.safetensors", HEADER("c.0", "c.1"), word);
	write_text("model.safetensors.index.json",
		   "{\"metadata\":{},\"weight_map\":{\"a.0.qweight\":\"model-1.safetensors\",\"a.0.qzeros\":"
		   "\"model-1.safetensors\",\"b.0.qweight\":\"model-2.safetensors\"}}");
	write_text("quantize_config.json", QUANTIZE);
	write_text("config.json", "{\"text_config\": {\"quantization_config\": {\"bits\": 8, \"group_size\": 32, "
				  "\"quant_method\": \"gptq\", \"extra_config\": {\"b.*\": {\"bits\": 16}}}}}");
	write_text("sub/SHA256SUMS", "00  ../model-1.safetensors\n");
	write_text("old.bin", "x");
	ck_assert_int_eq(chdir(scratch), 0);
}

/* One shard is missing, one is none, one layer lacks a part, another has shapes that fit no width. */
static void make_broken(const char *dir)
{
	char path[64];

	ck_assert_int_eq(mkdir(dir, 0777), 0);
	snprintf(path, sizeof(path), "%s/one.safetensors", dir);
	write_safetensors(path,
			  "{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[0,32]},"
			  "\"n.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[32,64]},"
			  "\"n.qzeros\":{\"dtype\":\"I32\",\"shape\":[3,5],\"data_offsets\":[64,124]},"
			  "\"n.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[124,140]},"
			  "\"w\\n.weight\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[140,156]}}",
			  156);
	snprintf(path, sizeof(path), "%s/two.safetensors", dir);
	write_text(path, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
	snprintf(path, sizeof(path), "%s/model.safetensors.index.json", dir);
	write_text(path, "{\"weight_map\":{\"m.qweight\":\"one.safetensors\",\"x\":\"two.safetensors\","
			 "\"y\":\"three.safetensors\",\"z\":\"one.safetensors\"}}");
	snprintf(path, sizeof(path), "%s/quantize_config.json", dir);
	write_text(path, "{\"bits\": 4, \"bits\": 4}");
	snprintf(path, sizeof(path), "%s/config.json", dir);
	write_text(path, "{\"quantization_config\": {\"bits\": 4, \"group_size\": 8, \"checkpoint_format\": \"new\"}}");
}

/* A hub cache: what is read are links into blobs, whose names are digests. */
static void make_cache(const char *dir)
{
	static const char blob[] = "../../blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

	ck_assert_int_eq(mkdir(dir, 0777), 0);
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("refs", 0777) | mkdir("blobs", 0777) | mkdir("snapshots", 0777), 0);
	ck_assert_int_eq(mkdir("snapshots/abc123", 0777) | mkdir("snapshots/def456", 0777), 0);
	write_text("refs/main", "abc123\n");
	write_model(blob + 6, HEADER("a.0", "a.1"), 0x77777777);
	ck_assert_int_eq(symlink(blob, "snapshots/abc123/model.safetensors"), 0);
	ck_assert_int_eq(symlink(blob, "snapshots/def456/model.safetensors"), 0);
	write_text("snapshots/abc123/quantize_config.json", QUANTIZE);
	ck_assert_int_eq(chdir(scratch), 0);
}

/* Under valgrind every tenth allocation has to do. A sweep is over when none of some 20 more has failed. */
static long step(void)
{
	return (long)(100 / unit_rounds(100));
}

static bool go_on(unsigned n_good)
{
	return (long)n_good * step() < 20;
}

static unsigned n_descriptors(void)
{
	return count_entries("/proc/self/fd");
}

/* ----------------------------------------------------------------------------------------------------- inspect */

/* NULL for path: a stream. */
static enum gptq_status inspect(const char *path, const struct gptq_inspect_options *o, size_t *n_findings)
{
	struct gptq_inspect_report *r = (void *)&o;
	struct gptq_error err = {0};
	enum gptq_status status;

	if (path) {
		status = gptq_inspect(path, o, &r, &err);
	} else {
		int fd = open("F/model-1.safetensors", O_RDONLY);

		ck_assert_int_ge(fd, 0);
		status = gptq_inspect_stream(fd, o, &r, &err);
		close(fd);
	}
	gq_mem_fail_after(-1);
	if (status != GPTQ_OK) {
		ck_assert_ptr_null(r);
		ck_assert_int_eq(err.status, status);
		ck_assert_int_ne(err.message[0], 0);
		return status;
	}
	*n_findings = r->n_findings;
	gptq_inspect_report_free(r);
	return GPTQ_OK;
}

/*
 * Allocations that only save memory may fail, so the sweep ends when none has failed for a while. A report that comes
 * out all the same must be whole.
 */
static void sweep_inspect(const char *what, const char *path, struct gptq_inspect_options o)
{
	unsigned n_good = 0, before = n_descriptors();
	size_t whole = 0, n_findings = 0;
	long n = 0;

	o.struct_size = sizeof(o);
	ck_assert_int_eq(inspect(path, &o, &whole), GPTQ_OK);
	while (go_on(n_good)) {
		enum gptq_status status;

		gq_mem_fail_after(n);
		n += step();
		status = inspect(path, &o, &n_findings);
		ck_assert_msg(status == GPTQ_OK || status == GPTQ_E_NOMEM, "%s, allocation %ld: status %d", what, n,
			      status);
		ck_assert_msg(status != GPTQ_OK || n_findings == whole, "%s, allocation %ld: %zu findings, not %zu",
			      what, n, n_findings, whole);
		ck_assert_uint_eq(n_descriptors(), before);
		n_good = status == GPTQ_OK ? n_good + 1 : 0;
	}
	printf("inspect, %s: %ld allocations\n", what, n - 20);
	ck_assert_int_gt(n, 60);
}

START_TEST(inspect_kinds)
{
	make_folder("F", 0x77777777);
	make_broken("B");
	make_cache("C");
	sweep_inspect("folder", "F", (struct gptq_inspect_options){0});
	sweep_inspect("folder, --headers", "F", (struct gptq_inspect_options){.headers = true});
	sweep_inspect("folder, --tensors --checksum crc32", "F",
		      (struct gptq_inspect_options){.tensors = true, .checksum = GPTQ_CHECKSUM_CRC32});
	sweep_inspect("broken folder", "B", (struct gptq_inspect_options){.tensors = true});
	sweep_inspect("hub cache, --tensors --checksum sha256", "C",
		      (struct gptq_inspect_options){.tensors = true, .checksum = GPTQ_CHECKSUM_SHA256});
	sweep_inspect("lone file", "F/model-1.safetensors", (struct gptq_inspect_options){.tensors = true});
	sweep_inspect("stream", NULL, (struct gptq_inspect_options){.tensors = true});
	unlink("C/refs/main"); /* the newest snapshot */
	sweep_inspect("hub cache without refs", "C", (struct gptq_inspect_options){0});
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- convert */

static void sweep_convert(const char *what, const char *in, struct gptq_convert_options o)
{
	unsigned n_good = 0, before = n_descriptors(), entries = count_entries(".");
	long n = 0;

	o.struct_size = sizeof(o);
	o.jobs = 1; /* or which allocation is the n-th depends on time */
	while (go_on(n_good)) {
		struct gptq_convert_report *r = (void *)&o;
		struct gptq_error err;
		enum gptq_status status;

		gq_mem_fail_after(n);
		n += step();
		status = gptq_convert(in, "O", &o, &r, &err);
		gq_mem_fail_after(-1);
		if (status == GPTQ_OK) {
			gptq_convert_report_free(r);
			if (o.manifest_path)
				ck_assert_int_eq(remove(o.manifest_path), 0);
			if (remove("O") != 0)
				nftw("O", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		} else {
			ck_assert_msg(status == GPTQ_E_NOMEM, "%s, allocation %ld: %s", what, n, err.message);
			ck_assert_int_eq(err.status, GPTQ_E_NOMEM);
			ck_assert_ptr_null(r);
		}
		n_good = status == GPTQ_OK ? n_good + 1 : 0;
		ck_assert_uint_eq(count_entries("."), entries);
		ck_assert_uint_eq(n_descriptors(), before);
	}
	printf("convert, %s: %ld allocations\n", what, n - 20);
	ck_assert_int_gt(n, 150);
}

/* A folder without what convert refuses: parts of layers that the index does not list are no obstacle. */
static void make_whole(const char *dir, uint32_t word)
{
	char path[64];

	make_folder(dir, word);
	snprintf(path, sizeof(path), "%s/model.safetensors.index.json", dir);
	unlink(path);
}

START_TEST(convert_kinds)
{
	make_whole("F", 0x77777777);
	make_whole("Z", 0x01234567); /* with z = 0 under v2 */
	make_folder("S", 0x77777777);
	make_cache("C");
	sweep_convert("folder to v2", "F", (struct gptq_convert_options){.to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1});
	sweep_convert(
		"folder to v1 with a record", "Z",
		(struct gptq_convert_options){.to = GPTQ_ZEROS_V1, .from = GPTQ_ZEROS_V2, .v1_style = GPTQ_STYLE_WORD});
	sweep_convert("folder, relabel", "F", (struct gptq_convert_options){.relabel = true, .from = GPTQ_ZEROS_V2});
	sweep_convert("folder with a stray", "S",
		      (struct gptq_convert_options){
			      .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1, .strays = GPTQ_STRAYS_CONVERT});
	sweep_convert("folder with a manifest", "F",
		      (struct gptq_convert_options){.to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1, .manifest = true});
	sweep_convert("hub cache", "C", (struct gptq_convert_options){.to = GPTQ_ZEROS_V2});
	sweep_convert("lone file", "F/model-1.safetensors",
		      (struct gptq_convert_options){.to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1});
	sweep_convert("lone file with a manifest", "F/model-1.safetensors",
		      (struct gptq_convert_options){.to = GPTQ_ZEROS_V2,
						    .from = GPTQ_ZEROS_V1,
						    .manifest = true,
						    .manifest_path = "sums"});
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nomem");
	TCase *tc = tcase_create("core");

	setvbuf(stdout, NULL, _IOLBF, 0);
	tcase_set_timeout(tc, 560);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, inspect_kinds);
	tcase_add_test(tc, convert_kinds);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
