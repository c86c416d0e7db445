# SPDX-License-Identifier: Apache-2.0
model V1 label=none
try gptq-convert --to v2 V1 O
labels O
model V2 label=none fmt=v2
try gptq-convert --to v1 V2 O1
labels O1
model N label=none z=noise
try gptq-convert --to v2 N O2
labels O2
model X config=none
try gptq-convert --to v2 X O3
ls O3
