# SPDX-License-Identifier: Apache-2.0
model M z=zero fmt=v2 producer=gptqmodel:2.0.0
try gptq-convert --to v1 --v1-style lane M O
try gptq-convert --to v1 --v1-style word M O2
