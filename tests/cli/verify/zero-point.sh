# SPDX-License-Identifier: Apache-2.0
model A z=asym fmt=v2
cp -r A B
tensor B/model.safetensors model.layers.0.proj.qzeros flip=1
try verify A B
