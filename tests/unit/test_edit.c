/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/mem.h"
#include "format/edit.h"

#include <stdio.h>
#include <string.h>

#define LOOSE (GQ_JSON_NAN | GQ_JSON_BOM | GQ_JSON_LONE_SURROGATES)

enum action { ADD_STRING, ADD_OBJECT, SET_STRING, REMOVE };

/* Does one thing to the object at `path` (a key of the root, or "" for the root) of a text; the result is to be freed.
 */
static char *edited(const char *text, const char *path, enum action action, const char *key)
{
	struct gq_json_tree tree;
	struct gq_edits edits = {0};
	struct gq_buf out = {0};
	uint32_t object, member;
	enum gptq_status st = GPTQ_OK;

	ck_assert_int_eq(gq_json_parse(text, strlen(text), LOOSE, &tree, NULL), GPTQ_OK);
	object = path[0] ? gq_json_get(&tree, 0, path) : 0;
	member = gq_json_get(&tree, object, key);
	switch (action) {
	case ADD_STRING:
		st = gq_edit_add_string(&edits, &tree, object, key, "v", NULL);
		break;
	case ADD_OBJECT:
		st = gq_edit_add_object(&edits, &tree, object, key, "i", "v", NULL);
		break;
	case SET_STRING:
		ck_assert_uint_ne(member, 0);
		st = gq_edit_set_string(&edits, &tree, member, "v", NULL);
		break;
	case REMOVE:
		ck_assert_uint_ne(member, 0);
		st = gq_edit_remove(&edits, &tree, member, NULL);
		break;
	}
	ck_assert_int_eq(st, GPTQ_OK);
	ck_assert_int_eq(gq_edits_apply(&edits, text, strlen(text), &out, NULL), GPTQ_OK);
	gq_json_tree_free(&tree);
	gq_edits_free(&edits);
	return out.data;
}

static const struct {
	enum action action;
	const char *path, *key, *before, *after;
} edits_of_members[] = {
	/* a string member in every style */
	{ADD_STRING, "", "k", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"k\": \"v\"\n}\n"},
	{ADD_STRING, "", "k", "{\n  \"a\": 1,\n  \"b\": 2\n}", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"k\": \"v\"\n}"},
	{ADD_STRING, "", "k", "{\n\t\"a\": {}\n}", "{\n\t\"a\": {},\n\t\"k\": \"v\"\n}"},
	{ADD_STRING, "", "k", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"k\": \"v\"\r\n}\r\n"},
	{ADD_STRING, "", "k", "{\"a\":1}", "{\"a\":1,\"k\":\"v\"}"},
	{ADD_STRING, "", "k", "{\"a\": 1}", "{\"a\": 1, \"k\": \"v\"}"},
	{ADD_STRING, "", "k", "{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 2, \"k\": \"v\"}"},
	{ADD_STRING, "", "k", "{ \"a\" : 1 }", "{ \"a\" : 1, \"k\" : \"v\" }"},
	{ADD_STRING, "", "k", "{\n\"a\": 1,\n\"b\": 2\n}", "{\n\"a\": 1,\n\"b\": 2,\n\"k\": \"v\"\n}"},
	{ADD_STRING, "", "k", "{\n  \"a\": 1\n, \"b\": 2\n}", "{\n  \"a\": 1\n, \"b\": 2\n, \"k\": \"v\"\n}"},
	{ADD_STRING, "", "k", "{\n  \"a\": 1,\n  \"b\": 2}", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"k\": \"v\"}"},
	{ADD_STRING, "", "k", "{}", "{\"k\": \"v\"}"},
	{ADD_STRING, "", "k", "{ }", "{ \"k\": \"v\" }"},
	{ADD_STRING, "q", "k", "{\"q\":{}}", "{\"q\":{\"k\":\"v\"}}"},
	{ADD_STRING, "q", "k", "{\n  \"q\": {\n    \"a\": NaN\n  },\n  \"z\": 0\n}",
	 "{\n  \"q\": {\n    \"a\": NaN,\n    \"k\": \"v\"\n  },\n  \"z\": 0\n}"},
	{ADD_STRING, "", "k", "\xef\xbb\xbf{\"a\": -Infinity}", "\xef\xbb\xbf{\"a\": -Infinity, \"k\": \"v\"}"},
	/* an object */
	{ADD_OBJECT, "", "k", "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"k\": {\n    \"i\": \"v\"\n  }\n}"},
	{ADD_OBJECT, "", "k", "{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"k\": {\n\t\t\"i\": \"v\"\n\t}\n}"},
	{ADD_OBJECT, "", "k", "{\r\n    \"a\" : 1\r\n}",
	 "{\r\n    \"a\" : 1,\r\n    \"k\" : {\r\n        \"i\" : \"v\"\r\n    }\r\n}"},
	{ADD_OBJECT, "q", "k", "{\n  \"q\": {\n    \"a\": 1\n  }\n}",
	 "{\n  \"q\": {\n    \"a\": 1,\n    \"k\": {\n      \"i\": \"v\"\n    }\n  }\n}"},
	{ADD_OBJECT, "", "k", "{\n  \"m\": {\n    \"x\": [1]\n  },\n  \"z\": 0\n}",
	 "{\n  \"m\": {\n    \"x\": [1]\n  },\n  \"z\": 0,\n  \"k\": {\n    \"i\": \"v\"\n  }\n}"},
	{ADD_OBJECT, "", "k", "{\n  \"m\": {\"x\":1},\n  \"z\": 0\n}",
	 "{\n  \"m\": {\"x\":1},\n  \"z\": 0,\n  \"k\": {\"i\":\"v\"}\n}"},
	{ADD_OBJECT, "", "k", "{\"a\": 1}", "{\"a\": 1, \"k\": {\"i\": \"v\"}}"},
	{ADD_OBJECT, "", "k", "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2,\"k\":{\"i\":\"v\"}}"},
	{ADD_OBJECT, "", "k", "{ \"a\": 1 }", "{ \"a\": 1, \"k\": { \"i\": \"v\" } }"},
	{ADD_OBJECT, "", "k", "{\n\"a\": 1\n}", "{\n\"a\": 1,\n\"k\": {\n\"i\": \"v\"\n}\n}"},
	{ADD_OBJECT, "", "k", "{\n  \"a\": 1,\n\n  \"b\": 2\n}",
	 "{\n  \"a\": 1,\n\n  \"b\": 2,\n\n  \"k\": {\n    \"i\": \"v\"\n  }\n}"},
	{ADD_OBJECT, "", "k", "{\n   \"a\": 1}", "{\n   \"a\": 1,\n   \"k\": {\n      \"i\": \"v\"\n   }}"},
	/* a value */
	{SET_STRING, "", "k", "{\"k\" : null , \"b\":1}", "{\"k\" : \"v\" , \"b\":1}"},
	{SET_STRING, "", "k", "{\"k\": {\"x\": [1, 2]}}", "{\"k\": \"v\"}"},
	{SET_STRING, "", "k", "{\"k\": \"\\u0076\"}", "{\"k\": \"\\u0076\"}"},
	/* a member that goes */
	{REMOVE, "", "k", "{\"k\": 1}", "{}"},
	{REMOVE, "", "k", "{ \"k\": 1 }", "{ }"},
	{REMOVE, "", "k", "{\n  \"k\": 1\n}", "{\n}"},
	{REMOVE, "", "k", "{\n  \"k\": 1,\n  \"b\": 2\n}", "{\n  \"b\": 2\n}"},
	{REMOVE, "", "k", "{\n  \"a\": 0,\n  \"k\": 1,\n  \"b\": 2\n}", "{\n  \"a\": 0,\n  \"b\": 2\n}"},
	{REMOVE, "", "k", "{\n  \"a\": 0,\n  \"k\": {\n    \"x\": 1\n  }\n}", "{\n  \"a\": 0\n}"},
	{REMOVE, "q", "k", "{\"q\":{\"a\":[], \"k\":\"\\\"},\"}}", "{\"q\":{\"a\":[]}}"},
};

START_TEST(members_come_and_go_in_style)
{
	char *got = edited(edits_of_members[_i].before, edits_of_members[_i].path, edits_of_members[_i].action,
			   edits_of_members[_i].key);

	ck_assert_str_eq(got, edits_of_members[_i].after);
	gq_free(got);
}
END_TEST

/* Every shape of object out of these parts: what was added and removed again leaves the bytes that were. */
START_TEST(adding_and_removing_is_nothing)
{
	static const char *const space[] = {"", " ", "\n", "\n  ", "\r\n\t", "\n\n    ", "\r"};
	static const char *const colon[] = {":", ": ", " : ", ":\n "};
	static const char *const value[] = {"1", "\"x\"", "{}", "{\"y\": {\n \"z\": 0 }}", "[{\"k\": 1}]"};
	unsigned n_space = sizeof(space) / sizeof(space[0]), shapes = 0;

	for (unsigned s = 0; s < n_space * n_space * n_space; s++) {
		const char *open = space[s % n_space], *between = space[s / n_space % n_space];
		const char *close = space[s / n_space / n_space];

		for (unsigned members = 0; members < 4; members++) {
			for (unsigned c = 0; c < 4; c++) {
				struct gq_buf text = {0};

				gq_buf_printf(&text, "{\"q\"%s{%s", colon[c], members ? open : "");
				for (unsigned m = 0; m < members; m++)
					gq_buf_printf(&text, "%s%s\"m%u\"%s%s", m ? "," : "", m ? between : "", m,
						      colon[(c + m) % 4], value[(s + m) % 5]);
				gq_buf_printf(&text, "%s}, \"tail\": NaN}", close);
				for (int action = ADD_STRING; action <= ADD_OBJECT; action++) {
					char *with = edited(text.data, "q", (enum action)action, "k");
					char *without = edited(with, "q", REMOVE, "k");

					ck_assert_str_eq(without, text.data);
					ck_assert_str_ne(with, text.data);
					gq_free(with);
					gq_free(without);
					shapes++;
				}
				gq_buf_free(&text);
			}
		}
	}
	ck_assert_uint_eq(shapes, 343 * 4 * 4 * 2);
}
END_TEST

START_TEST(edits_stay_sorted_and_apart)
{
	struct gq_edits edits = {0};
	struct gq_buf out = {0};

	ck_assert_int_eq(gq_edits_add(&edits, 6, 8, "X", 1, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_edits_add(&edits, 2, 4, "", 0, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_edits_add(&edits, 6, 6, "a", 1, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_edits_add(&edits, 6, 6, "b", 1, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_edits_add(&edits, 4, 4, "c", 1, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_edits_add(&edits, 8, 8, "d", 1, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_edits_add(&edits, 7, 7, "no", 2, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_edits_add(&edits, 3, 5, "no", 2, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_edits_add(&edits, 1, 3, "no", 2, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_edits_add(&edits, 0, 9, "no", 2, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_edits_add(&edits, 6, 7, "no", 2, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_edits_add(&edits, 5, 4, "no", 2, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_edits_apply(&edits, "0123456789", 10, &out, NULL), GPTQ_OK);
	ck_assert_str_eq(out.data, "01c45abXd89");
	ck_assert_int_eq(gq_edits_apply(&edits, "0123456", 7, &out, NULL), GPTQ_E_ARG);
	gq_buf_free(&out);
	gq_edits_free(&edits);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("edit");
	TCase *tc = tcase_create("edit");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, members_come_and_go_in_style, 0,
			    sizeof(edits_of_members) / sizeof(edits_of_members[0]));
	tcase_add_test(tc, adding_and_removing_is_nothing);
	tcase_add_test(tc, edits_stay_sorted_and_apart);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
