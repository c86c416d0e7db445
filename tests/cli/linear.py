#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twice the tensors take about twice the instructions: no step is quadratic.

usage: linear.py BIN

Counts the instructions of the commands over models of 500, 1,000 and 2,000 layers in shards of 100, with callgrind, which
gives the same figure each time; and of a conversion of as many layers in shards of one, where a step that takes files
times layers shows. Exit 77 where there is no valgrind.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

LAYERS = (500, 1000, 2000)
K, N, GROUP = 64, 32, 32
MOST = 2.15  # 2 and a sort's logarithm; a quadratic tenth would give 2.2


def tensors(layer):
    name = "model.layers.%d.mlp.experts.%d.up_proj." % (layer // 50, layer % 50)
    groups = K // GROUP
    return [(name + "g_idx", "I32", [K], struct.pack("<%di" % K, *(k // GROUP for k in range(K)))),
            (name + "qweight", "I32", [K // 8, N], bytes((37 * layer + 101 * i) % 256 for i in range(K * N // 2))),
            (name + "qzeros", "I32", [groups, N // 8], b"\x77" * (groups * N // 2)),
            (name + "scales", "F16", [groups, N], struct.pack("<e", 0.01) * (groups * N))]


def shuffled(pairs):
    """The same in an order of which no long run ascends."""
    pairs = list(pairs)
    return dict(pairs[i * 7919 % len(pairs)] for i in range(len(pairs)))


def write_shard(path, layers, shuffle):
    header, data = {}, b""
    for layer in layers:
        for name, dtype, shape, content in tensors(layer):
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
    if shuffle:
        header = shuffled(header.items())
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return list(header)


def make(folder, n, in_shard, shuffle=False):
    os.mkdir(folder)
    weight_map = {}
    for first in range(0, n, in_shard):
        name = "model-%05d-of-%05d.safetensors" % (first // in_shard + 1, n // in_shard)
        for tensor in write_shard(os.path.join(folder, name), range(first, first + in_shard), shuffle):
            weight_map[tensor] = name
    weight_map = shuffled(weight_map.items()) if shuffle else dict(sorted(weight_map.items()))
    for name, value in (("model.safetensors.index.json", {"metadata": {}, "weight_map": weight_map}),
                        ("quantize_config.json", {"bits": 4, "group_size": GROUP, "quant_method": "gptq",
                                                  "checkpoint_format": "gptq"})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file)


def instructions(command):
    env = dict(os.environ, GPTQ_NO_LANDLOCK="1")
    env.pop("MALLOC_PERTURB_", None)  # which would count the bytes of buffers that are hardly used
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=env)
    counted = re.search(rb"Collected : (\d+)", done.stderr)
    if done.returncode or not counted:
        sys.exit("%s: exit %d: %s" % (" ".join(command), done.returncode, done.stderr.decode()[-2000:]))
    return int(counted[1])


def main():
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return 77
    binaries, failed, passed = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for n in LAYERS:
            make("m%d" % n, n, 100)
            make("r%d" % n, n, 100, shuffle=True)
            make("s%d" % n, n, 1)
        cases = {"inspect --headers": lambda n: ["gptq-inspect", "--headers", "--json", "m%d" % n],
                 "inspect --headers, no order": lambda n: ["gptq-inspect", "--headers", "--json", "r%d" % n],
                 "inspect": lambda n: ["gptq-inspect", "--layers", "m%d" % n],
                 "convert": lambda n: ["gptq-convert", "--to", "v2", "--jobs", "1", "m%d" % n, "out%d" % n],
                 "convert, a layer a shard": lambda n: ["gptq-convert", "--to", "v2", "--jobs", "1", "s%d" % n, "sout%d" % n],
                 "verify": lambda n: ["gptq-verify", "--jobs", "1", "--device", "cpu", "m%d" % n, "out%d" % n]}
        for name, command in cases.items():
            counts = []
            for n in LAYERS:
                program, *rest = command(n)
                counts.append(instructions([os.path.join(binaries, program), *rest]))
            for n, fewer, more in zip(LAYERS, counts, counts[1:]):
                ok = more < MOST * fewer
                passed, failed = passed + ok, failed + (not ok)
                print("%s %s: %d layers %d instructions, %d layers %d: %.2f times" % (
                    "ok" if ok else "FAIL", name, n, fewer, 2 * n, more, more / fewer))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
