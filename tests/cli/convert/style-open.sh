# SPDX-License-Identifier: Apache-2.0
model M z=open style=word layers=1 n=32
try gptq-convert --to v2 M O
only . M
for style in lane word; do
	try gptq-convert --to v2 --v1-style $style M $style
	try gptq-convert --to v1 -q --v1-style $style $style $style-back
	cmp M/model.safetensors $style-back/model.safetensors && echo back
done
sed -i 's/"quant_method": "gptq"/"quant_method": "gptq", "meta": {"quantizer": ["gptqmodel:2.0.0"]}/' M/*.json
try gptq-convert --to v2 M O
cmp O/model.safetensors word/model.safetensors && echo word
sed -i 's/gptqmodel:2.0.0/auto_gptq:0.7.1/' M/*.json
try gptq-convert --to v2 M O2
