#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts random checkpoints through the command line and compares every byte.

usage: random_convert.py DIR_WITH_THE_COMMANDS [--seed N] [--count N] [--inspect] [--keep DIR] [--spec FILE.json]

Checkpoint i is made from seed N + i by tests/gen/make_checkpoint.py, which also
makes the answers.  Each is converted to the other format and back, and to the
format that it is in; refusals that the specification asks for are checked too.
With --inspect, gptq-inspect must give each layer's figures as well.
A failure names the seed, the spec and the command; --spec FILE runs one spec
again, --keep DIR leaves the folders of failures there.
Standard library only.  Exit 0 if all agree.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "gen"))

import make_checkpoint  # noqa: E402
import specs  # noqa: E402
from cliutil import Commands, Tally, differences, digest, rounds  # noqa: E402


class Run:
    """One checkpoint, its folder, and the conversions that it goes through."""

    def __init__(self, commands, tally, spec, folder):
        self.commands, self.tally, self.spec, self.folder = commands, tally, spec, folder
        self.checkpoint = make_checkpoint.make(spec)
        self.zeros = self.checkpoint.count_zeros()
        self.start = os.path.join(folder, "in")
        links = os.path.join(folder, "blobs") if "links" in spec["extras"] else None
        self.checkpoint.write(self.start, (), links)
        self.before = digest(folder)
        self.made = 0

    def says(self, ok, what, text):
        spec = json.dumps(self.spec)
        return self.tally.check(ok, "seed %d: %s: %s\n  spec: %s" % (self.spec["seed"], what, text, spec))

    def convert(self, source, to, options, code):
        """Runs one conversion into a new folder; checks the exit and what is and is not left.  Returns OUT or None."""
        self.made += 1
        place = os.path.join(self.folder, "place%d" % self.made)
        os.mkdir(place)
        out = os.path.join(place, "out")
        r = self.commands.run("gptq-convert", "--to", to, *options, source, out)
        what = "--to %s %s (%s)" % (to, " ".join(options), os.path.basename(source))
        good = self.says(r.code == code, what, "exit %d, should be %d: %s" % (r.code, code, r.brief()))
        self.says(os.listdir(place) == (["out"] if code == 0 else []), what, "beside OUT lies %s" % os.listdir(place))
        if code:
            self.says(r.out == b"" and r.err.strip(), what, "a refusal is a message on stderr and nothing on stdout")
        return out if good and code == 0 and os.path.isdir(out) else None

    def expect(self, out, steps, what):
        """OUT holds, byte for byte, what these steps must have written."""
        if out is None:
            return
        self.made += 1
        want = os.path.join(self.folder, "want%d" % self.made)
        self.checkpoint.write(want, steps)
        wrong = differences(out, want)
        self.says(not wrong, what, "; ".join(wrong[:4]))

    def inspect(self):
        """Verdict, style and each layer's figures, digests of the weights included."""
        r = self.commands.run("gptq-inspect", "--json", "--weights-digest", self.start)
        try:
            j = json.loads(r.out)
        except ValueError:
            self.says(False, "inspect", "no JSON, exit %d: %s" % (r.code, r.brief()))
            return
        e = self.checkpoint.expect()
        self.says(j["verdict"]["format"] in e["verdict"], "inspect", "verdict %s" % j["verdict"]["format"])
        style = (j["v1_style"] or {}).get("value")
        if "v1_style" in e:
            allowed = (e["v1_style"],) if self.spec["told_by"] != "option" else (e["v1_style"], None)
            self.says(style in allowed, "inspect", "v1 style %s, right: %s" % (style, e["v1_style"]))
        layers = {x["name"]: x for x in j["layers"]}
        self.says(sorted(layers) == sorted(e["layers"]), "inspect", "other layers")
        # The tensors may leave the style open where only an option tells it; then zero points are not known.
        if "v1_style" in e and style is None:
            return
        for name, facts in e["layers"].items():
            other = ["%s %r, right: %r" % (k, layers.get(name, {}).get(k), v) for k, v in facts.items()
                     if k != "weights_dtype" and layers.get(name, {}).get(k) != v]
            self.says(not other, "inspect", "%s: %s" % (name, "; ".join(other)))

    def all(self, inspect=False):
        spec = self.spec
        if inspect:
            self.inspect()
        if spec["format"] == "v1" and spec["style"] == "smeared":
            self.smeared()
        elif spec["format"] == "v1":
            self.from_v1()
        else:
            self.from_v2()
        # Our own folders were made inside; the first one must be as it was.
        for name in os.listdir(self.folder):
            if name not in ("in", "blobs"):
                shutil.rmtree(os.path.join(self.folder, name))
        self.says(digest(self.folder) == self.before, "IN", "was changed")

    def from_v1(self):
        style = self.spec["style"]
        told = ["--v1-style", style] if self.spec["told_by"] == "option" else []
        out = self.convert(self.start, "v2", told, 0)
        self.expect(out, ["v2"], "v1 to v2")
        self.expect(self.convert(self.start, "gptq_v2", told + ["--from", "v1"], 0), ["v2"], "v1 to v2 with --from")
        if out:
            if self.needs_style(style):
                if self.zeros:
                    self.convert(out, "v1", [], 1)
                back = self.convert(out, "v1", ["--v1-style", style], 0)
                self.expect(back, ["v2", style], "v1 to v2 to v1")
                self.expect(back and self.convert(back, "v2", [], 0), ["v2", style, "v2"], "v1 to v2 to v1 to v2")
            else:
                self.expect(self.convert(out, "v1", [], 0), ["v2", "v1"], "v1 to v2 to v1")
        if not self.needs_style(style):
            self.expect(self.convert(self.start, "v1", [], 0), ["v1"], "v1 to v1")

    def needs_style(self, style):
        """Is this form of v1 written only on request?"""
        three = any(layer.bits == 3 for layer in self.checkpoint.layers)
        return self.zeros or style == "gptqmodel-3bit" and three

    def from_v2(self):
        self.expect(self.convert(self.start, "v2", [], 0), ["v2"], "v2 to v2")
        answers = self.checkpoint.answers()
        if self.zeros:
            self.convert(self.start, "v1", [], 1)
        for steps in answers.values():
            options = ["--v1-style", steps[0]] if steps[0] != "v1" else []
            out = self.convert(self.start, "v1", options, 0)
            self.expect(out, steps, "v2 to v1 %s" % " ".join(options))
            if out:
                self.expect(self.convert(out, "v2", [], 0), steps + ["v2"], "v2 to v1 %s to v2" % " ".join(options))

    def smeared(self):
        self.convert(self.start, "v2", [], 1)
        self.convert(self.start, "v2", ["--v1-style", "lane"], 1)
        out = self.convert(self.start, "v2", ["--accept-damaged"], 0)
        self.expect(out, ["damaged"], "smeared v1 to v2")


def main():
    parser = argparse.ArgumentParser(description="converts random checkpoints and compares every byte")
    parser.add_argument("commands")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--inspect", action="store_true", help="check gptq-inspect too")
    parser.add_argument("--spec", help="run this one spec.json")
    parser.add_argument("--keep", help="leave the folders of failures here")
    args = parser.parse_args()
    if args.spec:
        with open(args.spec, encoding="utf-8") as f:
            chosen = [dict(specs.SPEC_DEFAULTS, **json.load(f))]
    else:
        chosen = [specs.random_spec(args.seed + i) for i in range(rounds(args.count))]
    commands, tally = Commands(args.commands), Tally()
    for spec in chosen:
        before = len(tally.failures)
        with tempfile.TemporaryDirectory() as tmp:
            folder = os.path.join(tmp, "run")
            os.mkdir(folder)
            Run(commands, tally, spec, folder).all(args.inspect)
            if args.keep and len(tally.failures) > before:
                kept = os.path.join(args.keep, "seed%d" % spec["seed"])
                shutil.copytree(folder, kept, symlinks=True)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
