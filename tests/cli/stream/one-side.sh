# SPDX-License-Identifier: Apache-2.0
# A stream on one side only. A file is judged before its bytes leave; into a file all is checked before it appears.
model M z=asym
gptq-convert --to v2 -q M/model.safetensors want.safetensors
gptq-convert --to v2 M/model.safetensors - >out
echo "exit $?"
cmp out want.safetensors && echo same
gptq-convert --to v2 --from v1 - new.safetensors <M/model.safetensors
echo "exit $?"
cmp new.safetensors want.safetensors && echo same
try gptq-convert --to v2 --from v1 - new.safetensors
gptq-convert --to v2 --from v1 --force -q - new.safetensors <M/model.safetensors
echo "exit $?"
try gptq-convert --to v2 M -
try gptq-convert --to v2 -i -
model L label=gptq_v2
gptq-convert --to v1 L/model.safetensors - >out2
echo "exit $?"
wc -c <out2
only . M L want.safetensors out out2 new.safetensors
