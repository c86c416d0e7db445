#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands over every sample checkpoint and checks what each must do.

usage: run_cases.py DIR_WITH_THE_COMMANDS [-p PART]... [-c CASE]... [--cases DIR]

A case is a folder of testdata/cases: in/ is the model as published, v1/ or v2/
what conversion must give byte for byte, expect.json what is true of it.
PART is one of convert, back, refusals, options, unchanged, inspect, verify; all
by default. CASE limits the run to cases whose name contains it.
Standard library only. Exit 0 if all agree.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

from cliutil import Commands, Tally, differences, digest

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = {}


def part(name):
    """Puts a test function into a part, in order."""
    def add(function):
        PARTS.setdefault(name, []).append(function)
        return function
    return add


class Case:
    def __init__(self, cases, name, commands, tally, tmp):
        self.name, self.commands, self.tally, self.tmp = name, commands, tally, tmp
        self.folder = os.path.join(cases, name)
        self.source = os.path.join(self.folder, "in")
        with open(os.path.join(self.folder, "expect.json"), encoding="utf-8") as f:
            self.expect = json.load(f)
        self.before = digest(self.source)
        self.runs = 0

    def check(self, ok, text):
        return self.tally.check(ok, "%s: %s" % (self.name, text))

    def answer(self, name):
        return os.path.join(self.folder, name)

    def place(self):
        """A new empty folder for one OUT, so that what is left beside it shows."""
        self.runs += 1
        place = os.path.join(self.tmp, "%s-%d" % (self.name, self.runs))
        os.mkdir(place)
        return place

    def convert(self, *options, source=None, code=0):
        """One conversion. Exit, OUT, what lies beside it and IN are checked. Returns (result, OUT or None)."""
        source = source or self.source
        place, first = self.place(), digest(source)
        out = os.path.join(place, "out")
        r = self.commands.run("gptq-convert", *options, source, out)
        what = "convert %s" % " ".join(options)
        good = self.check(r.code == code, "%s: exit %d, should be %d: %s" % (what, r.code, code, r.brief()))
        there = sorted(os.listdir(place))
        self.check(there == (["out"] if r.code == 0 else []), "%s: exit %d, but %s lies there" % (what, r.code, there))
        self.check(digest(source) == first, "%s: IN was changed" % what)
        if code and good:
            self.check(r.out == b"", "%s: a refusal prints nothing on stdout: %r" % (what, r.out[:80]))
            errors = [line for line in r.err.splitlines() if " error: " in line]
            self.check(len(errors) == 1, "%s: a refusal is one error message, not %d" % (what, len(errors)))
        return r, out if r.code == 0 and os.path.isdir(out) else None

    def same(self, out, want, what, skip=()):
        if out is not None:
            wrong = differences(out, want, skip)
            self.check(not wrong, "%s: %s" % (what, "; ".join(wrong[:4])))

    def converts_to(self, answer, *options):
        _, out = self.convert(*options)
        self.same(out, self.answer(answer), " ".join(options))
        return out

    def refuses(self, *options, code=1, says=()):
        r, _ = self.convert(*options, code=code)
        said = r.err.lower()
        missing = [fragment for fragment in says if fragment.lower() not in said]
        self.check(not missing, "convert %s: the message lacks %s: %s" % (" ".join(options), missing, r.err.strip()))


# ------------------------------------------------------------- plain conversions

@part("convert")
def plain_conversion(case):
    """By default, and with the style given where it matters."""
    to = case.expect["convert_to"]
    if to:
        case.converts_to(to, "--to", to)
        long_name = {"v1": "gptq", "v2": "gptq_v2"}[to]
        case.converts_to(to, "--to", long_name, "--from", case.expect["format_on_disk"])
        if "v1_style" in case.expect:
            case.converts_to(to, "--to", to, "--v1-style", case.expect["v1_style"])


@part("convert")
def dry_run(case):
    """Decides as conversion does and writes nothing."""
    to = case.expect["convert_to"] or "v2"
    wanted = case.commands.run("gptq-convert", "--to", to, case.source, os.path.join(case.place(), "out"))
    place = case.place()
    r = case.commands.run("gptq-convert", "--to", to, "--dry-run", case.source, os.path.join(place, "out"))
    case.check(r.code == wanted.code, "--dry-run: exit %d, in earnest %d" % (r.code, wanted.code))
    case.check(os.listdir(place) == [], "--dry-run left %s" % os.listdir(place))


# -------------------------------------------------------------------- and back

# Files in which the way there and back may differ: a key that was added stays, a header that grew does too.
GROWN = {
    "format-key-only": ["config.json", "quantize_config.json"], "legacy-single-file": ["quantize_config.json"],
    "no-label-w8-asym": ["config.json", "quantize_config.json"], "metadata-label-tight": ["model.safetensors"]}


@part("back")
def there_and_back(case):
    """The answer, converted back, holds the first bytes; back and forth again, the answer's."""
    e = case.expect
    if not e["convert_to"]:
        return
    style = ["--v1-style", e["v1_style"]] if "v1_style" in e else []
    there, first = e["convert_to"], e["format_on_disk"]
    legacy = e.get("v1_style") == "gptqmodel-3bit"
    zeros = any(layer["zeros_equal_0"] for layer in e["layers"].values())
    if first == "v1" and style and (zeros or legacy):
        if zeros:
            case.convert("--to", "v1", source=case.answer(there), code=1)
        _, back = case.convert("--to", "v1", *style, source=case.answer(there))
        # The way back under an explicit style leaves a record of it in the configs.
        case.same(back, case.source, "back with the style", skip=["config.json", "quantize_config.json"])
        if back:
            check_record(case, back, "word" if e["v1_style"] == "word" else e["v1_style"])
            _, again = case.convert("--to", "v2", source=back)
            case.same(again, case.answer(there), "there, back and there by the record")
        return
    _, back = case.convert("--to", first, source=case.answer(there))
    case.same(back, case.source, "back", skip=GROWN.get(case.name, ()))
    if back:
        _, again = case.convert("--to", there, source=back)
        case.same(again, case.answer(there), "there, back and there")


def check_record(case, folder, style):
    for name in ("config.json", "quantize_config.json"):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            config = json.load(f)
        config = config.get("quantization_config", config)
        case.check(config.get("gptq_tools") == {"v1_style": style}, "%s records %s" % (name, config.get("gptq_tools")))


# ------------------------------------------------------- what must not be converted

def only(*names):
    """Runs a test function for these cases alone."""
    def wrap(function):
        def run(case):
            if case.name in names:
                function(case)
        run.__doc__ = function.__doc__
        return run
    return wrap


@part("refusals")
@only("label-lies-sym", "label-lies-asym")
def label_against_tensors(case):
    """Both are named, and the ways out."""
    for to in ("v1", "v2"):
        case.refuses("--to", to, says=["label", "v1", "v2", "--from", "--relabel"])
    _, out = case.convert("--to", "v2", "--from", "v2")
    if out:
        _, relabelled = case.convert("--relabel")
        case.same(relabelled, out, "--relabel and --to v2 --from v2")


@part("refusals")
@only("half-converted")
def half_converted(case):
    """Names layers of each kind; only --per-layer converts it."""
    for options in (["--to", "v2"], ["--to", "v1"], ["--to", "v2", "--from", "v1"], ["--relabel"]):
        case.refuses(*options, says=["mixed", "model.layers.0.", "model.layers.1."])
    case.refuses("--to", "v2", says=["--per-layer"])
    case.converts_to("v2", "--to", "v2", "--per-layer")
    case.converts_to("v1", "--to", "v1", "--per-layer")


@part("refusals")
@only("configs-disagree")
def configs_disagree(case):
    """Names file, key and value of each place; --from settles it."""
    for to in ("v1", "v2"):
        case.refuses("--to", to, says=["quantize_config.json", "config.json", "quantization_config.checkpoint_format",
                                       "\"gptq\"", "\"gptq_v2\"", "--from"])
    _, out = case.convert("--to", "v2", "--from", "v1")
    if out:
        texts = []
        for name in ("quantize_config.json", "config.json"):
            with open(os.path.join(out, name), encoding="utf-8") as f:
                config = json.load(f)
            texts.append(config.get("quantization_config", config)["checkpoint_format"])
        case.check(texts == ["gptq_v2", "gptq_v2"], "--from v1 leaves the labels %s" % texts)


@part("refusals")
@only("stray-file")
def stray_file(case):
    """Names the file and the option; copied, or converted with the rest."""
    case.refuses("--to", "v2", says=["model.safetensors", "--strays"])
    stray = os.path.join(case.source, "model.safetensors")
    with open(stray, "rb") as f:
        first = f.read()
    for how in ("copy", "convert"):
        _, out = case.convert("--to", "v2", "--strays", how)
        if out:
            with open(os.path.join(out, "model.safetensors"), "rb") as f:
                same = f.read() == first
            case.check(same == (how == "copy"), "--strays %s: the stray file is not as it should be" % how)


@part("refusals")
@only("v1-smeared")
def smeared(case):
    """Counts what is lost; no style brings it back; only --accept-damaged converts."""
    words, zeros = str(case.expect["damaged_words"]), str(case.expect["unknown_zero_points"])
    case.refuses("--to", "v2", says=["smeared", words, zeros, "--accept-damaged"])
    for style in ("lane", "word"):
        case.refuses("--to", "v2", "--v1-style", style, says=["smeared", words, zeros])
    r, out = case.convert("--to", "v2", "--accept-damaged")
    case.same(out, case.answer("v2-damaged"), "--accept-damaged")
    said = (r.out + r.err.encode()).decode().lower()
    case.check(zeros in said, "--accept-damaged does not count the zero points that are not known: %s" % said[-300:])
    case.check("lossless" not in said.replace("not lossless", ""), "damaged is called lossless")


@part("refusals")
@only("zero-at-0-from-v2")
def zero_points_of_zero(case):
    """Counts them a layer and in all; an explicit style writes its answer."""
    counts = [layer["zeros_equal_0"] for layer in case.expect["layers"].values()]
    names = list(case.expect["layers"])
    case.refuses("--to", "v1", says=[str(sum(counts)), "--v1-style"] + names + [str(c) for c in counts])
    case.refuses("--to", "v1", "--from", "v2", says=[str(sum(counts))])
    for style in ("lane", "word"):
        _, out = case.convert("--to", "v1", "--v1-style", style)
        if out:
            want = os.path.join(case.place(), "want")
            shutil.copytree(case.source, want)
            for name in os.listdir(case.answer("v1-" + style)):
                shutil.copyfile(os.path.join(case.answer("v1-" + style), name), os.path.join(want, name))
            case.same(out, want, "--v1-style " + style, skip=["config.json"])
            check_record(case, out, style)
            _, back = case.convert("--to", "v2", source=out)
            case.same(back, case.source, "--v1-style %s and back" % style)


@part("refusals")
@only("w4-g32-sym")
def wrong_places(case):
    """OUT that exists, OUT inside IN, OUT that is IN, IN that is not there: exit 2 and nothing happens."""
    place = case.place()
    there, new, inside = os.path.join(place, "there"), os.path.join(place, "new"), os.path.join(case.source, "new")
    os.mkdir(there)
    for source, out, why in ((case.source, there, "OUT exists"), (case.source, inside, "OUT inside IN"),
                             (case.source, case.source, "OUT is IN"), (os.path.join(place, "none"), new, "no IN"),
                             (there, new, "no safetensors in IN")):
        r = case.commands.run("gptq-convert", "--to", "v2", source, out)
        case.check(r.code == 2, "%s: exit %d, should be 2: %s" % (why, r.code, r.brief()))
        case.check(r.out == b"" and r.err.strip(), "%s: a message on stderr and nothing on stdout" % why)
    case.check(os.listdir(place) == ["there"] and os.listdir(there) == [], "something was left: %s" % os.listdir(place))
    case.check(digest(case.source) == case.before, "a refused OUT changed IN")


# ------------------------------------------------------------------ other options

@part("options")
@only("w4-g32-sym", "sharded", "metadata-label-tight")
def json_report(case):
    """--json is one JSON document on stdout, also when conversion is refused."""
    r, _ = case.convert("--to", "v2", "--json")
    case.check(is_json(r.out), "--json printed no JSON: %r" % r.out[:80])
    r = case.commands.run("gptq-convert", "--to", "v2", "--json", "--from", "v2", case.source, case.source)
    case.check(is_json(r.out), "--json on an error printed no JSON: %r" % r.out[:80])


def is_json(raw):
    try:
        return isinstance(json.loads(raw), dict)
    except ValueError:
        return False


@part("options")
@only("w4-g32-sym")
def quiet(case):
    r, _ = case.convert("--to", "v2", "-q")
    case.check(r.out == b"" and r.err == "", "-q is not quiet: %r %r" % (r.out[:80], r.err[:80]))


@part("options")
@only("w4-g32-sym", "act-order")
def force(case):
    """Replaces an OUT that is there, and only then."""
    place = case.place()
    out = os.path.join(place, "out")
    shutil.copytree(case.answer("v2"), out)
    with open(os.path.join(out, "old"), "w", encoding="utf-8") as f:
        f.write("old")
    first = digest(out)
    r = case.commands.run("gptq-convert", "--to", "v2", case.source, out)
    case.check(r.code == 2 and digest(out) == first, "an OUT that is there: exit %d, or it was changed" % r.code)
    r = case.commands.run("gptq-convert", "--to", "v2", "--force", case.source, out)
    case.check(r.code == 0 and os.listdir(place) == ["out"], "--force: exit %d, left %s" % (r.code, os.listdir(place)))
    case.same(out, case.answer("v2"), "--force")


# ------------------------------------------------- already in the target format

@part("unchanged")
def already_there(case):
    """A model that is in the target format is copied and its labels are set all the same."""
    e = case.expect
    if not e["convert_to"]:
        return
    answer = e["convert_to"]
    r, out = case.convert("--to", answer, source=case.answer(answer))
    case.same(out, case.answer(answer), "--to %s of what is %s" % (answer, answer))
    case.check(b"unchanged" in r.out, "the report does not say unchanged: %r" % r.out[-200:])


# ------------------------------------------------------------------------ inspect

@part("inspect")
def facts(case):
    """Verdict, style and each layer's figures, digests included."""
    r = case.commands.run("gptq-inspect", "--json", "--weights-digest", case.source)
    if not case.check(is_json(r.out), "inspect --json printed no JSON, exit %d: %s" % (r.code, r.brief())):
        return
    j, e = json.loads(r.out), case.expect
    case.check(j["verdict"]["format"] in e["verdict"], "verdict %s, right: %s" % (j["verdict"]["format"], e["verdict"]))
    if "v1_style" in e:
        got = (j["v1_style"] or {}).get("value")
        case.check(got == e["v1_style"], "v1 style %s, right: %s" % (got, e["v1_style"]))
    layers = {x["name"]: x for x in j["layers"]}
    case.check(sorted(layers) == sorted(e["layers"]), "inspect sees other layers")
    for name, truth in e["layers"].items():
        for key, value in truth.items():
            if key != "weights_dtype":
                got = layers.get(name, {}).get(key)
                case.check(got == value, "%s.%s is %r, right: %r" % (name, key, got, value))


@part("inspect")
def findings(case):
    """--check exits 1 just where something is wrong."""
    code = case.commands.run("gptq-inspect", "--check", case.source).code
    want = case.expect.get("check", 0)
    case.check(code == want, "inspect --check: exit %d, should be %d" % (code, want))
    case.check(digest(case.source) == case.before, "inspect changed IN")


@part("inspect")
def digests_agree(case):
    """The weights digest of the answer is that of IN."""
    if not case.expect["convert_to"]:
        return
    found = []
    for folder in (case.source, case.answer(case.expect["convert_to"])):
        r = case.commands.run("gptq-inspect", "--json", "--weights-digest", folder)
        found.append(json.loads(r.out).get("weights_digest") if is_json(r.out) else None)
    case.check(found[0] == found[1] and found[0], "the weights digests of both formats are %s" % found)


# ------------------------------------------------------------------------- verify

@part("verify")
def same_weights(case):
    """IN and its answer hold the same weights; by either method."""
    if not case.expect["convert_to"]:
        return
    for options in ([], ["--method", "table"], ["--method", "every"]):
        r = case.commands.run("gptq-verify", *options, case.source, case.answer(case.expect["convert_to"]))
        case.check(r.code == 0, "verify %s: exit %d, should be 0: %s" % (" ".join(options), r.code, r.brief()))


@part("verify")
def other_weights(case):
    """One code that differs is found, and named."""
    if not case.expect["convert_to"] or case.name != "w4-g32-asym":
        return
    other = os.path.join(case.place(), "other")
    shutil.copytree(case.answer("v2"), other)
    path = os.path.join(other, "model.safetensors")
    with open(path, "rb") as f:
        raw = bytearray(f.read())
    size = int.from_bytes(raw[:8], "little")
    name = "model.layers.0.mlp.up_proj"
    at = 8 + size + json.loads(raw[8:8 + size])[name + ".qweight"]["data_offsets"][0]
    raw[at] ^= 1
    with open(path, "wb") as f:
        f.write(raw)
    for method in ("auto", "table", "every"):
        r = case.commands.run("gptq-verify", "--method", method, case.source, other)
        said = r.out.decode() + r.err
        case.check(r.code == 1, "verify --method %s of other weights: exit %d, should be 1" % (method, r.code))
        case.check(name in said, "verify --method %s does not name the layer: %s" % (method, said[-200:]))


def main():
    parser = argparse.ArgumentParser(description="runs the commands over the sample checkpoints")
    parser.add_argument("commands")
    parser.add_argument("-p", "--part", action="append", choices=sorted(PARTS))
    parser.add_argument("-c", "--case", action="append", default=[])
    parser.add_argument("--cases", default=os.path.join(HERE, "..", "..", "testdata", "cases"))
    args = parser.parse_args()
    tally, commands = Tally(), Commands(args.commands)
    names = sorted(n for n in os.listdir(args.cases) if os.path.exists(os.path.join(args.cases, n, "expect.json")))
    if args.case:
        names = [n for n in names if any(c in n for c in args.case)]
    for name in names:
        with tempfile.TemporaryDirectory() as tmp:
            case = Case(args.cases, name, commands, tally, tmp)
            for chosen in args.part or PARTS:
                for function in PARTS[chosen]:
                    function(case)
            case.check(digest(case.source) == case.before, "IN was changed")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
