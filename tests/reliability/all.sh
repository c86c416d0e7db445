#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every proof of reliability in turn, and one line of figures for each at the end:
#
#   kill points and failing calls   run.sh: killed at every step, and every step failing
#   fuzz executions                 fuzz/run.sh where it is given seconds and the fuzzers can be built; and the corpora
#   allocation points               unit/test_nomem: each allocation of a call failing once
#   claims                          unit/test_claims: small files that claim to be large, under a limit on memory
#   files                           cli/many_files.py: a folder of 100,000
#
# usage: all.sh [BUILD [SECONDS [FUZZ-BUILD [FUZZ-WORK]]]]
#
# BUILD (default build-crash) is made if it is not there, without sanitizers: claims are limits on memory. SECONDS is for
# each fuzz target, 0 (default) for the corpora alone; FUZZ-BUILD (build-fuzz) needs clang. Logs go to BUILD/reliability.
# Takes some minutes, and SECONDS for every target. Exits with 1 if any proof failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$(pwd)
build=${1:-build-crash}
seconds=${2:-0}
fuzz_build=${3:-build-fuzz}
fuzz_work=${4:-$fuzz_build/work}
[ -d "$build" ] || meson setup "$build" --buildtype=release -Dtests=enabled >/dev/null || exit 1
targets=$(ls tests/fuzz/corpus)
ninja -C "$build" src/cli/gptq-convert src/cli/gptq-inspect src/cli/gptq-verify tests/reliability/stepper \
	tests/unit/test_nomem tests/unit/test_claims $(echo "$targets" | sed 's,^,tests/fuzz/replay_,') >/dev/null || exit 1
build=$(cd "$build" && pwd)
logs=$build/reliability
mkdir -p "$logs"
failed=0
figures=

# NAME COMMAND...: its output goes to a log.
prove() {
	name=$1
	shift
	echo "$name ..."
	"$@" >"$logs/$name.log" 2>&1 && return
	failed=1
	figure "FAILED: $name, see $logs/$name.log"
}

figure() {
	figures="$figures$1
"
}

# In memory where there is some: it is the number that counts here, not the disk.
many_files() (
	scratch=$(mktemp -d /dev/shm/gptq-XXXXXX 2>/dev/null || mktemp -d) || exit
	trap 'rm -rf "$scratch"' EXIT
	cd "$scratch" && PATH=$build/src/cli:$PATH && python3 "$root/tests/cli/mk.py" model M &&
		python3 "$root/tests/cli/many_files.py" 100000
)

prove crash sh tests/reliability/run.sh "$build"
figure "kill points, failing calls: $(grep 'kill points' "$logs/crash.log" | tail -1)"

GQ_TESTDATA=$root/testdata
export GQ_TESTDATA
prove nomem "$build/tests/unit/test_nomem"
figure "allocation points: $(sed -n 's/.*: \([0-9]*\) allocations$/\1/p' "$logs/nomem.log" |
	awk '{ n += $1; k++ } END { print n + 0, "in", k + 0, "calls" }')"

prove claims "$build/tests/unit/test_claims"
figure "claims: $(grep -c ' MiB at most, ' "$logs/claims.log") kinds, $(sed -n 's/.*: \([0-9]*\) MiB at most.*/\1/p' \
	"$logs/claims.log" | sort -n | tail -1) MiB at most"

corpora() {
	for target in $targets; do
		"$build/tests/fuzz/replay_$target" "tests/fuzz/corpus/$target" || return
	done
}
prove corpora corpora
figure "fuzz corpora: $(sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p' "$logs/corpora.log" |
	awk '{ n += $1; k++ } END { print n + 0, "inputs of", k + 0, "targets" }')"

if [ "$seconds" -gt 0 ]; then
	[ -d "$fuzz_build" ] || CC=clang meson setup "$fuzz_build" --native-file build-fuzz.ini >/dev/null || exit 1
	ninja -C "$fuzz_build" $(echo "$targets" | sed 's,^,tests/fuzz/fuzz_,') >/dev/null || exit 1
	rm -f "$fuzz_work"/log/*.log
	prove fuzz sh tests/fuzz/run.sh "$fuzz_build" "$fuzz_work" "$seconds"
	figure "fuzz executions: $(sed -n 's/^stat::number_of_executed_units: *//p' "$fuzz_work"/log/*.log |
		awk '{ n += $1; k++ } END { print n + 0, "of", k + 0, "targets" }')"
fi

prove files many_files
figure "files: $(head -1 "$logs/files.log")"

printf '\n%s' "$figures"
exit $failed
