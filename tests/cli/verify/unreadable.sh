# SPDX-License-Identifier: Apache-2.0
model A z=asym
try verify A nowhere
cp -r A B
truncate -s -10 B/model.safetensors
try verify A B
mkdir E
try verify E A
cp -r A Q
tensor Q/model.safetensors model.layers.0.proj.scales drop=1
try verify A Q
put J x
try verify A J
