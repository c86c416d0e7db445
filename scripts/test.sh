#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need and runs all of them: gcc and clang, each with AddressSanitizer and UBSan, then the unit
# tests of a plain build under valgrind. Ends with one line that counts tests.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

# shellcheck disable=SC2086
need_packages $build_packages check clang g++ libclang-rt-14-dev man-db python3 valgrind

builds=""
failed=0
run_suite() { # NAME COMPILER MESON-TEST-OPTIONS... -- MESON-SETUP-OPTIONS...
  dir=build-test-$1
  compiler=$2
  case $compiler in clang) cxx=clang++ ;; *) cxx=g++ ;; esac
  shift 2
  test_options=""
  while [ "$1" != -- ]; do test_options="$test_options $1"; shift; done
  shift
  echo "== $dir"
  rm -rf "$dir"
  CC=$compiler CXX=$cxx meson setup "$dir" "$@" >"$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }
  rm -f "$dir.log"
  ninja -C "$dir" >"$dir/build.log" 2>&1 || { cat "$dir/build.log"; exit 1; }
  # shellcheck disable=SC2086
  meson test -C "$dir" --print-errorlogs --no-rebuild $test_options || failed=1
  builds="$builds $dir"
}

run_suite gcc gcc -- --native-file build-dev.ini
run_suite clang clang -- --native-file build-dev.ini -Dcuda=disabled
run_suite valgrind gcc --setup=valgrind --suite=unit -- -Dtests=enabled -Dwerror=true -Dcuda=disabled

# shellcheck disable=SC2086
python3 tests/tally.py $builds || failed=1
exit $failed
