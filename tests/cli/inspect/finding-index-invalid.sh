# SPDX-License-Identifier: Apache-2.0
model M shards=2
sed 's,"model-00002,"../model-00002,' M/model.safetensors.index.json >M/i
mv M/i M/model.safetensors.index.json
cp -r M N
cp N/model.safetensors.index.json N/other.safetensors.index.json
finds index-invalid N
finds index-invalid M
