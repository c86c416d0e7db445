# SPDX-License-Identifier: Apache-2.0
# Against digests that Python computes from the bytes.
model M shards=2
for how in crc32 sha256; do
	gptq-inspect --json --checksum $how M | python3 -c '
import hashlib, json, sys, zlib
report = json.load(sys.stdin)
for t in report["tensors"]:
    with open("M/" + t["shard"], "rb") as f:
        f.seek(t["offset"])
        data = f.read(t["bytes"])
    want = "%08x" % zlib.crc32(data) if sys.argv[1] == "crc32" else hashlib.sha256(data).hexdigest()
    assert t["digest"] == want and len(data) == t["bytes"], t
print("%d tensors, %s right" % (len(report["tensors"]), sys.argv[1]))' $how
done
try gptq-inspect --checksum crc32 M
try gptq-inspect --checksum md5 M
