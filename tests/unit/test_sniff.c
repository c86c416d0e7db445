/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/checked.h"
#include "base/mem.h"
#include "format/sniff.h"

#define TEXT(s) s, sizeof(s) - 1

static const struct {
	const char *bytes;
	size_t n;
	const char *name;
	const char *says;
} cases[] = {
	{TEXT(""), "empty", "empty"},
	{TEXT("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n"), "lfs-pointer",
	 "(sha256:abc, 12 bytes): `git lfs pull`"},
	{TEXT("version https://git-lfs.github.com/spec/v1\r\nsize 12\r\n"), "lfs-pointer", "(12 bytes)"},
	{TEXT("version https://git-lfs.github.com/spec/v1\noid sha256:abc"), "lfs-pointer", "(sha256:abc)"},
	{TEXT("version https://git-lfs.github.com/spec/v1\noid \x1b[31m"), "lfs-pointer", "\\x1b[31m"},
	{TEXT("version https://git"), "lfs-pointer", "not the file itself: `git"},
	{TEXT("<html>"), "html", "web page"},
	{TEXT("\xef\xbb\xbf\r\n <!doctype html>"), "html", "web page"},
	{TEXT("PK\3\4\0\0\x08\x08 xx archive/data.pkl"), "torch-zip", "torch.save"},
	{TEXT("PK\3\4\x14\0\0\0 weights.npy"), "zip", "zip"},
	{TEXT("\x80\x02}q\x01(X\x04"), "pickle", "run code"},
	{TEXT("\x80\x04\x95\x10\0\0\0\0\0\0\0}"), "pickle", "run code"},
	{TEXT("GGUF\3\0\0\0"), "gguf", "GGUF"},
	{TEXT("\x1f\x8b\x08\0\0\0\0\0\0\x03zz"), "gzip", "unpack"},
	{TEXT("{\"a\":1}"), "json", "JSON text"},
	{TEXT("Invalid username or password.\nx"), "text", "\"Invalid username or password.\""},
	{TEXT("caf\xc3\xa9, the plain text"), "text", "caf\xc3\xa9"},
	{TEXT("\0\0\0\0\0\0\0\0\0\0"), "zeros", "interrupted download"},
	/* Honest lengths: 640, 2050848 (1f 8b 1f is no gzip), and 280000 */
	{TEXT("\x80\x02\0\0\0\0\0\0{}"), "unknown", ""},
	{TEXT("\x1f\x8b\x1f\0\0\0\0\0{}"), "unknown", ""},
	{TEXT("\xc0\x45\x04\0\0\0\0\0{}"), "unknown", ""},
	{TEXT("\0\0\0"), "unknown", ""},
	{TEXT("GGU\1"), "unknown", ""},
};

START_TEST(table)
{
	const unsigned char *p = (const unsigned char *)cases[_i].bytes;
	enum gq_sniff kind = gq_sniff(p, cases[_i].n);
	char text[512] = "x";

	ck_assert_str_eq(gq_sniff_name(kind), cases[_i].name);
	gq_sniff_describe(kind, p, cases[_i].n, text, sizeof(text));
	ck_assert_msg(strstr(text, cases[_i].says) != NULL, "%s", text);
	if (kind == GQ_SNIFF_NONE)
		ck_assert_str_eq(text, "");
}
END_TEST

/* Nothing is read beyond the bytes that are there. */
START_TEST(again)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum gq_sniff kind;
	} second[] = {
		{TEXT("\x80\x02\0\0\0\0\0\0qq"), GQ_SNIFF_PICKLE},
		{TEXT("\x80\x05\0\0\0\0\0\0\0"), GQ_SNIFF_PICKLE},
		{TEXT("\x80\x02\0\0\0\0\0\0{}"), GQ_SNIFF_NONE},
		{TEXT("\x80\x02\0\0\0\0\0\0 {"), GQ_SNIFF_NONE},
		{TEXT("\x80\x02\0\0\0\0\0\0"), GQ_SNIFF_NONE},
		{TEXT("\x80\x06\0\0\0\0\0\0qq"), GQ_SNIFF_NONE},
		{TEXT("GGUF\3\0\0\0"), GQ_SNIFF_GGUF},
	};

	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
		ck_assert_msg(gq_sniff_again((const unsigned char *)second[i].bytes, second[i].n) == second[i].kind,
			      "case %zu", i);
}
END_TEST

START_TEST(short_inputs)
{
	for (size_t n = 0; n <= cases[_i].n; n++) {
		unsigned char *copy = gq_malloc_array(n, 1);
		enum gq_sniff kind;
		char text[64];

		memcpy(copy, cases[_i].bytes, n);
		kind = gq_sniff(copy, n);
		gq_sniff_describe(kind, copy, n, text, sizeof(text));
		ck_assert_uint_lt(strlen(text), sizeof(text));
		gq_free(copy);
	}
}
END_TEST

/* Whatever length below 4 GiB a header has, its first bytes are no known magic but those that JSON refutes. */
START_TEST(honest_lengths)
{
	unsigned char first[32] = "xxxxxxxx{\"w\":{\"dtype\":\"F32\"";

	for (uint64_t size = 2; size < 100000000; size += 1 + size / 97) {
		gq_store_le(first, size, 8);
		ck_assert_int_eq(gq_sniff(first, sizeof(first)), GQ_SNIFF_NONE);
	}
}
END_TEST

int main(void)
{
	const int n = (int)(sizeof(cases) / sizeof(cases[0]));
	Suite *s = suite_create("sniff");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, table, 0, n);
	tcase_add_loop_test(tc, short_inputs, 0, n);
	tcase_add_test(tc, again);
	tcase_add_test(tc, honest_lengths);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
