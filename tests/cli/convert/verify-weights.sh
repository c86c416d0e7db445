# SPDX-License-Identifier: Apache-2.0
# every weight of OUT is proved before OUT appears
model M z=asym shards=2
try gptq-convert --to v2 --verify=weights --device cpu M O
try verify M O
file one.safetensors bits=8
try gptq-convert --to v2 --verify=weights --json --device cpu one.safetensors two.safetensors
model H z=asym half=1 layers=6
gptq-convert -q --to v1 --per-layer --verify=weights --device cpu H H1 && echo same
model S z=zero style=smeared
gptq-convert -q --to v2 --accept-damaged --verify=weights --device cpu S S2 && echo same
gptq-convert -q --relabel --from v1 --verify=weights --device cpu M R && echo same
try gptq-convert --to v2 --verify=all M O2
try gptq-convert --to v2 --device gpu M O2
