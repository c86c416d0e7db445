# SPDX-License-Identifier: Apache-2.0
model M shards=2
index=M/model.safetensors.index.json
cp $index saved
try_with() {
	python3 -c 'import sys; t = open("saved").read(); print(t.replace(sys.argv[1], sys.argv[2], 1), end="")' "$1" "$2" >$index
	rm -rf O
	try gptq-convert --to v2 M O
}
first='"model-00001-of-00002.safetensors"'
try_with "$first" '"../x.safetensors"'
try_with "$first" '"sub/x.safetensors"'
try_with "$first" '"a\\b.safetensors"'
try_with "$first" '"/etc/passwd"'
try_with "$first" '".safetensors"'
try_with "$first" '"a\u0000.safetensors"'
try_with "$first" '"\u001b[31m\n.safetensors"'
try_with "$first" 7
try_with "$first" '"model-00003-of-00002.safetensors"'
try_with '"weight_map"' '"weights"'
try_with '"weight_map": {' '"weight_map": [], "x": {'
try_with '"metadata": {}' '"metadata": {'
try_with '"metadata": {}' '"weight_map": {}'
try_with 'model.norm.weight' 'model.norm.absent'
try_with '"metadata": {}, "weight_map": {' '"weight_map": {}, "x": {'
rm -rf O
put $index '{"weight_map": {}}'
try gptq-convert --to v2 M O
put $index '[]'
try gptq-convert --to v2 M O
put $index 'hello'
try gptq-convert --to v2 M O
: >$index
try gptq-convert --to v2 M O
only . M saved
