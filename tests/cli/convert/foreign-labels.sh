# SPDX-License-Identifier: Apache-2.0
model M label=none
cp M/quantize_config.json saved
rm M/config.json
try_with() {
	rm -rf O
	sed "s/\"quant_method\": \"gptq\"/$1/" saved >M/quantize_config.json
	try gptq-convert --to v2 M O
	try gptq-convert --to v2 --from v1 M O
}
try_with '"quant_method": "gptq", "is_marlin_format": true'
try_with '"quant_method": "gptq", "checkpoint_format": "marlin"'
try_with '"quant_method": "awq", "version": "gemm"'
try_with '"quant_method": "gptq", "checkpoint_format": "bitblas"'
try_with '"quant_method": "gptq", "checkpoint_format": "gptq_p"'
try_with '"quant_method": "exl2"'
try_with '"quant_method": "compressed-tensors"'
try_with '"quant_method": "bitsandbytes"'
try_with '"quant_method": "fp8"'
try_with '"quant_method": "qqq"'
try_with '"quant_method": "gptq", "checkpoint_format": "gptq_v3"'
try_with '"quant_method": "gptq", "checkpoint_format": "g\\u001b[31m\\nx"'
try_with '"quant_method": "gptq", "checkpoint_format": 7'
try_with '"quant_method": "auto-round", "packing_format": "auto_round:auto_awq"'
only . M saved
