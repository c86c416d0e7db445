# SPDX-License-Identifier: Apache-2.0
model M z=asym fmt=v2
try gptq-convert --to v1 M O
model G z=asym fmt=v2 producer=gptqmodel:0.9.0
try gptq-convert --to v1 G O2
model S fmt=v2
try gptq-convert --to v1 S O3
