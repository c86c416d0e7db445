# SPDX-License-Identifier: Apache-2.0
model M z=asym k=256 n=128
try gptq-inspect --stats M
LC_ALL=C try gptq-inspect -s M
model E bits=8 z=asym k=256
try gptq-inspect --stats E
