# SPDX-License-Identifier: Apache-2.0
model M shards=2
cp M/model.safetensors.index.json M/other.safetensors.index.json
try gptq-convert --to v2 M O
only . M
