#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes random GPTQ checkpoints together with what converting them must give.

usage: make_checkpoint.py [--seed N] [--spec FILE.json] [--set KEY=VALUE]... OUT
       make_checkpoint.py --show SEED

Writes OUT/in (the model folder as a publisher would have it), one folder for
each answer (OUT/v2, OUT/v1, OUT/v1-lane ..., each byte for byte what conversion
must write), OUT/expect.json (what is true of it) and OUT/spec.json (how to make
the same again: the spec holds its seed).

As a module: random_spec(seed) draws a spec, make(spec) makes the Checkpoint,
Checkpoint.write(folder, ...) writes any of its forms.

Standard library only.  Configs are built as ordered members and printed by
this file's own printer: an expected config is the same members, changed, and
printed the same way, never an edited text.  So the editing of the commands is
compared with something that does no editing.
"""
import argparse
import json
import os
import random
import struct
import sys

import gptqmath as gm
from jsontext import JSON_STYLES, JsonStyle, Members, Raw
from specs import SPEC_DEFAULTS, random_spec

V1_OF_AUTOROUND, V2_OF_AUTOROUND = "auto_round:auto_gptq", "auto_round:gptqmodel"


# ------------------------------------------------------------------- weights

class Layer:
    """One quantised linear with its logical values: codes, zero points, scales."""

    def __init__(self, rng, spec, name, in_features, out_features, bits, group_size):
        self.name, self.in_features, self.out_features, self.bits = name, in_features, out_features, bits
        self.group_size = in_features if group_size == -1 else group_size
        self.groups = -(-in_features // self.group_size)
        self.word_bits = gm.WORD_BITS[spec["word"]]
        self.zero_words = -(-out_features * bits // self.word_bits)
        self.dtype = spec["scales"]
        order = list(range(in_features))
        if spec["act_order"]:
            rng.shuffle(order)
        self.group_of_row = [0] * in_features
        for place, k in enumerate(order):
            self.group_of_row[k] = place // self.group_size
        self.codes = [[0] * out_features for _ in range(in_features)]
        self.zeros = [[0] * out_features for _ in range(self.groups)]
        self.scales = [[b""] * out_features for _ in range(self.groups)]
        members = [[k for k in range(in_features) if self.group_of_row[k] == g] for g in range(self.groups)]
        # Columns differ in spread and mean, as those of real layers do, but never by a mean over the layer.
        for n in range(out_features):
            spread = 0.02 * 2.0 ** rng.uniform(-1, 1)
            for g in range(self.groups):
                self.quantise(rng, spec, n, g, members[g], spread)
        self.padding = self.padding_lanes(rng, spec)

    def quantise(self, rng, spec, n, g, rows, spread):
        """Min-max over the group as GPTQ's quantiser sets it, then round to nearest."""
        top = (1 << self.bits) - 1
        # The first group of the first column always, so that a share above 0 never means none.
        onesided = spec["zero_share"] > 0 and (n == g == 0 or rng.random() < spec["zero_share"])
        while True:
            w = [rng.gauss(0, spread) for _ in rows]
            if onesided:
                w = [abs(x) + spread / 20 for x in w]
            low, high = min(0.0, min(w)), max(0.0, max(w))
            if spec["sym"]:
                high = max(-low, high)
                low = -high
            raw = gm.bits_from_float((high - low) / top, self.dtype)
            scale = gm.float_from_bits(raw, self.dtype)
            zero = (top + 1) // 2 if spec["sym"] else max(0, min(top, round(-low / scale)))
            if (zero == 0) == onesided or spec["sym"]:
                break
        self.scales[g][n], self.zeros[g][n] = raw, zero
        for k, x in zip(rows, w):
            self.codes[k][n] = max(0, min(top, round(x / scale) + zero))

    def padding_lanes(self, rng, spec):
        count = gm.lanes_of(self.zero_words, self.bits, self.word_bits) - self.out_features
        if spec["padding"] == "zeros":
            return [[0] * count for _ in range(self.groups)]
        return [[rng.randint(1, (1 << self.bits) - 1) for _ in range(count)] for _ in range(self.groups)]

    def qzeros(self, form):
        """form: v2, or v1 in one of the styles (clean: where all agree)."""
        raw = []
        for zeros, padding in zip(self.zeros, self.padding):
            if form == "smeared":
                words = gm.smear_row(zeros, self.bits, self.zero_words)
            elif form == "v2":
                words = gm.pack(zeros + padding, self.bits, self.word_bits, self.zero_words)
            else:
                style = "lane" if form == "clean" else form
                words = gm.shift_row(zeros + padding, self.bits, self.word_bits, self.zero_words, style, -1)
            raw.append(gm.words_to_bytes(words, self.word_bits))
        return b"".join(raw)

    def read_lane_by_lane(self):
        """What v1 qzeros that were smeared hold: the zero points and the v2 bytes of --accept-damaged."""
        rows, raw = [], []
        for zeros in self.zeros:
            words = gm.smear_row(zeros, self.bits, self.zero_words)
            lanes = gm.unpack(words, self.bits, 32, gm.lanes_of(self.zero_words, self.bits, 32))
            back = gm.shift_row(lanes, self.bits, 32, self.zero_words, "lane", +1)
            raw.append(gm.words_to_bytes(back, 32))
            rows.append(gm.unpack(back, self.bits, 32, self.out_features))
        return rows, b"".join(raw)

    def tensors(self, rng, spec):
        word, size = spec["word"], self.word_bits
        per_column = self.in_features * self.bits // size
        columns = [gm.pack([row[n] for row in self.codes], self.bits, size, per_column)
                   for n in range(self.out_features)]
        flat = [columns[n][r] for r in range(per_column) for n in range(self.out_features)]
        made = [
            (self.name + ".qweight", word, [per_column, self.out_features], gm.words_to_bytes(flat, size)),
            (self.name + ".qzeros", word, [self.groups, self.zero_words], None),
            (self.name + ".scales", self.dtype, [self.groups, self.out_features],
             b"".join(s for row in self.scales for s in row))]
        if spec["g_idx"] != "missing":
            index = list(self.group_of_row)
            if spec["g_idx"] == "zero":
                index = [0] * self.in_features
            elif spec["g_idx"] == "negative":
                index = [g - self.groups if rng.random() < 0.5 else g for g in index]
            raw = struct.pack("<%di" % self.in_features, *index)
            made.append((self.name + ".g_idx", "I32", [self.in_features], raw))
        if spec["bias"] and rng.random() < 0.5:
            raw = b"".join(gm.bits_from_float(rng.gauss(0, 1), self.dtype) for _ in range(self.out_features))
            made.append((self.name + ".bias", self.dtype, [self.out_features], raw))
        return made

    def facts(self, zeros=None):
        zeros = zeros or self.zeros
        flat = [z for row in zeros for z in row]
        return {
            "bits": self.bits, "in_features": self.in_features, "out_features": self.out_features,
            "groups": self.groups,
            "act_order": any(a > b for a, b in zip(self.group_of_row, self.group_of_row[1:])),
            "zeros_equal_0": flat.count(0), "zero_min": min(flat), "zero_max": max(flat),
            "weights_sha256": gm.weights_sha256(self.codes, zeros, self.scales, self.group_of_row, self.dtype),
            "weights_dtype": self.dtype}


# --------------------------------------------------------------- checkpoints

class Shard:
    """One safetensors file; its header text is kept apart from the padding."""

    def __init__(self, file_name, tensors, metadata, spec):
        self.file_name, self.tensors, self.metadata, self.spec = file_name, tensors, metadata, spec

    def head(self, label):
        """The header's text without padding."""
        pairs = []
        if self.metadata is not None:
            meta = Members([k, label if k == "gptq_checkpoint_format" else v] for k, v in self.metadata)
            pairs.append(["__metadata__", meta])
        at = 0
        for name, dtype, shape, _, size in self.tensors:
            pairs.append([name, Members([["dtype", dtype], ["shape", shape], ["data_offsets", [at, at + size]]])])
            at += size
        colon, comma = (": ", ", ") if self.spec["header_style"] == "spaced" else (":", ",")
        lead = "  " if self.spec["header_style"] == "leading" else ""
        return lead.encode() + JsonStyle(None, colon, comma, end="").text(Members(pairs))

    def has_label(self):
        return self.metadata is not None and self.metadata.has("gptq_checkpoint_format")

    def bytes(self, data, labels):
        """labels: the label on disk first, then each that conversion set after it.

        The first header is padded as the spec says; a later label uses the
        padding where it is enough, else the header grows to the next multiple of 8.
        """
        head = self.head(labels[0])
        size = -(-len(head) // 8) * 8
        if self.has_label():
            if self.spec["header_label"] == "room":
                size += 8
            elif self.spec["header_label"] == "tight":
                head = self.fitted(labels[0])
                size = len(head)
            for label in labels[1:]:
                head = self.head(label)
                if len(head) > size:
                    size = -(-len(head) // 8) * 8
        return struct.pack("<Q", size) + head.ljust(size) + b"".join(data)

    def fitted(self, label):
        """A header text that is a multiple of 8 long as it is: a note takes up the slack."""
        self.metadata.put("note", "")
        short = -len(self.head(label)) % 8
        self.metadata.put("note", "x" * short)
        return self.head(label)


class Checkpoint:
    def __init__(self, spec):
        self.spec = spec = dict(SPEC_DEFAULTS, **spec)
        unknown = set(spec) - set(SPEC_DEFAULTS)
        assert not unknown, "unknown key in the spec: %s" % unknown
        rng = random.Random(spec["seed"])
        self.layers = [Layer(rng, spec, *fields) for fields in spec["layers"]]
        by_name = {layer.name: layer for layer in self.layers}
        tensors = [t for layer in self.layers for t in layer.tensors(rng, spec)]
        if spec["plain"]:
            tensors += self.plain_tensors(rng)
        tensors.sort(key=lambda t: t[0])
        self.layer_of = {name + ".qzeros": layer for name, layer in by_name.items()}
        self.shards = self.make_shards(rng, tensors)
        self.shard_of = {t[0]: shard.file_name for shard in self.shards for t in shard.tensors}
        self.configs = self.make_configs(rng)
        self.extras = self.make_extras(rng)

    # ------------------------------------------------------------- the parts

    def plain_tensors(self, rng):
        made = []
        for name, shape in (("model.embed_tokens.weight", [32, 16]), ("model.norm.weight", [16]),
                            ("model.layers.0.self_attn.rotary.weight", [4, 8])):
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            made.append((name, "F16", shape, b"".join(struct.pack("<e", rng.gauss(0, 1)) for _ in range(count))))
        return made

    def make_shards(self, rng, tensors):
        spec, count = self.spec, self.spec["shards"]
        parts = [[] for _ in range(count)]
        for t in tensors:
            parts[rng.randrange(count)].append(t)
        parts = [p for p in parts if p]
        shards = []
        for i, part in enumerate(parts):
            # Widest types first where the words are 64 bits, so that tensors lie on their own alignment.
            sized = []
            for name, dtype, shape, raw in part:
                size = len(raw) if raw is not None else shape[0] * shape[1] * gm.WORD_BITS[dtype] // 8
                sized.append((name, dtype, shape, raw, size))
            order = {"I64": 0, "I32": 1, "F32": 1, "F16": 2, "BF16": 2, "I16": 2, "I8": 3}
            sized.sort(key=lambda t: (order[t[1]], t[0]))
            name = spec["file_name"] + ".safetensors"
            if count > 1:
                name = "%s-%05d-of-%05d.safetensors" % (spec["file_name"], i + 1, len(parts))
            shards.append(Shard(name, sized, self.metadata(), spec))
        return shards

    def metadata(self):
        meta = Members([["format", "pt"]])
        if (self.spec["producer"] or "").startswith("auto_gptq:"):
            meta.put("auto_gptq_version", self.spec["producer"].split(":")[1])
        if self.spec["header_label"]:
            meta.put("gptq_bits", str(self.layers[0].bits))
            meta.put("gptq_checkpoint_format", "gptq")
            meta.put("gptq_quant_method", "gptq")
        return meta

    def quant_config(self, rng):
        spec = self.spec
        bits = [layer.bits for layer in self.layers]
        common = max(set(bits), key=lambda b: (bits.count(b), b))
        sizes = [fields[4] for fields in spec["layers"]]
        size = max(set(sizes), key=lambda s: (sizes.count(s), s))
        c = Members([["bits", common], ["group_size", size]])
        if spec["autoround"]:
            c += [["sym", spec["sym"]], ["data_type", "int"], ["block_name_to_quantize", "model.layers"],
                  ["quant_method", "auto-round"]]
        else:
            c += [["desc_act", spec["act_order"]], ["sym", spec["sym"]],
                  ["lm_head", any(x.name == "lm_head" for x in self.layers)], ["quant_method", "gptq"]]
            if spec["word"] != "I32" or rng.random() < 0.5:
                c.put("pack_dtype", "int%d" % gm.WORD_BITS[spec["word"]])
        producer = spec["producer"] or ""
        if producer.startswith("gptqmodel:"):
            c.put("meta", Members([["quantizer", [producer]], ["uri", "https://example.org/q"],
                                   ["damp_percent", Raw("0.01")],
                                   ["static_groups", False], ["mse", Raw("0.0")], ["gptaq", None]]))
        elif producer.startswith("auto-round:"):
            c.insert(2, ["autoround_version", producer.split(":")[1]])
        if spec["odd_members"]:
            c.insert(rng.randrange(len(c)), ["model_name_or_path", "caf\u00e9 \"x\" \\ \u2028"])
            c.insert(rng.randrange(len(c)), ["author", Raw("\"caf\u00e9\\/x \\u00E9 \U0001f600\"")])
            c.insert(rng.randrange(len(c)), ["damp_percent", Raw("1e-05")])
            c.insert(rng.randrange(len(c)), ["threshold", Raw("NaN")])
            c.insert(rng.randrange(len(c)), ["limit", Raw("-Infinity")])
            c.insert(rng.randrange(len(c)), ["big", Raw("123456789012345678901234567890")])
            c.insert(rng.randrange(len(c)), ["checkpoint_formats", ["gptq", "gptq_v2", Members()]])
        dynamic = Members()
        for layer, fields in zip(self.layers, spec["layers"]):
            rule = Members()
            if layer.bits != common:
                rule.put("bits", layer.bits)
            if fields[4] != size:
                rule.put("group_size", fields[4])
            if rule:
                dynamic.put("+:" + layer.name.replace(".", "\\.") + "$", rule)
        if dynamic and not spec["autoround"]:
            c.put("dynamic", dynamic)
        elif dynamic:
            c.put("extra_config", Members([k[2:-1].replace("\\.", "."), v] for k, v in dynamic))
        for key in spec["label_keys"]:
            c.insert(rng.randrange(2, len(c) + 1), [key, None])
        if spec["told_by"] == "record":
            at = {"first": 0, "last": len(c), "middle": len(c) // 2}[spec["record_at"]]
            c.insert(at, ["gptq_tools", Members([["v1_style", self.recorded(spec["style"])]])])
        return c

    def make_configs(self, rng):
        """[file name, whole members, the quantisation config inside, is it labelled, style]"""
        made = []
        style = JSON_STYLES[self.spec["json_style"]]
        base = self.quant_config(rng)
        for i, place in enumerate(self.spec["places"]):
            q = base.copy()
            labelled = i == 0 or self.spec["labelled_places"] == "all"
            if not labelled:
                q = Members([k, v] for k, v in q if k not in self.spec["label_keys"])
            whole = q
            if place.startswith("config.json"):
                whole = Members([["architectures", ["LlamaForCausalLM"]], ["model_type", "llama"], ["hidden_size", 64],
                                 ["rms_norm_eps", Raw("1e-05")], ["torch_dtype", "float16"]])
                inner = place.partition(":")[2]
                if inner:
                    whole.append([inner, Members([["hidden_size", 64], ["quantization_config", q]])])
                else:
                    whole.insert(rng.randrange(len(whole) + 1), ["quantization_config", q])
            made.append((place.partition(":")[0], whole, q, labelled, style))
        if not any(place.startswith("config.json") for place in self.spec["places"]):
            whole = Members([["model_type", "llama"], ["rms_norm_eps", Raw("1e-05")]])
            made.append(("config.json", whole, None, False, style))
        return made

    def make_extras(self, rng):
        """path -> (bytes, does conversion copy it)"""
        files, wanted = {}, self.spec["extras"]
        if "readme" in wanted:
            files["README.md"] = (b"# a model\n\ncheckpoint_format gptq, or so\n", True)
        if "tokenizer" in wanted:
            files["tokenizer_config.json"] = (b'{\n  "model_max_length": 2048\n}\n', True)
        if "subfolder" in wanted:
            files["onnx/readme.txt"] = (b"nothing here\n", True)
            files["onnx/deep/er/data.bin"] = (bytes(rng.randrange(256) for _ in range(5000)), True)
        if "hidden" in wanted:
            files[".gitattributes"] = (b"*.safetensors filter=lfs\n", True)
        if "litter" in wanted:
            files[".git/config"] = (b"[core]\n", False)
            files[".cache/huggingface/download/x.metadata"] = (b"1\n", False)
            files["model.lock"] = (b"", False)
            files["model.safetensors.incomplete"] = (b"half", False)
            files["weights.part"] = (b"half", False)
        if "bin" in wanted:
            files["training_args.bin"] = (b"\x80\x02}q\x00.", True)
        if "sums" in wanted:
            name = self.shards[0].file_name
            files["SHA256SUMS"] = (("%064x  %s\n" % (rng.getrandbits(256), name)).encode(), False)
            if "readme" in wanted:
                files["README.md.sha256"] = (("%064x  README.md\n" % rng.getrandbits(256)).encode(), True)
        return files

    # ----------------------------------------------------------- the answers

    def count_zeros(self):
        return sum(row.count(0) for layer in self.layers for row in layer.zeros)

    def recorded(self, style):
        """gptqmodel-3bit without 3-bit layers is recorded as word."""
        if style == "gptqmodel-3bit" and all(layer.bits != 3 for layer in self.layers):
            return "word"
        return style

    def first_form(self):
        return "v2" if self.spec["format"] == "v2" else self.spec["style"]

    def means_legacy(self):
        """Does the producer stand for gptqmodel-3bit, and is there a 3-bit layer?"""
        name, _, version = (self.spec["producer"] or "").partition(":")
        if name != "gptqmodel" or all(layer.bits != 3 for layer in self.layers):
            return False
        return (0, 9) <= tuple(int(x) for x in version.split(".")[:2]) < (7, 0)

    def write(self, folder, steps=(), links=None):
        """The folder on disk, or after conversion.

        steps: what conversion wrote, one after the other: "v2", "v1" (plain,
        where no zero point is 0), or a style of v1.  links: a folder beside to
        put the safetensors files into, linked from here.
        """
        os.makedirs(folder)
        for shard in self.shards:
            raw = self.shard_bytes(shard, steps)
            path = os.path.join(folder, shard.file_name)
            if links:
                os.makedirs(links, exist_ok=True)
                target = os.path.join(links, "blob-" + shard.file_name.partition(".")[0])
                save(target, raw)
                os.symlink(os.path.relpath(target, folder), path)
            else:
                save(path, raw)
        if self.spec["shards"] > 1:
            index = Members([["metadata", Members([["total_size", sum(t[4] for s in self.shards for t in s.tensors)]])],
                             ["weight_map", Members([k, v] for k, v in sorted(self.shard_of.items()))]])
            name = self.spec["file_name"] + ".safetensors.index.json"
            save(os.path.join(folder, name), JSON_STYLES["two"].text(index))
        for name, whole, q, labelled, style in self.configs:
            if q is None:
                save(os.path.join(folder, name), style.text(whole))
                continue
            backup = [list(pair) for pair in q]
            self.set_labels(q, labelled, steps)
            text = style.text(whole)
            q[:] = backup
            save(os.path.join(folder, name), text)
        for name, (raw, copied) in self.extras.items():
            if copied or not steps or (name == "SHA256SUMS" and not self.changes(self.shards[0], steps)):
                save(os.path.join(folder, name), raw)

    def changes(self, shard, steps):
        """Does any of these steps write other bytes than the one before?"""
        texts = [self.shard_bytes(shard, steps[:i]) for i in range(len(steps) + 1)]
        return any(a != b for a, b in zip(texts, texts[1:]))

    def shard_bytes(self, shard, steps):
        form = steps[-1] if steps else self.first_form()
        formats = [self.spec["format"]] + ["v2" if s in ("v2", "damaged") else "v1" for s in steps]
        data = [self.layer_data(self.layer_of[t[0]], form) if t[3] is None else t[3] for t in shard.tensors]
        return shard.bytes(data, ["gptq" if f == "v1" else "gptq_v2" for f in formats])

    def layer_data(self, layer, form):
        if form == "damaged":
            return layer.read_lane_by_lane()[1]
        return layer.qzeros("clean" if form == "v1" else form)

    def set_labels(self, q, labelled, steps):
        """What stands in one quantisation config on disk, then after each step."""
        spec = self.spec
        if labelled and not spec["label_null"]:
            for key in spec["label_keys"]:
                q.put(key, self.word_for(key, spec["format"]))
        for step in steps:
            fmt = "v2" if step in ("v2", "damaged") else "v1"
            if spec["autoround"]:
                q.put("packing_format", V2_OF_AUTOROUND if fmt == "v2" else V1_OF_AUTOROUND)
            else:
                q.put("checkpoint_format", self.word_for("checkpoint_format", fmt))
                if q.has("format"):
                    q.put("format", self.word_for("format", fmt))
            if fmt == "v2":
                q[:] = [pair for pair in q if pair[0] != "gptq_tools"]
            elif step != "v1":
                q.put("gptq_tools", Members([["v1_style", self.recorded(step)]]))
            elif self.means_legacy():
                q.put("gptq_tools", Members([["v1_style", "lane"]]))

    def word_for(self, key, fmt):
        if key == "packing_format":
            return V1_OF_AUTOROUND if fmt == "v1" else V2_OF_AUTOROUND
        return "gptq" if fmt == "v1" else "gptq_v2"

    def answers(self):
        """Folder name -> steps, for each plain answer that conversion has."""
        spec = self.spec
        if spec["format"] == "v1":
            return {"v2-damaged": ["damaged"]} if spec["style"] == "smeared" else {"v2": ["v2"]}
        if not self.count_zeros():
            return {"v1": ["v1"]}
        styles = ["lane", "word"] if any(x.bits != 3 for x in self.layers) else ["lane"]
        if any(x.bits == 3 for x in self.layers) and spec["word"] == "I32":
            styles.append("gptqmodel-3bit")
        return {"v1-" + s: [s] for s in styles}

    def expect(self):
        spec = self.spec
        smeared = spec["style"] == "smeared" and spec["format"] == "v1"
        layers = {x.name: x.facts(x.read_lane_by_lane()[0] if smeared else None) for x in self.layers}
        plain = [name for name in self.answers() if name in ("v1", "v2")]
        e = {"note": "random, seed %d" % spec["seed"], "format_on_disk": spec["format"],
             "verdict": [spec["format"], "undetermined"], "convert_to": plain[0] if plain else None, "layers": layers}
        if spec["format"] == "v1" and spec["style"] != "clean":
            e["v1_style"] = spec["style"]
        return e


def save(path, raw):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(raw)


def make(spec):
    return Checkpoint(spec)


def main():
    parser = argparse.ArgumentParser(description="makes a random GPTQ checkpoint with its expected conversions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spec", help="a spec.json instead of a seed")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="change the spec, VALUE in JSON or a word")
    parser.add_argument("--show", action="store_true", help="print the spec and make nothing")
    parser.add_argument("out", nargs="?")
    args = parser.parse_args()
    spec = random_spec(args.seed)
    if args.spec:
        with open(args.spec, encoding="utf-8") as f:
            spec = json.load(f)
    for item in args.set:
        key, _, value = item.partition("=")
        try:
            spec[key] = json.loads(value)
        except ValueError:
            spec[key] = value
    if args.show or not args.out:
        print(json.dumps(spec, indent=1))
        return 0
    checkpoint = make(spec)
    links = os.path.join(args.out, "blobs") if "links" in spec["extras"] else None
    checkpoint.write(os.path.join(args.out, "in"), (), links)
    for name, steps in checkpoint.answers().items():
        checkpoint.write(os.path.join(args.out, name), steps)
    for name, value in (("expect.json", checkpoint.expect()), ("spec.json", checkpoint.spec)):
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            json.dump(value, f, indent=2)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
