/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

START_TEST(sentence_has_all_parts)
{
	struct gptq_error err;
	char text[512];

	ck_assert_int_eq(gq_fail(&err, GPTQ_E_FORMAT, "the span is too short"), GPTQ_E_FORMAT);
	gq_error_tensor(&err, "a.qzeros", 8);
	gq_error_offset(&err, 1184);
	gq_error_found(&err, "%d bytes", 380);
	gq_error_expected(&err, "%d bytes", 384);
	gq_error_file(&err, "model.safetensors");
	gq_error_file(&err, "second call loses");
	gptq_error_format(&err, text, sizeof(text));
	ck_assert_str_eq(text, "model.safetensors: tensor \"a.qzeros\": the span is too short "
			       "(at byte 1184; found 380 bytes, expected 384 bytes)");
}
END_TEST

START_TEST(errno_is_named)
{
	struct gptq_error err;
	char text[512];

	ck_assert_int_eq(gq_fail_errno(&err, ENOSPC, "out", "cannot write"), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, ENOSPC);
	gptq_error_format(&err, text, sizeof(text));
	ck_assert_str_eq(text, "out: cannot write: No space left on device");
	ck_assert_int_eq(gq_fail_errno(&err, ENOMEM, NULL, "x"), GPTQ_E_NOMEM);
	ck_assert_int_eq(gq_fail(NULL, GPTQ_E_ARG, "no struct is fine"), GPTQ_E_ARG);
}
END_TEST

START_TEST(masking)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"\x1b[31mred", "\\x1b[31mred"},
		{"caf\xc3\xa9", "caf\xc3\xa9"},
		{"\xff", "\\xff"},
		{"\xe2\x80\xae" "evil", "\\u{202e}evil"},
		{"\xc2\x9b", "\\u{9b}"},
		{"a\nb", "a\\x0ab"},
	};
	char text[64], small[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gq_mask(text, sizeof(text), cases[i].in, strlen(cases[i].in), false);
		ck_assert_str_eq(text, cases[i].out);
	}
	gq_mask(small, sizeof(small), "abcdefghijkl", 12, false);
	ck_assert_str_eq(small, "abcd...");
	gq_mask(small, sizeof(small), "abcdefg", 7, false);
	ck_assert_str_eq(small, "abcdefg");
}
END_TEST

START_TEST(utf8_table)
{
	static const struct {
		const char *s;
		size_t n, good;
	} cases[] = {
		{"", 0, 0},           {"abc", 3, 3},          {"\xc0\x80", 2, 0},         {"\xc1\xbf", 2, 0},
		{"\xed\xa0\x80", 3, 0}, {"\xed\x9f\xbf", 3, 3}, {"\xe0\x80\x80", 3, 0},     {"\xf0\x80\x80\x80", 4, 0},
		{"\xf4\x90\x80\x80", 4, 0}, {"\xf4\x8f\xbf\xbf", 4, 4}, {"12345678\x80", 9, 8}, {"1234567\xc3", 8, 7},
		{"a\0b", 3, 3},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_uint_eq(gq_utf8_valid_prefix(cases[i].s, cases[i].n), cases[i].good);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("error");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, sentence_has_all_parts);
	tcase_add_test(tc, errno_is_named);
	tcase_add_test(tc, masking);
	tcase_add_test(tc, utf8_table);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
