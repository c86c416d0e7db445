# SPDX-License-Identifier: Apache-2.0
model M
truncate -s -1000 M/model.safetensors
try gptq-convert --to v2 M O
truncate -s 100 M/model.safetensors
try gptq-convert --to v2 M O
truncate -s 5 M/model.safetensors
try gptq-convert --to v2 M O
truncate -s 0 M/model.safetensors
try gptq-convert --to v2 M O
only . M
