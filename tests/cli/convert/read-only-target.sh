# SPDX-License-Identifier: Apache-2.0
# A file system that takes no writes, as a target and as a place to convert in; as a source it is as good as any.
command -v unshare >/dev/null || skip "no unshare"
mkdir disk
unshare -m mount -t tmpfs -o size=4m none disk 2>/dev/null || skip "no file system can be mounted here"
model M
cat >inner.sh <<'INNER'
. "$TOOLS/lib.sh"
mount -t tmpfs -o size=4m,mode=755 none disk
cp -r M disk/M
cp M/model.safetensors disk/one.safetensors
mount -o remount,ro disk
try gptq-convert --to v2 M disk/O
try gptq-convert --to v2 --dry-run M disk/O
try gptq-convert --to v2 --force M disk/M
try gptq-convert --to v2 M/model.safetensors disk/O.safetensors
try gptq-convert --to v2 --in-place disk/M
try gptq-convert --to v2 --in-place disk/one.safetensors
try gptq-convert --to v2 --rollback disk/M
try gptq-convert --rollback disk/M
ls -A disk disk/M
diff -r M disk/M && echo untouched
try gptq-convert --to v2 -q disk/M O
verify -q M O
echo "verify: exit $?"
INNER
unshare -m sh ./inner.sh
only . M O disk inner.sh
