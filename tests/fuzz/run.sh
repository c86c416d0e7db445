#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes: run.sh BUILD WORK SECONDS [TARGET...]. BUILD is a folder that was set up with build-fuzz.ini; WORK keeps the
# corpora (WORK/corpus/TARGET), what was found (WORK/found) and one log a round. Without targets: all, in turn. Ends at
# the first finding.
set -eu
tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
seconds=$3
shift 3
[ $# -gt 0 ] || set -- safetensors json index config header_label dynamic zeros checkpoint journal verify stream
mkdir -p "$work/found" "$work/log" "$work/seeds"
python3 "$tests/seeds.py" "$work/seeds"
# A conversion syncs what it writes, which costs nothing in memory.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
for target; do
  case $target in
    dynamic | zeros) dict=$target ;;
    *) dict=json ;;
  esac
  mkdir -p "$work/corpus/$target"
  log=$work/log/$target-$(date +%s%N).log
  echo "$target: $seconds seconds, $log"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 \
    -max_len=4096 -print_final_stats=1 -dict="$tests/dict/$dict.dict" -artifact_prefix="$work/found/$target-" \
    "$work/corpus/$target" "$tests/corpus/$target" "$work/seeds/$target" >"$log" 2>&1 || { tail -30 "$log"; exit 1; }
done
