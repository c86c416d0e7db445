#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts a 4-bit checkpoint to gptq_v2 the way that scripts do it: loads every tensor, adds a constant, saves.

usage: peer_convert.py [--framework numpy|torch] IN OUT

It checks nothing: that is what it is there to be compared with. Needs safetensors and numpy, or torch.
"""
import argparse
import json
import os
import shutil

ONES = 0x11111111


def numpy_shard(source, target):
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
    tensors = load_file(source)
    for name, tensor in tensors.items():
        if name.endswith(".qzeros"):
            tensors[name] = (tensor.view("uint32") + ONES).view("int32")
    with safe_open(source, "numpy") as f:
        save_file(tensors, target, f.metadata())


def torch_shard(source, target):
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
    tensors = load_file(source)
    for name, tensor in tensors.items():
        if name.endswith(".qzeros"):
            tensor.add_(ONES)
    with safe_open(source, "pt") as f:
        save_file(tensors, target, f.metadata())


def relabel(path):
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    config.get("quantization_config", config)["checkpoint_format"] = "gptq_v2"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framework", choices=["numpy", "torch"], default="numpy")
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args()
    os.mkdir(args.target)
    convert = torch_shard if args.framework == "torch" else numpy_shard
    for name in sorted(os.listdir(args.source)):
        source, target = (os.path.join(folder, name) for folder in (args.source, args.target))
        if name.endswith(".safetensors"):
            convert(source, target)
        else:
            shutil.copyfile(source, target)
        if name in ("config.json", "quantize_config.json"):
            relabel(target)


if __name__ == "__main__":
    main()
