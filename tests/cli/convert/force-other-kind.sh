# SPDX-License-Identifier: Apache-2.0
model M
file one.safetensors
put file text
mkdir folder
try gptq-convert --to v2 --force M file
try gptq-convert --to v2 --force one.safetensors folder
cat file
only . M one.safetensors file folder
