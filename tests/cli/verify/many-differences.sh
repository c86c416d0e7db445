# SPDX-License-Identifier: Apache-2.0
model A z=asym layers=25 k=32 n=8
model B z=asym layers=25 k=32 n=8 seed=1
try verify --from-a v1 --from-b v1 A B
gptq-verify --from-a v1 --from-b v1 --layers A B | grep -c differ
