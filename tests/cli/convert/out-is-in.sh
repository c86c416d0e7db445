# SPDX-License-Identifier: Apache-2.0
model M
file one.safetensors
ln -s M link
ln one.safetensors two.safetensors
before=$(digest M one.safetensors)
for out in M ./M M/ link link/ ; do try gptq-convert --to v2 --force M $out; done
try gptq-convert --to v2 --force link M
try gptq-convert --to v2 --force one.safetensors one.safetensors
try gptq-convert --to v2 --force one.safetensors two.safetensors
test "$before" = "$(digest M one.safetensors)" && echo untouched
only . M one.safetensors two.safetensors link
