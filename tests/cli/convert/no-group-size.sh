# SPDX-License-Identifier: Apache-2.0
model M k=96 group=32 g_idx=0 config=none
tensor M/model.safetensors model.layers.0.proj.scales shape=5,64
tensor M/model.safetensors model.layers.0.proj.qzeros shape=5,8
try gptq-convert --to v2 M O
model B group=32 g_idx=0
sed -i 's/"group_size": 32/"group_size": 48/' B/*.json
try gptq-convert --to v2 -q B O2
only . M B O O2
