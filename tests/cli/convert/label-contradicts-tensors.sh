# SPDX-License-Identifier: Apache-2.0
model M z=asym fmt=v2 label=gptq
try gptq-convert --to v2 M O
try gptq-convert --to v1 M O
try gptq-convert --to v2 --from v2 M O
labels O
rm -r O
try gptq-convert --to v2 --from v1 --dry-run M O
try gptq-convert --relabel M O
labels O
cmp M/model.safetensors O/model.safetensors && echo same tensors
rm -r O
only . M
