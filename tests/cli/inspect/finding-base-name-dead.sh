# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"bits": 4,/"bits": 4, "model_file_base_name": "gptq_model-4bit-32g",/' M/*.json
finds base-name-dead M
