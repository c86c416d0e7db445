# SPDX-License-Identifier: Apache-2.0
model M
mkdir M/sub
put M/sub/file x
chmod 777 M/sub M/config.json
(umask 077; gptq-convert --to v2 -q M O1)
(umask 002; gptq-convert --to v2 -q M O2)
file one.safetensors
(umask 027; gptq-convert --to v2 -q one.safetensors O3)
for o in O1 O2 O3; do digest $o | awk '{print $1, $2, $NF}'; done
