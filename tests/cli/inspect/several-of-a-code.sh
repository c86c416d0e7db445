# SPDX-License-Identifier: Apache-2.0
# A hundred broken layers do not fill the screen.
model M layers=9
for i in 0 1 2 3 4 5 6; do tensor M/model.safetensors model.layers.$i.proj.scales shape=4,63; done
try gptq-inspect M
gptq-inspect --json M | grep -o '"code":"shape-law"' | wc -l
