# SPDX-License-Identifier: Apache-2.0
model M
tensor M/model.safetensors model.layers.1.proj.scales drop=1
finds tensor-missing M
