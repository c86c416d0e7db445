# SPDX-License-Identifier: Apache-2.0
# In memory where there is some: it is quicker there, and names are as long.
there=$(mktemp -d /dev/shm/gptq-cli-XXXXXX 2>/dev/null) && cd "$there" && trap 'rm -rf "$there"' EXIT
model M
python3 "$TOOLS/long_paths.py" || exit
# names as long as names can be: folder, file, config's neighbour
long=$(printf '%0255d' 0)
mkdir in
cp -r M "in/$long"
put "in/$long/$long" x
gptq-convert --to v2 -q "in/$long" "$(printf '%0255d' 1)" && ls "$(printf '%0255d' 1)" | sed 's/0000*/0/g'
file "$(printf '%0243d' 2).safetensors"
gptq-convert --to v2 -q "$(printf '%0243d' 2).safetensors" "$(printf '%0243d' 3).safetensors" && ls | sed 's/0000*/0/g'
try gptq-convert --to v2 -q M "0$long" | sed 's/0000*/0/g'
