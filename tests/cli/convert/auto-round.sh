# SPDX-License-Identifier: Apache-2.0
model M label=none
sed -i 's/"quant_method": "gptq"/"quant_method": "auto-round", "autoround_version": "0.5.1"/' M/*.json
try gptq-convert --to v2 M O
cat O/quantize_config.json O/config.json
try gptq-convert --to v1 O O1
cat O1/quantize_config.json
model N label=none z=noise
sed -i 's/"quant_method": "gptq"/"quant_method": "auto-round", "autoround_version": "0.13.0"/' N/*.json
try gptq-convert --to v2 N O2
try gptq-convert --to v2 --from v1 N O2
model T label=none z=zero bits=3 style=lane
sed -i 's/"quant_method": "gptq"/"quant_method": "auto-round", "autoround_version": "0.13.0"/' T/*.json
try gptq-convert --to v2 --from v1 T O3
try gptq-convert --to v2 --from v1 --v1-style lane T O3
only . M N T O O1 O2
