# SPDX-License-Identifier: Apache-2.0
model M z=asym fmt=v2
try gptq-convert --to v1 -q M O
try gptq-convert --to v1 -q M O
try gptq-convert --to v1 -q -v M O2
