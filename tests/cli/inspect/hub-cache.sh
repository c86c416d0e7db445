# SPDX-License-Identifier: Apache-2.0
mkdir -p models--a--b/blobs models--a--b/refs models--a--b/snapshots/abc
model M
i=0
for f in M/*; do
	i=$((i + 1))
	cp "$f" models--a--b/blobs/$i
	ln -s ../../blobs/$i models--a--b/snapshots/abc/${f#M/}
done
printf abc >models--a--b/refs/main
try gptq-inspect models--a--b | head -4
try gptq-inspect models--a--b/snapshots/abc | head -4
mkdir -p models--a--c/blobs models--a--c/snapshots
try gptq-inspect models--a--c
