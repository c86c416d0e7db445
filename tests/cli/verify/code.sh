# SPDX-License-Identifier: Apache-2.0
# a code, seen by every method
model A z=asym
gptq-convert -q --to v2 A B
tensor B/model.safetensors model.layers.1.proj.qweight flip=10000
try verify A B
try verify --method table A B
try verify --method every B A
try verify --layers A B
