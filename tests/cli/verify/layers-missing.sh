# SPDX-License-Identifier: Apache-2.0
model A z=asym layers=3
model B z=asym layers=2
try verify A B
try verify B A
# a layer that is not quantised on one side
model C z=asym layers=2
for t in qzeros scales g_idx; do tensor C/model.safetensors model.layers.1.proj.$t drop=1; done
tensor C/model.safetensors model.layers.1.proj.qweight rename=model.layers.1.proj.weight
try verify B C
