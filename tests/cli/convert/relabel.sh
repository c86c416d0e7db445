# SPDX-License-Identifier: Apache-2.0
model M label=gptq fmt=v2
try gptq-convert --relabel M O
labels O
cmp M/model.safetensors O/model.safetensors && echo same tensors
model N z=noise
try gptq-convert --relabel N O2
try gptq-convert --relabel --from v2 N O2
labels O2
cmp N/model.safetensors O2/model.safetensors && echo same tensors
model H half=1 layers=4
try gptq-convert --relabel H O3
try gptq-convert --relabel --from v1 H O3
only . M O N O2 H
