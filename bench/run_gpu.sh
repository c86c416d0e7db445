#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a machine with a CUDA device, nvcc and gcc, and nothing else: builds what the device runs, tests it against the
# CPU, also under compute-sanitizer, tests the CPU's own levels, and measures both. Where Nsight Compute is there it says
# what the kernels are limited by. Given a folder with the commands (of a build with CUDA), tests them over all sample
# checkpoints, too. Given safetensors files and a file of digests, lets PyTorch dequantise them. Ends with a line for
# each step; exit 1 if one failed. All that it says is in OUTDIR/run_gpu.log, a section each step; bench/results.py makes
# tables of it.
# usage: bench/run_gpu.sh [-o OUTDIR] [-b BIN] [DIGESTS FILE.safetensors...]
set -u
cd "$(dirname "$0")/.."
out=build-gpu
bin=
while getopts o:b: option; do
  case $option in
  o) out=$OPTARG ;;
  b) bin=$OPTARG ;;
  *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
mkdir -p "$out"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
summary=""
failed=0

step() { # NAME COMMAND...
  name=$1
  shift
  begin=$(date +%s)
  "$@" >"$build/$name.log" 2>&1
  code=$?
  { echo "== $name: $*"; cat "$build/$name.log"; } >>"$out/run_gpu.log"
  case $code in
  0) verdict=passed ;;
  77) verdict=skipped ;;
  *) verdict="FAILED ($code)"; failed=1 ;;
  esac
  echo "== $name: $verdict, $(($(date +%s) - begin)) s"
  tail -n "$lines" "$build/$name.log"
  summary="$summary$name: $verdict
"
}

compile() {
  flags="-O3 -g -std=c11 -ffp-contract=off -D_POSIX_C_SOURCE=200809L -DGQ_TEST_HOOKS -I. -Iinclude -Isrc -Itests"
  for c in src/kernels/[!c]*.c src/kernels/compare.c src/quant/layout_stream.c src/format/dtype.c src/base/error.c \
    src/base/mem.c src/base/utf8.c tests/common/*.c tests/gpu/test_cuda.c bench/bench_kernels.c; do
    # shellcheck disable=SC2086
    gcc $flags -c "$c" -o "$build/$(basename "$c" .c).o" || return 1
  done
  for cu in src/kernels/cuda.cu bench/bench_cuda.cu; do
    nvcc -std=c++17 -O3 -lineinfo -fmad=false -cudart static -gencode=arch=compute_90,code=sm_90 \
      -gencode=arch=compute_75,code=compute_75 -Xptxas -v -I. -Iinclude -Isrc -c "$cu" \
      -o "$build/$(basename "$cu").o" || return 1
  done
  (cd "$build" &&
    common="avx2.o avx512.o compare.o dequantise.o dispatch.o generic.o neon.o table.o tile.o layout_stream.o dtype.o
      error.o mem.o utf8.o layers.o" &&
    nvcc -cudart static -o test_cuda test_cuda.o kernel_checks.o cuda.cu.o $common &&
    nvcc -cudart static -o bench_cuda bench_cuda.cu.o cuda.cu.o $common &&
    gcc -o bench_kernels bench_kernels.o $common -lm)
}

lines=3
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
date -u +%Y-%m-%d | tee "$out/run_gpu.log"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>&1 | tee -a "$out/run_gpu.log"
grep -m1 'model name' /proc/cpuinfo | tee -a "$out/run_gpu.log"
nvcc --version | tail -n 2 | head -n 1 | tee -a "$out/run_gpu.log"
step compile compile
step test "$build/test_cuda" 1440
step test-large "$build/test_cuda" 8 2000 4000
step levels "$build/test_cuda" --levels
if command -v compute-sanitizer >/dev/null; then
  step memcheck timeout 60 compute-sanitizer --tool memcheck --error-exitcode 9 "$build/test_cuda" 24 100 70
  step racecheck timeout 60 compute-sanitizer --tool racecheck --error-exitcode 9 "$build/test_cuda" 12 100 70
  step initcheck timeout 60 compute-sanitizer --tool initcheck --error-exitcode 9 "$build/test_cuda" 12 100 70
fi
if [ -n "$bin" ]; then
  step commands python3 tests/gpu/commands.py --flips 3 "$bin" testdata/cases/*/in testdata/real/*-v[12]
fi
if command -v ncu >/dev/null; then
  # Clocks are left as they are.
  step profile ncu --clock-control none --csv --page details --section SpeedOfLight --section ComputeWorkloadAnalysis \
    --section MemoryWorkloadAnalysis --section WarpStateStats --section Occupancy \
    -k 'regex:compare_(fast|mixed|bytes)' "$build/bench_cuda" --profile
fi
lines=60
step bench-cuda timeout 150 "$build/bench_cuda"
if [ $# -gt 1 ]; then
  step torch python3 bench/torch_check.py "$@"
fi
step bench-cpu timeout 60 "$build/bench_kernels" 8192 8192 5 4
{ echo "== summary"; printf '%s' "$summary"; } | tee -a "$out/run_gpu.log"
exit $failed
