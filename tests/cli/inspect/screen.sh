# SPDX-License-Identifier: Apache-2.0
model M layers=3 producer=gptqmodel:7.1.0
try gptq-inspect M
model A z=zero style=word k=512 producer=gptqmodel:7.1.0
try gptq-inspect A
model V fmt=v2 z=asym config=quantize
try gptq-inspect V
model L fmt=v2 label=gptq
try gptq-inspect L
model H layers=4 half=1
try gptq-inspect H
model S z=zero style=smeared k=512
try gptq-inspect S
model N z=noise bits=8
try gptq-inspect N
ln -s "$TESTDATA/cases/mixed-bits/in" mixed-bits
try gptq-inspect mixed-bits
file F.safetensors bits=3
try gptq-inspect F.safetensors
