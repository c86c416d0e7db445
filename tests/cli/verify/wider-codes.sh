# SPDX-License-Identifier: Apache-2.0
# 4-bit codes held in 8 bits
model A z=asym
model B z=asym hold=8 fmt=v2
try verify A B
try verify --method table A B
tensor B/model.safetensors model.layers.0.proj.qweight flip=7
try verify A B
