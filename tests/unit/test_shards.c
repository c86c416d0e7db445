/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "format/index.h"
#include "format/shards.h"

#define TENSOR(name) "{\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}"
#define TWO_TENSORS(a, b)                                                                                              \
	"{\"" a "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"" b                                      \
	"\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}"

static enum gptq_status open_here(const char *const *names, size_t n, struct gq_shards *shards,
				  struct gq_problems *problems, struct gptq_error *err)
{
	*problems = (struct gq_problems){0};
	return gq_shards_open_folder(".", names, n, shards, problems, err);
}

/* One problem of that code with these words, and no other error. */
static void one_problem(const struct gq_problems *problems, enum gq_code code, const char *words)
{
	ck_assert_uint_ge(problems->n, 1);
	ck_assert_msg(problems->items[0].code == code, "%s: %s", gq_code_text(problems->items[0].code),
		      problems->items[0].error.message);
	ck_assert_msg(strstr(problems->items[0].error.message, words) != NULL, "%s", problems->items[0].error.message);
	ck_assert_uint_eq(problems->n, 1);
}

/* Only some reads look whether the file is still the same; what ends a use of it always does. */
START_TEST(changes_between_reads)
{
	const char *names[] = {"a.safetensors"};
	struct gq_problems problems = {0};
	struct gq_shards shards;
	struct gptq_error err;
	const struct gq_tensor *t;
	unsigned char byte;
	FILE *f;

	write_safetensors("a.safetensors", TENSOR("one"), 4);
	ck_assert_int_eq(gq_shards_open_files(NULL, names, 1, &shards, &problems, &err), GPTQ_OK);
	t = gq_shards_find(&shards, "one", 3);
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(gq_shards_unchanged(&shards, &err), GPTQ_OK);
	for (unsigned i = 0; i < 40; i++)
		ck_assert_int_eq(gq_tensor_read_at(&shards, t, 0, &byte, 1, &err), GPTQ_OK);
	ck_assert_int_eq(gq_shards_unchanged(&shards, &err), GPTQ_OK);
	ck_assert_int_eq(gq_tensor_read_at(&shards, t, 0, &byte, 1, &err), GPTQ_OK);
	f = fopen("a.safetensors", "r+");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, -1, SEEK_END), 0);
	ck_assert_int_eq(fputc(byte ^ 1, f), byte ^ 1);
	ck_assert_int_eq(fclose(f), 0);
	(void)gq_tensor_read_at(&shards, t, 3, &byte, 1, &err);
	ck_assert_int_eq(gq_shards_unchanged(&shards, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "changed while"));
	gq_shards_close(&shards);
	gq_problems_free(&problems);
}
END_TEST

START_TEST(with_an_index)
{
	static const char *const names[] = {"a.safetensors", "b.safetensors", "m.safetensors.index.json",
					    "sub/s.safetensors", "x.safetensors"};
	const struct gq_tensor *t;
	struct gq_problems problems;
	struct gq_shards shards;
	struct gptq_error err;
	unsigned char byte;

	ck_assert_int_eq(mkdir("sub", 0777), 0);
	write_safetensors("a.safetensors", TWO_TENSORS("one", "two"), 8);
	write_safetensors("b.safetensors", TENSOR("three"), 4);
	write_safetensors("x.safetensors", TENSOR("four"), 4);
	write_safetensors("sub/s.safetensors", TENSOR("one"), 4);
	write_text("m.safetensors.index.json",
		   "{\"weight_map\": {\"one\": \"a.safetensors\", \"two\": \"a.safetensors\", "
		   "\"three\": \"b.safetensors\"}}");
	ck_assert_int_eq(open_here(names, 5, &shards, &problems, &err), GPTQ_OK);
	ck_assert_uint_eq(problems.n, 0);
	ck_assert_uint_eq(shards.n, 2);
	ck_assert_uint_eq(shards.n_tensors, 3);
	ck_assert_str_eq(shards.index_name, "m.safetensors.index.json");
	ck_assert_uint_eq(shards.n_stray, 2);
	ck_assert_str_eq(shards.stray[0], "sub/s.safetensors");
	ck_assert_str_eq(shards.stray[1], "x.safetensors");
	t = gq_shards_find(&shards, "three", 5);
	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(t->shard, 1);
	ck_assert_int_eq(gq_tensor_read_at(&shards, t, 3, &byte, 1, &err), GPTQ_OK);
	ck_assert_ptr_null(gq_shards_find(&shards, "four", 4));
	/* a file that is replaced meanwhile is noticed */
	write_safetensors("new", TENSOR("three"), 4);
	ck_assert_int_eq(rename("new", "b.safetensors"), 0);
	ck_assert_int_eq(truncate("a.safetensors", 20), 0);
	ck_assert_int_eq(gq_tensor_read_at(&shards, gq_shards_find(&shards, "one", 3), 0, &byte, 1, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "changed while"));
	/* and, where a read did not look, at the end; b was read once, before it was replaced, and is looked at by its path */
	ck_assert_int_eq(gq_shards_unchanged(&shards, &err), GPTQ_E_IO);
	gq_shards_close(&shards);
}
END_TEST

START_TEST(index_against_shards)
{
	static const char *const names[] = {"a.safetensors", "b.safetensors", "m.safetensors.index.json"};
	static const struct {
		const char *text, *words;
		enum gq_code code;
	} table[] = {
		{"{\"weight_map\": {\"one\": \"a.safetensors\", \"two\": \"a.safetensors\", \"three\": "
		 "\"b.safetensors\", "
		 "\"lost\": \"b.safetensors\", \"gone\": \"b.safetensors\"}}",
		 "places this tensor (and 1 more) in the file", GQ_CODE_INDEX_NAMES_MISSING_TENSOR},
		{"{\"weight_map\": {\"one\": \"b.safetensors\", \"two\": \"a.safetensors\", \"three\": "
		 "\"b.safetensors\"}}",
		 "", GQ_CODE_INDEX_NAMES_MISSING_TENSOR},
		{"{\"weight_map\": {\"two\": \"a.safetensors\", \"three\": \"b.safetensors\"}}",
		 "does not list this tensor of", GQ_CODE_TENSOR_NOT_IN_INDEX},
		{"{\"weight_map\": {\"one\": \"a.safetensors\", \"two\": \"a.safetensors\", \"three\": "
		 "\"c.safetensors\"}}",
		 "not there", GQ_CODE_SHARD_MISSING},
		{"{\"weight_map\": {\"one\": 1}}", "no string", GQ_CODE_INDEX_INVALID},
	};
	struct gq_problems problems;
	struct gq_shards shards;
	struct gptq_error err;

	write_safetensors("a.safetensors", TWO_TENSORS("one", "two"), 8);
	write_safetensors("b.safetensors", TENSOR("three"), 4);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		write_text("m.safetensors.index.json", table[i].text);
		ck_assert_int_eq(open_here(names, 3, &shards, &problems, &err), GPTQ_OK);
		if (i == 1) {
			ck_assert_uint_eq(problems.n, 2); /* missing in one, not listed in the other */
			ck_assert_int_eq(problems.items[0].code, table[i].code);
		} else {
			one_problem(&problems, table[i].code, table[i].words);
		}
		gq_shards_close(&shards);
		gq_problems_free(&problems);
	}
}
END_TEST

/* A guess is right or says nothing, and whatever the order of an index, all of its tensors are found. */
START_TEST(guesses)
{
	static const char *const names[] = {"a.safetensors", "b.safetensors", "m.safetensors.index.json"};
	static const char *const entries[] = {"\"one\": \"a.safetensors\"", "\"two\": \"a.safetensors\"",
					      "\"three\": \"b.safetensors\""};
	struct gq_problems problems;
	struct gq_shards shards;
	struct gptq_error err;
	char text[200];

	write_safetensors("a.safetensors", TWO_TENSORS("one", "two"), 8);
	write_safetensors("b.safetensors", TENSOR("three"), 4);
	for (unsigned i = 0; i < 9; i++) {
		unsigned first = i / 3, second = i % 3;

		if (first == second)
			continue;
		snprintf(text, sizeof(text), "{\"weight_map\": {%s, %s, %s}}", entries[first], entries[second],
			 entries[3 - first - second]);
		write_text("m.safetensors.index.json", text);
		ck_assert_int_eq(open_here(names, 3, &shards, &problems, &err), GPTQ_OK);
		ck_assert_uint_eq(problems.n, 0);
		ck_assert_ptr_eq(gq_shards_guess(&shards, 1, "two", 3), gq_shards_find(&shards, "two", 3));
		ck_assert_ptr_nonnull(gq_shards_guess(&shards, 2, "three", 5));
		ck_assert_ptr_null(gq_shards_guess(&shards, 0, "two", 3)); /* as long, but another */
		ck_assert_ptr_null(gq_shards_guess(&shards, 1, "tw", 2));
		ck_assert_ptr_null(gq_shards_guess(&shards, 3, "one", 3));
		ck_assert_ptr_null(gq_shards_guess(&shards, SIZE_MAX, "one", 3));
		gq_shards_close(&shards);
	}
	write_safetensors("b.safetensors", TENSOR("one"), 4);
	ck_assert_int_eq(open_here(names, 2, &shards, &problems, &err), GPTQ_OK);
	ck_assert_uint_eq(shards.n_tensors, 3);
	ck_assert_ptr_eq(gq_shards_find(&shards, "one", 3), &shards.tensors[0]);
	ck_assert_ptr_null(gq_shards_guess(&shards, 2, "one", 3)); /* the second of that name */
	gq_shards_close(&shards);
	gq_problems_free(&problems);
}
END_TEST

START_TEST(without_an_index)
{
	static const char *const names[] = {"a.safetensors", "autogptq_model_x.safetensors", "b.safetensors",
					    "sub/s.safetensors"};
	static const char *const two[] = {"a.safetensors.index.json", "b.safetensors.index.json"};
	static const char *const nested[] = {"sub/a.safetensors.index.json", "sub/a.safetensors"};
	struct gq_problems problems;
	struct gq_shards shards;
	struct gptq_error err;

	ck_assert_int_eq(mkdir("sub", 0777), 0);
	write_safetensors("a.safetensors", TENSOR("one"), 4);
	write_safetensors("autogptq_model_x.safetensors", TENSOR("one"), 4);
	write_safetensors("b.safetensors", TENSOR("two"), 4);
	write_safetensors("sub/s.safetensors", TENSOR("one"), 4);
	ck_assert_int_eq(open_here(names, 4, &shards, &problems, &err), GPTQ_OK);
	ck_assert_uint_eq(problems.n, 0);
	ck_assert_uint_eq(shards.n, 2);
	ck_assert_uint_eq(shards.n_stray, 2);
	ck_assert_ptr_null(shards.index_name);
	gq_shards_close(&shards);
	write_safetensors("b.safetensors", TENSOR("one"), 4);
	ck_assert_int_eq(open_here(names, 4, &shards, &problems, &err), GPTQ_OK);
	one_problem(&problems, GQ_CODE_TENSOR_IN_TWO_SHARDS, "also in a.safetensors");
	ck_assert_str_eq(problems.items[0].error.file, "./b.safetensors");
	ck_assert_str_eq(problems.items[0].error.tensor, "one");
	gq_shards_close(&shards);
	gq_problems_free(&problems);
	ck_assert_int_eq(open_here(two, 2, &shards, &problems, &err), GPTQ_OK);
	one_problem(&problems, GQ_CODE_INDEX_INVALID, "two index files");
	gq_shards_close(&shards);
	gq_problems_free(&problems);
	ck_assert_int_eq(open_here(NULL, 0, &shards, &problems, &err), GPTQ_E_NOTFOUND);
	ck_assert_int_eq(open_here(nested, 2, &shards, &problems, &err), GPTQ_E_NOTFOUND);
}
END_TEST

START_TEST(broken_files)
{
	static const char *const names[] = {"a.safetensors"};
	static const struct {
		const char *text;
		enum gq_code code;
	} table[] = {
		{"", GQ_CODE_SHARD_UNREADABLE},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:"
		 "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
		 GQ_CODE_LFS_POINTER},
		{"<!DOCTYPE html><html>not found</html>", GQ_CODE_NOT_SAFETENSORS},
	};
	struct gq_problems problems;
	struct gq_shards shards;
	struct gptq_error err;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		write_text("a.safetensors", table[i].text);
		ck_assert_int_eq(open_here(names, 1, &shards, &problems, &err), GPTQ_OK);
		one_problem(&problems, table[i].code, "");
		ck_assert_ptr_null(shards.items[0].st);
		gq_shards_close(&shards);
		gq_problems_free(&problems);
	}
	write_safetensors("a.safetensors", TENSOR("one"), 3);
	ck_assert_int_eq(open_here(names, 1, &shards, &problems, &err), GPTQ_OK);
	one_problem(&problems, GQ_CODE_SHARD_SHORT, "1 byte");
	gq_shards_close(&shards);
	gq_problems_free(&problems);
	write_safetensors("a.safetensors", TENSOR("one"), 5);
	ck_assert_int_eq(open_here(names, 1, &shards, &problems, &err), GPTQ_OK);
	one_problem(&problems, GQ_CODE_SHARD_TRAILING_BYTES, "");
	gq_shards_close(&shards);
	gq_problems_free(&problems);
}
END_TEST

/* More shards than descriptors are kept open. */
START_TEST(many_shards)
{
	enum { N = 300 };
	static char store[N][32];
	const char *names[N];
	struct gq_problems problems;
	struct gq_shards shards;
	struct gptq_error err;

	for (unsigned i = 0; i < N; i++) {
		char header[128];

		snprintf(store[i], sizeof(store[i]), "%03u.safetensors", i);
		names[i] = store[i];
		snprintf(header, sizeof(header), "{\"t%u\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
			 i);
		write_safetensors(names[i], header, 4);
	}
	ck_assert_int_eq(open_here(names, N, &shards, &problems, &err), GPTQ_OK);
	ck_assert_uint_eq(problems.n, 0);
	for (unsigned i = 0; i < N; i++) {
		unsigned char bytes[4] = {1};

		ck_assert_int_eq(gq_tensor_read_at(&shards, &shards.tensors[i], 0, bytes, 4, &err), GPTQ_OK);
		ck_assert_uint_eq(bytes[0], 0);
		ck_assert_uint_le(shards.n_open, 129);
	}
	gq_shards_close(&shards);
}
END_TEST

START_TEST(no_memory)
{
	static const char *const names[] = {"a.safetensors", "b.safetensors", "m.safetensors.index.json",
					    "x.safetensors"};
	enum gptq_status status;
	long n = 0;

	write_safetensors("a.safetensors", TWO_TENSORS("one", "two"), 8);
	write_safetensors("b.safetensors", TENSOR("three"), 4);
	write_text("m.safetensors.index.json",
		   "{\"weight_map\": {\"one\": \"a.safetensors\", \"three\": \"b.safetensors\", "
		   "\"lost\": \"b.safetensors\"}}");
	do {
		struct gq_problems problems;
		struct gq_shards shards;
		struct gptq_error err;

		gq_mem_fail_after(n++);
		status = open_here(names, 4, &shards, &problems, &err);
		gq_mem_fail_after(-1);
		ck_assert(status == GPTQ_OK || status == GPTQ_E_NOMEM);
		if (status == GPTQ_OK)
			gq_shards_close(&shards);
		gq_problems_free(&problems);
	} while (status != GPTQ_OK);
	ck_assert_int_gt(n, 20);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("shards");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, changes_between_reads);
	tcase_add_test(tc, with_an_index);
	tcase_add_test(tc, index_against_shards);
	tcase_add_test(tc, guesses);
	tcase_add_test(tc, without_an_index);
	tcase_add_test(tc, broken_files);
	tcase_add_test(tc, many_shards);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
