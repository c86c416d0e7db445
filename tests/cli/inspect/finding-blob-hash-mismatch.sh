# SPDX-License-Identifier: Apache-2.0
mkdir -p models--a--b/blobs models--a--b/refs models--a--b/snapshots/abc
model M
for f in M/*; do
	blob=$(sha256sum "$f" | cut -c1-64)
	cp "$f" models--a--b/blobs/$blob
	ln -s ../../blobs/$blob models--a--b/snapshots/abc/${f#M/}
done
printf abc >models--a--b/refs/main
# Whole: nothing is found, in the cache and by the snapshot.
finds blob-hash-mismatch --checksum sha256 models--a--b
echo >>models--a--b/snapshots/abc/config.json
finds blob-hash-mismatch --checksum sha256 models--a--b/snapshots/abc
# Without --checksum no blob is read.
finds blob-hash-mismatch models--a--b
# A small file's blob is named by Git's digest.
blob=$(printf 'blob 3\0{}\n' | sha1sum | cut -c1-40)
put models--a--b/blobs/$blob '{}'
ln -sf ../../blobs/$blob models--a--b/snapshots/abc/config.json
finds blob-hash-mismatch --checksum sha256 models--a--b
# A lone file.
model N
cp N/model.safetensors models--a--b/blobs/$(sha256sum M/model.safetensors | cut -c1-64)
printf '\001' | dd of=models--a--b/snapshots/abc/model.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null
finds blob-hash-mismatch --checksum sha256 models--a--b/snapshots/abc/model.safetensors
