# SPDX-License-Identifier: Apache-2.0
model M prefix=model.layers.0.mlp.experts.
tensor M/model.safetensors model.layers.0.mlp.experts.2.proj.weight add=1
tensor M/model.safetensors model.layers.0.mlp.experts.2.proj.weight shape=64,64
finds experts-mixed M
