/* SPDX-License-Identifier: Apache-2.0 */
/* What every Check program of this folder needs. */
#ifndef GQ_TESTS_UNIT_H
#define GQ_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite and turns its outcome into an exit code. CK_FORK=no in the environment helps under valgrind. */
static inline int unit_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* How many rounds of n a randomised test runs: GQ_ROUNDS percent of them, at least one. */
static inline size_t unit_rounds(size_t n)
{
	const char *text = getenv("GQ_ROUNDS");
	unsigned long percent = text ? strtoul(text, NULL, 10) : 100;

	if (percent > 100)
		percent = 100;
	return n * percent / 100 ? n * percent / 100 : 1;
}

#endif
