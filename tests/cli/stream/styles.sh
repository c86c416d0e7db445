# SPDX-License-Identifier: Apache-2.0
# A style that is given, recorded, or meant by the producer; both ways, to the byte.
for style in lane word; do
	file a.safetensors z=zero fmt=v2
	gptq-convert --to v1 --from v2 --v1-style $style - - <a.safetensors >b
	echo "exit $?"
	gptq-convert --to v2 --from v1 --v1-style $style -q - - <b | cmp - a.safetensors && echo "$style back"
	put c.json "{\"bits\": 4, \"quant_method\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"$style\"}}"
	gptq-convert --to v2 --from v1 --config c.json -q - - <b | cmp - a.safetensors && echo "$style recorded"
done
put c.json '{"bits": 4, "quant_method": "gptq", "meta": {"quantizer": ["gptqmodel:7.0.0"]}}'
gptq-convert --to v2 --from v1 --config c.json -q - - <b | cmp - a.safetensors && echo "word by producer"
file a.safetensors bits=3 fmt=v2 z=asym
gptq-convert --to v1 --from v2 --v1-style gptqmodel-3bit -q - - <a.safetensors >b
gptq-convert --to v2 --from v1 --v1-style gptqmodel-3bit -q - - <b | cmp - a.safetensors && echo "3 bits back"
file a.safetensors z=zero style=smeared
put c.json '{"bits": 4, "quant_method": "gptq", "autoround_version": "0.5.0"}'
gptq-convert --to v2 --from v1 --config c.json --accept-damaged - - <a.safetensors >b
echo "exit $?"
