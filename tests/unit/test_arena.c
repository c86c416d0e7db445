/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/arena.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

/* Pieces of all sizes keep what is written to them, and are aligned. */
START_TEST(pieces)
{
	enum { N = 3000 };
	static uint64_t *words[N];
	static char *texts[N];
	struct gq_arena arena = {0};
	char text[400];

	for (unsigned i = 0; i < N; i++) {
		size_t n = i % 300 == 299 ? 20000 : i % 7;

		words[i] = gq_arena_take(&arena, n, sizeof(*words[i]));
		ck_assert_ptr_nonnull(words[i]);
		ck_assert_uint_eq((uintptr_t)words[i] % sizeof(uint64_t), 0);
		for (size_t k = 0; k < n; k++)
			words[i][k] = i;
		memset(text, 'a' + (int)(i % 26), sizeof(text));
		text[i % sizeof(text)] = '\0';
		texts[i] = gq_arena_text(&arena, text);
		ck_assert_ptr_nonnull(texts[i]);
	}
	for (unsigned i = 0; i < N; i++) {
		size_t n = i % 300 == 299 ? 20000 : i % 7;

		for (size_t k = 0; k < n; k++)
			ck_assert_uint_eq(words[i][k], i);
		ck_assert_uint_eq(strlen(texts[i]), i % sizeof(text));
		ck_assert_uint_eq(strspn(texts[i], (char[]){(char)('a' + i % 26), '\0'}), i % sizeof(text));
	}
	ck_assert_ptr_null(gq_arena_take(&arena, SIZE_MAX / 2, 3));
	ck_assert_ptr_null(gq_arena_take(&arena, SIZE_MAX - 3, 1));
	gq_arena_free(&arena);
	gq_arena_free(&arena);
}
END_TEST

START_TEST(no_memory)
{
	struct gq_arena arena = {0};

	gq_mem_fail_after(0);
	ck_assert_ptr_null(gq_arena_text(&arena, "a"));
	ck_assert_str_eq(gq_arena_text(&arena, "a"), "a");
	gq_mem_fail_after(0);
	ck_assert_str_eq(gq_arena_text(&arena, "b"), "b"); /* from what is there */
	ck_assert_ptr_null(gq_arena_take(&arena, 1 << 20, 1));
	gq_mem_fail_after(-1);
	ck_assert_str_eq(gq_arena_text(&arena, "c"), "c");
	gq_arena_free(&arena);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("arena");
	TCase *tc = tcase_create("core");

	tcase_add_test(tc, pieces);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
