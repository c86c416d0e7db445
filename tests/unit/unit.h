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

#endif
