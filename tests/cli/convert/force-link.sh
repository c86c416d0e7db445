# SPDX-License-Identifier: Apache-2.0
model M
mkdir target
put target/keep text
ln -s target link
ln -s target/keep filelink
file one.safetensors
try gptq-convert --to v2 --force M link
try gptq-convert --to v2 --force M link/
try gptq-convert --to v2 --force one.safetensors filelink
cat target/keep
ls target
only . M target link filelink one.safetensors
