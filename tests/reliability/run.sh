#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kills gptq-convert at every step that changes a file, and lets each such step fail, over several sample checkpoints; see
# crash.py. Takes some minutes; the last two lines are the figures.
#
# usage: run.sh [BUILD [CASE...]]     BUILD is made if it is not there (default build-crash, without sanitizers)
set -e
cd "$(dirname "$0")/../.."
build=${1:-build-crash}
[ $# -eq 0 ] || shift
[ -d "$build" ] || meson setup "$build" --buildtype=release -Dtests=enabled >/dev/null
ninja -C "$build" src/cli/gptq-convert src/cli/gptq-inspect tests/reliability/stepper >/dev/null
[ $# -gt 0 ] || set -- w4-g32-asym metadata-label-room sharded nested-config w3-swapped-constants w4-g32-asym-from-v2
exec python3 tests/reliability/crash.py --bin "$build/src/cli" --stepper "$build/tests/reliability/stepper" "$@"
