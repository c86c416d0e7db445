#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the build needs, builds, and converts a sample checkpoint, showing label and zero points.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

need_packages $build_packages
[ -f build/build.ninja ] || meson setup build --buildtype=release -Dtests=disabled >build-setup.log 2>&1 ||
  { cat build-setup.log; exit 1; }
rm -f build-setup.log
ninja -C build >/dev/null

sample=testdata/cases/w4-g32-asym/in
out=$(mktemp -d)/converted
trap 'rm -rf "$(dirname "$out")"' EXIT
echo "== label before"
grep -H checkpoint_format "$sample"/quantize_config.json
echo "== gptq-convert --to v2 $sample OUT"
build/src/cli/gptq-convert --to v2 "$sample" "$out"
echo "== label after"
(cd "$out" && grep -H checkpoint_format quantize_config.json)
echo "== the commands are in build/src/cli"
