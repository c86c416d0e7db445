#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the build needs, builds, and converts a sample checkpoint, showing label and zero points before and
# after. Nothing outside build/ and a temporary folder is written.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

# shellcheck disable=SC2086
need_packages $build_packages
[ -f build/build.ninja ] || meson setup build --buildtype=release -Dtests=disabled >build-setup.log 2>&1 ||
  { cat build-setup.log; exit 1; }
rm -f build-setup.log
ninja -C build >build/build.log 2>&1 || { cat build/build.log; exit 1; }

sample=testdata/cases/w4-g32-asym/in
layer=model.layers.0.mlp.down_proj

# The first eight zero points of the layer as they lie in the file: 4 bits each, low half of a byte first.
stored_lanes() { # FILE
  header=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
  at=$(head -c $((8 + header)) "$1" | tail -c "$header" |
    sed -n "s/.*\"$layer\.qzeros\":{[^}]*\"data_offsets\":\[\([0-9]*\),.*/\1/p")
  for byte in $(od -An -t u1 -j $((8 + header + at)) -N 4 "$1"); do
    printf '%3d%3d' $((byte % 16)) $((byte / 16))
  done
}

show() { # FOLDER PLUS
  label=$(sed -n 's/.*"checkpoint_format": *"\([^"]*\)".*/\1/p' "$1/quantize_config.json")
  lanes=$(stored_lanes "$1/model.safetensors")
  printf '  label        %s\n  stored      %s\n  zero points ' "$label" "$lanes"
  for lane in $lanes; do printf '%3d' $((lane + $2)); done
  printf '\n'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "== before: $sample, layer $layer (v1 stores a zero point less one)"
show "$sample" 1
echo
echo "== gptq-convert --to v2 $sample OUT"
build/src/cli/gptq-convert --to v2 "$sample" "$work/OUT"
echo
echo "== after: OUT (v2 stores it as it is)"
show "$work/OUT" 0
echo
echo "The command is build/src/cli/gptq-convert."
