# SPDX-License-Identifier: Apache-2.0
model M shards=2
file M/extra.safetensors layers=1 prefix=extra.
mkdir M/sub
file M/sub/more.safetensors layers=1 prefix=more.
file M/sub/other.safetensors layers=1 fmt=v2 prefix=other.
try gptq-convert --to v2 M O
only . M
try gptq-convert --to v2 --strays copy M O
cmp M/extra.safetensors O/extra.safetensors && cmp M/sub/more.safetensors O/sub/more.safetensors && echo copied
try gptq-convert --to v2 --strays convert M O2
rm M/sub/other.safetensors
try gptq-convert --to v2 --strays convert M O3
try gptq-convert --to v1 -q --strays convert O3 B
diff -r M B && echo back
