# SPDX-License-Identifier: Apache-2.0
mkdir beside
file beside/any.safetensors
model C
cp C/config.json beside/config.json
before=$(digest beside)
try gptq-convert --to v2 beside/any.safetensors O.safetensors
try gptq-convert --to v2 --config C/quantize_config.json beside/any.safetensors O2.safetensors
try gptq-convert --to v2 --config C/nowhere.json beside/any.safetensors O3.safetensors
try gptq-convert --to v2 --bits 4 beside/any.safetensors O3.safetensors
try gptq-convert --to v2 --bits 2 beside/any.safetensors O4.safetensors
cmp O.safetensors O2.safetensors && echo same
try gptq-convert --to v1 -q O.safetensors B.safetensors
cmp beside/any.safetensors B.safetensors && echo back
test "$before" = "$(digest beside)" && echo untouched
only . beside C O.safetensors O2.safetensors O3.safetensors B.safetensors
