# SPDX-License-Identifier: Apache-2.0
model M shards=2
tensor M/model-00002-of-00002.safetensors model.layers.1.proj.g_idx rename=model.layers.1.proj.g_idx2
finds index-names-missing-tensor M
