# SPDX-License-Identifier: Apache-2.0
model M
try gptq-convert --to v2 --bits 4 M O
try gptq-convert --to v2 --config M/config.json M O
only . M
