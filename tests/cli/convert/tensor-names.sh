# SPDX-License-Identifier: Apache-2.0
model M "prefix=$(printf 'a\033[31m\nb/../../x.')"
try gptq-convert --to v2 M O
find . | sort
sed -i 's/"checkpoint_format": "gptq"/"checkpoint_format": "gptq_v2"/' M/*.json
try gptq-convert --to v2 M O2
