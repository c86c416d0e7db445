# SPDX-License-Identifier: Apache-2.0
# what is no number is equal where its bits are
model A z=asym
tensor A/model.safetensors model.layers.0.proj.scales first=469794305
gptq-convert -q --to v2 A B
try verify --layers A B
try verify --layers --method every A B
# another NaN makes the same weights
cp -r A C
tensor C/model.safetensors model.layers.0.proj.scales flip=3
try verify A C
tensor C/model.safetensors model.layers.0.proj.scales flip=12
try verify A C
