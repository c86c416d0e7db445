# SPDX-License-Identifier: Apache-2.0
# where blocks can be shared, only zero points take new room; the digests are right all the same
command -v mkfs.xfs >/dev/null || skip "no mkfs.xfs"
truncate -s 320M image
mkfs.xfs -q -m reflink=1 image 2>/dev/null || skip "no XFS with shared blocks can be made"
mkdir disk
unshare -m mount -o loop image disk 2>/dev/null || skip "no file system can be mounted here"
cat >make.py <<'EOP'
import json, os, struct
K, N, G, L = 2048, 4096, 64, 5
os.mkdir("disk/M")
head, at = {}, 0
for i in range(L):
    for name, dtype, shape, size in (("qweight", "I32", [K // 8, N], K * N // 2), ("qzeros", "I32", [G, N // 8], G * N // 2),
                                     ("scales", "F16", [G, N], G * N * 2)):
        head["l%d.%s" % (i, name)] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
head = json.dumps(head).encode()
with open("disk/M/model.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head)
    for i in range(L):
        f.write(b"\x12" * (K * N // 2) + b"\x77" * (G * N // 2) + b"\x3c" * (G * N * 2))
with open("disk/M/quantize_config.json", "w") as f:
    f.write('{"bits": 4, "group_size": 32, "quant_method": "gptq", "checkpoint_format": "gptq"}\n')
print(L * G * N // 2, file=open("qzeros", "w"))
EOP
cat >inner.sh <<'EOP'
. "$TOOLS/lib.sh"
mount -o loop image disk || exit 1
python3 make.py
sync -f disk
used() { df -B1 --output=used disk | tail -1; }
before=$(used)
gptq-convert --to v2 --json disk/M disk/O >report || exit 1
sync -f disk
python3 - "$before" "$(used)" <<'EOS'
import json, os, sys
p, zeros = json.load(open("report"))["performance"], int(open("qzeros").read())
new = int(sys.argv[2]) - int(sys.argv[1])
config = os.path.getsize("disk/O/quantize_config.json")
print("rewritten are zero points and config:", p["bytes_rewritten"] == zeros + config, "nothing was copied:", p["bytes_copied"] == 0)
print("new bytes at most 1.2 times the zero points:", zeros <= new <= 1.2 * zeros or (new, zeros))
EOS
gptq-convert --to v2 -q --manifest disk/M disk/P
python3 "$TOOLS/sums.py" disk/P/SHA256SUMS disk/P
cmp disk/O/model.safetensors disk/P/model.safetensors
gptq-convert --to v1 -q disk/P disk/Q
cmp disk/M/model.safetensors disk/Q/model.safetensors
umount disk
EOP
unshare -m sh ./inner.sh
