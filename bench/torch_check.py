#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dequantises GPTQ layers with PyTorch's own tensor operations and compares SHA-256 digests of the weights.

usage: torch_check.py [--format v1|v2] [--device cuda|cpu] DIGESTS FILE.safetensors...

DIGESTS: JSON with layers.NAME.weights_sha256, or lines of "HEX  NAME". --format: what lanes of qzeros mean, v2 (the
zero point itself) by default; v1 adds 1 in each lane. Exit 1 where a digest differs or a layer is not in a file, 77
where there is no device.
"""
import argparse
import hashlib
import json
import sys

try:
    import torch
    from safetensors import safe_open
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

WORD_BITS = {torch.int8: 8, torch.uint8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64}
NAN = {torch.float16: 0x7E00, torch.bfloat16: 0x7FC0, torch.float32: 0x7FC00000}
INTEGER = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32}


def unpack(words, bits, n_codes):
    """Codes along dimension 0: code i is bits [b i, b i + b) of a column's stream of words, low bits first."""
    word_bits = WORD_BITS[words.dtype]
    mask = (1 << word_bits) - 1
    wide = words.to(torch.int64) & mask if word_bits < 64 else words
    rows = []
    for i in range(n_codes):
        word, shift = divmod(i * bits, word_bits)
        code = wide[word] >> shift
        if shift + bits > word_bits:
            code = code | wide[word + 1] << (word_bits - shift)
        rows.append(code & ((1 << bits) - 1))
    return torch.stack(rows)


def weights(tensors, name, v1):
    qweight, qzeros, scales = (tensors[f"{name}.{part}"] for part in ("qweight", "qzeros", "scales"))
    groups, columns = scales.shape
    word_bits = WORD_BITS[qweight.dtype]
    rows = tensors[f"{name}.g_idx"].numel() if f"{name}.g_idx" in tensors else None
    candidates = [b for b in (2, 3, 4, 8) if -(-columns * b // word_bits) == qzeros.shape[1]
                  and (rows is None or -(-rows * b // word_bits) == qweight.shape[0])]
    if len(candidates) != 1:
        raise ValueError(f"{name}: width not clear: {candidates}")
    bits = candidates[0]
    if rows is None:
        rows = qweight.shape[0] * word_bits // bits
    group = tensors[f"{name}.g_idx"].to(torch.int64) if f"{name}.g_idx" in tensors else None
    if group is None or (groups > 1 and not group.any()):
        size = -(-rows // groups)
        group = torch.arange(rows, device=scales.device) // size
    group = torch.where(group < 0, group + groups, group)
    codes = unpack(qweight, bits, rows)
    zeros = unpack(qzeros.T.contiguous(), bits, columns).T
    if v1:
        zeros = (zeros + 1) % (1 << bits)
    # Differences are whole numbers up to 255, exact in every dtype; the product is rounded once.
    return (codes - zeros[group]).to(scales.dtype) * scales[group]


def digest(w):
    bits = w.contiguous().view(INTEGER[w.dtype])
    bits = torch.where(torch.isnan(w), torch.full_like(bits, NAN[w.dtype]), bits)
    return hashlib.sha256(bits.cpu().numpy().tobytes()).hexdigest()


def read_digests(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        return {name: layer["weights_sha256"] for name, layer in json.loads(text)["layers"].items()}
    return {name: value for value, name in (line.split("  ", 1) for line in text.splitlines() if line)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", choices=["v1", "v2"], default="v2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("digests")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no CUDA device")
        return 77
    expected = read_digests(options.digests)
    tensors = {}
    for path in options.files:
        with safe_open(path, "pt", device=options.device) as file:
            tensors.update((key, file.get_tensor(key)) for key in file.keys())
    wrong = 0
    for name, value in sorted(expected.items()):
        found = digest(weights(tensors, name, options.format == "v1")) if f"{name}.qweight" in tensors else "missing"
        if found != value:
            wrong += 1
            print(f"DIFFERENT {name}: found {found}, expected {value}")
    device = torch.cuda.get_device_name() if options.device == "cuda" else options.device
    print(f"PyTorch {torch.__version__} on {device}: {len(expected) - wrong} of {len(expected)} layers agree")
    return 1 if wrong or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
