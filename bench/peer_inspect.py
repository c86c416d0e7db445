#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collects what `gptq-inspect --headers` says, with Python's own means, and prints a summary.

usage: peer_inspect.py safetensors|json MODEL

For every tensor its name, dtype and shape; the quantised layers, their bits and group sizes; the configs. With
"safetensors" headers are read by the module of that name, with "json" by the json module alone.
"""
import collections
import json
import os
import struct
import sys


def by_module(path):
    from safetensors import safe_open
    with safe_open(path, "numpy") as f:
        for name in f.keys():
            part = f.get_slice(name)
            yield name, part.get_dtype(), part.get_shape()


def by_json(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    for name, entry in header.items():
        if name != "__metadata__":
            yield name, entry["dtype"], entry["shape"]


def read_json(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def layers_of(tensors, bits):
    """(name, bits, group size) of each quantised layer."""
    for name, (_, shape) in tensors.items():
        if name.endswith(".qweight"):
            layer = name[:-len("qweight")]
            rows, columns = shape[0] * 32 // bits, shape[1]
            zeros = tensors[layer + "qzeros"][1]
            yield layer[:-1], zeros[1] * 32 // columns, rows // zeros[0]


def main():
    read = {"safetensors": by_module, "json": by_json}[sys.argv[1]]
    folder = sys.argv[2]
    config = read_json(folder, "quantize_config.json")
    label = read_json(folder, "config.json")["quantization_config"]["checkpoint_format"]
    index = read_json(folder, "model.safetensors.index.json").get("weight_map", {})
    tensors = {}
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".safetensors")):
        for name, dtype, shape in read(os.path.join(folder, file)):
            if index and index[name] != file:
                sys.exit(f"{name} is not where the index says")
            tensors[name] = dtype, shape
    layers = list(layers_of(tensors, config["bits"]))
    print(f"{label}, {len(tensors)} tensors, {len(layers)} layers",
          dict(collections.Counter(bits for _, bits, _ in layers)), dict(collections.Counter(g for _, _, g in layers)))


if __name__ == "__main__":
    main()
