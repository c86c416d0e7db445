# SPDX-License-Identifier: Apache-2.0
model M shards=3 layers=3
rm M/model-00002-of-00003.safetensors
ln -sf nowhere M/model-00003-of-00003.safetensors
finds shard-missing M
