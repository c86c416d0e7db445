# SPDX-License-Identifier: Apache-2.0
model A z=asym
cp -r A B
tensor B/model.safetensors model.norm.weight flip=100
try verify A B
tensor B/model.safetensors model.norm.weight shape=32
try verify A B
tensor B/model.safetensors model.norm.weight dtype=I16 shape=64
try verify A B
tensor B/model.safetensors model.norm.weight drop=1
try verify A B
try verify B A
tensor A/model.safetensors model.layers.0.proj.bias add=1
cp -r A C
tensor C/model.safetensors model.layers.0.proj.bias flip=3
try verify A C
