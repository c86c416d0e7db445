# SPDX-License-Identifier: Apache-2.0
model M
chmod a-w M/model.safetensors
before=$(digest .)
try gptq-convert --to v2 --in-place M
chmod u+w M/model.safetensors
chmod a-w M/config.json
try gptq-convert --to v2 --in-place --force M
chmod u+w M/config.json
test "$before" = "$(chmod a-w M/model.safetensors; digest .)" && echo untouched
