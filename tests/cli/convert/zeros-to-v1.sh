# SPDX-License-Identifier: Apache-2.0
model M z=zero fmt=v2 layers=10 n=32
try gptq-convert --to v1 M O
only . M
for style in lane word gptqmodel-3bit; do
	try gptq-convert --to v1 --v1-style $style M $style
	cat $style/quantize_config.json $style/config.json
	try gptq-convert --to v2 -q $style $style-back
	diff -r M $style-back && echo back
done
