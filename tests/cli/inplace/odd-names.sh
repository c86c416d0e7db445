# SPDX-License-Identifier: Apache-2.0
# Spaces, line ends and bytes that are no UTF-8 in names; a name that leaves no room for the journal's.
dir=$(printf 'a b\nc\377')
model "$dir"
try gptq-convert --to v2 --in-place -q "$dir"
mv "$dir/model.safetensors" "$dir/x y
z.safetensors"
try gptq-convert --to v1 --from v2 --in-place -q "$dir/x y
z.safetensors"
long=$(printf '%0230d' 0).safetensors
file "$long"
try gptq-convert --to v2 --in-place -q "$long" 2>&1 | sed 's/0000*/0/g'
