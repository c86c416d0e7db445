# SPDX-License-Identifier: Apache-2.0
# Every word that says another format, and auto-round's packing formats.
for word in marlin gptq_p gemm bitblas; do
	model M label=$word
	echo "$word: $(gptq-inspect --json M | python3 -m json.tool | sed -n '/"other_format"/,/"name"/p' | tr -d '\n')"
	rm -r M
done
for word in auto_round:auto_gptq auto_round:gptq auto auto_round auto_round:gptqmodel auto_round:auto_awq auto_round:fp8; do
	model M label=none config=quantize
	sed -i "s/\"quant_method\": \"gptq\"/\"quant_method\": \"auto-round\", \"packing_format\": \"$word\"/" M/quantize_config.json
	try gptq-inspect --headers M | grep -E '^\| (this|label|  error|   )|^exit' | head -5
	rm -r M
done
