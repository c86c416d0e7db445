# SPDX-License-Identifier: Apache-2.0
# No GPTQ at all is a valid answer.
tensors P.safetensors a.weight=F16:64,128 a.bias=F16:64 b.weight=BF16:8,8
try gptq-inspect --check=warning P.safetensors
tensors E.safetensors
try gptq-inspect --check=warning E.safetensors
