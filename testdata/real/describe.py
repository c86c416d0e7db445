#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes NAME.weights.json: what is true of a checkpoint that make_real.py made.

usage: describe.py NAME v1|v2 STYLE_OR_- NAME.memory.json

Everything under "layers" comes from the tensors on disk, read by tests/gen.
"memory" holds what the program itself had before it packed: its zero points
(SHA-256 over one byte each, [G][N]) and the digest of the weights that they
give with the codes and scales on disk.  Where both agree, the style is proved.
Standard library only.
"""
import hashlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "gen"))

import reader  # noqa: E402


def main():
    name, fmt, style, memory_file = sys.argv[1:]
    with open(memory_file, encoding="utf-8") as f:
        memory = json.load(f)
    read_by = "lane" if style in ("-", "smeared", "auto-round-3bit") else style
    layers, remembered, lost, program = {}, {}, 0, []
    for layer in reader.layers_of(os.path.join(HERE, name)):
        kept = memory["layers"][layer.name]
        raw = bytes.fromhex(kept["zeros"])
        n = layer.out_features
        true = [list(raw[g * n:(g + 1) * n]) for g in range(layer.groups)]
        decoded = layer.zeros(fmt, read_by)
        lost += sum(a != b for x, y in zip(true, decoded) for a, b in zip(x, y))
        layers[layer.name] = layer.facts(fmt, read_by)
        remembered[layer.name] = {"zeros_equal_0": raw.count(0), "zeros_sha256": hashlib.sha256(raw).hexdigest(),
                                  "weights_sha256": layer.sha256(true)}
        if "program_weights_sha256" in kept:
            program.append(kept["program_weights_sha256"] == layers[layer.name]["weights_sha256"])
    truth = {"program": memory["program"], "version": memory["version"], "format_on_disk": fmt,
             "zero_points_that_memory_had_otherwise": lost, "layers": layers, "memory": remembered}
    if style != "-":
        truth["v1_style"] = style
    if program:
        truth["program_reads_the_same_weights"] = all(program)
    with open(os.path.join(HERE, name + ".weights.json"), "w", encoding="utf-8") as f:
        json.dump(truth, f, indent=1, sort_keys=True)
        f.write("\n")
    print("%-40s %s %-15s z=0 %4d, otherwise in memory %4d, program agrees %s" % (
        name, fmt, style, sum(x["zeros_equal_0"] for x in remembered.values()), lost, all(program) if program else "-"))


if __name__ == "__main__":
    sys.exit(main())
