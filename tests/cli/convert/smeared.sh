# SPDX-License-Identifier: Apache-2.0
model M z=zero style=smeared
try gptq-convert --to v2 M O
try gptq-convert --to v2 --v1-style lane M O
only . M
try gptq-convert --to v2 --accept-damaged M O
try gptq-convert --to v2 --accept-damaged --json -q M O2
