# SPDX-License-Identifier: Apache-2.0
model M
mkdir -p M/.git/objects M/.cache/huggingface M/sub/.git M/deep/er
put M/.git/HEAD x
put M/.cache/huggingface/a x
put M/model.lock x
put M/x.incomplete x
put M/y.part x
put M/.gitattributes keep
put M/deep/er/file keep
ln -s nowhere M/dangling.lock
try gptq-convert --to v2 -v M O | cost
find O | sort
