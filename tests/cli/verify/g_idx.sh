# SPDX-License-Identifier: Apache-2.0
model A z=asym
cp -r A B
tensor B/model.safetensors model.layers.0.proj.g_idx first=3
try verify A B
try verify --method table A B
tensor B/model.safetensors model.layers.0.proj.g_idx first=4
try verify A B
try verify B A
# negative ones count from the end: the same groups
tensor B/model.safetensors model.layers.0.proj.g_idx first=-4
try verify A B
# none at all means the same here
model C z=asym g_idx=0
try verify A C
