# SPDX-License-Identifier: Apache-2.0
model M shards=2
mv M/model.safetensors.index.json M/gptq_model-4bit-128g.safetensors.index.json
gptq-convert --to v2 -q M O
ls O
