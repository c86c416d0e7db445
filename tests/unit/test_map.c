/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* SipHash-1-3 under the key 00 01 .. 0f of the texts "", 00, 00 01, ...: fixed by the definition of the function. */
START_TEST(siphash_is_stable)
{
	static const uint64_t secret[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

	ck_assert_uint_eq(gq_siphash13(secret, "", 0), 0xabac0158050fc4dcu);
	ck_assert_uint_eq(gq_siphash13(secret, "\0", 1), 0xc9f49bf37d57ca93u);
	ck_assert_uint_ne(gq_siphash13(secret, "01234567", 8), gq_siphash13(secret, "012345678", 9));
}
END_TEST

START_TEST(insert_and_find)
{
	struct gq_map map;
	uint32_t value = 77;

	gq_map_init(&map);
	ck_assert(!gq_map_find(&map, "a", 1, &value));
	ck_assert_int_eq(gq_map_insert(&map, "a", 1, 10, NULL), GQ_MAP_NEW);
	ck_assert_int_eq(gq_map_insert(&map, "a\0", 2, 11, NULL), GQ_MAP_NEW);
	ck_assert_int_eq(gq_map_insert(&map, "a\0b", 3, 12, NULL), GQ_MAP_NEW);
	ck_assert_int_eq(gq_map_insert(&map, NULL, 0, 13, NULL), GQ_MAP_NEW);
	ck_assert_int_eq(gq_map_insert(&map, "", 0, 14, &value), GQ_MAP_OLD);
	ck_assert_uint_eq(value, 13);
	ck_assert_int_eq(gq_map_insert(&map, "a\0b", 3, 15, NULL), GQ_MAP_OLD);
	ck_assert(gq_map_find(&map, "a\0b", 3, &value) && value == 12);
	ck_assert(gq_map_find(&map, "a", 1, &value) && value == 10);
	ck_assert(!gq_map_find(&map, "b", 1, &value));
	ck_assert_uint_eq(map.n, 4);
	gq_map_free(&map);
	ck_assert(!gq_map_find(&map, "a", 1, &value));
	gq_map_free(&map);
}
END_TEST

START_TEST(secrets_differ)
{
	struct gq_map a, b;

	gq_map_init(&a);
	gq_map_init(&b);
	ck_assert_int_eq(gq_map_insert(&a, "x", 1, 0, NULL), GQ_MAP_NEW);
	ck_assert_int_eq(gq_map_insert(&b, "x", 1, 0, NULL), GQ_MAP_NEW);
	ck_assert(memcmp(a.secret, b.secret, sizeof(a.secret)) != 0);
	gq_map_free(&a);
	gq_map_free(&b);
}
END_TEST

/* n names and how many slots it took to put them in. */
static uint64_t steps_for(uint32_t n)
{
	char(*names)[16] = gq_calloc(n, sizeof(*names));
	struct gq_map map;
	uint32_t value = 0, n_new = 0, n_found = 0;

	gq_map_init(&map);
	for (uint32_t i = 0; i < n; i++) {
		int size = snprintf(names[i], sizeof(names[i]), "t%u", i);

		n_new += gq_map_insert(&map, names[i], (size_t)size, i, NULL) == GQ_MAP_NEW;
	}
	for (uint32_t i = 0; i < n; i++)
		n_found += gq_map_find(&map, names[i], strlen(names[i]), &value) && value == i;
	ck_assert_uint_eq(n_new, n);
	ck_assert_uint_eq(n_found, n);
	gq_map_free(&map);
	gq_free(names);
	return map.steps;
}

START_TEST(proportional)
{
	uint64_t small = steps_for(10000), large = steps_for(200000);

	ck_assert_uint_lt(small, 10000 * 4);
	ck_assert_uint_lt(large, 200000 * 4);
}
END_TEST

START_TEST(no_memory)
{
	char names[100][8];
	struct gq_map map;

	for (long fail = 0; fail < 6; fail++) {
		uint32_t n = 0, value = 0;

		gq_map_init(&map);
		gq_mem_fail_after(fail);
		for (uint32_t i = 0; i < 100; i++) {
			int size = snprintf(names[i], sizeof(names[i]), "%u", i);

			n += gq_map_insert(&map, names[i], (size_t)size, i, NULL) == GQ_MAP_NEW;
		}
		gq_mem_fail_after(-1);
		ck_assert_uint_ge(n, 99);
		ck_assert_uint_eq(map.n, n);
		ck_assert(gq_map_find(&map, "99", 2, &value) && value == 99);
		gq_map_free(&map);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("map");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, siphash_is_stable);
	tcase_add_test(tc, insert_and_find);
	tcase_add_test(tc, secrets_differ);
	tcase_add_test(tc, proportional);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
