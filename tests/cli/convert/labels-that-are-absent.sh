# SPDX-License-Identifier: Apache-2.0
model M label=none
cp M/quantize_config.json saved
rm M/config.json
for more in '"checkpoint_format": null' '"checkpoint_format": ""' '"is_marlin_format": false' '"format": null'; do
	rm -rf O
	sed "s/\"quant_method\": \"gptq\"/\"quant_method\": \"gptq\", $more/" saved >M/quantize_config.json
	try gptq-convert --to v2 -q M O
	cat O/quantize_config.json
done
