# SPDX-License-Identifier: Apache-2.0
# plain checkpoints are compared all the same
model P layers=0 config=none
cp -r P Q
try verify P Q
tensor Q/model.safetensors model.norm.weight flip=0
try verify P Q
model A z=asym
try verify P A
