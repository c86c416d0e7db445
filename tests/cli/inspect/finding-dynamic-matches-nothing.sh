# SPDX-License-Identifier: Apache-2.0
model M
sed -i 's/"bits": 4,/"bits": 4, "dynamic": {"+:.*nowhere": {"bits": 8}, "-:(": {}},/' M/*.json
finds dynamic-matches-nothing M
