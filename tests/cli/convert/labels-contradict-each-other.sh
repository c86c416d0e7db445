# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"checkpoint_format": "gptq"/"checkpoint_format": "gptq_v2"/' M/config.json
try gptq-convert --to v2 M O
model F
sed -i 's/"checkpoint_format": "gptq"/"checkpoint_format": "gptq", "format": "gptq_v2"/' F/quantize_config.json
try gptq-convert --to v2 F O
model H
metadata H/model.safetensors gptq_v2
try gptq-convert --to v2 H O
only . M F H
try gptq-convert --to v2 --from v1 M O
labels O
rm -r O
try gptq-convert --to v1 --from v1 F O
labels O
rm -r O
try gptq-convert --relabel H O
labels O
head -c 900 O/model.safetensors | grep -ao 'gptq_checkpoint_format[^}]*'
