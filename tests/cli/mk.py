#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small GPTQ checkpoints for the command-line tests. Integers only, so that every machine makes the same bytes.

usage: mk.py model DIR [KEY=VALUE...]     a model folder
       mk.py file FILE [KEY=VALUE...]     one safetensors file
       mk.py set FILE NAME KEY=VALUE      write another shape, dtype or values for one tensor (raw header edit)
       mk.py label FILE WORD              put __metadata__.gptq_checkpoint_format into a file
       mk.py digest PATH...               one line a file, link and folder: kind, mode, digest, path
       mk.py big FILE MIB                 a symmetric layer and a sparse plain tensor of that many MiB

Keys: fmt=v1|v2  bits=4  word=32  layers=2  k=128  n=64  group=32  z=mid|asym|zero|noise|open  style=lane|word|3bit|smeared
      shards=1  index=1|0  g_idx=1|0  label=WORD|none  config=both|quantize|model|none  producer=NAME:VERSION
      sym=true|false  prefix=model.layers.  half=1 (every second layer in the other format)
      odd=I (layer I in the other format)
z: mid     the midpoint everywhere
   asym    what a min-max quantiser finds; never 0
   zero    likewise, with one-sided columns, so that some are 0
   noise   codes and zero points that have nothing to do with each other
   open    likewise, and some zero points are 0
"""
import hashlib
import json
import os
import struct
import sys

DTYPE_OF_WORD = {8: "I8", 16: "I16", 32: "I32", 64: "I64"}
WIDTH_OF_DTYPE = {"I8": 1, "I16": 2, "F16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8}


class Numbers:
    """A linear congruential generator; good enough for bell-shaped weights."""

    def __init__(self, seed):
        self.state = seed * 2654435761 + 12345

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % n

    def bell(self):
        return sum(self.below(2001) - 1000 for _ in range(6))


def pack_words(values, bits, word):
    """Codes as one stream of bits, lowest first, cut into little-endian words."""
    total = -(-len(values) * bits // word) * word
    number = 0
    for i, v in enumerate(values):
        number |= v << (i * bits)
    return number.to_bytes(total // 8, "little")


def store_zeros(zeros, fmt, style, bits, word):
    """One row of qzeros."""
    top = (1 << bits) - 1
    if fmt == "v2":
        return pack_words(zeros, bits, word)
    if style == "lane" or (style == "word" and bits == 3):
        return pack_words([(z - 1) & top for z in zeros], bits, word)
    per_word = word // bits
    if style == "smeared":
        lanes = []
        for i in range(0, len(zeros), per_word):
            smeared = False
            for z in zeros[i:i + per_word]:
                smeared = smeared or z == 0
                lanes.append(top if smeared else z - 1)
        return pack_words(lanes, bits, word)
    plain = pack_words(zeros, bits, word)
    out = b""
    for i in range(0, len(plain), word // 8):
        value = int.from_bytes(plain[i:i + word // 8], "little")
        if bits == 3:
            less = (0x24924924, 0x92492492, 0x49249249)[i // 4 % 3]
        else:
            less = sum(1 << (j * bits) for j in range(per_word))
        out += ((value - less) % (1 << word)).to_bytes(word // 8, "little")
    return out


def quantise(num, kind, bits, size):
    """(codes, zero point, scale in 1/4096) of one group of one column."""
    top = (1 << bits) - 1
    if kind in ("noise", "open"):
        z = 0 if kind == "open" and num.below(40) == 0 else 1 + num.below(top - 1)
        return [num.below(top + 1) for _ in range(size)], z, 8
    w = [num.bell() for _ in range(size)]
    if kind == "mid":
        reach = max(max(abs(v) for v in w), 1)
        z = (top + 1) // 2
        return [min(max((v * top + reach) // (2 * reach) + z, 0), top) for v in w], z, 4 + reach % 13
    if kind == "zero" and num.below(12) == 0:
        w = [abs(v) for v in w]
    low, high = min(min(w), 0), max(max(w), 1)
    width = high - low
    z = (-low * top * 2 + width) // (2 * width)
    if kind == "asym":
        z = min(max(z, 1), top - 1)
    return [min(max((v * top * 2 + width) // (2 * width) + z, 0), top) for v in w], z, 4 + width % 13


def layer(o, index):
    """The tensors of one layer: name -> (dtype, shape, bytes)."""
    bits, word, k, n, group = o["bits"], o["word"], o["k"], o["n"], o["group"]
    num = Numbers(index + 1 + 100 * bits + int(o["seed"]))
    groups = -(-k // group)
    fmt = o["fmt"]
    if (o["half"] and index % 2) or index == o["odd"]:
        fmt = "v1" if fmt == "v2" else "v2"
    codes = [[0] * n for _ in range(k)]
    zeros = [[0] * n for _ in range(groups)]
    scales = b""
    for g in range(groups):
        rows = range(g * group, min(k, (g + 1) * group))
        for c in range(n):
            column, zeros[g][c], s = quantise(num, o["z"], bits, len(rows))
            for r, q in zip(rows, column):
                codes[r][c] = q
            scales += struct.pack("<e", s / 4096)
    columns = [pack_words([codes[r][c] for r in range(k)], bits, word) for c in range(n)]
    step = word // 8
    qweight = b"".join(col[i:i + step] for i in range(0, len(columns[0]), step) for col in columns)
    name = "%s%d.proj." % (o["prefix"], index)
    out = {
        name + "qweight": (DTYPE_OF_WORD[word], [len(columns[0]) // step, n], qweight),
        name + "qzeros": (DTYPE_OF_WORD[word], [groups, -(-n * bits // word)],
                          b"".join(store_zeros(z, fmt, o["style"], bits, word) for z in zeros)),
        name + "scales": ("F16", [groups, n], scales),
    }
    if o["g_idx"]:
        out[name + "g_idx"] = ("I32", [k], b"".join(struct.pack("<i", i // group) for i in range(k)))
    return out


def write_file(path, tensors, metadata=None):
    head, at = {}, 0
    if metadata:
        head["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)


def read_file(path):
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    metadata = head.pop("__metadata__", None)
    data = raw[8 + size:]
    return {name: (t["dtype"], t["shape"], data[t["data_offsets"][0]:t["data_offsets"][1]])
            for name, t in head.items()}, metadata


def options(args):
    o = dict(fmt="v1", bits=4, word=32, layers=2, k=128, n=64, group=32, z="mid", style="word", shards=1, index=1,
             g_idx=1, label="auto", config="both", producer="", sym="auto", prefix="model.layers.", half=0, odd=-1, seed=0)
    for a in args:
        key, value = a.split("=", 1)
        if key not in o:
            sys.exit("mk.py: unknown key " + key)
        o[key] = int(value) if isinstance(o[key], int) else value
    if o["label"] == "auto":
        o["label"] = "gptq" if o["fmt"] == "v1" else "gptq_v2"
    if o["sym"] == "auto":
        o["sym"] = "true" if o["z"] == "mid" else "false"
    return o


def quant_config(o):
    c = {"bits": o["bits"], "group_size": o["group"], "desc_act": False, "sym": o["sym"] == "true",
         "quant_method": "gptq"}
    if o["label"] != "none":
        c["checkpoint_format"] = o["label"]
    if o["producer"]:
        c["meta"] = {"quantizer": [o["producer"]]}
    return c


def make_model(folder, args):
    o = options(args)
    os.makedirs(folder, exist_ok=True)
    layers = [layer(o, i) for i in range(o["layers"])]
    plain = {"model.norm.weight": ("F16", [64], struct.pack("<64e", *[1.0] * 64))}
    if o["shards"] == 1:
        tensors = dict(plain)
        for part in layers:
            tensors.update(part)
        write_file(os.path.join(folder, "model.safetensors"), tensors, {"format": "pt"})
    else:
        weight_map = {}
        for s in range(o["shards"]):
            name = "model-%05d-of-%05d.safetensors" % (s + 1, o["shards"])
            tensors = dict(plain) if s == 0 else {}
            for part in layers[s::o["shards"]]:
                tensors.update(part)
            write_file(os.path.join(folder, name), tensors, {"format": "pt"})
            weight_map.update({t: name for t in tensors})
        if o["index"]:
            with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
                json.dump({"metadata": {}, "weight_map": weight_map}, f, indent=2)
    if o["config"] in ("both", "quantize"):
        with open(os.path.join(folder, "quantize_config.json"), "w", encoding="utf-8") as f:
            json.dump(quant_config(o), f, indent=2)
    if o["config"] in ("both", "model"):
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump({"architectures": ["Test"], "quantization_config": quant_config(o)}, f, indent=2)


def make_file(path, args):
    o = options(args)
    tensors = {}
    for i in range(o["layers"]):
        tensors.update(layer(o, i))
    write_file(path, tensors, {"format": "pt"})


def set_tensor(path, name, args):
    tensors, metadata = read_file(path)
    for a in args:
        key, value = a.split("=", 1)
        if name not in tensors and key != "add":
            sys.exit("mk.py: no tensor " + name)
        dtype, shape, data = tensors.get(name, ("I32", [1], b"\0" * 4))
        if key == "dtype":
            tensors[name] = (value, shape, data)
        elif key == "shape":
            shape = [int(x) for x in value.split(",")]
            size = WIDTH_OF_DTYPE[dtype]
            for x in shape:
                size *= x
            tensors[name] = (dtype, shape, (data + b"\0" * size)[:size])
        elif key == "first":
            tensors[name] = (dtype, shape, struct.pack("<i", int(value)) + data[4:])
        elif key == "rename":
            tensors = {value if t == name else t: d for t, d in tensors.items()}
        elif key == "drop":
            del tensors[name]
        elif key == "add":
            tensors[name] = ("F16", [1], b"\0\0")
    write_file(path, tensors, metadata)


def set_label(path, word):
    tensors, metadata = read_file(path)
    write_file(path, tensors, dict(metadata or {}, gptq_checkpoint_format=word))


def digest(paths):
    def show(path):
        st = os.lstat(path)
        mode = "%04o" % (st.st_mode & 0o7777)
        if os.path.islink(path):
            print("link %s -> %s" % (path, os.readlink(path)))
        elif os.path.isdir(path):
            print("dir  %s %s" % (mode, path))
            for name in sorted(os.listdir(path)):
                show(os.path.join(path, name))
        else:
            with open(path, "rb") as f:
                print("file %s %s %s" % (mode, hashlib.sha256(f.read()).hexdigest()[:16], path))
    for p in paths:
        show(p)


def make_big(path, mib):
    o = options(["layers=1"])
    tensors = layer(o, 0)
    head, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    head["plain.weight"] = {"dtype": "F16", "shape": [mib << 19], "data_offsets": [at, at + (mib << 20)]}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)
        f.truncate(8 + len(text) + at + (mib << 20))


def main():
    command, args = sys.argv[1], sys.argv[2:]
    if command == "model":
        make_model(args[0], args[1:])
    elif command == "file":
        make_file(args[0], args[1:])
    elif command == "set":
        set_tensor(args[0], args[1], args[2:])
    elif command == "label":
        set_label(args[0], args[1])
    elif command == "digest":
        sys.stdout.reconfigure(errors="backslashreplace")
        digest(args)
    elif command == "big":
        make_big(args[0], int(args[1]))
    else:
        sys.exit(__doc__)


main()
