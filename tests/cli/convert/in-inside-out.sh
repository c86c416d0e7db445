# SPDX-License-Identifier: Apache-2.0
mkdir -p outer/deep
model outer/deep/M
file outer/one.safetensors
before=$(digest outer)
try gptq-convert --to v2 --force outer/deep/M outer
try gptq-convert --to v2 --force outer/deep/M outer/deep
try gptq-convert --to v2 --force outer/deep/M .
try gptq-convert --to v2 --force outer/one.safetensors outer
try gptq-convert --to v2 outer/deep/M outer
test "$before" = "$(digest outer)" && echo untouched
only . outer
