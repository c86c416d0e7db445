# SPDX-License-Identifier: Apache-2.0
"""Writes a model of models.py into a folder, its bytes by make_model.c."""
import json
import os
import struct
import subprocess

from .models import SIZES


def quantisation(model):
    return {"bits": 4, "group_size": model.group, "desc_act": False, "sym": False, "lm_head": False,
            "quant_method": "gptq", "checkpoint_format": "gptq", "pack_dtype": "int32",
            "meta": {"quantizer": ["gptqmodel:4.0.0"], "damp_percent": 0.01, "true_sequential": True}}


def header_of(tensors):
    """As the safetensors library writes it: padded to 8 bytes, its own order of tensors taken as given."""
    entries, offset = {"__metadata__": {"format": "pt"}}, 0
    for t in tensors:
        entries[t.name] = {"dtype": t.dtype, "shape": t.shape, "data_offsets": [offset, offset + t.nbytes]}
        offset += t.nbytes
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def write_configs(model, names):
    """The index is sorted by name, as transformers writes it, which is not the order of the files."""
    config = quantisation(model)
    write_json(model.folder, "quantize_config.json", config)
    write_json(model.folder, "config.json", {**model.config, "torch_dtype": "float16", "quantization_config": config})
    if len(names) > 1:
        weight_map = {t.name: name for name, shard in zip(names, model.shards) for t in shard}
        write_json(model.folder, "model.safetensors.index.json",
                   {"metadata": {"total_size": model.total()}, "weight_map": dict(sorted(weight_map.items()))})


def order(tensors):
    """Wider elements first, then by name, as the safetensors library does."""
    return sorted(tensors, key=lambda t: (-SIZES[t.dtype], t.name))


def write_model(tool, model, folder):
    """Makes `folder`; sets model.folder and model.largest_header. `tool` is the program made of make_model.c."""
    os.mkdir(folder)
    model.folder = folder
    n = len(model.shards)
    names = [f"model-{i + 1:05}-of-{n:05}.safetensors" for i in range(n)] if n > 1 else ["model.safetensors"]
    maker = subprocess.Popen([tool], stdin=subprocess.PIPE)
    with maker.stdin as plan:
        for i, name in enumerate(names):
            model.shards[i] = order(model.shards[i])
            header = header_of(model.shards[i])
            model.largest_header = max(model.largest_header, len(header))
            text = struct.pack("<Q", len(header)) + header
            plan.write(f"file {os.path.join(folder, name)}\ntext {len(text)}\n".encode() + text)
            plan.write("".join(t.line + "\n" for t in model.shards[i]).encode())
    if maker.wait() != 0:
        raise RuntimeError(f"{tool} failed with {maker.returncode}")
    write_configs(model, names)
