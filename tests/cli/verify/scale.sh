# SPDX-License-Identifier: Apache-2.0
model A z=asym
cp -r A B
tensor B/model.safetensors model.layers.0.proj.scales flip=16
try verify A B
# in another dtype the weights are others, whatever their values
model C z=asym dtype=F32
try verify A C
try verify C C
