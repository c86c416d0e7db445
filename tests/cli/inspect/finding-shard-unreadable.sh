# SPDX-License-Identifier: Apache-2.0
model M shards=2
printf '\002\000\000\000\000\000\000\000[]' >M/model-00002-of-00002.safetensors
finds shard-unreadable M
