# SPDX-License-Identifier: Apache-2.0
model M z=zero style=word k=512 producer=gptqmodel:7.1.0
gptq-inspect --json --stats --loaders --tensors M >one
gptq-inspect --json --stats --loaders --tensors M >two
cmp one two && wc -l <one
python3 -m json.tool one
# The same folder by another road: nothing but the path differs.
gptq-inspect --json "$PWD/M/" | sed "s,\"path\":\"$PWD/M/\",\"path\":\"M\"," >three
gptq-inspect --json M | cmp - three
# A document a line.
gptq-inspect --json M M >several
wc -l <several
