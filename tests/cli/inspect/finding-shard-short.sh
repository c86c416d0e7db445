# SPDX-License-Identifier: Apache-2.0
model M shards=2
truncate -s -7 M/model-00002-of-00002.safetensors
finds shard-short M
