# SPDX-License-Identifier: Apache-2.0
model M
try gptq-inspect --tensors --headers M
model S shards=2
try gptq-inspect -t --headers S
tensors T.safetensors a=F32: b=U8:0 c=F16:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
try gptq-inspect -t T.safetensors
