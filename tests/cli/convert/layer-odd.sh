# SPDX-License-Identifier: Apache-2.0
model M layers=24 odd=7 k=64 n=32
try gptq-convert --to v2 M O
model P layers=24 odd=7 k=64 n=32 fmt=v2
try gptq-convert --to v1 P O2
