# SPDX-License-Identifier: Apache-2.0
model M z=zero fmt=v2
mkdir O
put O/keep text
try gptq-convert --to v1 --force M O
cat O/keep
only . M O
