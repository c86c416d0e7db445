# SPDX-License-Identifier: Apache-2.0
model M
scale M/model.safetensors model.layers.1.proj.scales 7e00
finds scale-nan M
