# SPDX-License-Identifier: Apache-2.0
mkdir E F
put F/readme.txt hello
put F/pytorch_model.bin x
try gptq-convert --to v2 E O
try gptq-convert --to v2 F O
only . E F
