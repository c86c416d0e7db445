# SPDX-License-Identifier: Apache-2.0
file small.safetensors layers=1 k=8 n=8 group=8 g_idx=0
try gptq-convert --to v2 small.safetensors O.safetensors
file tiny.safetensors layers=1 k=4 n=4 group=4
try gptq-convert --to v2 tiny.safetensors O.safetensors
try gptq-convert --to v2 --bits 4 --from v1 tiny.safetensors O.safetensors
