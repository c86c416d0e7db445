# SPDX-License-Identifier: Apache-2.0
model M fmt=v2
put M/SHA256SUMS "abc  model.safetensors"
try gptq-convert --to v2 M O
cmp M/model.safetensors O/model.safetensors && cmp M/config.json O/config.json && ls O
sed -i 's/"checkpoint_format": "gptq_v2"/"checkpoint_format": null/' M/config.json
try gptq-convert --to v2 M O2
labels O2
