# SPDX-License-Identifier: Apache-2.0
model M fmt=v2
metadata M/model.safetensors gptq_v2
try gptq-convert --to v1 M O
head -c 900 O/model.safetensors | grep -ao '.gptq_checkpoint_format[^}]*'
gptq-convert --to v2 -q O B
diff -r M B && echo back
# no room in the header's padding: it grows by 8
model G
metadata G/model.safetensors gptq
try gptq-convert --to v2 G P
head -c 900 P/model.safetensors | grep -ao '.gptq_checkpoint_format[^}]*'
wc -c <G/model.safetensors
wc -c <P/model.safetensors
