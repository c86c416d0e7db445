# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"group_size": 32/"group_size": 64/; s/"sym": true/"sym": false/; s/"checkpoint_format": "gptq"/"checkpoint_format": "gptq_v2"/; s/"desc_act": false/"desc_act": true/' M/quantize_config.json
finds configs-disagree M
