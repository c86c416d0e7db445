# SPDX-License-Identifier: Apache-2.0
C=models--org--name
mkdir -p $C/refs $C/blobs $C/snapshots/aaaa $C/snapshots/bbbb
model M
for f in config.json quantize_config.json model.safetensors; do
	cp M/$f $C/blobs/blob-$f
	ln -s ../../blobs/blob-$f $C/snapshots/aaaa/$f
done
ln -s ../../blobs/blob-config.json $C/snapshots/bbbb/config.json
touch -d '2020-01-01' $C/snapshots/aaaa
printf 'aaaa' >$C/refs/main
before=$(digest $C)
try gptq-convert --to v2 $C O
find O -type l
ls O
rm $C/refs/main
try gptq-convert --to v2 $C O2
touch -d '2019-01-01' $C/snapshots/bbbb
try gptq-convert --to v2 -q $C O2
diff -r O O2 && echo same
printf '../../..' >$C/refs/main
try gptq-convert --to v2 -q $C/ O3
diff -r O O3 && echo same
try gptq-convert --to v2 -q $C $C/O4
try gptq-convert --to v2 -q $C $C/snapshots/aaaa/O4
rm $C/refs/main
rm -r $C/snapshots/*
try gptq-convert --to v2 $C O5
only . $C M O O2 O3
