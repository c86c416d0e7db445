# SPDX-License-Identifier: Apache-2.0
model M bits=4 z=asym k=512 n=64 layers=6
shuffle M/model.safetensors
finds zero-points-unordered M
