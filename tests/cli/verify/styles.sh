# SPDX-License-Identifier: Apache-2.0
# v1 in each style against v2
model Z z=zero fmt=v2
for style in lane word; do
	gptq-convert -q --to v1 --v1-style $style Z Z-$style 2>/dev/null
	try verify Z Z-$style
	try verify --v1-style-b $style Z Z-$style
done
try verify Z-lane Z-word
try verify --v1-style-a word Z-lane Z
model T bits=3 z=zero fmt=v2
gptq-convert -q --to v1 --v1-style gptqmodel-3bit T T-old 2>/dev/null
try verify T T-old
try verify --v1-style-b lane T T-old
