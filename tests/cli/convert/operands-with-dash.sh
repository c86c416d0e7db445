# SPDX-License-Identifier: Apache-2.0
model ./-M
mkdir ./-sub
gptq-convert --to=v2 -q -- -M -O && ls ./-O
