# SPDX-License-Identifier: Apache-2.0
try gptq-convert --nonsense
try gptq-convert --to
try gptq-convert --to v2 --bits
try gptq-convert -z --to v2 a b
try gptq-convert --to v2 --json=yes a b
try gptq-convert --to v3 a b
try gptq-convert --to auto a b
try gptq-convert --from v3 --to v2 a b
try gptq-convert --to v1 --v1-style smeared a b
try gptq-convert --to v1 --v1-style clean a b
try gptq-convert --to v2 --strays delete a b
try gptq-convert --to v2 --progress sometimes a b
try gptq-convert --to v2 --bits 5 a b
try gptq-convert --to v2 --bits 44 a b
try gptq-convert --to v2 --bits '' a b
try gptq-convert --to v2 --verify=weights a b
try gptq-convert --to v2 --verify=all a b
try gptq-convert --to v2 --relabel a b
try gptq-convert --relabel --per-layer a b
try gptq-convert a b
try gptq-convert --to v2 a
try gptq-convert --to v2 a b c
try gptq-convert --to v2 '' b
try gptq-convert --to v2 a ''
try gptq-convert "--no$(printf '\033')[31m" --to v2
try gptq-convert --to "$(printf 'v\033[31m\n2')" a b
try gptq-convert --to v2 --verify weights a b
try gptq-convert --verify zeros --to v2 --in-place a
try gptq-convert --to v2 --manifest sums a b
try gptq-convert --to v2 --manifest sums --in-place a
try gptq-convert --to v2 --verify a b c
