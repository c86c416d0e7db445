#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same tensors in another order, both in the header and in the data. usage: shuffle.py FILE SEED OUT"""
import json
import random
import struct
import sys

with open(sys.argv[1], "rb") as f:
    raw = f.read()
size = struct.unpack("<Q", raw[:8])[0]
header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
r = random.Random(int(sys.argv[2]))
names = [n for n in header if n != "__metadata__"]
r.shuffle(names)
placed, at, body = {}, 0, b""
for n in names:
    begin, end = header[n]["data_offsets"]
    body += data[begin:end]
    placed[n] = dict(header[n], data_offsets=[at, at + end - begin])
    at += end - begin
r.shuffle(names)
text = json.dumps({n: placed[n] for n in names}).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[3], "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + body)
