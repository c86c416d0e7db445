# SPDX-License-Identifier: Apache-2.0
model M
cp M/quantize_config.json saved
put M/quantize_config.json '{"bits": 4,'
try gptq-convert --to v2 M O
put M/quantize_config.json 'hello'
try gptq-convert --to v2 M O
: >M/quantize_config.json
try gptq-convert --to v2 M O
put M/quantize_config.json '{"bits": 4, "group_size": 32, "checkpoint_format": "gptq", "checkpoint_format": "gptq_v2"}'
try gptq-convert --to v2 M O
put M/quantize_config.json '[1, 2]'
try gptq-convert --to v2 --dry-run -q M O
printf '\357\273\277' | cat - saved >M/quantize_config.json
try gptq-convert --to v2 -q M O
head -c 3 O/quantize_config.json | od -An -tx1
only . M O saved
