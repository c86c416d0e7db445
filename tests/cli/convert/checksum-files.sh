# SPDX-License-Identifier: Apache-2.0
model M
mkdir M/sub
put M/SHA256SUMS "00  config.json
11  model.safetensors"
put M/model.safetensors.sha256 "11"
put M/readme.sha256 "22  readme.md"
put M/readme.md "hello"
put M/sub/SHA256SUMS "33  other.txt"
put M/sub/list.sha256 "44  ../model.safetensors"
put M/sub/model.sha256 "55  supermodel.safetensors.old"
try gptq-convert --to v2 -v M O | cost
find O | sort
