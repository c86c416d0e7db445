# SPDX-License-Identifier: Apache-2.0
# where a manifest may lie and where not; whatever is wrong, nothing is left behind
model M
cp -r M N
put N/SHA256SUMS "00  tokenizer.json"
cp -r M F
mkdir F/SHA256SUMS
mkdir dir
put old-sums old
ln -s old-sums link

# a lone file: beside it, or where it is said
try gptq-convert --to v2 -q --manifest M/model.safetensors dir/o.safetensors
ls -A dir
(cd dir && sha256sum --quiet -c o.safetensors.sha256 && echo fine)
python3 "$TOOLS/sums.py" dir/o.safetensors.sha256 dir/o.safetensors
rm dir/o.safetensors
try gptq-convert --to v2 -q --manifest M/model.safetensors dir/o.safetensors
ls -A dir
try gptq-convert --to v2 -q --force --manifest M/model.safetensors dir/o.safetensors
(cd dir && sha256sum --quiet -c o.safetensors.sha256 && echo fine)
rm -r dir/*

# IN's own, untouched, gives way; with a FILE it stays
try gptq-convert --to v2 --manifest N O1
python3 "$TOOLS/sums.py" O1/SHA256SUMS O1
try gptq-convert --to v2 -q --manifest=dir/sums N O2
cat O2/SHA256SUMS
python3 "$TOOLS/sums.py" dir/sums O2
try gptq-convert --to v2 --manifest F O3
try gptq-convert --to v2 -q --manifest=dir/sums3 F O3
rm -r O1 O2 O3 dir/*

# not there
mkdir E
try gptq-convert --to v2 --manifest=old-sums M O
try gptq-convert --to v2 --manifest=link --force M O
try gptq-convert --to v2 --manifest=dir --force M O
try gptq-convert --to v2 --manifest=nowhere/sums M O
try gptq-convert --to v2 --manifest=M/sums M O
try gptq-convert --to v2 --manifest=O/sums M O
try gptq-convert --to v2 --manifest=./O/sums M O
try gptq-convert --to v2 --manifest=E/sums --force M E
try gptq-convert --to v2 --manifest=./O M O
try gptq-convert --to v2 --manifest=dir/../O M O
try gptq-convert --to v2 --manifest=./M/model.safetensors --force M/model.safetensors o.safetensors
try gptq-convert --to v2 --manifest=./o.safetensors M/model.safetensors o.safetensors
try gptq-convert --to v2 --manifest= M O
try gptq-convert --to v2 --manifest=- M O
try gptq-convert --to v2 --manifest --in-place M
try gptq-convert --rollback --manifest=x M
try gptq-convert --to v2 --manifest=old-sums --force -q M O
python3 "$TOOLS/sums.py" old-sums O
only . M N F E O dir old-sums link
only dir
only E
cmp M/config.json N/config.json

# a refusal leaves none, a failure neither
model Z z=zero fmt=v2
try gptq-convert --to v1 --manifest=dir/sums -q Z dir/O 2>&1 | head -2
try gptq-convert --to v2 --manifest M nowhere/O
only dir
