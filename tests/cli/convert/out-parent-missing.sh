# SPDX-License-Identifier: Apache-2.0
model M
put plain text
try gptq-convert --to v2 M no/such/O
try gptq-convert --to v2 --dry-run M no/such/O
try gptq-convert --to v2 M plain/O
try gptq-convert --to v2 --dry-run M plain/O
only . M plain
