# SPDX-License-Identifier: Apache-2.0
# The refusals of every conversion come before the first byte changes.
model M fmt=v1 label=gptq_v2
before=$(digest .)
try gptq-convert --to v1 --in-place M
test "$before" = "$(digest .)" && echo untouched
model Z fmt=v2 z=zero
try gptq-convert --to v1 --in-place Z
model S
file S/extra/stray.safetensors 2>/dev/null || { mkdir -p S/extra; file S/extra/stray.safetensors prefix=other.; }
try gptq-convert --to v2 --in-place S
try gptq-convert --to v2 --in-place -q --strays convert S
ls -A M Z S
