# SPDX-License-Identifier: Apache-2.0
model M shards=3 layers=3 index=0
gptq-convert --to v2 M O
only . M O
