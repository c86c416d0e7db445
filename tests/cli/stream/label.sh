# SPDX-License-Identifier: Apache-2.0
# Without --from: a label in the header, or in --config; else refused before the first byte.
model M z=asym
file a.safetensors z=asym
try gptq-convert --to v2 - - <a.safetensors
try gptq-convert --to v2 --relabel - - <a.safetensors
gptq-convert --to v2 -q --config M/quantize_config.json - - <a.safetensors >out; echo "exit $?"
gptq-convert --to v2 -q a.safetensors want.safetensors
cmp out want.safetensors && echo same
metadata a.safetensors gptq
gptq-convert --to v2 - - <a.safetensors >out; echo "exit $?"
gptq-inspect out | grep label
metadata a.safetensors marlin
try gptq-convert --to v2 --from v1 - - <a.safetensors
put contra.json '{"bits": 4, "quant_method": "gptq", "checkpoint_format": "gptq"}'
metadata a.safetensors gptq_v2
try gptq-convert --to v2 --config contra.json - - <a.safetensors
gptq-convert --to v1 --from v1 -q - - <a.safetensors >out; echo "exit $?"
gptq-inspect out | grep label
try gptq-convert --to v2 --from v1 --bits 8 - - <a.safetensors
try gptq-convert --to v2 --from v1 --per-layer - - <a.safetensors
