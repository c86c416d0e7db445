# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"bits": 4/"bits": 8/' M/config.json
try gptq-convert --to v2 -q M O
sed -i 's/"bits": 4/"bits": 8/' M/quantize_config.json
try gptq-convert --to v2 M O2
sed -i 's/"bits": 8/"bits": 8, "dynamic": {"+:model.*": {"bits": 4}}/' M/quantize_config.json
try gptq-convert --to v2 -q M O2
file one.safetensors
try gptq-convert --to v2 --bits 8 one.safetensors O3
only . M O O2 one.safetensors
