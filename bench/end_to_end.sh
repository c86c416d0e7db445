#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gptq-verify over two checkpoints in the page cache, beside reading the same files once. Prints seconds and packed
# bytes of both sides a second. Exit 77 where BUILD has no gptq-verify.
# usage: bench/end_to_end.sh BUILD A B [OPTION...]     OPTIONs go to gptq-verify: --device cuda
set -eu
if [ $# -lt 3 ]; then
  sed -n 's/^# usage: /usage: /p' "$0" >&2
  exit 2
fi
verify=$1/src/cli/gptq-verify
a=$2 b=$3
shift 3
if ! [ -x "$verify" ]; then
  echo "skipped: there is no $verify"
  exit 77
fi
read_all() { find "$a" "$b" -name '*.safetensors' -exec cat {} + | wc -c; }
now() { date +%s.%N; }
bytes=$(read_all) # into the page cache
measure() { # NAME COMMAND...
  name=$1
  shift
  for _ in 1 2 3 4 5; do
    begin=$(now)
    "$@" >/dev/null
    end=$(now)
    echo "$begin $end"
  done | awk '{ print $2 - $1 }' | sort -n | awk -v name="$name" -v bytes="$bytes" '
    { t[NR] = $1 } END { s = t[int((NR + 1) / 2)]; printf "%-14s %8.3f s  %6.2f GB/s\n", name, s, bytes / s / 1e9 }'
}
echo "$bytes bytes of tensors and headers; medians of 5 runs"
measure "cat, wc" read_all
for method in table every; do
  measure "verify $method" "$verify" --method "$method" "$@" "$a" "$b"
done
