# SPDX-License-Identifier: Apache-2.0
model M
cp M/config.json before.json
try gptq-convert --to v2 --in-place M/model.safetensors
cmp M/config.json before.json && echo "config untouched"
try gptq-convert --to v1 --from v2 -q -i M/model.safetensors
ls -A M
