# SPDX-License-Identifier: Apache-2.0
model M label=gptq
metadata M/model.safetensors gptq_v2
try gptq-inspect - <M/model.safetensors
head -c 2000 M/model.safetensors >cut
try gptq-inspect --json - <cut
head -c 100 M/model.safetensors >cut
try gptq-inspect - <cut
# What the stream is, if it is none of ours.
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n' >lfs
printf '<html>' >html
printf '\200\002\000\000\000\000\000\000qqqqqqqqqq' >pickle
head -c 700 /dev/zero | tr '\0' q >>pickle
: >empty
for f in lfs html pickle empty; do try gptq-inspect - <$f; done
try gptq-inspect --json - <lfs
try gptq-inspect --check - <M/model.safetensors
try gptq-inspect - - <M/model.safetensors
