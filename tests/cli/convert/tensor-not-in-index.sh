# SPDX-License-Identifier: Apache-2.0
model M shards=2
tensor M/model-00002-of-00002.safetensors model.extra.bias add=1
gptq-convert --to v2 M O
