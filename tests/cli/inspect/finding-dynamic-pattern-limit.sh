# SPDX-License-Identifier: Apache-2.0
model M prefix=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
sed -i 's/"bits": 4,/"bits": 4, "dynamic": {"+:(a+)+$": {"bits": 8}},/' M/*.json
finds dynamic-pattern-limit M
