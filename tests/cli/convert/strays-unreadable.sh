# SPDX-License-Identifier: Apache-2.0
model M shards=2
put M/broken.safetensors "not a safetensors file"
try gptq-convert --to v2 M O
try gptq-convert --to v2 --strays convert M O
try gptq-convert --to v2 --strays copy M O
model P shards=2
python3 - "$MK" <<'EOF'
import struct
head = b'{"lora.weight":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}'
head += b" " * (-len(head) % 8)
open("P/adapter.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + b"\0\0")
EOF
try gptq-convert --to v2 -q P O2
