#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes first inputs for the fuzz targets from testdata: seeds.py OUT gives OUT/TARGET/*. They are minimised before
they go into corpus/ (see tests/RELIABILITY.md)."""

import glob
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "testdata")


# Texts that end where the scanner would like to look further.
CUT = (b'"', b'"\\', b'"\\u', b'"\\u12', b'"\\ud83d', b'"\\ud83d\\', b'"\\ud83d\\u', b'"\\ud83d\\ude0', b"-", b"0", b"1.",
       b"1e", b"1e+", b"t", b"nul", b"fals", b"Na", b"-Infinit", b'"\xf0\x9f\x98', b'"\xc3', b"\xef\xbb", b'{"a"', b'{"a":',
       b"{", b"[", b"[1", b"[1,", b" ", b'"abcdefg', b'"abcdefgh', b'"abcdefghabcdefg')


def read(path):
    with open(path, "rb") as f:
        return f.read()


def find(pattern):
    return sorted(glob.glob(os.path.join(DATA, pattern), recursive=True))


def save(target, name, data):
    folder = os.path.join(sys.argv[1], target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def header(data):
    n = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    return data[8:8 + n] if n <= len(data) - 8 else None


def tiny(pack, layers, config, word=0x77777777, v2=False, bits=4, style=0, choice=0, layout=0, g_idx=True):
    """A checkpoint input: 4 bytes of choices, config, safetensors. One group of 8 rows a layer."""
    entries, at, data = [], 0, b""
    for name in layers:
        rows = 32 * bits // 32 if bits == 3 else 1
        k = rows * 32 // bits
        lines = [("qweight", "I32", [rows, 32], bytes(range(1, 129)) * rows),
                 ("qzeros", "I32", [1, bits], struct.pack("<I", word) * bits),
                 ("scales", "F16", [1, 32], b"\0\x3c" * 32)]
        if g_idx:
            lines.append(("g_idx", "I32", [k], bytes(4 * k)))
        for part, dtype, shape, raw in lines:
            entries.append('"%s.%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' %
                           (name, part, dtype, str(shape).replace(" ", ""), at, at + len(raw)))
            at += len(raw)
            data += raw
    text = "{" + ",".join(entries) + "}"
    text += " " * (-len(text) % 8)
    return struct.pack("<BBH", choice, layout, len(config)) + config + struct.pack("<Q", len(text)) + text.encode() + data


def journals():
    """6 bytes of choices, then changes: records (what they are is in journal_edit.c) or overwritten bytes."""
    for how in range(8):
        for state in range(4):
            save("journal", "real-%d-%d" % (how, state), bytes((how >> 1 << 2 & 12 | how & 1 | state << 4, 0x55, state, 0, 0, 0)))
            save("journal", "lone-%d-%d" % (how, state), bytes((how & 1 | 2 | state << 4, 0x0f, how, 0, 0, 0)))
    for record in range(11):
        for op in range(8):
            change = bytes((record << 3 | op, op + record & 15, 0, record, 3, 1))
            save("journal", "change-%d-%d" % (record, op), bytes((0x30, 0xf0, 0, 0, 0, 0)) + change)
            save("journal", "lie-%d-%d" % (record, op), bytes((0x41, 0, 2, 0, 0, 0)) + change)
        for field in range(16):
            save("journal", "field-%d-%d" % (record, field), bytes((0x10, 0, 0, 0, 0, 0, record << 3, field, 7)) + b"\xff" * 8)
    for kind in (4, 8):
        for at in range(0, 1400, 50):
            save("journal", "splice-%d-%d" % (kind, at), bytes((kind, 0, 0, 0, 0, 0)) + struct.pack("<HB", at, 2) + b"\x01\x02")
    for at in (0, 9, 250, 460, 468, 500):
        save("journal", "foreign-%d" % at, struct.pack("<BBBHB", 0, 0, 0, at, 4))
    save("journal", "raw", bytes((12, 0, 0, 0, 0, 0)) + b"GPTQJNL2" + bytes(88))


def sides(one, two):
    """2 bytes of choices, the size of A, A, then B or changes."""
    for reading in (0x00, 0x05, 0x0a, 0x09, 0x55):
        for how in (0x00, 0x14, 0x28, 0x18, 0x55, 0x96, 0xd4, 0xc5, 0xea):
            for bits in (2, 3, 4, 8):
                a = tiny(None, one, b"", 0x87654321, bits=bits)[4:]
                b = b"" if how >> 6 == 3 else a if how < 64 else b"\x90\x01\x10\x00\x03\x01"
                save("verify", "%02x-%02x-%d" % (reading, how, bits), struct.pack("<BBH", reading, how, len(a)) + a + b)
    a, b = (tiny(None, two, b"", 0x77777777, bits=4, g_idx=g)[4:] for g in (True, False))
    save("verify", "g-idx", struct.pack("<BBH", 5, 0x14, len(a)) + a + b)
    save("verify", "swapped", struct.pack("<BBH", 5, 0x14, len(a)) + a + tiny(None, two[::-1], b"", 0x77777777)[4:])
    for path in find("safetensors/*.safetensors"):
        data = read(path)
        if len(data) <= 700:
            save("verify", os.path.basename(path), struct.pack("<BBH", 0, 0, len(data)) + data + data)


def streams(one, configs):
    """3 bytes of choices, sizes of chunks, a config, the file."""
    for choice in (0, 1, 2, 8, 9, 0x0b, 0x10, 0x11, 0x13, 0x40, 0x48, 0x88, 0x8a):
        for how in (0x00, 0x10, 0x21, 0x32, 0x44, 0x1c):
            for k, word in enumerate((0x77777777, 0x88888888, 0xffffffff, 0x01f23f40)):
                config = configs[k % 3] if how == 0x10 else b""
                save("stream", "%02x-%02x-%d" % (choice, how, k), bytes((choice, how, len(config))) +
                     bytes(range(3, 3 + (how >> 4))) + config + tiny(None, one, b"", word)[4:])
    for bits in (2, 3, 8):
        for choice in (8, 0x0a, 0x10, 0x11):
            config = configs[1].replace(b'"bits":4', b'"bits":%d' % bits)
            save("stream", "w%d-%02x" % (bits, choice), bytes((choice, 0x10, len(config), 6)) + config +
                 tiny(None, one, b"", 0x6db6db6d, bits=bits)[4:])


def main():
    for path in find("safetensors/*.safetensors"):
        data = read(path)
        if len(data) <= 1500:
            name = os.path.basename(path)
            save("safetensors", name, data)
            text = header(data)
            if text and len(text) <= 600:
                save("json", name, b"\0" + text)
                if b"__metadata__" in text:
                    save("header_label", name, text)
    for path in find("cases/*/in/model*.safetensors"):
        text = header(read(path))
        if text and b"gptq_checkpoint_format" in text and len(text) < 4000:
            save("header_label", path.split(os.sep)[-3], text)
    for n in range(9):
        save("header_label", "tight-%d" % n, b'{"__metadata__":{"gptq_checkpoint_format":"gptq","k":"%s"}}' % (b"x" * n))
    for text in CUT:
        save("json", "cut-" + text.hex(), b"\0" + text)
        save("json", "cut-in-array-" + text.hex(), b"\7[" + text)
    save("header_label", "plain", b'{"__metadata__":{"gptq_checkpoint_format":"gptq"}}      ')
    save("header_label", "tight", b'{"__metadata__":{"gptq_checkpoint_format":"gptq","format":"pt"}}')
    for path in find("configs/**/*.json") + find("cases/*/in/*config*.json"):
        data = read(path)
        name = "-".join(path.split(os.sep)[-3:])
        if len(data) <= 3000:
            save("json", name, b"\7" + data)
            for kind in (b"\0", b"\1", b"\x0a", b"\x0d"):
                save("config", "%d-%s" % (kind[0], name), kind + data)
    for path in find("**/*.index.json"):
        data = read(path)
        if len(data) < 8000:
            save("index", path.split(os.sep)[-3], data)
    save("index", "two", b'{"metadata":{"total_size":8},"weight_map":{"a":"b.safetensors","c":"a.safetensors"}}')
    for i, rules in enumerate((b"-:.*gate\n+:.*down_proj\nlm_head\n", b"(a+)+$\n(?=x)y{1,9}\n", b"model\\.layers\\.[0-9]+\n[^a-z]\n")):
        for kind in (b"\0", b"\1"):
            save("dynamic", "%d%d" % (i, kind[0]),
                 kind + rules + b"\nmodel.layers.0.mlp.down_proj\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\nlm_head\n")
    for choice in (0, 1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 0x32, 0x21):
        for fill in (b"\x77", b"\xff\xf0\x12\x34", b"\0\0\0\0\xb6\xdb\xb6\xdb\x49\x92\x24\x49"):
            save("zeros", "%02x-%d" % (choice, len(fill)), bytes((choice, 5, 1, 63)) + fill * 40)
    quant = b'{"bits":%d,"group_size":%d,"quant_method":"gptq","sym":%s,"checkpoint_format":"%s"}'
    one, two = ["m"], ["a.0.x", "a.1.y"]
    configs = (quant % (4, 8, b"true", b"gptq"), quant % (4, 8, b"false", b"gptq_v2"), b'{"bits":4,"group_size":-1}')
    for i, config in enumerate(configs):
        for choice in (0, 1, 2, 6, 8, 9, 16, 18, 32, 64, 128, 0x22):
            for k, word in enumerate((0x77777777, 0x88888888, 0xffffffff, 0x01f23f40)):
                save("checkpoint", "%d-%02x-%d" % (i, choice, k), tiny(None, one, config, word, choice=choice))
    for layout in range(16):
        save("checkpoint", "layout-%d" % layout, tiny(None, two, configs[0], layout=layout))
        save("checkpoint", "index-%d" % layout,
             tiny(None, two, b'{"weight_map":{"a.0.x.qweight":"model.safetensors"}}', layout=layout | 16))
    for bits in (2, 3, 8):
        config = quant % (bits, 32, b"false", b"gptq")
        for choice in (0, 8, 16, 24):
            save("checkpoint", "w%d-%02x" % (bits, choice), tiny(None, one, config, 0x6db6db6d, bits=bits, choice=choice))
    journals()
    sides(one, two)
    streams(one, configs)


main()
