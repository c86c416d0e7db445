#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands over the checkpoints that real programs wrote (testdata/real).

usage: run_real.py DIR_WITH_THE_COMMANDS [--real DIR] [-p convert|inspect]

Where a program wrote the same model as v1 and as v2, its own v2 is the answer to
converting its v1, and the other way round. What a program damaged when it wrote
it is refused with the counts that its own memory proves.
Standard library only. Exit 0 if all agree.
"""
import argparse
import json
import os
import sys
import tempfile

from cliutil import Commands, Tally, content, digest

HERE = os.path.dirname(os.path.abspath(__file__))


class Real:
    def __init__(self, folder, name, commands, tally, tmp):
        self.name, self.path = name, os.path.join(folder, name)
        self.commands, self.tally, self.tmp = commands, tally, tmp
        with open(self.path + ".weights.json", encoding="utf-8") as f:
            self.truth = json.load(f)
        self.runs = 0

    def check(self, ok, text):
        return self.tally.check(ok, "%s: %s" % (self.name, text))

    def convert(self, *options, source=None, code=0):
        self.runs += 1
        out = os.path.join(self.tmp, "out%d" % self.runs)
        r = self.commands.run("gptq-convert", *options, source or self.path, out)
        what = "convert %s" % " ".join(options)
        self.check(r.code == code, "%s: exit %d, should be %d: %s" % (what, r.code, code, r.brief()))
        self.check(os.path.exists(out) == (r.code == 0), "%s: exit %d, and OUT is not as it says" % (what, r.code))
        return r, out if r.code == 0 and os.path.isdir(out) else None

    def weights(self, folder):
        return [content(os.path.join(folder, f)) for f in sorted(os.listdir(folder)) if f.endswith(".safetensors")]


def as_the_program_does(real):
    """A v1 and v2 pair of one model: each converts into the other's tensors."""
    if not real.name.endswith("-v1") or not os.path.isdir(real.path[:-1] + "2"):
        return
    other = real.path[:-1] + "2"
    _, out = real.convert("--to", "v2")
    if out:
        real.check(real.weights(out) == real.weights(other), "converted to v2 it is not what the program wrote as v2")
    style = [] if real.truth.get("v1_style") is None else ["--v1-style", real.truth["v1_style"]]
    if any(x["zeros_equal_0"] for x in real.truth["layers"].values()):
        real.convert("--to", "v1", source=other, code=1)
    _, back = real.convert("--to", "v1", *style, source=other)
    if back:
        real.check(real.weights(back) == real.weights(real.path), "the program's v2 converted to v1 is not its v1")


def damaged(real):
    """Refused, with the counts; or converted in the open."""
    if real.truth.get("v1_style") not in ("smeared", "auto-round-3bit"):
        return
    r, _ = real.convert("--to", "v2", code=1)
    real.check("--accept-damaged" in r.err, "the refusal names no way out: " + r.brief())
    named = real.truth["v1_style"] in r.err or "auto-round" in r.err
    real.check(named, "the refusal does not name the damage: " + r.brief())
    real.convert("--to", "v2", "--accept-damaged")


def there_and_back(real):
    """Every other one converts; the way back gives the first tensors."""
    truth = real.truth
    if truth.get("v1_style") in ("smeared", "auto-round-3bit"):
        return
    first, there = truth["format_on_disk"], "v1" if truth["format_on_disk"] == "v2" else "v2"
    zeros = any(x["zeros_equal_0"] for x in truth["layers"].values())
    if first == "v2" and zeros:
        real.convert("--to", there, code=1)
        style = ["--v1-style", "lane"]
        _, out = real.convert("--to", there, *style)
        _, back = real.convert("--to", first, source=out) if out else (None, None)
    else:
        style = ["--v1-style", truth["v1_style"]] if truth.get("v1_style") else []
        _, out = real.convert("--to", there)
        _, back = real.convert("--to", first, *style, source=out) if out else (None, None)
    if back:
        real.check(real.weights(back) == real.weights(real.path), "there and back gives other tensors")


def inspected(real):
    """Style and each layer's figures, the digests of the weights included."""
    r = real.commands.run("gptq-inspect", "--json", "--weights-digest", real.path)
    try:
        j = json.loads(r.out)
    except ValueError:
        real.check(False, "inspect --json printed no JSON, exit %d: %s" % (r.code, r.brief()))
        return
    truth = real.truth
    verdict = j["verdict"]["format"]
    real.check(verdict in (truth["format_on_disk"], "undetermined"), "verdict %s" % verdict)
    if truth.get("v1_style") in ("lane", "word", "gptqmodel-3bit", "smeared"):
        got = (j["v1_style"] or {}).get("value")
        real.check(got == truth["v1_style"], "v1 style %s, right: %s" % (got, truth["v1_style"]))
    if truth.get("v1_style") == "auto-round-3bit":
        return
    layers = {x["name"]: x for x in j["layers"]}
    real.check(sorted(layers) == sorted(truth["layers"]), "inspect sees other layers")
    for name, facts in truth["layers"].items():
        for key, value in facts.items():
            if key != "weights_dtype":
                got = layers.get(name, {}).get(key)
                real.check(got == value, "%s.%s is %r, right: %r" % (name, key, got, value))


PARTS = {"convert": [as_the_program_does, damaged, there_and_back], "inspect": [inspected]}


def main():
    parser = argparse.ArgumentParser(description="runs the commands over checkpoints of real programs")
    parser.add_argument("commands")
    parser.add_argument("-p", "--part", action="append", choices=sorted(PARTS))
    parser.add_argument("--real", default=os.path.join(HERE, "..", "..", "testdata", "real"))
    args = parser.parse_args()
    tally, commands = Tally(), Commands(args.commands)
    suffix = ".weights.json"
    for name in sorted(f[:-len(suffix)] for f in os.listdir(args.real) if f.endswith(suffix)):
        with tempfile.TemporaryDirectory() as tmp:
            real = Real(args.real, name, commands, tally, tmp)
            before = digest(real.path)
            for chosen in args.part or PARTS:
                for function in PARTS[chosen]:
                    function(real)
            real.check(digest(real.path) == before, "it was changed")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
