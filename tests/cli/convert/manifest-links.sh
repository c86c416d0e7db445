# SPDX-License-Identifier: Apache-2.0
# Neither a manifest nor OUT may take the place of what IN leads to through links, of a config that is read, or of what a
# stream is.
model M
mkdir blobs ext
mv M/config.json blobs/abc
ln -s ../blobs/abc M/config.json
put ext/f x
ln -s ../ext M/sub
file one.safetensors
try gptq-convert --to v2 -q -f --manifest=blobs/abc M O
try gptq-convert --to v2 -q --manifest=ext/x M O
try gptq-convert --to v2 -q -f --manifest=ext/f M O
try gptq-convert --to v2 -q -f M ext
try gptq-convert --to v2 -q M ext/out
cp M/quantize_config.json c.json
cp M/quantize_config.json .
try gptq-convert --to v2 -q -f --manifest=quantize_config.json one.safetensors two.safetensors
try gptq-convert --to v2 -q -f --config c.json --manifest=c.json one.safetensors two.safetensors
try gptq-convert --to v2 -q -f --config c.json one.safetensors c.json
echo old >there
gptq-convert --to v2 -q -f --manifest=there one.safetensors - >>there
echo "exit $?"
cat there
ls ext
try gptq-convert --to v2 -q --manifest=beside M O
