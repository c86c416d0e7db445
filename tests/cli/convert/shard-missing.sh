# SPDX-License-Identifier: Apache-2.0
model M shards=3 layers=3
rm M/model-00002-of-00003.safetensors
try gptq-convert --to v2 M O
only . M
