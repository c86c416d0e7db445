# SPDX-License-Identifier: Apache-2.0
model M
tensor M/model.safetensors model.layers.1.proj.scales shape=4,63
finds shape-law M
