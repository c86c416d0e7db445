# SPDX-License-Identifier: Apache-2.0
tensors M.safetensors a.B=I32:16,256 a.s=F16:2,128
model N label=gptq_p
finds not-gptq N
finds not-gptq M.safetensors
