#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the test tools: do generator and reader know what they talk about?

usage: selftest.py [--cases DIR] [--real DIR] [--count N]
       selftest.py --as-converter ARGUMENTS OF gptq-convert

Three proofs, none of which needs the commands:
1. reader.py gives every figure of every sample case (testdata/cases), and of
   the checkpoints that real programs wrote (testdata/real), digests included.
2. A converter written here, which edits texts, turns every sample case into
   the answer beside it; so what it does is right.
3. The generator, which edits nothing, and that converter agree on random
   checkpoints: tests/cli/random_convert.py run on it passes, and run on
   converters with one fault each it fails.
Standard library only.  Exit 0 if all agree.
"""
import argparse
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import gptqmath as gm  # noqa: E402
import make_checkpoint  # noqa: E402
import reader  # noqa: E402
import specs  # noqa: E402
from cliutil import Tally, differences  # noqa: E402

TOP = os.path.join(HERE, "..", "..")
FAULT = os.environ.get("FAKE_CONVERTER_FAULT", "")


# ------------------------------------------------------- a converter to test with

class Refused(Exception):
    pass


class Text:
    """A JSON text with the spans of its members, edited in place."""

    def __init__(self, text):
        self.text = text

    def space(self, i):
        return re.compile(r"[ \t\r\n]*").match(self.text, i).end()

    def string(self, i):
        return re.compile(r'"(?:[^"\\]|\\.)*"').match(self.text, i).end()

    def value(self, i):
        """End of the value at i."""
        c = self.text[i]
        if c == '"':
            return self.string(i)
        if c in "{[":
            return self.children(i)[1]
        return re.compile(r"[^,\]}\s]+").match(self.text, i).end()

    def children(self, i):
        """([(key or None, key start, value start, value end)], end) of the object or array at i."""
        close, found = {"{": "}", "[": "]"}[self.text[i]], []
        at = self.space(i + 1)
        while self.text[at] != close:
            key, start = None, at
            if close == "}":
                end = self.string(at)
                key = json.loads(self.text[at:end])
                at = self.space(self.space(end) + 1)
            end = self.value(at)
            found.append((key, start, at, end))
            at = self.space(end)
            if self.text[at] == ",":
                at = self.space(at + 1)
        return found, at + 1

    def objects(self, i, path=()):
        """Every object that may be a quantisation config: (place of its brace, path)."""
        yield i, path
        for key, _, start, _ in self.children(i)[0]:
            if self.text[start] == "{" and (key == "quantization_config" or not path):
                yield from self.objects(start, path + (key,))

    def member(self, i, key):
        return next((m for m in self.children(i)[0] if m[0] == key), None)

    def get(self, i, key):
        m = self.member(i, key)
        return json.loads(self.text[m[2]:m[3]]) if m else None

    def put(self, i, key, value):
        m = self.member(i, key)
        if m:
            self.text = self.text[:m[2]] + json.dumps(value) + self.text[m[3]:]
            return
        last = self.children(i)[0][-1]
        before = re.compile(r"[ \t\r\n]*$").search(self.text, 0, last[1]).group()
        colon = self.text[self.string(last[1]):last[2]]
        if isinstance(value, dict):
            after = self.text[last[3]:self.space(last[3])]
            unit = before[len(after):] if "\n" in before else ""
            (k, v), = value.items()
            inner = '{%s%s%s"%s"%s}' % (before + unit if unit else "", json.dumps(k), colon, v, before if unit else "")
        else:
            inner = json.dumps(value)
        if "\n" not in before:
            first = self.children(i)[0]
            before = "" if len(first) < 2 else self.text[self.text.index(",", first[-2][3]) + 1:first[-1][1]]
        self.text = self.text[:last[3]] + "," + before + json.dumps(key) + colon + inner + self.text[last[3]:]

    def drop(self, i, key):
        members = self.children(i)[0]
        n = next((n for n, m in enumerate(members) if m[0] == key), None)
        if n is None:
            return
        if n:
            a, b = members[n - 1][3], members[n][3]
        else:
            a, b = members[0][1], members[1][1]
        self.text = self.text[:a] + self.text[b:]


def quantisation_configs(name, text):
    """Braces of the quantisation configs in a file, last first so that edits do not move the others."""
    root = text.space(1 if text.text.startswith("\ufeff") else 0)
    found = []
    for i, path in text.objects(root):
        inside = path[-1:] == ("quantization_config",) and len(path) < 3
        if inside or (name != "config.json" and not path):
            method = text.get(i, "quant_method") or ""
            keys = {m[0] for m in text.children(i)[0]}
            shape = "bits" in keys and keys & {"group_size", "desc_act", "checkpoint_format", "format"}
            if method in ("gptq", "auto-round") or shape:
                found.append(i)
    return found[::-1]


def style_of_producer(config, metadata):
    if "auto_gptq_version" in metadata:
        return "smeared"
    version = lambda text: tuple(int(x) for x in text.split(".")[:2])  # noqa: E731
    for entry in (config.get("meta") or {}).get("quantizer", []):
        name, _, number = entry.partition(":")
        if name == "gptqmodel" and version(number) >= (0, 9):
            return "gptqmodel-3bit" if version(number) < (7, 0) else "word"
    if "autoround_version" in config:
        edge = (0, 13) if config.get("quant_method") == "gptq" else (0, 6)
        return "word" if version(config["autoround_version"]) >= edge else "smeared"
    return None


class Converter:
    def __init__(self, args):
        self.args = args
        self.to = "v2" if args.to in ("v2", "gptq_v2") else "v1"
        self.names = [f for f in os.listdir(args.source) if f.endswith(".json")]
        self.texts = {}
        for f in self.names:
            if f in ("quantize_config.json", "quant_config.json", "quantization_config.json", "config.json"):
                with open(os.path.join(args.source, f), encoding="utf-8", newline="") as h:
                    self.texts[f] = Text(h.read())
        self.configs = [c for _, _, c in reader.configs_of(args.source)]
        self.shards = reader.shards_of(args.source)
        self.metadata = {}
        for shard in self.shards:
            self.metadata.update(reader.read_safetensors(os.path.join(args.source, shard))[1].get("__metadata__", {}))
        self.layers = reader.layers_of(args.source)
        self.source = args.from_ or self.label() or self.verdict()
        self.style = self.settle()

    def label(self):
        words = [self.metadata.get("gptq_checkpoint_format")]
        for c in self.configs:
            words += [c.get("checkpoint_format"), c.get("format")]
            if c.get("quant_method") == "auto-round":
                meant = {"auto_round:auto_gptq": "gptq", "auto_round:gptqmodel": "gptq_v2"}
                words.append(meant.get(c.get("packing_format")))
        words = {w for w in words if w}
        if len(words) > 1:
            raise Refused("the labels contradict each other")
        return {"gptq": "v1", "gptq_v2": "v2"}[words.pop()] if words else None

    def verdict(self):
        """No label: only symmetric models are settled here."""
        middle = [all(z == 1 << (x.bits - 1) for row in x.zeros("v2", None) for z in row) for x in self.layers]
        return "v2" if all(middle) else "v1"

    def settle(self):
        """The v1 style by which z = 0 is read, or by which it is written."""
        if self.args.v1_style:
            return self.args.v1_style
        for c in self.configs:
            if "gptq_tools" in c:
                return c["gptq_tools"]["v1_style"]
        for c in self.configs:
            style = style_of_producer(c, self.metadata)
            if style == "smeared" and not any(self.smeared(x) for x in self.layers):
                continue
            if style:
                return style
        return None

    def smeared(self, layer):
        """Is there a word with two lanes of M above its lowest M, and all of them M?"""
        top = (1 << layer.bits) - 1
        for row in layer.zero_rows():
            for w in row:
                lanes = gm.unpack([w], layer.bits, layer.word_bits, layer.word_bits // layer.bits)
                if top in lanes[:-2] and set(lanes[lanes.index(top):]) == {top}:
                    return True
        return False

    def shifted(self, layer):
        """qzeros in the target format."""
        if self.source == self.to:
            return layer.qzeros.raw
        style = self.style or "lane"
        if self.to == "v2" and style == "smeared":
            if not self.args.accept_damaged:
                raise Refused("smeared")
            style = "lane"
        if self.to == "v1" and self.args.v1_style is None:
            if any(z == 0 for row in layer.zeros("v2", None) for z in row):
                raise Refused("zero points of 0")
            style = "lane"
        if self.to == "v2" and self.args.v1_style == "lane" and self.smeared(layer) and self.settled_smeared():
            raise Refused("smeared")
        direction = +1 if self.to == "v2" else -1
        raw = b""
        for row in layer.zero_rows():
            lanes = layer.lanes(row)
            if FAULT == "forgets-padding":
                lanes = lanes[:layer.out_features]
            done = gm.shift_row(lanes, layer.bits, layer.word_bits, layer.zero_words, style, direction)
            raw += gm.words_to_bytes(done, layer.word_bits)
        return raw

    def settled_smeared(self):
        return any(style_of_producer(c, self.metadata) == "smeared" for c in self.configs)

    def write(self):
        args = self.args
        files = {}
        qzeros = {x.name + ".qzeros": self.shifted(x) for x in self.layers}
        changed = set()
        for shard in self.shards:
            old = reader.read_safetensors(os.path.join(args.source, shard))[3]
            files[shard] = self.shard(shard, qzeros)
            changed |= {shard} if files[shard] != old else set()
        for name, text in self.texts.items():
            old = text.text
            for brace in quantisation_configs(name, text):
                self.relabel(text, brace)
            if text.text != old:
                changed.add(name)
            files[name] = text.text.encode("utf-8")
        os.makedirs(args.out)
        for root, folders, names in os.walk(args.source):
            folders[:] = [d for d in folders if d not in (".git", ".cache")]
            for f in names:
                path = os.path.relpath(os.path.join(root, f), args.source)
                if re.search(r"\.(lock|incomplete|part)$", f) or self.is_stale_sum(os.path.join(root, f), changed):
                    continue
                target = os.path.join(args.out, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if path in files:
                    with open(target, "wb") as h:
                        h.write(files[path])
                else:
                    shutil.copyfile(os.path.join(root, f), target)

    def is_stale_sum(self, path, changed):
        if os.path.basename(path) != "SHA256SUMS" and not path.endswith(".sha256"):
            return False
        with open(path, encoding="utf-8") as f:
            return any(line.split()[1] in changed for line in f if len(line.split()) == 2)

    def shard(self, name, qzeros):
        text, header, start, raw = reader.read_safetensors(os.path.join(self.args.source, name))
        raw = bytearray(raw)
        for tensor, entry in header.items():
            if tensor in qzeros:
                a, b = entry["data_offsets"]
                raw[start + a:start + b] = qzeros[tensor]
        body, new = text.rstrip(b" "), bytes(text)
        if "gptq_checkpoint_format" in header.get("__metadata__", {}):
            word = b'"gptq"' if self.to == "v1" else b'"gptq_v2"'
            body = re.sub(rb'("gptq_checkpoint_format": ?)"[^"]*"', lambda m: m.group(1) + word, body, count=1)
            size = len(text) if len(body) <= len(text) else -(-len(body) // 8) * 8
            if FAULT == "grows-always":
                size = -(-max(len(body), len(text) + 1) // 8) * 8
            new = body.ljust(size)
        return len(new).to_bytes(8, "little") + new + bytes(raw[start:])

    def relabel(self, text, brace):
        word = "gptq" if self.to == "v1" else "gptq_v2"
        if text.get(brace, "quant_method") == "auto-round":
            text.put(brace, "packing_format", "auto_round:auto_gptq" if self.to == "v1" else "auto_round:gptqmodel")
        else:
            if FAULT != "forgets-format" and text.member(brace, "format"):
                text.put(brace, "format", word)
            text.put(brace, "checkpoint_format", word)
        if self.to == "v2":
            if FAULT != "keeps-record":
                text.drop(brace, "gptq_tools")
            return
        if self.source == "v1":
            return
        three = any(x.bits == 3 for x in self.layers)
        legacy = three and any(style_of_producer(c, self.metadata) == "gptqmodel-3bit" for c in self.configs)
        if self.args.v1_style:
            style = self.args.v1_style
            text.put(brace, "gptq_tools", {"v1_style": "word" if style == "gptqmodel-3bit" and not three else style})
        elif legacy:
            text.put(brace, "gptq_tools", {"v1_style": "lane"})


def as_converter(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True)
    parser.add_argument("--from", dest="from_")
    parser.add_argument("--v1-style")
    parser.add_argument("--accept-damaged", action="store_true")
    parser.add_argument("source")
    parser.add_argument("out")
    try:
        Converter(parser.parse_args(argv)).write()
    except Refused as e:
        print("refused: %s" % e, file=sys.stderr)
        return 1
    return 0


# ------------------------------------------------------------------- the proofs

def style_for(expect):
    """How to read v1: what a program damaged is read lane by lane."""
    style = expect.get("v1_style", "lane")
    return style if style in ("word", "gptqmodel-3bit") else "lane"


def check_figures(tally, name, folder, expect):
    layers = {x.name: x for x in reader.layers_of(folder)}
    tally.check(sorted(layers) == sorted(expect["layers"]), "%s: other layers" % name)
    for key, truth in expect["layers"].items():
        fmt = expect["format_on_disk"]
        if name == "half-converted":
            fmt = "v2" if ".layers.1." in key else "v1"
        got = layers[key].facts(fmt, style_for(expect)) if key in layers else {}
        other = [(k, got.get(k), v) for k, v in truth.items() if got.get(k) != v]
        tally.check(not other, "%s: %s: %s" % (name, key, other))


def check_cases(tally, cases):
    """Reader against every expect.json, converter against every answer that has one plain command."""
    for name in sorted(os.listdir(cases)):
        path = os.path.join(cases, name, "expect.json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as f:
            expect = json.load(f)
        check_figures(tally, name, os.path.join(cases, name, "in"), expect)
        jobs = []
        if expect["convert_to"]:
            style = ["--v1-style", expect["v1_style"]] if "v1_style" in expect else []
            jobs.append((expect["convert_to"], style, expect["convert_to"]))
        elif name == "v1-smeared":
            jobs.append(("v2", ["--accept-damaged"], "v2-damaged"))
        with tempfile.TemporaryDirectory() as tmp:
            for to, options, answer in jobs:
                out = os.path.join(tmp, "out")
                code = as_converter(["--to", to, *options, os.path.join(cases, name, "in"), out])
                wrong = differences(out, os.path.join(cases, name, answer)) if code == 0 else ["exit %d" % code]
                tally.check(not wrong, "%s: converter of this test: %s" % (name, "; ".join(wrong)))


def check_real(tally, real):
    for name in sorted(os.listdir(real)):
        if not name.endswith(".weights.json"):
            continue
        with open(os.path.join(real, name), encoding="utf-8") as f:
            truth = json.load(f)
        case = name[:-len(".weights.json")]
        check_figures(tally, case, os.path.join(real, case), truth)


def check_generator(tally, count):
    """The reader must see in a generated folder what the generator says of it."""
    for seed in range(count):
        spec = specs.random_spec(seed)
        checkpoint = make_checkpoint.make(spec)
        expect = checkpoint.expect()
        with tempfile.TemporaryDirectory() as tmp:
            checkpoint.write(os.path.join(tmp, "in"))
            check_figures(tally, "seed %d" % seed, os.path.join(tmp, "in"), expect)
            for answer, steps in checkpoint.answers().items():
                folder = os.path.join(tmp, answer)
                checkpoint.write(folder, steps)
                fmt = "v2" if answer.startswith("v2") else "v1"
                as_it_is = dict(expect, format_on_disk=fmt, v1_style=steps[0] if steps[0] in gm.STYLES else "lane")
                check_figures(tally, "seed %d, %s" % (seed, answer), folder, as_it_is)


def check_random_convert(tally, count):
    """random_convert.py passes on a right converter and fails on each that has one fault."""
    script = os.path.join(HERE, "..", "cli", "random_convert.py")
    with tempfile.TemporaryDirectory() as tmp:
        fake = os.path.join(tmp, "gptq-convert")
        with open(fake, "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\nexec "%s" "%s" --as-converter "$@"\n' % (sys.executable, os.path.abspath(__file__)))
        os.chmod(fake, os.stat(fake).st_mode | stat.S_IXUSR)
        for fault in ("", "forgets-format", "keeps-record", "forgets-padding", "grows-always"):
            env = dict(os.environ, FAKE_CONVERTER_FAULT=fault)
            # Seed 1 has a key format, a record, padding and a label in the header: all that the faults need.
            rounds = "1" if fault else str(count)
            done = subprocess.run([sys.executable, script, tmp, "--seed", "1", "--count", rounds], env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            closing = done.stdout.decode().strip().splitlines()[-1:]
            if fault:
                noticed = done.returncode == 1 and re.search(rb"passed, [1-9]\d* failed$", done.stdout.strip())
                tally.check(noticed, "random_convert.py misses a converter that %s: %s" % (fault, closing))
            else:
                said = done.stdout.decode()[:6000]
                tally.check(done.returncode == 0, "random_convert.py on a right converter:\n" + said)


def main():
    if sys.argv[1:2] == ["--as-converter"]:
        return as_converter(sys.argv[2:])
    parser = argparse.ArgumentParser(description="tests the test tools")
    parser.add_argument("--cases", default=os.path.join(TOP, "testdata", "cases"))
    parser.add_argument("--real", default=os.path.join(TOP, "testdata", "real"))
    parser.add_argument("--count", type=int, default=24, help="random checkpoints (converting them is the slow part)")
    args = parser.parse_args()
    tally = Tally()
    check_cases(tally, args.cases)
    check_real(tally, args.real)
    check_generator(tally, args.count)
    check_random_convert(tally, args.count)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
