/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor names that stand twice in a header. */
#include "unit.h"

#include "base/buf.h"
#include "bits.h"
#include "format/safetensors_private.h"

#include <stdio.h>
#include <string.h>

/* Up to 12 tensors with names of few kinds in any order: the first that stands twice is told, whatever comes later. */
START_TEST(names_in_any_order)
{
	static const char *const names[] = {"", "a", "aa", "ab", "b", "b.c", "c", "\\u0061", "x", "y", "z"};
	static const unsigned char means[] = {0, 1, 2, 3, 4, 5, 6, 1, 8, 9, 10};
	unsigned n_twice = 0;

	state = 1;
	for (size_t round = 0; round < unit_rounds(20000); round++) {
		unsigned n = 1 + below(12), n_kinds = 2 + below(10), chosen[12], twice = n, step = below(3);
		struct gq_buf text = {0};
		struct gptq_error err;
		size_t place = 0;
		struct gq_st *st;

		for (unsigned i = 0; i < n; i++) {
			chosen[i] = step == 0 ? below(n_kinds) : (i * step + below(2)) % n_kinds;
			for (unsigned k = 0; k < i && twice == n; k++)
				if (means[chosen[k]] == means[chosen[i]])
					twice = i;
		}
		for (unsigned i = 0; i < n; i++) {
			gq_buf_puts(&text, i ? "," : "{");
			if (i == twice)
				place = text.size;
			gq_buf_printf(&text, "\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}",
				      names[chosen[i]], i, i + 1);
		}
		gq_buf_puts(&text, twice < n && below(2) ? ",x" : "}");
		if (twice == n) {
			ck_assert_int_eq(gq_st_parse(text.data, text.size, n, NULL, &st, NULL, &err), GPTQ_OK);
			ck_assert_uint_eq(st->n_tensors, n);
			gq_st_free(st);
		} else {
			n_twice++;
			ck_assert_int_eq(gq_st_parse(text.data, text.size, n, NULL, &st, NULL, &err), GPTQ_E_FORMAT);
			ck_assert_msg(strstr(err.message, "this tensor twice"), "%s: %s", text.data, err.message);
			ck_assert_uint_eq(err.offset, 8 + place);
		}
		gq_buf_free(&text);
	}
	ck_assert_uint_gt(n_twice, 0);
}
END_TEST

/* Up to four runs of ascending names are compared with each other, and from the fifth on there is a map. */
START_TEST(few_runs)
{
	enum { RUNS = 6, EACH = 3 };
	struct gq_st_tensor tensors[RUNS * EACH] = {0};
	char text[RUNS * EACH][16];
	struct gq_st_names names;
	uint32_t before;

	for (unsigned same = 0; same < 2; same++) {
		for (unsigned n_runs = 1; n_runs <= RUNS; n_runs++) {
			unsigned n = n_runs * EACH, found = 0;

			gq_st_names_init(&names, false);
			for (unsigned i = 0; i < n; i++) {
				/* c0 c1 c2  b0 b1 b2 ...; or the last name of all runs is one */
				snprintf(text[i], sizeof(text[i]), "%c%u", 'a' + (n - 1 - i) / EACH, i % EACH);
				if (same && i % EACH == EACH - 1)
					strcpy(text[i], "z");
				tensors[i].name = text[i];
				tensors[i].name_size = (uint32_t)strlen(text[i]);
				found += gq_st_names_add(&names, tensors, i, &before) == GQ_MAP_OLD;
				ck_assert_int_eq(names.mapped, i / EACH >= GQ_ST_RUNS);
			}
			ck_assert_uint_eq(found, same && n_runs > GQ_ST_RUNS ? n_runs - GQ_ST_RUNS : 0);
			ck_assert_int_eq(gq_st_names_differ(&names, tensors, n), !same || n_runs == 1);
			gq_st_names_free(&names);
		}
	}
}
END_TEST

/* Work in proportion to the tensors: slots of the map that were looked at, not seconds. */
START_TEST(no_order_at_all)
{
	static const uint32_t sizes[] = {10000, 100000};

	for (unsigned i = 0; i < 2; i++) {
		uint32_t n = sizes[i], before;
		struct gq_st_tensor *tensors = calloc(n, sizeof(*tensors));
		char(*text)[16] = calloc(n, sizeof(*text));
		struct gq_st_names names;

		ck_assert(tensors && text);
		gq_st_names_init(&names, false);
		for (uint32_t k = 0; k < n; k++) {
			snprintf(text[k], sizeof(text[k]), "%u", (unsigned)((uint64_t)k * 6661 % n));
			tensors[k].name = text[k];
			tensors[k].name_size = (uint32_t)strlen(text[k]);
			ck_assert_int_eq(gq_st_names_add(&names, tensors, k, &before), GQ_MAP_NEW);
		}
		ck_assert(gq_st_names_differ(&names, tensors, n));
		ck_assert_uint_lt(names.map.steps, 4 * (uint64_t)n);
		tensors[n - 1] = tensors[7];
		ck_assert_int_eq(gq_st_names_add(&names, tensors, n - 1, &before), GQ_MAP_OLD);
		ck_assert_uint_eq(before, 7);
		gq_st_names_free(&names);
		free(tensors);
		free(text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("names");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, names_in_any_order);
	tcase_add_test(tc, few_runs);
	tcase_add_test(tc, no_order_at_all);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
