# SPDX-License-Identifier: Apache-2.0
model M half=1 layers=6
before=$(digest M)
try gptq-convert --to v2 M O
try gptq-convert --to v2 --from v1 M O
only . M
try gptq-convert --to v2 --per-layer M O
try gptq-convert --to v2 O O2
try gptq-convert --to v1 --per-layer M O3
try gptq-convert --to v1 -q O O4
cmp O3/model.safetensors O4/model.safetensors && echo same
test "$before" = "$(digest M)" && echo untouched
cp -r M C
sed -i 's/"checkpoint_format": "gptq"/"checkpoint_format": "gptq_v2"/' C/config.json
try gptq-convert --to v2 --per-layer C O5
