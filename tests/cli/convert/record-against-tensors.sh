# SPDX-License-Identifier: Apache-2.0
model M z=zero style=word
sed -i 's/"quant_method": "gptq"/"quant_method": "gptq", "gptq_tools": {"v1_style": "lane"}/' M/*.json
try gptq-convert --to v2 M O
model D z=asym
sed -i 's/"quant_method": "gptq"/"quant_method": "gptq", "gptq_tools": {"v1_style": "lane"}/' D/config.json
sed -i 's/"quant_method": "gptq"/"quant_method": "gptq", "gptq_tools": {"v1_style": "word"}/' D/quantize_config.json
try gptq-convert --to v2 D O
model U z=asym
sed -i 's/"quant_method": "gptq"/"quant_method": "gptq", "gptq_tools": {"v1_style": "sideways"}/' U/*.json
try gptq-convert --to v2 U O
only . M D U
