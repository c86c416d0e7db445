# SPDX-License-Identifier: Apache-2.0
try gptq-inspect --loaders "$TESTDATA/cases/w4-g32-sym/in"
model M shards=2
rm M/model-00002-of-00002.safetensors
try gptq-inspect --loaders M
