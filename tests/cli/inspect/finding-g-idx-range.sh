# SPDX-License-Identifier: Apache-2.0
model M
tensor M/model.safetensors model.layers.1.proj.g_idx first=4
finds g-idx-range M
