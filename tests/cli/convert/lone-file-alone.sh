# SPDX-License-Identifier: Apache-2.0
file one.safetensors
try gptq-convert --to v2 one.safetensors two.safetensors
file zero.safetensors z=zero fmt=v2
try gptq-convert --to v1 --v1-style lane zero.safetensors lane.safetensors
try gptq-convert --to v2 lane.safetensors back.safetensors
cmp zero.safetensors back.safetensors && echo back
put text.txt hello
try gptq-convert --to v2 text.txt O
