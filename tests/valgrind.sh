#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The exe_wrapper of the test setup "valgrind". A program of ours runs under valgrind. An interpreter does not: its
# script gets the words to put in front of our commands in GQ_WRAPPER.
words="valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99"
# Some valgrinds complain of system calls that they do not know.
export GPTQ_NO_LANDLOCK=1

case $1 in
*python3* | */sh | */bash | *.py | *.sh)
	GQ_WRAPPER=$words exec "$@"
	;;
esac
# shellcheck disable=SC2086
exec $words "$@"
