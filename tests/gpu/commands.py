#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands on a CUDA device against the same commands on the processor.

usage: commands.py [--flips N] BIN CHECKPOINT...

Converts each checkpoint to the other format with every weight proved on the device; verifies the two with both methods
on both devices, then again with N copies of which a bit was flipped somewhere in the tensors' bytes: the reports may
differ in nothing but the device. Exit 77 where there is no device.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from cliutil import Commands, Tally  # noqa: E402

METHODS = ("every", "table", "auto")


def report(commands, device, method, *args):
    """Exit code and report of gptq-verify, without what names the device."""
    result = commands.run("gptq-verify", "--json", "--layers", "--jobs", "2", "--device", device, "--method", method, *args)
    try:
        document = json.loads(result.out)
    except ValueError:
        return result.code, result.brief()
    used = document.pop("device", None), document.pop("gpu", None)
    return result.code, document, used


def same_on_both(commands, tally, what, *args):
    """One report for each method, which both devices give. Returns the exit codes."""
    codes = set()
    for method in METHODS:
        cpu, cuda = (report(commands, device, method, *args) for device in ("cpu", "cuda"))
        tally.check(cpu[:2] == cuda[:2], f"{what}, {method}: cpu {str(cpu)[-300:]}, cuda {str(cuda)[-300:]}")
        if len(cuda) == 3 and cuda[0] != 2:
            tally.check(cuda[2][0] == "cuda" and cuda[2][1], f"{what}, {method}: ran on {cuda[2]}")
        codes.add(cuda[0])
    return codes


def converted(commands, tally, folder, out):
    """OUT of a conversion to the other format whose weights the device proved, or None where it is refused."""
    for to in ("v2", "v1"):
        outs = {device: os.path.join(out, f"{to}-{device}") for device in ("cpu", "cuda")}
        done = {device: commands.run("gptq-convert", "--to", to, "--verify=weights", "--device", device, "--json", folder,
                                     outs[device]) for device in outs}
        tally.check(done["cpu"].code == done["cuda"].code,
                    f"{folder} to {to}: {done['cpu'].code} on the processor, {done['cuda'].code} on the device")
        if done["cuda"].code == 0 and json.loads(done["cuda"].out)["layers_changed"]:
            return outs["cuda"]
    return None


def flip(rng, folder, out):
    """A copy of a checkpoint with a bit flipped behind a header of one of its files. Says where."""
    if os.path.isdir(folder):
        shutil.copytree(folder, out)
        name = rng.choice(sorted(f for f in os.listdir(out) if f.endswith(".safetensors")))
        path = os.path.join(out, name)
    else:
        path, name = shutil.copy(folder, out), os.path.basename(folder)
    with open(path, "r+b") as file:
        data_start = 8 + struct.unpack("<Q", file.read(8))[0]
        size = os.path.getsize(path)
        bit = rng.randrange(8 * data_start, 8 * size)
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))
    return f"{name}, bit {bit}"


def check(commands, folder, seed, n_flips):
    """All checks of one checkpoint; a Tally."""
    tally, rng = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        other = converted(commands, tally, folder, scratch)
        if other is None:
            same_on_both(commands, tally, f"{folder} beside itself", folder, folder)
            return tally
        codes = same_on_both(commands, tally, folder, folder, other)
        tally.check(1 not in codes, f"{folder}: its conversion differs")
        for i in range(n_flips):
            flipped = os.path.join(scratch, f"flip-{i}" + ("" if os.path.isdir(other) else ".safetensors"))
            where = flip(rng, other, flipped)
            same_on_both(commands, tally, f"{folder} with {where} flipped", folder, flipped)
    return tally


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flips", type=int, default=2)
    parser.add_argument("bin")
    parser.add_argument("checkpoints", nargs="+")
    options = parser.parse_args()
    commands, all_of_it = Commands(options.bin), Tally()
    first = options.checkpoints[0]
    probe = commands.run("gptq-verify", "--device", "cuda", first, first)
    if "no CUDA device can be used" in probe.err:
        print(f"skipped: {probe.brief()}")
        return 77
    all_of_it.check(probe.code == 0, f"{first} beside itself: {probe.brief()}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(check, commands, folder, seed, options.flips)
                for seed, folder in enumerate(options.checkpoints)]
        for job in jobs:
            tally = job.result()
            all_of_it.passed += tally.passed
            all_of_it.failures += tally.failures
    return all_of_it.close()


if __name__ == "__main__":
    sys.exit(main())
