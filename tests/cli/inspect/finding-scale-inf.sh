# SPDX-License-Identifier: Apache-2.0
model M
scale M/model.safetensors model.layers.1.proj.scales fc00
finds scale-inf M
