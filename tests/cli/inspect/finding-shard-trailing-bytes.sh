# SPDX-License-Identifier: Apache-2.0
model M shards=2
echo more >>M/model-00002-of-00002.safetensors
finds shard-trailing-bytes M
