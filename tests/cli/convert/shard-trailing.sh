# SPDX-License-Identifier: Apache-2.0
model M
printf 'abc' >>M/model.safetensors
try gptq-convert --to v2 M O
only . M
