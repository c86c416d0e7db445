# SPDX-License-Identifier: Apache-2.0
model M
try gptq-convert --to v2 --in-place M O
try gptq-convert --in-place M
try gptq-convert --rollback M
try gptq-convert --rollback --to v2 M
try gptq-convert --in-place nowhere
try gptq-convert --to v2 --in-place --relabel M
mkdir E
try gptq-convert --to v2 --in-place E
