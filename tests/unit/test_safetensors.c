/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/buf.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "format/dtype.h"
#include "format/safetensors.h"

#include <stdio.h>
#include <unistd.h>

#define TEXT(s) s, sizeof(s) - 1

static const char *testdata(const char *file)
{
	static char path[4096];
	const char *root = getenv("GQ_TESTDATA");

	ck_assert_ptr_nonnull(root);
	snprintf(path, sizeof(path), "%s/safetensors/%s", root, file);
	return path;
}

/* The n-th tab-separated field of a line, which is cut into pieces. */
static char *cut(char **rest)
{
	char *field = *rest, *tab = strchr(field, '\t');

	if (tab)
		*tab++ = '\0';
	*rest = tab ? tab : field + strlen(field);
	return field;
}

/* The same file through memory: first bytes, then header. */
static enum gptq_status parse_bytes(const unsigned char *bytes, size_t n, const struct gq_st_limits *limits,
				    struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	uint64_t size;
	enum gptq_status status;
	char *header;

	*out = NULL;
	status = gq_st_header_size(bytes, n < GQ_SNIFF_BYTES ? n : GQ_SNIFF_BYTES, n, limits, &size, diagnosis, err);
	if (status)
		return status;
	header = gq_malloc_array((size_t)size, 1); /* ends where its memory ends, so that a read past it is seen */
	memcpy(header, bytes + 8, (size_t)size);
	status = gq_st_parse(header, (size_t)size, n - 8 - size, limits, out, diagnosis, err);
	gq_free(header);
	return status;
}

/* Asserting once, at the end, keeps tables of 100,000 tensors cheap. */
static bool tensor_holds(const struct gq_st *st, const struct gq_st_tensor *t, uint64_t begin)
{
	uint64_t bits = gptq_dtype_bits(t->dtype);

	for (uint32_t k = 0; k < t->rank; k++)
		bits *= t->shape[k];
	return t->begin == begin && bits == (t->end - t->begin) * 8 && st->header[t->entry_begin] == '{' &&
	       st->header[t->entry_end - 1] == '}';
}

static bool is_named(const struct gq_st_tensor *t, const char *name, size_t n)
{
	return t->name_size == n && memcmp(t->name, name, n) == 0;
}

/* What must hold of every table, whatever it was made from. */
static void check_table(const struct gq_st *st)
{
	uint32_t n_good = 0, n_names = 0;
	uint64_t end = 0;
	struct gq_map names;

	gq_map_init(&names);
	ck_assert_uint_eq(st->data_start, st->header_size + 8);
	for (uint32_t i = 0; i < st->n_tensors; i++) {
		n_names += gq_map_insert(&names, st->tensors[i].name, st->tensors[i].name_size, i, NULL) == GQ_MAP_NEW;
		n_good += tensor_holds(st, &st->tensors[st->by_offset[i]], end);
		end = st->tensors[st->by_offset[i]].end;
	}
	gq_map_free(&names);
	ck_assert_uint_eq(n_good, st->n_tensors);
	ck_assert_uint_eq(n_names, st->n_tensors);
	ck_assert_uint_eq(end, st->data_size);
	for (uint32_t i = 0; i < st->n_metadata; i++) {
		const struct gq_st_meta *m = &st->metadata[i];

		ck_assert(st->header[m->value_begin] == '"' && st->header[m->value_end - 1] == '"');
	}
}

static void expect_good(const char *file, const struct gq_st *st, const char *expected)
{
	char summary[64], flags[4];

	snprintf(flags, sizeof(flags), "%s%s%s", st->leading_space ? "L" : "", st->unpadded ? "U" : "",
		 st->n_misaligned ? "M" : "");
	snprintf(summary, sizeof(summary), "%u %u %s", st->n_tensors, st->n_metadata, flags[0] ? flags : "-");
	ck_assert_msg(strcmp(summary, expected) == 0, "%s: \"%s\", not \"%s\"", file, summary, expected);
	check_table(st);
}

static void expect_one(char *line)
{
	const char *file = cut(&line), *verdict = cut(&line), *fault = cut(&line), *part = cut(&line);
	bool is_good = strcmp(verdict, "valid") == 0;
	struct gq_st_diagnosis diagnosis = {0}, again = {0};
	struct gptq_error err;
	struct gq_st *st, *copy;
	unsigned char *bytes;
	uint64_t size;
	int fd;

	ck_assert_int_eq(gq_open_read(testdata(file), &fd, &size, &err), GPTQ_OK);
	bytes = gq_malloc_array((size_t)size, 1);
	ck_assert_int_eq(gq_pread_full(fd, bytes, (size_t)size, 0, file, &err), GPTQ_OK);
	parse_bytes(bytes, (size_t)size, NULL, &copy, &again, NULL);
	err.message[0] = '\0';
	gq_st_open(fd, size, file, NULL, &st, &diagnosis, &err);
	close(fd);
	gq_free(bytes);
	ck_assert_msg(!!st == is_good && !!copy == is_good, "%s: %s", file, err.message);
	ck_assert_msg(strcmp(gq_st_fault_name(diagnosis.fault), fault) == 0, "%s: fault %s, not %s: %s", file,
		      gq_st_fault_name(diagnosis.fault), fault, err.message);
	/* Only with the file's first bytes at hand is a magic that looks like a length found out. */
	ck_assert_msg(again.fault == diagnosis.fault || diagnosis.fault == GQ_ST_NOT_SAFETENSORS, "%s", file);
	if (is_good) {
		expect_good(file, st, part);
	} else {
		char text[4096];

		gptq_error_format(&err, text, sizeof(text));
		ck_assert_msg(strstr(text, part) != NULL, "%s lacks \"%s\"", text, part);
		ck_assert_int_eq(err.status, GPTQ_E_FORMAT);
		ck_assert_str_eq(err.file, file);
		ck_assert_uint_le(err.offset, size);
	}
	gq_st_free(st);
	gq_st_free(copy);
}

/* Every file of testdata/safetensors: verdict, kind of fault and words of the message. */
START_TEST(expectations)
{
	FILE *list = fopen(testdata("EXPECT.tsv"), "r");
	char line[512];
	unsigned n = 0;

	ck_assert_ptr_nonnull(list);
	while (fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		expect_one(line);
		n++;
	}
	fclose(list);
	ck_assert_uint_gt(n, 250);
}
END_TEST

static const char full[] = " {\"__metadata__\":{\"format\":\"pt\",\"a\\nb\":\"\\u00e9\"},"
			   "\"b\\u0000\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[4,16],\"x\":{\"y\":[1]}},"
			   "\"a\":{\"data_offsets\":[0,4],\"shape\":[],\"dtype\":\"I32\"}}";

START_TEST(table)
{
	struct gq_st *st;
	const struct gq_st_tensor *t;
	const struct gq_st_meta *m;

	ck_assert_int_eq(gq_st_parse(TEXT(full), 16, NULL, &st, NULL, NULL), GPTQ_OK);
	check_table(st);
	ck_assert(st->leading_space && st->has_metadata && st->n_metadata == 2 && st->n_tensors == 2);
	ck_assert_uint_eq(st->metadata_begin, 17);
	ck_assert(memcmp(full + st->metadata_end - 8, "\\u00e9\"}", 8) == 0);
	m = gq_st_find_meta(st, "a\nb");
	ck_assert(m && m->value_size == 2 && memcmp(m->value, "\xc3\xa9", 2) == 0);
	ck_assert(m->value_end - m->value_begin == 8 && memcmp(full + m->value_begin, "\"\\u00e9\"", 8) == 0);
	ck_assert_ptr_null(gq_st_find_meta(st, "forma"));
	t = &st->tensors[0];
	ck_assert(is_named(t, "b\0", 2) && t->dtype == GPTQ_DTYPE_F16 && t->rank == 2);
	ck_assert(t->shape[0] == 2 && t->shape[1] == 3 && t->begin == 4 && t->end == 16);
	t = &st->tensors[1];
	ck_assert(is_named(t, "a", 1) && t->rank == 0 && t->dtype == GPTQ_DTYPE_I32);
	ck_assert(st->by_offset[0] == 1 && st->by_offset[1] == 0);
	gq_st_free(st);
	gq_st_free(NULL);
}
END_TEST

/* Every beginning of a header is refused, and nothing is read beyond it. */
START_TEST(truncations)
{
	for (size_t n = 0; n < sizeof(full) - 1; n++) {
		char *text = gq_malloc_array(n, 1);
		struct gq_st_diagnosis diagnosis;
		struct gptq_error err;
		struct gq_st *st;

		memcpy(text, full, n);
		ck_assert_int_eq(gq_st_parse(text, n, 16, NULL, &st, &diagnosis, &err), GPTQ_E_FORMAT);
		ck_assert_int_eq(diagnosis.fault, GQ_ST_JSON);
		ck_assert_ptr_null(st);
		gq_free(text);
	}
}
END_TEST

/* Every beginning of a file. */
START_TEST(truncated_files)
{
	unsigned char file[sizeof(full) - 1 + 8 + 16] = {0};

	gq_store_le(file, sizeof(full) - 1, 8);
	memcpy(file + 8, full, sizeof(full) - 1);
	for (size_t n = 0; n < sizeof(file); n++) {
		struct gq_st_diagnosis diagnosis;
		struct gq_st *st;

		ck_assert_int_eq(parse_bytes(file, n, NULL, &st, &diagnosis, NULL), GPTQ_E_FORMAT);
		if (n == 0)
			ck_assert_int_eq(diagnosis.fault, GQ_ST_EMPTY);
		else if (n >= 8)
			ck_assert_int_eq(diagnosis.fault, GQ_ST_SHORT);
		if (n >= sizeof(file) - 16)
			ck_assert_uint_eq(diagnosis.nbytes, sizeof(file) - n);
	}
}
END_TEST

/* One byte changed in every way that matters: a refusal or a table that holds together. */
START_TEST(flips)
{
	static const unsigned char with[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, 0x22 ^ 0x7d, 0x0c};
	char text[sizeof(full)];
	unsigned good = 0;

	for (size_t i = 0; i < sizeof(full) - 1; i++) {
		for (size_t k = 0; k < sizeof(with); k++) {
			struct gq_st *st;

			memcpy(text, full, sizeof(full));
			text[i] = (char)(text[i] ^ with[k]);
			if (gq_st_parse(text, sizeof(full) - 1, 16, NULL, &st, NULL, NULL) == GPTQ_OK) {
				check_table(st);
				good++;
			}
			gq_st_free(st);
		}
	}
	ck_assert_uint_gt(good, 20);
}
END_TEST

/* n one-byte tensors, header order scrambled against offsets (step is prime to n). */
static struct gq_st *many(uint32_t n, uint32_t step, const char *last)
{
	struct gq_buf text = {0};
	struct gq_st *st;

	gq_buf_puts(&text, "{");
	for (uint32_t i = 0, at = 0; i < n; i++, at = (uint32_t)(((uint64_t)at + step) % n))
		gq_buf_printf(&text, "%s\"layer.%u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}",
			      i ? "," : "", at, at, at + 1);
	gq_buf_puts(&text, last);
	ck_assert(!text.failed);
	gq_st_parse(text.data, text.size, n, NULL, &st, NULL, NULL);
	gq_buf_free(&text);
	return st;
}

START_TEST(many_tensors)
{
	static const uint32_t sizes[] = {10000, 100000};

	for (unsigned i = 0; i < 2; i++) {
		struct gq_st *st = many(sizes[i], 6661, "}");

		ck_assert_ptr_nonnull(st);
		check_table(st);
		ck_assert_uint_eq(st->n_tensors, sizes[i]);
		gq_st_free(st);
	}
	ck_assert_ptr_null(many(100000, 6661, ",\"layer.7\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"));
	ck_assert_ptr_null(many(100000, 6661, ",}"));
}
END_TEST

static enum gptq_status parse_buf(struct gq_buf *text, uint64_t data_size, struct gq_st_diagnosis *diagnosis)
{
	struct gq_st *st;
	enum gptq_status status = gq_st_parse(text->data, text->size, data_size, NULL, &st, diagnosis, NULL);

	if (!status)
		check_table(st);
	gq_st_free(st);
	gq_buf_free(text);
	return status;
}

START_TEST(large_values)
{
	struct gq_st_diagnosis diagnosis;
	struct gq_buf text = {0};

	gq_buf_puts(&text, "{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[1");
	for (unsigned i = 1; i < 5000; i++)
		gq_buf_puts(&text, ",1");
	gq_buf_puts(&text, "]}}");
	ck_assert_int_eq(parse_buf(&text, 1, &diagnosis), GPTQ_OK);

	gq_buf_puts(&text, "{\"__metadata__\":{\"k\":\"");
	for (unsigned i = 0; i < 70000; i++)
		gq_buf_puts(&text, i % 9 ? "v" : "\\t");
	gq_buf_puts(&text, "\"}}");
	ck_assert_int_eq(parse_buf(&text, 0, &diagnosis), GPTQ_OK);

	gq_buf_puts(&text, "{\"t\":{\"x\":");
	for (unsigned i = 0; i < 100000; i++)
		gq_buf_puts(&text, "{\"a\":");
	ck_assert_int_eq(parse_buf(&text, 0, &diagnosis), GPTQ_E_FORMAT);
	ck_assert_int_eq(diagnosis.fault, GQ_ST_JSON);

	/* Keys that mean nothing, very many of them, are still compared. */
	for (unsigned twice = 0; twice < 2; twice++) {
		gq_buf_puts(&text, "{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[0],\"x\":{");
		for (unsigned i = 0; i < 30000; i++)
			gq_buf_printf(&text, i % 5 ? "\"k%u\":0," : "\"\\u006b%u\":0,", i);
		gq_buf_printf(&text, "\"k%u\":0}}}", twice ? 12345u : 30000u);
		ck_assert_int_eq(parse_buf(&text, 0, &diagnosis), twice ? GPTQ_E_FORMAT : GPTQ_OK);
		ck_assert_int_eq(diagnosis.fault, twice ? GQ_ST_DUPLICATE : GQ_ST_NONE);
	}
}
END_TEST

START_TEST(sizes_that_are_not_known)
{
	static const char text[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}";
	const struct gq_st_limits any = {.any_size = true}, small = {.max_header = sizeof(text) - 2};
	struct gq_st_diagnosis diagnosis;
	struct gptq_error err;
	struct gq_st *st;

	ck_assert_int_eq(gq_st_parse(TEXT(text), GQ_ST_ANY_SIZE, NULL, &st, &diagnosis, NULL), GPTQ_OK);
	ck_assert_uint_eq(st->data_size, 8);
	gq_st_free(st);
	ck_assert_int_eq(gq_st_parse(TEXT(text), 5, &any, &st, &diagnosis, NULL), GPTQ_OK);
	ck_assert(diagnosis.fault == GQ_ST_SHORT && diagnosis.nbytes == 3 && st->data_size == 5);
	gq_st_free(st);
	ck_assert_int_eq(gq_st_parse(TEXT(text), 9, &any, &st, &diagnosis, NULL), GPTQ_OK);
	ck_assert(diagnosis.fault == GQ_ST_TRAILING && diagnosis.nbytes == 1);
	gq_st_free(st);
	ck_assert_int_eq(gq_st_parse(TEXT(text), 8, &small, &st, &diagnosis, &err), GPTQ_E_LIMIT);
	ck_assert_int_eq(diagnosis.fault, GQ_ST_HEADER_LIMIT);
	ck_assert_ptr_null(st);
}
END_TEST

START_TEST(header_sizes)
{
	unsigned char first[32] = "xxxxxxxx {\"a";
	struct gq_st_limits limits = {.max_header = 1000};
	struct gq_st_diagnosis diagnosis;
	uint64_t size;

	gq_store_le(first, 1000, 8);
	ck_assert_int_eq(gq_st_header_size(first, 12, GQ_ST_ANY_SIZE, &limits, &size, &diagnosis, NULL), GPTQ_OK);
	ck_assert_uint_eq(size, 1000);
	ck_assert_int_eq(gq_st_header_size(first, 12, 1008, &limits, &size, NULL, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_st_header_size(first, 12, 1007, &limits, &size, &diagnosis, NULL), GPTQ_E_FORMAT);
	ck_assert(diagnosis.fault == GQ_ST_SHORT && diagnosis.nbytes == 1);
	gq_store_le(first, 1001, 8);
	ck_assert_int_eq(gq_st_header_size(first, 12, 5000, &limits, &size, &diagnosis, NULL), GPTQ_E_LIMIT);
	ck_assert_int_eq(diagnosis.fault, GQ_ST_HEADER_LIMIT);
	ck_assert_int_eq(gq_st_header_size(first, 12, GQ_ST_ANY_SIZE, &limits, &size, NULL, NULL), GPTQ_E_LIMIT);
	ck_assert_int_eq(gq_st_header_size(first, 12, 1008, &limits, &size, &diagnosis, NULL), GPTQ_E_FORMAT);
	ck_assert_int_eq(diagnosis.fault, GQ_ST_LENGTH);
	gq_store_le(first, 100000000, 8);
	ck_assert_int_eq(gq_st_header_size(first, 12, GQ_ST_ANY_SIZE, NULL, &size, NULL, NULL), GPTQ_OK);
	gq_store_le(first, UINT32_MAX, 8);
	limits.max_header = UINT64_MAX;
	ck_assert_int_eq(gq_st_header_size(first, 12, UINT64_MAX - 1, &limits, &size, NULL, NULL), GPTQ_OK);
	gq_store_le(first, (uint64_t)UINT32_MAX + 1, 8);
	ck_assert_int_eq(gq_st_header_size(first, 12, UINT64_MAX - 1, &limits, &size, NULL, NULL), GPTQ_E_LIMIT);
}
END_TEST

/* A sparse file whose header is real, but one byte too long; and a file that shrank after its size was taken. */
START_TEST(file_sizes)
{
	char path[] = "/tmp/gptq-test-XXXXXX";
	int fd = mkstemp(path);
	unsigned char first[8];
	struct gq_st_diagnosis diagnosis;
	struct gptq_error err;
	struct gq_st *st;

	ck_assert_int_ge(fd, 0);
	unlink(path);
	gq_store_le(first, 100000001, 8);
	ck_assert_int_eq(write(fd, first, 8), 8);
	ck_assert_int_eq(write(fd, "{}", 2), 2);
	ck_assert_int_eq(ftruncate(fd, 100000009), 0);
	ck_assert_int_eq(gq_st_open(fd, 100000009, "f", NULL, &st, &diagnosis, &err), GPTQ_E_LIMIT);
	ck_assert_int_eq(diagnosis.fault, GQ_ST_HEADER_LIMIT);
	gq_store_le(first, 2, 8);
	ck_assert_int_eq(pwrite(fd, first, 8, 0), 8);
	ck_assert_int_eq(gq_st_open(fd, 100000009, "f", NULL, &st, &diagnosis, &err), GPTQ_E_FORMAT);
	ck_assert(diagnosis.fault == GQ_ST_TRAILING && diagnosis.nbytes == 99999999);
	ck_assert_int_eq(ftruncate(fd, 9), 0);
	ck_assert_int_eq(gq_st_open(fd, 10, "f", NULL, &st, &diagnosis, &err), GPTQ_E_IO);
	ck_assert_int_eq(diagnosis.fault, GQ_ST_SYSTEM);
	ck_assert_uint_eq(err.offset, 9);
	ck_assert_ptr_nonnull(strstr(err.message, "became shorter"));
	close(fd);
	ck_assert_int_eq(gq_st_open(-1, 10, "f", NULL, &st, &diagnosis, &err), GPTQ_E_IO);
	ck_assert_int_ne(err.sys_errno, 0);
}
END_TEST

START_TEST(no_memory)
{
	static const char text[] =
		"{\"__metadata__\":{\"a\":\"b\"},\"b\\n\":{\"dtype\":\"U8\",\"shape\":[1],"
		"\"data_offsets\":[1,2],\"\\u0078\":{\"y\":1}},\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
		"\"data_offsets\":[0,1]}}";
	long n = 0;

	for (;; n++) {
		struct gq_st_diagnosis diagnosis;
		struct gq_st *st;
		enum gptq_status status;

		gq_mem_fail_after(n);
		status = gq_st_parse(TEXT(text), 2, NULL, &st, &diagnosis, NULL);
		gq_mem_fail_after(-1);
		gq_st_free(st);
		if (status == GPTQ_OK && n > 16)
			break;
		if (status) {
			ck_assert_int_eq(status, GPTQ_E_NOMEM);
			ck_assert_int_eq(diagnosis.fault, GQ_ST_SYSTEM);
		}
	}
}
END_TEST

START_TEST(dtypes)
{
	enum gptq_dtype dtype = GPTQ_DTYPE_BOOL;

	for (unsigned i = 0; i < GQ_N_DTYPES; i++) {
		const char *name = gptq_dtype_name((enum gptq_dtype)i);

		ck_assert(gq_dtype_from_name(name, strlen(name), &dtype) && (unsigned)dtype == i);
		ck_assert_uint_ge(gptq_dtype_bits(dtype), 4);
	}
	ck_assert_str_eq(gptq_dtype_name((enum gptq_dtype)GQ_N_DTYPES), "unknown");
	ck_assert_uint_eq(gptq_dtype_bits((enum gptq_dtype)99), 0);
	ck_assert_uint_eq(gptq_dtype_bits(GPTQ_DTYPE_F6_E3M2), 6);
	ck_assert_int_eq(gq_dtype_kind(GPTQ_DTYPE_BF16), GQ_KIND_FLOAT);
	ck_assert_int_eq(gq_dtype_kind(GPTQ_DTYPE_I32), GQ_KIND_INT);
	ck_assert(!gq_dtype_from_name("F", 1, &dtype) && !gq_dtype_from_name("", 0, &dtype));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("safetensors");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, expectations);
	tcase_add_test(tc, table);
	tcase_add_test(tc, truncations);
	tcase_add_test(tc, truncated_files);
	tcase_add_test(tc, flips);
	tcase_add_test(tc, many_tensors);
	tcase_add_test(tc, large_values);
	tcase_add_test(tc, sizes_that_are_not_known);
	tcase_add_test(tc, header_sizes);
	tcase_add_test(tc, file_sizes);
	tcase_add_test(tc, no_memory);
	tcase_add_test(tc, dtypes);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
