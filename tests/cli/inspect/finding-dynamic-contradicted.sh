# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"bits": 4,/"bits": 4, "dynamic": {"-:.*layers\\\\.1\\\\.": {}},/' M/*.json
finds dynamic-contradicted M
