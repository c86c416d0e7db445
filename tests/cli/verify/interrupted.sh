# SPDX-License-Identifier: Apache-2.0
# What an interrupted conversion in place left is no checkpoint to compare with.
model M
cp -r M OLD
mkdir -p M/.gptq-convert.config.new/x
gptq-convert --to v2 --in-place -q M
rm -r M/.gptq-convert.config.new
try gptq-verify OLD M
try gptq-verify M OLD
try gptq-verify --from-a v2 M/model.safetensors OLD/model.safetensors
gptq-convert --rollback -q M
try gptq-verify -q OLD M
