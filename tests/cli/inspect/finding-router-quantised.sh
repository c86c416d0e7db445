# SPDX-License-Identifier: Apache-2.0
model M prefix=model.layers.0.mlp.experts.
tensor M/model.safetensors model.layers.0.mlp.experts.1.proj.qweight rename=model.layers.0.mlp.gate.qweight
for t in qzeros scales g_idx; do tensor M/model.safetensors model.layers.0.mlp.experts.1.proj.$t rename=model.layers.0.mlp.gate.$t; done
finds router-quantised M
