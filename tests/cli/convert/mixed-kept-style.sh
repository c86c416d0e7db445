# SPDX-License-Identifier: Apache-2.0
# A mixed model going to v1 keeps the layers that are v1: one style must be true of them and of those written beside.
model L half=1 layers=8 bits=3 z=asym style=3bit
try gptq-convert --to v1 --per-layer L O
try gptq-convert --to v1 --per-layer --v1-style lane L O
only . L
try gptq-convert --to v1 --per-layer --v1-style gptqmodel-3bit -q L O
labels O
model P layers=8 bits=3 z=asym style=3bit
cmp P/model.safetensors O/model.safetensors && echo alike
model S half=1 layers=8 bits=3
try gptq-convert --to v1 --per-layer --v1-style gptqmodel-3bit S O2
only . L O P S
# a record of the layers that stay is kept
model R half=1 layers=8 z=asym
sed -i 's/"checkpoint_format"/"gptq_tools": {"v1_style": "lane"}, "checkpoint_format"/' R/*config.json
try gptq-convert --to v1 --per-layer -q R O3
labels O3
