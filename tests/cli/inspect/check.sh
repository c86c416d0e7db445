# SPDX-License-Identifier: Apache-2.0
model good
model warned label=none fmt=v2
model wrong fmt=v2 label=gptq
model torn shards=2
rm torn/model-00001-of-00002.safetensors
for m in good warned wrong torn absent; do
	for check in '' --check --check=error --check=warning; do
		gptq-inspect $check -q $m 2>err
		echo "$m $check: exit $? $(cat err)"
	done
done
# The worst of several.
try gptq-inspect --check -q good wrong good
try gptq-inspect --check -q good wrong torn
try gptq-inspect --check=note good
try gptq-inspect --check warning good | tail -1
gptq-inspect --check good >/dev/null && echo upload
gptq-inspect --check wrong >/dev/null || echo no upload
