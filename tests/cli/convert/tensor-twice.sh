# SPDX-License-Identifier: Apache-2.0
model M shards=2 index=0
cp M/model-00001-of-00002.safetensors M/copy.safetensors
try gptq-convert --to v2 M O
model I shards=2
tensor I/model-00002-of-00002.safetensors model.norm.weight add=1
try gptq-convert --to v2 I O
only . M I
