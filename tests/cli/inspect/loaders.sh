# SPDX-License-Identifier: Apache-2.0
ln -s "$TESTDATA/cases/w4-g32-sym/in" w4
try gptq-inspect --loaders w4
model M shards=2
rm M/model-00002-of-00002.safetensors
try gptq-inspect --loaders M
