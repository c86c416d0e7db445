# SPDX-License-Identifier: Apache-2.0
model A z=asym
gptq-convert -q --to v2 A B
before=$(digest A B)
try verify A B
try verify --method table A B
try verify --method every A B
try verify --layers A B
try gptq-verify -q A B
try verify A A
test "$before" = "$(digest A B)" && echo untouched
gptq-verify --device cpu A B | grep -cE '^  (device    this processor \((generic|avx2|avx512|neon)\), [0-9]+ threads?|time      [0-9.]+ s, [0-9.]+ [KMGT]?i?B a second)$'
