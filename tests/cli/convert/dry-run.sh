# SPDX-License-Identifier: Apache-2.0
model M
before=$(digest .)
try gptq-convert --to v2 --dry-run M O
try gptq-convert --to v2 -n -q M O
try gptq-convert --to v2 -n --json M O
test "$before" = "$(digest .)" && echo untouched
