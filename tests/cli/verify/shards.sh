# SPDX-License-Identifier: Apache-2.0
# shards cut differently, one file, and files with other names
model A z=asym layers=5 shards=3
model B z=asym layers=5 fmt=v2
model C z=asym layers=5 shards=2 index=0
try verify A B
try verify A C
try verify A/model-00001-of-00003.safetensors A/model-00001-of-00003.safetensors
try verify A/model-00001-of-00003.safetensors B
