# SPDX-License-Identifier: Apache-2.0
model M layers=1
for t in qweight qzeros scales g_idx; do tensor M/model.safetensors model.layers.0.proj.$t rename=lm_head.$t; done
finds lm-head-quantised M
