# SPDX-License-Identifier: Apache-2.0
model M z=zero style=lane producer=gptqmodel:1.0.0
try gptq-convert --to v2 M O
try gptq-convert --to v2 --v1-style lane M O
only . M O
