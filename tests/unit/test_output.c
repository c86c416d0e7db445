/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "base/output.h"

#include <errno.h>

static void put_inside(const struct gq_output *out, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", out->temp_path, name);
	write_text(path, text);
}

START_TEST(folder_appears_when_committed)
{
	struct gq_output out;
	struct gptq_error err;

	ck_assert_int_eq(gq_output_begin("O/", true, false, &out, &err), GPTQ_OK);
	ck_assert_int_ne(access("O", F_OK), 0);
	put_inside(&out, "file", "new");
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_OK);
	gq_output_drop(&out);
	ck_assert(file_is("O/file", "new"));
	ck_assert_uint_eq(count_entries("."), 1);
}
END_TEST

START_TEST(dropped_folder_leaves_nothing)
{
	struct gq_output out;
	struct gptq_error err;

	ck_assert_int_eq(mkdir("elsewhere", 0777), 0);
	write_text("elsewhere/keep", "keep");
	ck_assert_int_eq(gq_output_begin("O", true, false, &out, &err), GPTQ_OK);
	put_inside(&out, "file", "new");
	{
		char path[512];

		/* whatever lies in it is removed, but nothing behind a link */
		snprintf(path, sizeof(path), "%s/link", out.temp_path);
		ck_assert_int_eq(symlink("../elsewhere", path), 0);
	}
	gq_output_drop(&out);
	ck_assert(file_is("elsewhere/keep", "keep"));
	ck_assert_uint_eq(count_entries("."), 1);
	gq_output_drop(&out); /* harmless */
}
END_TEST

START_TEST(file_appears_when_committed)
{
	struct gq_output out;
	struct gptq_error err;

	ck_assert_int_eq(gq_output_begin("O.safetensors", false, false, &out, &err), GPTQ_OK);
	write_text(out.temp_path, "new");
	ck_assert_int_ne(access("O.safetensors", F_OK), 0);
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_OK);
	gq_output_drop(&out);
	ck_assert(file_is("O.safetensors", "new"));
	ck_assert_uint_eq(count_entries("."), 1);
	ck_assert_int_eq(gq_output_begin("P.safetensors", false, false, &out, &err), GPTQ_OK);
	write_text(out.temp_path, "new");
	gq_output_drop(&out);
	ck_assert_uint_eq(count_entries("."), 1);
}
END_TEST

START_TEST(replacing)
{
	struct gq_output out;
	struct gptq_error err;

	ck_assert_int_eq(mkdir("O", 0777), 0);
	ck_assert_int_eq(mkdir("O/deep", 0777), 0);
	write_text("O/deep/old", "old");
	write_text("F", "old");
	ck_assert_int_eq(gq_output_begin("O", true, true, &out, &err), GPTQ_OK);
	put_inside(&out, "file", "new");
	ck_assert(file_is("O/deep/old", "old"));
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_OK);
	gq_output_drop(&out);
	ck_assert(file_is("O/file", "new"));
	ck_assert_uint_eq(count_entries("O"), 1);
	ck_assert_int_eq(gq_output_begin("F", false, true, &out, &err), GPTQ_OK);
	write_text(out.temp_path, "new");
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_OK);
	gq_output_drop(&out);
	ck_assert(file_is("F", "new"));
	ck_assert_uint_eq(count_entries("."), 2);
}
END_TEST

/* Somebody else made OUT while it was being written: theirs stays. */
START_TEST(taken_meanwhile)
{
	struct gq_output out;
	struct gptq_error err;

	ck_assert_int_eq(gq_output_begin("O", true, false, &out, &err), GPTQ_OK);
	ck_assert_int_eq(mkdir("O", 0777), 0);
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_E_ARG);
	gq_output_drop(&out);
	ck_assert_uint_eq(count_entries("O"), 0);
	ck_assert_int_eq(gq_output_begin("P", true, true, &out, &err), GPTQ_OK);
	ck_assert_int_eq(symlink("O", "P"), 0);
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_E_ARG);
	gq_output_drop(&out);
	ck_assert_uint_eq(count_entries("."), 2);
}
END_TEST

static void check(const char *path, bool is_dir, bool replace, enum gptq_status want, const char *words)
{
	struct gptq_error err = {.status = GPTQ_OK};
	struct gq_output out;

	ck_assert_int_eq(gq_output_check(path, is_dir, replace, &err), want);
	if (want != GPTQ_OK)
		ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
	ck_assert_int_eq(gq_output_begin(path, is_dir, replace, &out, &err), want);
	gq_output_drop(&out);
}

START_TEST(places)
{
	ck_assert_int_eq(mkdir("folder", 0777), 0);
	write_text("file", "x");
	ck_assert_int_eq(symlink("folder", "link"), 0);
	ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	for (int is_dir = 0; is_dir < 2; is_dir++) {
		check("free", is_dir, false, GPTQ_OK, "");
		check("folder/free", is_dir, true, GPTQ_OK, "");
		check("link/free", is_dir, false, GPTQ_OK, "");
		check("folder", is_dir, false, GPTQ_E_ARG, "--force");
		check("folder//", is_dir, false, GPTQ_E_ARG, "--force");
		check("file", is_dir, false, GPTQ_E_ARG, "--force");
		check("link", is_dir, false, GPTQ_E_ARG, "--force");
		check("dangling", is_dir, false, GPTQ_E_ARG, "--force");
		check("link", is_dir, true, GPTQ_E_ARG, "symbolic link");
		check("dangling", is_dir, true, GPTQ_E_ARG, "symbolic link");
		check("pipe", is_dir, true, GPTQ_E_ARG, "exists and is no");
		check("no/such", is_dir, false, GPTQ_E_IO, "folder for the output");
		check("file/O", is_dir, false, GPTQ_E_ARG, "no folder");
	}
	check("file", true, true, GPTQ_E_ARG, "no folder");
	check("folder", false, true, GPTQ_E_ARG, "no regular file");
	check("file", false, true, GPTQ_OK, "");
	check("folder", true, true, GPTQ_OK, "");
	ck_assert_uint_eq(count_entries("."), 5);
	ck_assert_uint_eq(count_entries("folder"), 0);
}
END_TEST

START_TEST(long_names)
{
	char name[256];
	struct gq_output out;
	struct gptq_error err;

	memset(name, 'n', 255);
	name[255] = '\0';
	ck_assert_int_eq(gq_output_begin(name, true, false, &out, &err), GPTQ_OK);
	ck_assert_int_eq(gq_output_commit(&out, &err), GPTQ_OK);
	gq_output_drop(&out);
	ck_assert_int_eq(access(name, F_OK), 0);
}
END_TEST

START_TEST(inside)
{
	static const struct {
		const char *inner, *outer;
		bool inside;
	} table[] = {
		{"a", "a", true},          {"a/b", "a", true},
		{"a/b/new", "a", true},    {"a/new/deeper", "a", true},
		{"a/new/../x", "a", true}, {"link/new", "a", true},
		{"a/b/new", "link", true}, {"a/up/a/new", "a", true},
		{"c", "a", false},         {"c/new", "a", false},
		{"new", "a", false},       {"a", "a/b", false},
		{"ab", "a", false},        {".", "a", false},
		{"a", ".", true},          {"a/b/../../new", "a", false},
		{"a", "nowhere", false},   {"/", "a", false},
		{"a", "/", true},
	};

	ck_assert_int_eq(mkdir("a", 0777), 0);
	ck_assert_int_eq(mkdir("a/b", 0777), 0);
	ck_assert_int_eq(mkdir("c", 0777), 0);
	ck_assert_int_eq(mkdir("ab", 0777), 0);
	ck_assert_int_eq(symlink("a", "link"), 0);
	ck_assert_int_eq(symlink("..", "a/up"), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		ck_assert_msg(gq_is_inside(table[i].inner, table[i].outer) == table[i].inside, "%s in %s",
			      table[i].inner, table[i].outer);
}
END_TEST

START_TEST(space_and_parents)
{
	struct gptq_error err;
	char *p;

	ck_assert_int_eq(gq_check_space(".", 1, &err), GPTQ_OK);
	ck_assert_int_eq(gq_check_space(".", UINT64_MAX, &err), GPTQ_E_IO);
	ck_assert_int_eq(err.sys_errno, ENOSPC);
	ck_assert_str_eq(err.expected, "18446744073709551615");
	ck_assert_int_eq(gq_check_space("nowhere", 1, &err), GPTQ_E_IO);
	p = gq_parent_dir("a/b");
	ck_assert_str_eq(p, "a");
	gq_free(p);
	p = gq_parent_dir("a");
	ck_assert_str_eq(p, ".");
	gq_free(p);
	p = gq_parent_dir("/a");
	ck_assert_str_eq(p, "/");
	gq_free(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("output");
	TCase *tc = tcase_create("core");

	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, folder_appears_when_committed);
	tcase_add_test(tc, dropped_folder_leaves_nothing);
	tcase_add_test(tc, file_appears_when_committed);
	tcase_add_test(tc, replacing);
	tcase_add_test(tc, taken_meanwhile);
	tcase_add_test(tc, places);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, inside);
	tcase_add_test(tc, space_and_parents);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
