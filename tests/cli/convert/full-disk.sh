# SPDX-License-Identifier: Apache-2.0
command -v unshare >/dev/null || skip "no unshare"
mkdir disk
unshare -m mount -t tmpfs -o size=64k none disk 2>/dev/null || skip "no file system can be mounted here"
model M n=512 layers=4
model S
mkdir S/small
i=0
while test $i -lt 400; do
	echo x >S/small/$i
	i=$((i + 1))
done
cat >inner.sh <<'EOF'
. "$TOOLS/lib.sh"
mount_here() { mount -t tmpfs -o mode=755,"$1" none disk; }

# enough room; too little, which is seen at once
mount_here size=4m
try gptq-convert --to v2 -q M disk/O
rm -r disk/O
head -c 4100000 /dev/zero >disk/filler
try gptq-convert --to v2 M disk/O | sed 's/found [0-9]* bytes free, expected [0-9]*/found N bytes free, expected M/'
try gptq-convert --to v2 M/model.safetensors disk/O | sed 's/found [0-9]* bytes free, expected [0-9]*/found N, expected M/'
ls -A disk
umount disk

# what takes more room than its bytes, or more files than there may be, is only seen half way
mount_here size=1m
try gptq-convert --to v2 S disk/O | sed "s,small/[0-9]*,small/N,"
ls -A disk
mkdir disk/O
echo old >disk/O/file
try gptq-convert --to v2 --force S disk/O | sed "s,small/[0-9]*,small/N,"
find disk -type f
umount disk
mount_here size=4m,nr_inodes=4
try gptq-convert --to v2 M disk/O
ls -A disk
umount disk
EOF
unshare -m sh ./inner.sh
only . M S disk inner.sh
