# SPDX-License-Identifier: Apache-2.0
model M bits=3 word=16 n=32
try gptq-convert --to v2 M O
