# SPDX-License-Identifier: Apache-2.0
model M n=512
mkdir out
(
	ulimit -f 8
	try gptq-convert --to v2 M out/O
	try gptq-convert --to v2 M/model.safetensors out/O.safetensors
)
ls -A out
only . M out
