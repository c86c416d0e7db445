# SPDX-License-Identifier: Apache-2.0
model M shards=2
before=$(digest .)
try gptq-convert --to v2 --in-place --dry-run M
test "$before" = "$(digest .)" && echo untouched
try gptq-convert --to v2 --in-place --json M
