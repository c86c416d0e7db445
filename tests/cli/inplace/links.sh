# SPDX-License-Identifier: Apache-2.0
# Hard links: --force. Symbolic links: never.
model M
ln M/model.safetensors other
try gptq-convert --to v2 --in-place M
try gptq-convert --to v2 --in-place -q --force M
cmp M/model.safetensors other && echo "both names changed"
model L
mkdir blobs
mv L/model.safetensors blobs/0123
ln -s ../blobs/0123 L/model.safetensors
try gptq-convert --to v2 --in-place --force L
try gptq-convert --to v2 --in-place --force L/model.safetensors
model C
mv C/config.json elsewhere.json
ln -s ../elsewhere.json C/config.json
try gptq-convert --to v2 --in-place --force C
mkdir -p hub/models--a--b/blobs
cp other hub/models--a--b/blobs/00aa
try gptq-convert --to v1 --from v2 --in-place --force hub/models--a--b/blobs/00aa
only . M L C other blobs elsewhere.json hub
ls -A L C hub/models--a--b/blobs
