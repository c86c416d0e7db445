# SPDX-License-Identifier: Apache-2.0
# the digests are those of the final bytes, whatever was done to a file on its way
model M shards=3 layers=6 z=asym
metadata M/model-00002-of-00003.safetensors gptq
mkdir -p M/sub/empty M/a
put M/sub/x "in a folder"
put M/a/b "a/b comes behind a.txt"
put M/a.txt "."
put M/model-00001-of-00003.safetensors.sha256 "00"
put M/plain.sha256 "11  a.txt"
: >M/nothing
put "M/$(printf 'back\\slash')" 1
put "M/$(printf 'line\nfeed')" 2
put "M/$(printf 'carriage\rreturn')" 3
put "M/$(printf '\\')" 4
put "M/ a name  with blanks " 5
put "M/$(printf 'no\377utf-8')" 6
put M/ünicode 7
check() { (cd "$1" && sha256sum --strict --quiet -c "$2" && echo "sha256sum: fine"); }

try gptq-convert --to v2 --manifest M O
check O SHA256SUMS
python3 "$TOOLS/sums.py" O/SHA256SUMS O
cut -c 67- O/SHA256SUMS | cat -v

# elsewhere; the same lines whatever the number of threads
try gptq-convert --to v2 -q --manifest=sums -j 1 M O1
check O1 ../sums
python3 "$TOOLS/sums.py" sums O1
try gptq-convert --to v2 -q --manifest=sums7 --jobs=7 M O7
cmp sums sums7
cmp sums O/SHA256SUMS
ls O1 | grep SHA256SUMS

# a header that grows, another config, JSON
model L
python3 - <<'END'
import json, struct
raw = open("L/model.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])
head["__metadata__"] = {"gptq_checkpoint_format": "gptq", "filler": ""}
head["__metadata__"]["filler"] = "x" * (-len(json.dumps(head)) % 8)
head = json.dumps(head).encode()
open("L/model.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + raw[8 + n:])
END
gptq-convert --to v2 --json --manifest L OL/ | python3 -c '
import json, sys
m = json.load(sys.stdin)["manifest"]
print(m["path"], [(f["name"], f["bytes"]) for f in m["files"]])
lines = "".join("%s  %s\n" % (f["sha256"], f["name"]) for f in m["files"])
print(lines == open("OL/SHA256SUMS").read())'
python3 "$TOOLS/sums.py" OL/SHA256SUMS OL

# labels alone, and nothing at all
try gptq-convert --relabel -q --from v1 --manifest L OR
python3 "$TOOLS/sums.py" OR/SHA256SUMS OR

# a dry run writes none
try gptq-convert --to v2 -n --manifest=drysums M D
only . M O O1 O7 L OL OR sums sums7
