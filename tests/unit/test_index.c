/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "format/index_private.h"
#include "format/shards.h"

#define TWO_TENSORS(a, b)                                                                                              \
	"{\"" a "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"" b                                      \
	"\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}"

static enum gptq_status open_here(const char *const *names, size_t n, struct gq_shards *shards,
				  struct gq_problems *problems, struct gptq_error *err)
{
	*problems = (struct gq_problems){0};
	return gq_shards_open_folder(".", names, n, shards, problems, err);
}

START_TEST(index_reading)
{
	static const struct {
		const char *text, *words;
		uint64_t offset;
	} bad[] = {
		{"", "a value is missing", 0},
		{"[]", "no object \"weight_map\"", 0},
		{"{}", "no object \"weight_map\"", 0},
		{"{\"weight_map\": []}", "no object \"weight_map\"", 0},
		{"{\"weight_map\": {}}", "empty", 15},
		{"{\"weight_map\": {\"a\": 1}}", "no string", 21},
		{"{\"weight_map\": {\"a\": \"../x.safetensors\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"b/x.safetensors\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"b\\\\x.safetensors\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"x\\u0000.safetensors\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"x\\u002fy.safetensors\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \".safetensors\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"..\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"x.bin\"}}", "one plain file name", 21},
		{"{\"weight_map\": {\"a\": \"x.safetensors\", \"\\u0061\": \"x.safetensors\"}}", "stands twice", 38},
	};
	struct gq_index index;
	struct gptq_error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_text("i.json", bad[i].text);
		ck_assert_msg(gq_index_read(".", "i.json", &index, &err) == GPTQ_E_FORMAT, "%s", bad[i].text);
		ck_assert_msg(strstr(err.message, bad[i].words) != NULL, "%s: %s", bad[i].text, err.message);
		ck_assert_msg(err.offset == bad[i].offset, "%s: %llu", bad[i].text, (unsigned long long)err.offset);
		ck_assert_str_eq(err.file, "./i.json");
	}
	write_text("i.json",
		   "{\"metadata\": {\"total_size\": 1e3}, \"weight_map\": {\"z\": \"b.safetensors\", "
		   "\"\\u0061\": \"a.safetensors\", \"y\": \"b.safetensors\", \"n\\u0000\": \"a.safetensors\", "
		   "\"plain \\u0061nd a long run behind it, \\ud83d\\ude00.\": \"b.safetensors\"}}");
	ck_assert_int_eq(gq_index_read(".", "i.json", &index, &err), GPTQ_OK);
	ck_assert_uint_eq(index.n_files, 2);
	ck_assert_str_eq(index.files[0], "a.safetensors");
	ck_assert_str_eq(index.files[1], "b.safetensors");
	ck_assert_uint_eq(index.n_entries, 5);
	ck_assert_str_eq(gq_index_name(&index, &index.entries[0]), "z");
	ck_assert_uint_eq(index.entries[0].file, 1);
	ck_assert_str_eq(gq_index_name(&index, &index.entries[1]), "a");
	ck_assert_uint_eq(index.entries[1].file, 0);
	ck_assert_uint_eq(index.entries[3].tensor_len, 2);
	ck_assert_str_eq(gq_index_name(&index, &index.entries[4]), "plain and a long run behind it, \xf0\x9f\x98\x80.");
	ck_assert_uint_eq(index.entries[4].tensor_len, strlen(gq_index_name(&index, &index.entries[4])));
	gq_index_free(&index);
	ck_assert_int_eq(gq_index_read(".", "nowhere.json", &index, &err), GPTQ_E_NOTFOUND);
}
END_TEST

/* Is the index read in the fast way? If not, nothing of it is left. */
static bool is_usual(const char *text)
{
	struct gq_index index = {.text = strdup(text)};
	struct gptq_error err;
	bool usual;

	ck_assert_int_eq(gq_index_read_usual(&index, strlen(text), &usual, &err), GPTQ_OK);
	ck_assert_uint_eq(index.n_entries != 0, usual);
	ck_assert_uint_eq(index.n_files != 0, usual);
	gq_index_free(&index);
	return usual;
}

/* The names of the same index, in the order and way that is read fast and in others: the same comes out. */
START_TEST(index_ways)
{
	/* The first N_USUAL are read fast. */
	enum { N_USUAL = 3 };
	static const char *const good[] = {
		"{\"weight_map\":{\"a\":\"2.safetensors\",\"a.b\":\"1.safetensors\",\"c\":\"1.safetensors\"}}",
		(" {\"metadata\": {\"x\": [1, {}]}, \"weight_map\" : { \"a\" : \"2.safetensors\" , \"a.b\": "
		 "\"1.safetensors\"\n,\t\"c\":\"1.safetensors\" } , \"more\": {\"a\": {}}}\r\n"),
		"{\"weight\\u005fmap\":{\"a\":\"2.safetensors\",\"a.b\":\"1.safetensors\",\"c\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"2.safetensors\",\"a\\u002eb\":\"1.safetensors\",\"c\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"2.\\u0073afetensors\",\"a.b\":\"1.safetensors\",\"c\":\"1.safetensors\"}}",
	};
	/* In order, but not as usual. */
	static const char *const odd[] = {
		"{\"weight_map\":{\"b\":\"1.safetensors\",\"a\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"aa\":\"1.safetensors\",\"a\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\xc3\xa4\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"1\xc3\xa4.safetensors\"}}",
	};
	static const char *const bad[] = {
		"{\"weight_map\":{\"a\":\"1.safetensors\",\"a\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"b\":\"1.safetensors\",\"a\":\"1.safetensors\",\"b\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"1.safetensors\"},\"weight_map\":{\"b\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"1.safetensors\"},\"x\":1,\"x\":1}",
		"{\"x\":{\"y\":1,\"y\":1},\"weight_map\":{\"a\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"1.safetensors\",}}",
		"{\"weight_map\":{\"a\":\"1.safetensors\"}} x",
		"{\"weight_map\":{\"a\":\"1.safetensors\"}",
		"{\"weight_map\":{\"a\":\"1.safetensors\"",
		"{\"weight_map\":{\"a\":\"1.safetensors",
		"{\"weight_map\":{\"a\":\"1.safetensors\" \"b\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"1.safetensorsx\"}}",
		"{\"weight_map\":{\"a\x01\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\xff\":\"1.safetensors\"}}",
		"{\"weight_map\":{\"a\":\"1.safetensors\"},\"x\":[}",
		"[{\"weight_map\":{\"a\":\"1.safetensors\"}}]",
		"{\"x\":{\"weight_map\":{\"a\":\"1.safetensors\"}}}",
	};
	static const char *const names[] = {"a", "a.b", "c"};
	struct gq_index index;
	struct gptq_error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(is_usual(good[i]) == (i < N_USUAL), "%s", good[i]);
		write_text("i.json", good[i]);
		ck_assert_msg(gq_index_read(".", "i.json", &index, &err) == GPTQ_OK, "%s: %s", good[i], err.message);
		ck_assert_uint_eq(index.n_files, 2);
		ck_assert_str_eq(index.files[0], "1.safetensors");
		ck_assert_str_eq(index.files[1], "2.safetensors");
		ck_assert_uint_eq(index.n_entries, 3);
		for (size_t e = 0; e < 3; e++) {
			ck_assert_str_eq(gq_index_name(&index, &index.entries[e]), names[e]);
			ck_assert_uint_eq(index.entries[e].tensor_len, strlen(names[e]));
			ck_assert_uint_eq(index.entries[e].file, e == 0);
		}
		gq_index_free(&index);
	}
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		ck_assert_msg(!is_usual(odd[i]), "%s", odd[i]);
		write_text("i.json", odd[i]);
		ck_assert_msg(gq_index_read(".", "i.json", &index, &err) == GPTQ_OK, "%s: %s", odd[i], err.message);
		gq_index_free(&index);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(!is_usual(bad[i]), "%s", bad[i]);
		write_text("i.json", bad[i]);
		ck_assert_msg(gq_index_read(".", "i.json", &index, &err) == GPTQ_E_FORMAT, "%s", bad[i]);
	}
}
END_TEST

/* Names are found in an index that ascends, and in a map else: what is found, and what is wrong, is the same. */
START_TEST(index_as_map)
{
	static const char *const names[] = {"a.safetensors", "b.safetensors", "m.safetensors.index.json"};
	/* What stands in the index, in ascending order; the files hold one, two and then one (again), three. */
	static const char *const entries[] = {"\"lost\": \"b.safetensors\"", "\"one\": \"a.safetensors\"",
					      "\"one\": \"b.safetensors\"", "\"three\": \"b.safetensors\"",
					      "\"two\": \"a.safetensors\""};
	static const char *const ask[] = {"one", "two", "three", "lost", "never", ""};
	struct gq_problems problems[2];
	struct gq_shards shards[2];
	struct gptq_error err;

	write_safetensors("a.safetensors", TWO_TENSORS("one", "two"), 8);
	write_safetensors("b.safetensors", TWO_TENSORS("one", "three"), 8);
	for (unsigned set = 0; set < 32; set++) {
		if ((set & 6) == 6 || (set & (set - 1)) == 0) /* one name twice; too few to be in two orders */
			continue;
		for (unsigned down = 0; down < 2; down++) {
			char text[400] = "{\"weight_map\": {";

			for (unsigned i = 0, n = 0; i < 5; i++) {
				unsigned e = down ? 4 - i : i;

				if (set >> e & 1)
					snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", n++ ? ", " : "",
						 entries[e]);
			}
			strcat(text, "}}");
			write_text(names[2], text);
			ck_assert_int_eq(open_here(names, 3, &shards[down], &problems[down], &err), GPTQ_OK);
		}
		ck_assert_ptr_nonnull(shards[0].of_entry);
		ck_assert_ptr_null(shards[1].of_entry);
		ck_assert_uint_eq(shards[0].n_names, shards[1].n_names);
		ck_assert_uint_eq(problems[0].n, problems[1].n);
		for (size_t i = 0; i < problems[0].n; i++) {
			ck_assert_int_eq(problems[0].items[i].code, problems[1].items[i].code);
			ck_assert_str_eq(problems[0].items[i].error.message, problems[1].items[i].error.message);
			/* of several the first in the order of the index is named */
			if (!strstr(problems[0].items[i].error.message, "more"))
				ck_assert_str_eq(problems[0].items[i].error.tensor, problems[1].items[i].error.tensor);
		}
		for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++) {
			const struct gq_tensor *found[2];

			for (unsigned down = 0; down < 2; down++)
				found[down] = gq_shards_find(&shards[down], ask[i], strlen(ask[i]));
			ck_assert(!found[0] == !found[1]);
			if (!found[0])
				continue;
			ck_assert_uint_eq(found[0] - shards[0].tensors, found[1] - shards[1].tensors);
			ck_assert_mem_eq(found[0]->name, ask[i], strlen(ask[i]));
		}
		for (unsigned down = 0; down < 2; down++) {
			gq_shards_close(&shards[down]);
			gq_problems_free(&problems[down]);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, index_reading);
	tcase_add_test(tc, index_ways);
	tcase_add_test(tc, index_as_map);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
