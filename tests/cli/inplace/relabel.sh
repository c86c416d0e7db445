# SPDX-License-Identifier: Apache-2.0
model M fmt=v1 label=gptq_v2
cp M/model.safetensors before
try gptq-convert --relabel --in-place M
cmp M/model.safetensors before && echo "tensors untouched"
labels M
ls -A M
