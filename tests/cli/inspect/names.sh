# SPDX-License-Identifier: Apache-2.0
# Control characters and escapes never reach the terminal.
model "$(printf 'M\033[2J')" prefix="$(printf 'bad\033]0;x\007\342\200\256')"
try gptq-inspect --layers --tensors "$(printf 'M\033[2J')"
gptq-inspect --layers --tensors --json "$(printf 'M\033[2J')" | tr -d '\n' | LC_ALL=C grep -c '[[:cntrl:]]'
# A shard's name stands in the place of a label.
model S shards=2 index=0 label=none
mv S/model-00002-of-00002.safetensors "S/$(printf 'x\033[31m').safetensors"
metadata "S/$(printf 'x\033[31m').safetensors" gptq
try gptq-inspect S | head -4
