/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* A text that may hold NUL. */
#define TEXT(s) s, sizeof(s) - 1

/* Scans to the end; the events come out as one letter each. */
static enum gptq_status scan(const char *text, size_t size, unsigned flags, struct gq_buf *letters,
			     struct gptq_error *err)
{
	static const char letter[] = "?{[}]kSNtfn.";
	/* A copy that ends where its memory ends, so that a read past it is seen. */
	char *copy = gq_malloc_array(size, 1);
	struct gq_json_event ev = {0};
	struct gq_json js;
	enum gptq_status status;

	memcpy(copy, text, size);
	gq_json_init(&js, copy, size, flags);
	do {
		status = gq_json_next(&js, &ev, err);
		if (!status && letters)
			gq_buf_add(letters, &letter[ev.type], 1);
	} while (!status && ev.type != GQ_JSON_DONE);
	gq_free(copy);
	return status;
}

static const struct {
	const char *text;
	size_t size;
	const char *events;
} accepted[] = {
	{TEXT("{}"), "{}."},
	{TEXT(" \t\r\n[ ] \n"), "[]."},
	{TEXT("\"\""), "S."},
	{TEXT("0"), "N."},
	{TEXT("-0"), "N."},
	{TEXT("-12.50e+3"), "N."},
	{TEXT("1E-7"), "N."},
	{TEXT("1e308"), "N."},
	{TEXT("0e999999999999"), "N."},
	{TEXT("1e-999999999999"), "N."},
	{TEXT("18446744073709551616"), "N."},
	{TEXT("true"), "t."},
	{TEXT("[false,null]"), "[fn]."},
	{TEXT("{\"a\":1,\"b\":[{}, {\"c\" : \"d\"}]}"), "{kNk[{}{kS}]}."},
	{TEXT("\"\\u0000\\/\\b\\f\\n\\r\\t\\\"\\\\\""), "S."},
	{TEXT("\"\\ud83d\\ude00\""), "S."},
	{TEXT("\"caf\xc3\xa9 \xf0\x9f\x98\x80 and some more of it\""), "S."},
	{TEXT("\"\x7f\""), "S."},
};

START_TEST(accepts)
{
	struct gq_buf letters = {0};
	struct gptq_error err;

	ck_assert_int_eq(scan(accepted[_i].text, accepted[_i].size, 0, &letters, &err), GPTQ_OK);
	ck_assert_str_eq(letters.data, accepted[_i].events);
	gq_buf_free(&letters);
}
END_TEST

static const struct {
	const char *text;
	size_t size;
	size_t offset;
	const char *message;
} refused[] = {
	{TEXT(""), 0, "value is missing"},
	{TEXT(" \n"), 2, "value is missing"},
	{TEXT("\xef\xbb\xbf{}"), 0, "no value can begin"},
	{TEXT("{}\0"), 2, "follows the end"},
	{TEXT("{}{}"), 2, "follows the end"},
	{TEXT("{}\f"), 2, "follows the end"},
	{TEXT("{\"a\":1,}"), 7, "comma stands before '}'"},
	{TEXT("[1,]"), 3, "comma stands before ']'"},
	{TEXT("[,1]"), 1, "no value can begin"},
	{TEXT("[1 2]"), 3, "',' or ']'"},
	{TEXT("{\"a\":1 \"b\":2}"), 7, "',' or '}'"},
	{TEXT("{\"a\" 1}"), 5, "':' must"},
	{TEXT("{\"a\"}"), 4, "':' must"},
	{TEXT("{a:1}"), 1, "key in quotes"},
	{TEXT("{'a':1}"), 1, "key in quotes"},
	{TEXT("{1:1}"), 1, "key in quotes"},
	{TEXT("[1}"), 2, "',' or ']'"},
	{TEXT("{\"a\":1]"), 6, "',' or '}'"},
	{TEXT("[1]]"), 3, "follows the end"},
	{TEXT("["), 1, "value is missing"},
	{TEXT("{"), 1, "key in quotes"},
	{TEXT("{\"a\""), 4, "':' must"},
	{TEXT("{\"a\":"), 5, "value is missing"},
	{TEXT("\"abc"), 4, "ends inside a string"},
	{TEXT("\"abc\\"), 5, "ends inside a string"},
	{TEXT("\"abc\\\""), 6, "ends inside a string"},
	{TEXT("\"abcdefgh\ni\""), 9, "control byte"},
	{TEXT("\"a\0b\""), 2, "control byte"},
	{TEXT("\"\x1f\""), 1, "control byte"},
	{TEXT("\"\\x41\""), 2, "no such escape"},
	{TEXT("\"\\\0\""), 2, "no such escape"},
	{TEXT("\"\\u12g4\""), 1, "four hexadecimal"},
	{TEXT("\"\\u12"), 1, "four hexadecimal"},
	{TEXT("\"\\u 123\""), 1, "four hexadecimal"},
	{TEXT("\"\\ud800\""), 1, "surrogate"},
	{TEXT("\"\\ud800\\ud800\""), 1, "surrogate"},
	{TEXT("\"x\\udc00\""), 2, "surrogate"},
	{TEXT("\"\\ud800\\u\""), 1, "surrogate"},
	{TEXT("\"\\ud800\\"), 1, "surrogate"},
	{TEXT("\"\xff\""), 1, "UTF-8"},
	{TEXT("\"\xc0\x80\""), 1, "UTF-8"},
	{TEXT("\"\xed\xa0\x80\""), 1, "UTF-8"},
	{TEXT("\"\xc3"), 1, "UTF-8"},
	{TEXT("01"), 0, "begin with a zero"},
	{TEXT("-01"), 1, "begin with a zero"},
	{TEXT("00"), 0, "begin with a zero"},
	{TEXT("-"), 1, "digit is missing in a number"},
	{TEXT("-a"), 1, "digit is missing in a number"},
	{TEXT("+1"), 0, "no value can begin"},
	{TEXT(".5"), 0, "no value can begin"},
	{TEXT("1."), 2, "decimal point"},
	{TEXT("1.e3"), 2, "decimal point"},
	{TEXT("1e"), 2, "exponent"},
	{TEXT("1e+"), 3, "exponent"},
	{TEXT("1e+x"), 3, "exponent"},
	{TEXT("0x1"), 1, "follows the end"},
	{TEXT("[1e309]"), 1, "out of range"},
	{TEXT("[-1e309]"), 1, "out of range"},
	{TEXT("1e99999999999999999999"), 0, "out of range"},
	{TEXT("18446744073709551615e290"), 0, "out of range"},
	{TEXT("tru"), 0, "no value can begin"},
	{TEXT("True"), 0, "no value can begin"},
	{TEXT("truex"), 4, "follows the end"},
	{TEXT("NaN"), 0, "no value can begin"},
	{TEXT("-Infinity"), 1, "digit is missing"},
	{TEXT("// x\n{}"), 0, "no value can begin"},
};

START_TEST(refuses)
{
	struct gptq_error err;

	ck_assert_int_eq(scan(refused[_i].text, refused[_i].size, 0, NULL, &err), GPTQ_E_FORMAT);
	ck_assert_uint_eq(err.offset, refused[_i].offset);
	ck_assert_msg(strstr(err.message, refused[_i].message) != NULL, "\"%s\" lacks \"%s\"", err.message,
		      refused[_i].message);
	ck_assert_int_eq(scan(refused[_i].text, refused[_i].size, 0, NULL, NULL), GPTQ_E_FORMAT);
}
END_TEST

START_TEST(flags_loosen)
{
	struct gq_buf letters = {0};

	ck_assert_int_eq(scan(TEXT("[NaN,Infinity,-Infinity,1e999]"), GQ_JSON_NAN, &letters, NULL), GPTQ_OK);
	ck_assert_str_eq(letters.data, "[NNNN].");
	gq_buf_free(&letters);
	ck_assert_int_eq(scan(TEXT("[-NaN]"), GQ_JSON_NAN, NULL, NULL), GPTQ_E_FORMAT);
	ck_assert_int_eq(scan(TEXT("\xef\xbb\xbf{}"), GQ_JSON_BOM, NULL, NULL), GPTQ_OK);
	ck_assert_int_eq(scan(TEXT("\xef\xbb\xbf\xef\xbb\xbf{}"), GQ_JSON_BOM, NULL, NULL), GPTQ_E_FORMAT);
	ck_assert_int_eq(scan(TEXT("[\"\\ud800\",\"\\udc00\\ud800\"]"), GQ_JSON_LONE_SURROGATES, NULL, NULL), GPTQ_OK);
}
END_TEST

/* 308 digits are finite, 330 are not: serde_json drops what does not fit 64 bits and scales by the rest. */
START_TEST(long_numbers)
{
	char text[400];

	memset(text, '1', sizeof(text));
	ck_assert_int_eq(scan(text, 309, 0, NULL, NULL), GPTQ_OK);
	ck_assert_int_eq(scan(text, 330, 0, NULL, NULL), GPTQ_E_FORMAT);
	text[1] = '.';
	ck_assert_int_eq(scan(text, 400, 0, NULL, NULL), GPTQ_OK);
}
END_TEST

START_TEST(depth)
{
	char text[300];

	memset(text, '[', 127);
	memset(text + 127, ']', 127);
	ck_assert_int_eq(scan(text, 254, 0, NULL, NULL), GPTQ_OK);
	memset(text, '[', 128);
	memset(text + 128, ']', 128);
	ck_assert_int_eq(scan(text, 256, 0, NULL, NULL), GPTQ_E_FORMAT);
	for (size_t i = 0; i < 127; i++)
		text[i] = i % 3 ? '[' : ']';
	ck_assert_int_eq(scan(text, 127, 0, NULL, NULL), GPTQ_E_FORMAT);
}
END_TEST

/* Every kind of level is remembered at every depth. */
START_TEST(brackets_must_pair)
{
	for (unsigned bits = 0; bits < 256; bits++) {
		struct gq_buf text = {0};

		for (unsigned i = 0; i < 8; i++)
			gq_buf_puts(&text, bits >> i & 1 ? "{\"k\":" : "[");
		gq_buf_puts(&text, "0");
		for (unsigned i = 8; i-- > 0;)
			gq_buf_puts(&text, bits >> i & 1 ? "}" : "]");
		ck_assert_int_eq(scan(text.data, text.size, 0, NULL, NULL), GPTQ_OK);
		text.data[text.size - 3] ^= '}' ^ ']';
		ck_assert_int_eq(scan(text.data, text.size, 0, NULL, NULL), GPTQ_E_FORMAT);
		gq_buf_free(&text);
	}
}
END_TEST

START_TEST(spans_and_skip)
{
	const char text[] = " {\"k\\n\" : [1, {\"x\":[]}], \"s\":\"v\"} ";
	struct gq_json_event ev;
	struct gq_json js;

	gq_json_init(&js, text, sizeof(text) - 1, 0);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert_uint_eq(ev.begin, 1);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert(ev.type == GQ_JSON_KEY && ev.begin == 2 && ev.end == 7 && ev.escaped);
	ck_assert_int_eq(gq_json_skip(&js, &ev, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert(ev.type == GQ_JSON_ARRAY && ev.begin == 10 && !ev.escaped);
	ck_assert_int_eq(gq_json_skip(&js, &ev, NULL), GPTQ_OK);
	ck_assert_uint_eq(js.pos, 23);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert(ev.type == GQ_JSON_KEY && gq_json_string_is(text, ev.begin, ev.end, "s", 1));
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert(ev.type == GQ_JSON_STRING && ev.begin == 29 && ev.end == 32);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert(ev.type == GQ_JSON_OBJECT_END && ev.end == 33);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert_int_eq(ev.type, GQ_JSON_DONE);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert_int_eq(ev.type, GQ_JSON_DONE);
}
END_TEST

/* A fault after the value was skipped over must still be found inside it. */
START_TEST(skip_checks)
{
	const char text[] = "[[1,{\"a\":01}]]";
	struct gq_json_event ev;
	struct gptq_error err;
	struct gq_json js;

	gq_json_init(&js, text, sizeof(text) - 1, 0);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_json_next(&js, &ev, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_json_skip(&js, &ev, &err), GPTQ_E_FORMAT);
	ck_assert_uint_eq(err.offset, 9);
}
END_TEST

START_TEST(unescape)
{
	static const struct {
		const char *text;
		size_t size;
		const char *bytes;
		size_t n;
	} cases[] = {
		{TEXT("\"\""), TEXT("")},
		{TEXT("\"plain\""), TEXT("plain")},
		{TEXT("\"\\u0061\\u00e9\\u20ac\""), TEXT("a\xc3\xa9\xe2\x82\xac")},
		{TEXT("\"\\uD83D\\uDE00!\""), TEXT("\xf0\x9f\x98\x80!")},
		{TEXT("\"\\u0000x\\u001F\""), TEXT("\0x\x1f")},
		{TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), TEXT("\"\\/\b\f\n\r\t")},
		{TEXT("\"\\uABCD\\uabcd\""), TEXT("\xea\xaf\x8d\xea\xaf\x8d")},
		{TEXT("\"\\ud800\""), TEXT("\xed\xa0\x80")},
		{TEXT("\"\\ud800\\ud83d\\ude00\\udc00\""), TEXT("\xed\xa0\x80\xf0\x9f\x98\x80\xed\xb0\x80")},
		{TEXT("\"\\ud800\\n\""), TEXT("\xed\xa0\x80\n")},
		{TEXT("\"\\udbff\\udfff\""), TEXT("\xf4\x8f\xbf\xbf")},
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct gq_buf out = {0};
		char into[64];
		size_t n = gq_json_unescape_into(cases[i].text, 0, cases[i].size, into);

		gq_json_unescape(cases[i].text, 0, cases[i].size, &out);
		ck_assert_uint_eq(out.size, cases[i].n);
		ck_assert(out.size == 0 || memcmp(out.data, cases[i].bytes, out.size) == 0);
		ck_assert_uint_eq(n, cases[i].n);
		ck_assert(memcmp(into, cases[i].bytes, n) == 0);
		ck_assert(gq_json_string_is(cases[i].text, 0, cases[i].size, cases[i].bytes, cases[i].n));
		ck_assert(!gq_json_string_is(cases[i].text, 0, cases[i].size, "zz", 2));
		if (cases[i].n)
			ck_assert(!gq_json_string_is(cases[i].text, 0, cases[i].size, cases[i].bytes, cases[i].n - 1));
		gq_buf_free(&out);
	}
}
END_TEST

START_TEST(integers)
{
	static const struct {
		const char *text;
		bool is_u64, is_i64;
		uint64_t u;
		int64_t i;
	} cases[] = {
		{"0", true, true, 0, 0},
		{"128", true, true, 128, 128},
		{"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
		{"9223372036854775808", true, false, (uint64_t)1 << 63, 0},
		{"18446744073709551615", true, false, UINT64_MAX, 0},
		{"18446744073709551616", false, false, 0, 0},
		{"18446744073709551620", false, false, 0, 0},
		{"99999999999999999999999", false, false, 0, 0},
		{"-1", false, true, 0, -1},
		{"-9223372036854775808", false, true, 0, INT64_MIN},
		{"-9223372036854775809", false, false, 0, 0},
		{"-0", false, true, 0, 0},
		{"8.0", false, false, 0, 0},
		{"1e2", false, false, 0, 0},
		{"-", false, false, 0, 0},
		{"", false, false, 0, 0},
	};

	for (size_t n = 0; n < N_ELEMENTS(cases); n++) {
		size_t size = strlen(cases[n].text);
		uint64_t u = 1;
		int64_t i = 1;

		ck_assert_msg(gq_json_u64(cases[n].text, 0, size, &u) == cases[n].is_u64, "%s", cases[n].text);
		ck_assert_msg(gq_json_i64(cases[n].text, 0, size, &i) == cases[n].is_i64, "%s", cases[n].text);
		if (cases[n].is_u64)
			ck_assert_uint_eq(u, cases[n].u);
		if (cases[n].is_i64)
			ck_assert_int_eq(i, cases[n].i);
	}
}
END_TEST

START_TEST(tree)
{
	const char text[] = "{\"bits\":4, \"a\\u0062c\":{\"x\":[1,\"two\",null]}, \"nul\":\"a\\u0000\", \"BITS\":8}";
	struct gq_json_tree t;
	uint32_t node, list;
	bool nomem = false;
	char *s;

	ck_assert_int_eq(gq_json_parse(text, sizeof(text) - 1, 0, &t, NULL), GPTQ_OK);
	ck_assert(t.nodes[0].type == GQ_JSON_OBJECT && t.nodes[0].n_children == 4 && t.nodes[0].parent == UINT32_MAX);
	ck_assert_uint_eq(t.nodes[0].end, sizeof(text) - 1);
	ck_assert_uint_eq(gq_json_get(&t, 0, "bits"), 1);
	ck_assert_uint_eq(gq_json_get(&t, 0, "bit"), 0);
	ck_assert_uint_eq(gq_json_get(&t, 1, "bits"), 0);
	node = gq_json_get(&t, 0, "abc");
	ck_assert(node && t.nodes[node].key_escaped);
	list = gq_json_get(&t, node, "x");
	ck_assert(list && t.nodes[list].type == GQ_JSON_ARRAY && t.nodes[list].n_children == 3);
	ck_assert(t.nodes[list].parent == node && memcmp(text + t.nodes[list].begin, "[1,\"two\",null]", 14) == 0 &&
		  t.nodes[list].end - t.nodes[list].begin == 14);
	node = t.nodes[t.nodes[list].first].next;
	ck_assert_uint_eq(t.nodes[node].key_begin, t.nodes[node].key_end);
	s = gq_json_strdup(&t, node, &nomem);
	ck_assert_str_eq(s, "two");
	gq_free(s);
	ck_assert_uint_eq(t.nodes[t.nodes[node].next].next, 0);
	ck_assert(gq_json_strdup(&t, gq_json_get(&t, 0, "nul"), &nomem) == NULL && !nomem);
	ck_assert(gq_json_strdup(&t, list, &nomem) == NULL && !nomem);
	node = gq_json_get_nocase(&t, 0, "Bits", 0);
	ck_assert_uint_eq(node, 1);
	node = gq_json_get_nocase(&t, 0, "Bits", node);
	ck_assert(node > 1 && text[t.nodes[node].begin] == '8');
	ck_assert_uint_eq(gq_json_get_nocase(&t, 0, "Bits", node), 0);
	ck_assert_uint_ne(gq_json_get_nocase(&t, 0, "ABC", 0), 0);
	gq_json_tree_free(&t);
	ck_assert_ptr_null(t.nodes);
}
END_TEST

START_TEST(duplicates)
{
	static const struct {
		const char *text;
		size_t offset; /* of the second key; 0: no duplicate */
	} cases[] = {
		{"{\"a\":1,\"a\":1}", 7},
		{"{\"a\":1,\"\\u0061\":1}", 7},
		{"{\"\\u0061\":1,\"\\u0061\":1}", 12},
		{"{\"\":1,\"\":1}", 6},
		{"{\"a\":{\"b\":1},\"b\":{\"a\":2}}", 0},
		{"[{\"a\":1},{\"a\":1}]", 0},
		{"{\"x\":[[{\"q\":1,\"r\":{},\"q\":2}]]}", 21},
		{"{\"\\u0061\":{\"\\u0062\":0},\"a\":0}", 23},
		{"{\"a\":1,\"A\":1,\"a \":1}", 0},
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct gq_json_tree t;
		struct gptq_error err;
		enum gptq_status status = gq_json_parse(cases[i].text, strlen(cases[i].text), 0, &t, &err);

		ck_assert_msg(status == (cases[i].offset ? GPTQ_E_FORMAT : GPTQ_OK), "%s", cases[i].text);
		if (cases[i].offset) {
			ck_assert_uint_eq(err.offset, cases[i].offset);
			ck_assert_ptr_nonnull(strstr(err.message, "twice"));
		}
		gq_json_tree_free(&t);
	}
}
END_TEST

/* Keys in ascending order take a shorter path, which must notice where they do not ascend. */
START_TEST(sorted_keys)
{
	static const struct {
		const char *last;
		bool twice;
	} cases[] = {
		{"key199", false}, {"key198", true}, {"key1980", false}, {"key100", true}, {"key19", false},
		{"\\u006bey198", true}, {"", false}, {"key1985", false}, {"a", false},
	};

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct gq_buf text = {0};
		struct gq_json_tree t;
		enum gptq_status status;

		gq_buf_puts(&text, "{");
		for (unsigned k = 100; k < 199; k++)
			gq_buf_printf(&text, "\"key%u\":0,", k);
		gq_buf_printf(&text, "\"%s\":0}", cases[i].last);
		status = gq_json_parse(text.data, text.size, 0, &t, NULL);
		ck_assert_msg(status == (cases[i].twice ? GPTQ_E_FORMAT : GPTQ_OK), "%s", cases[i].last);
		gq_json_tree_free(&t);
		gq_buf_free(&text);
	}
}
END_TEST

/* Many keys take another path than a few. */
START_TEST(many_keys)
{
	for (unsigned repeated = 0; repeated < 2; repeated++) {
		struct gq_buf text = {0};
		struct gq_json_tree t;
		enum gptq_status status;

		gq_buf_puts(&text, "{");
		for (unsigned i = 0; i < 50000; i++)
			gq_buf_printf(&text, i % 7 ? "\"key%u\":0," : "\"\\u006bey%u\":0,", i);
		gq_buf_printf(&text, "\"key%u\":0}", repeated ? 14007u : 50000u);
		status = gq_json_parse(text.data, text.size, 0, &t, NULL);
		ck_assert_int_eq(status, repeated ? GPTQ_E_FORMAT : GPTQ_OK);
		if (!repeated)
			ck_assert_uint_eq(t.n_nodes, 50002);
		gq_json_tree_free(&t);
		gq_buf_free(&text);
	}
}
END_TEST

START_TEST(no_memory)
{
	struct gq_buf text = {0};
	long n = 0;

	gq_buf_puts(&text, "{\"\\u0061\":[");
	for (unsigned i = 0; i < 300; i++)
		gq_buf_printf(&text, "{\"key%u\":0},", i);
	gq_buf_puts(&text, "0],\"b\":{");
	for (unsigned i = 0; i < 40; i++)
		gq_buf_printf(&text, "\"k%u\":0,", i);
	gq_buf_puts(&text, "\"last\":{}}}");
	for (;; n++) {
		struct gq_json_tree t;
		enum gptq_status status;

		gq_mem_fail_after(n);
		status = gq_json_parse(text.data, text.size, 0, &t, NULL);
		gq_mem_fail_after(-1);
		gq_json_tree_free(&t);
		if (status == GPTQ_OK)
			break;
		ck_assert_int_eq(status, GPTQ_E_NOMEM);
	}
	ck_assert_int_gt(n, 5);
	gq_buf_free(&text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, accepts, 0, N_ELEMENTS(accepted));
	tcase_add_loop_test(tc, refuses, 0, N_ELEMENTS(refused));
	tcase_add_test(tc, flags_loosen);
	tcase_add_test(tc, long_numbers);
	tcase_add_test(tc, depth);
	tcase_add_test(tc, brackets_must_pair);
	tcase_add_test(tc, spans_and_skip);
	tcase_add_test(tc, skip_checks);
	tcase_add_test(tc, unescape);
	tcase_add_test(tc, integers);
	tcase_add_test(tc, tree);
	tcase_add_test(tc, duplicates);
	tcase_add_test(tc, sorted_keys);
	tcase_add_test(tc, many_keys);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
