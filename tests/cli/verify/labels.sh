# SPDX-License-Identifier: Apache-2.0
# what is not settled is not decided
model A z=asym
model L z=asym label=gptq_v2
try verify A L
try verify L A
try verify --from-b v1 A L
try verify --from-b v2 A L
model C z=asym
sed -i 's/"checkpoint_format": "gptq"/"checkpoint_format": "gptq_v2"/' C/config.json
try verify C A
try verify --from-a v1 C A
model O style=word z=open layers=1 n=32
try verify O O
try verify --v1-style-a word --v1-style-b word O O
model N label=awq z=asym
try verify A N
model H z=asym half=1 layers=6
gptq-convert -q --to v2 --per-layer H H2
try verify H H2
try verify --from-a by-layer H H2
try verify --from-a v1 H H2
model G z=noise label=none
try verify G G
