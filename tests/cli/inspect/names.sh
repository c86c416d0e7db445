# SPDX-License-Identifier: Apache-2.0
# Control characters and escapes never reach the terminal.
model "$(printf 'M\033[2J')" prefix="$(printf 'bad\033]0;x\007\342\200\256')"
try gptq-inspect --layers --tensors "$(printf 'M\033[2J')"
gptq-inspect --layers --tensors --json "$(printf 'M\033[2J')" | tr -d '\n' | LC_ALL=C grep -c '[[:cntrl:]]'
