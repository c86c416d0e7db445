# SPDX-License-Identifier: Apache-2.0
# IN here and OUT on another file system, and the other way round: no hard link, rename or shared block leads there.
test -w /dev/shm || skip "no /dev/shm"
test "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" || skip "/dev/shm is no file system of its own"
there=$(mktemp -d /dev/shm/gptq-cli-XXXXXX) || skip "/dev/shm takes nothing"
trap 'rm -rf "$there"' EXIT
ln -s "$there" there
model M
mkdir M/sub
put M/sub/file x
file one.safetensors
try gptq-convert --to v2 -q --verify=weights M there/O
try gptq-convert --to v2 -q M/ there/O
try gptq-convert --to v2 -q --force M there/O
try gptq-convert --to v1 -q there/O back
try gptq-convert --to v2 -q one.safetensors there/one.safetensors
try gptq-convert --to v1 -q there/one.safetensors one-back.safetensors
diff -r M back && cmp one.safetensors one-back.safetensors && echo "there and back: the same"
try gptq-convert --to v2 -q --in-place there/O
verify -q M there/O
echo "verify: exit $?"
ls -A "$there"
only . M there one.safetensors back one-back.safetensors
