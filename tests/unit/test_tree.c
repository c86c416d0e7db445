/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "base/tree.h"

START_TEST(paths)
{
	static const struct {
		const char *a, *b, *joined;
	} joins[] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}, {"a/b", "c/d", "a/b/c/d"}};

	for (size_t i = 0; i < sizeof(joins) / sizeof(joins[0]); i++) {
		char *p = gq_path_join(joins[i].a, joins[i].b);

		ck_assert_str_eq(p, joins[i].joined);
		gq_free(p);
	}
	ck_assert_str_eq(gq_path_base("a/b/c"), "c");
	ck_assert_str_eq(gq_path_base("c"), "c");
	ck_assert(gq_has_suffix("a.lock", ".lock"));
	ck_assert(gq_has_suffix(".lock", ".lock"));
	ck_assert(!gq_has_suffix("lock", ".lock"));
	ck_assert(!gq_has_suffix("a.lock.json", ".lock"));
}
END_TEST

START_TEST(walk_is_sorted_and_complete)
{
	static const char *const want[] = {"b", "b-file", "b/a", "b/deep", "b/deep/file", "c \n\x01", "link", "z"};
	struct gq_tree tree;
	struct gptq_error err;

	ck_assert_int_eq(mkdir("b", 0777), 0);
	ck_assert_int_eq(mkdir("b/deep", 0777), 0);
	ck_assert_int_eq(mkdir(".git", 0777), 0);
	ck_assert_int_eq(mkdir("b/.cache", 0777), 0);
	write_text("b-file", "x");
	write_text("b/a", "12345");
	write_text("b/deep/file", "");
	write_text("c \n\x01", "x");
	write_text("z", "x");
	write_text("x.lock", "x");
	write_text("b/y.part", "x");
	write_text("b/.cache/inside", "x");
	ck_assert_int_eq(symlink("b/a", "link"), 0);
	ck_assert_int_eq(symlink("nowhere", "gone.incomplete"), 0);
	ck_assert_int_eq(gq_tree_walk(".", false, &tree, &err), GPTQ_OK);
	ck_assert_uint_eq(tree.n_entries, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < tree.n_entries; i++)
		ck_assert_str_eq(tree.entries[i].path, want[i]);
	ck_assert(tree.entries[0].is_dir && tree.entries[3].is_dir && !tree.entries[2].is_dir);
	ck_assert_uint_eq(tree.entries[2].size, 5);
	ck_assert_uint_eq(tree.entries[6].size, 5);
	ck_assert(tree.entries[6].is_link && !tree.entries[2].is_link);
	ck_assert_uint_eq(tree.entries[6].ino, tree.entries[2].ino);
	ck_assert_uint_eq(tree.n_skipped, 5);
	ck_assert_str_eq(tree.skipped[0], ".git");
	ck_assert_str_eq(tree.skipped[1], "b/.cache");
	ck_assert_str_eq(tree.skipped[2], "b/y.part");
	ck_assert_str_eq(tree.skipped[3], "gone.incomplete");
	ck_assert_str_eq(tree.skipped[4], "x.lock");
	gq_tree_free(&tree);
	ck_assert_uint_eq(tree.n_entries, 0);
}
END_TEST

static void refused(enum gptq_status status, const char *file, const char *words)
{
	struct gq_tree tree;
	struct gptq_error err;

	ck_assert_int_eq(gq_tree_walk(".", false, &tree, &err), status);
	ck_assert_str_eq(err.file, file);
	ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
	ck_assert_uint_eq(tree.n_entries, 0);
	ck_assert_ptr_null(tree.entries);
}

START_TEST(what_cannot_be_copied)
{
	write_text("a", "x");
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	refused(GPTQ_E_ARG, "./pipe", "FIFO");
	ck_assert_int_eq(unlink("pipe"), 0);
	ck_assert_int_eq(symlink("/dev/null", "null"), 0);
	refused(GPTQ_E_ARG, "./null", "device");
	ck_assert_int_eq(unlink("null"), 0);
	ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
	refused(GPTQ_E_IO, "./dangling", "leads nowhere");
	ck_assert_int_eq(unlink("dangling"), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	refused(GPTQ_E_IO, "./loop", "");
	ck_assert_int_eq(unlink("loop"), 0);
	ck_assert_int_eq(mkdir("sub", 0777), 0);
	ck_assert_int_eq(symlink("..", "sub/up"), 0);
	refused(GPTQ_E_ARG, "./sub/up", "leads back");
}
END_TEST

START_TEST(deep_folders_end)
{
	char path[512] = "d";

	for (unsigned i = 0; i < 70; i++) {
		ck_assert_int_eq(mkdir(path, 0777), 0);
		strcat(path, "/d");
	}
	{
		struct gq_tree tree;
		struct gptq_error err;

		ck_assert_int_eq(gq_tree_walk(".", false, &tree, &err), GPTQ_E_ARG);
		ck_assert_ptr_nonnull(strstr(err.message, "64 levels"));
	}
}
END_TEST

START_TEST(no_folder)
{
	struct gq_tree tree;
	struct gptq_error err;

	write_text("file", "x");
	ck_assert_int_eq(gq_tree_walk("nowhere", false, &tree, &err), GPTQ_E_IO);
	ck_assert_str_eq(err.file, "nowhere");
	ck_assert_int_eq(gq_tree_walk("file", false, &tree, &err), GPTQ_E_IO);
	ck_assert_str_eq(err.file, "file");
}
END_TEST

START_TEST(two_links_to_one_folder)
{
	struct gq_tree tree;
	struct gptq_error err;

	ck_assert_int_eq(mkdir("real", 0777), 0);
	write_text("real/file", "x");
	ck_assert_int_eq(symlink("real", "a"), 0);
	ck_assert_int_eq(symlink("real", "b"), 0);
	ck_assert_int_eq(gq_tree_walk(".", false, &tree, &err), GPTQ_OK);
	ck_assert_uint_eq(tree.n_entries, 6);
	gq_tree_free(&tree);
}
END_TEST

START_TEST(no_memory)
{
	struct gptq_error err;
	struct gq_tree tree;
	enum gptq_status status;
	long n = 0;

	ck_assert_int_eq(mkdir("sub", 0777), 0);
	write_text("sub/file", "x");
	write_text("x.lock", "x");
	do {
		gq_mem_fail_after(n++);
		status = gq_tree_walk(".", false, &tree, &err);
		gq_mem_fail_after(-1);
		ck_assert(status == GPTQ_OK || status == GPTQ_E_NOMEM);
	} while (status != GPTQ_OK);
	ck_assert_int_gt(n, 5);
	gq_tree_free(&tree);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tree");
	TCase *tc = tcase_create("core");

	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, walk_is_sorted_and_complete);
	tcase_add_test(tc, what_cannot_be_copied);
	tcase_add_test(tc, deep_folders_end);
	tcase_add_test(tc, no_folder);
	tcase_add_test(tc, two_links_to_one_folder);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
