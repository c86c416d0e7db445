# SPDX-License-Identifier: Apache-2.0
model real
mkdir M elsewhere
put elsewhere/notes.txt hello
ln -s ../real/model.safetensors M/model.safetensors
ln -s ../real/config.json M/config.json
ln -s "$PWD/real/quantize_config.json" M/quantize_config.json
ln -s ../elsewhere M/docs
ln -s M link
before=$(digest M real elsewhere)
try gptq-convert --to v2 -q link O
find O | sort
find O -type l
cat O/docs/notes.txt
test "$before" = "$(digest M real elsewhere)" && echo untouched
