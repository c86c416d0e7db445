# SPDX-License-Identifier: Apache-2.0
"""Reads GPTQ checkpoints and says what is true of them.  Standard library only.

Shares nothing with the C library; selftest.py compares it with the sample
cases and with checkpoints that real programs wrote.
"""
import json
import os
import struct

import gptqmath as gm


class Tensor:
    def __init__(self, dtype, shape, raw, file, offset):
        self.dtype, self.shape, self.raw, self.file, self.offset = dtype, shape, raw, file, offset


def read_safetensors(path):
    """(header text as bytes, parsed header, data start, whole file as bytes)"""
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<Q", raw[:8])[0]
    text = raw[8:8 + size]
    return text, json.loads(text), 8 + size, raw


def tensors_of(path):
    _, header, start, raw = read_safetensors(path)
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            a, b = entry["data_offsets"]
            found[name] = Tensor(entry["dtype"], entry["shape"], raw[start + a:start + b], path, start + a)
    return found


def shards_of(folder):
    """The safetensors files that make up the model: those of the index, else all."""
    for f in sorted(os.listdir(folder)):
        if f.endswith(".safetensors.index.json"):
            with open(os.path.join(folder, f), encoding="utf-8-sig") as h:
                return sorted(set(json.load(h)["weight_map"].values()))
    return sorted(f for f in os.listdir(folder) if f.endswith(".safetensors"))


def checkpoint_tensors(folder):
    found = {}
    for shard in shards_of(folder):
        found.update(tensors_of(os.path.join(folder, shard)))
    return found


def configs_of(folder):
    """(file name, dotted place, quantisation config) of every one that there is."""
    found = []
    for f in ("quantize_config.json", "quant_config.json", "quantization_config.json"):
        path = os.path.join(folder, f)
        if os.path.exists(path):
            with open(path, encoding="utf-8-sig") as h:
                found.append((f, "", json.load(h)))
    path = os.path.join(folder, "config.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8-sig") as h:
            top = json.load(h)
        if "quantization_config" in top:
            found.append(("config.json", "quantization_config", top["quantization_config"]))
        for key, value in top.items():
            if isinstance(value, dict) and "quantization_config" in value:
                found.append(("config.json", key + ".quantization_config", value["quantization_config"]))
    return found


class Layer:
    """One quantised linear: its tensors, and what follows from their shapes."""

    def __init__(self, name, tensors, group_sizes):
        self.name = name
        self.qweight, self.qzeros, self.scales = (tensors[name + s] for s in (".qweight", ".qzeros", ".scales"))
        index = tensors.get(name + ".g_idx")
        self.word_bits = gm.WORD_BITS[self.qweight.dtype]
        self.groups, self.out_features = self.scales.shape
        self.dtype = self.scales.dtype
        rows, zero_words = self.qweight.shape[0], self.qzeros.shape[1]
        fits = [b for b in (2, 3, 4, 8)
                if -(-self.out_features * b // self.word_bits) == zero_words
                and (index is None or -(-index.shape[0] * b // self.word_bits) == rows)]
        assert fits, name
        self.bits = fits[0]
        self.in_features = index.shape[0] if index else rows * self.word_bits // self.bits
        self.zero_words = zero_words
        self.set_groups(index, group_sizes)

    def set_groups(self, index, group_sizes):
        g_idx = None
        if index is not None:
            g_idx = list(struct.unpack("<%di" % index.shape[0], index.raw))
        if g_idx is None or (self.groups > 1 and not any(g_idx)):
            fitting = [s if s > 0 else self.in_features for s in group_sizes
                       if -(-self.in_features // (s if s > 0 else self.in_features)) == self.groups]
            size = fitting[0] if fitting else self.in_features // self.groups
            g_idx = [k // size for k in range(self.in_features)]
        self.group_of_row = [g + self.groups if g < 0 else g for g in g_idx]
        assert all(0 <= g < self.groups for g in self.group_of_row), self.name
        self.act_order = any(a > b for a, b in zip(self.group_of_row, self.group_of_row[1:]))

    def zero_rows(self):
        """qzeros as rows of words."""
        words = gm.bytes_to_words(self.qzeros.raw, self.word_bits)
        return [words[g * self.zero_words:(g + 1) * self.zero_words] for g in range(self.groups)]

    def lanes(self, row):
        return gm.unpack(row, self.bits, self.word_bits, gm.lanes_of(self.zero_words, self.bits, self.word_bits))

    def zeros(self, fmt, style):
        """Logical zero points [G][N] under a format and a style of v1."""
        result = []
        for row in self.zero_rows():
            lanes = self.lanes(row)
            if fmt == "v1":
                shifted = gm.shift_row(lanes, self.bits, self.word_bits, self.zero_words, style, +1)
                lanes = self.lanes(shifted)
            result.append(lanes[:self.out_features])
        return result

    def codes(self):
        """q[K][N]"""
        words = gm.bytes_to_words(self.qweight.raw, self.word_bits)
        n = self.out_features
        columns = [gm.unpack(words[c::n], self.bits, self.word_bits, self.in_features) for c in range(n)]
        return [[column[k] for column in columns] for k in range(self.in_features)]

    def scale_rows(self):
        size = gm.FLOAT_BYTES[self.dtype]
        raw = [self.scales.raw[i:i + size] for i in range(0, len(self.scales.raw), size)]
        n = self.out_features
        return [raw[g * n:(g + 1) * n] for g in range(self.groups)]

    def sha256(self, zeros):
        return gm.weights_sha256(self.codes(), zeros, self.scale_rows(), self.group_of_row, self.dtype)

    def facts(self, fmt, style):
        """The figures of expect.json."""
        zeros = self.zeros(fmt, style)
        flat = [z for row in zeros for z in row]
        return {
            "bits": self.bits, "in_features": self.in_features, "out_features": self.out_features,
            "groups": self.groups, "act_order": self.act_order, "zeros_equal_0": flat.count(0),
            "zero_min": min(flat), "zero_max": max(flat), "weights_sha256": self.sha256(zeros),
            "weights_dtype": self.dtype}


def layers_of(folder):
    tensors = checkpoint_tensors(folder)
    sizes = []
    for _, _, config in configs_of(folder):
        if isinstance(config.get("group_size"), int):
            sizes.append(config["group_size"])
    names = sorted(n[:-len(".qweight")] for n in tensors if n.endswith(".qweight"))
    return [Layer(n, tensors, sizes) for n in names]
