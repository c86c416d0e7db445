# SPDX-License-Identifier: Apache-2.0
model M
try gptq-convert --to v2 --json M O
try gptq-convert --to v2 --json M O
try gptq-convert --to v2 --json nowhere O2
model Z z=zero fmt=v2
try gptq-convert --to v1 --json Z O2
truncate -s -10 Z/model.safetensors
try gptq-convert --to v1 --json -q Z O2
