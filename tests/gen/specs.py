# SPDX-License-Identifier: Apache-2.0
"""What a generated checkpoint is to be like, and specs drawn at random."""
import random

import gptqmath as gm

EXTRAS = ("readme", "tokenizer", "subfolder", "hidden", "litter", "sums", "bin", "links")

PLACES = (
    ["quantize_config.json", "config.json"], ["quantize_config.json", "config.json"],
    ["quantize_config.json"], ["config.json"], ["config.json:text_config"],
    ["quant_config.json", "config.json"], ["quantize_config.json", "config.json:text_config"])
LABEL_KEYS = (["checkpoint_format"], ["checkpoint_format"], ["format"], ["format", "checkpoint_format"])

SPEC_DEFAULTS = {
    "seed": 0,
    "layers": [],                # [name, in_features, out_features, bits, group_size (-1: one group)]
    "sym": True,
    "act_order": False,
    "format": "v1",              # on disk: v1 or v2
    "style": "clean",            # how v1 stored z = 0: clean, lane, word, gptqmodel-3bit, smeared
    "told_by": "nothing",        # what settles the style: nothing, producer, record, option
    "zero_share": 0.0,           # of the groups of a column are one-sided, so that z = 0
    "word": "I32",
    "scales": "F16",
    "g_idx": "trivial",          # trivial, missing, zero, negative
    "bias": False,
    "padding": "ones",           # lanes past out_features in v2: ones (never 0) or zeros
    "shards": 1,
    "file_name": "model",
    "header_label": None,        # None, room, tight: __metadata__.gptq_checkpoint_format
    "header_style": "compact",   # compact, spaced, leading
    "places": ["quantize_config.json", "config.json"],
    "label_keys": ["checkpoint_format"],   # of checkpoint_format, format, packing_format; empty: no label
    "label_null": False,         # the label keys are there, and null
    "labelled_places": "all",    # all or first
    "autoround": False,
    "producer": None,            # "gptqmodel:5.8.0", "auto-round:0.13.0", "auto_gptq:0.7.1"
    "json_style": "two",         # two, four, tab, line, compact, crlf, bom, no-newline
    "odd_members": False,
    "record_at": "last",         # where the record of our own stands: last, first, middle
    "plain": True,               # embeddings, norms and the like
    "extras": [],                # of EXTRAS
}


def model_layers(rng, bits_of, group_of, out_of):
    """4 to 8 linears under names of a dense or a mixture-of-experts model."""
    names = []
    if rng.random() < 0.25:
        for e in range(rng.choice((2, 3))):
            names += ["model.layers.0.block_sparse_moe.experts.%d.%s" % (e, w) for w in ("w1", "w2")]
    else:
        parts = ["self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj"]
        names = ["model.layers.%d.%s" % (i, p) for i in range(rng.choice((1, 2))) for p in parts]
    if rng.random() < 0.2:
        names.append("lm_head")
    layers = []
    for name in names:
        k = rng.choice((64, 96, 128))
        bits = bits_of()
        layers.append([name, k, out_of(bits), bits, group_of(k)])
    return layers


def random_spec(seed):
    """Draws a spec that has one right answer; avoids what the specification leaves open."""
    rng = random.Random("spec %d" % seed)
    spec = dict(SPEC_DEFAULTS, seed=seed)
    spec["format"] = rng.choice(("v1", "v1", "v2"))
    spec["sym"] = rng.random() < 0.35
    spec["word"] = rng.choice(("I32", "I32", "I32", "I32", "I8", "I16", "I64"))
    widths = [2, 4, 8] if spec["word"] != "I32" else [2, 3, 4, 8]
    mixed = rng.random() < 0.3
    one_width = rng.choice(widths)
    bits_of = (lambda: rng.choice(widths)) if mixed else (lambda: one_width)
    spec["g_idx"] = rng.choice(("trivial", "trivial", "trivial", "missing", "zero", "negative"))
    size = rng.choice((16, 32, 32, 64, -1))
    odd = spec["g_idx"] in ("trivial", "negative") and rng.random() < 0.4

    def group_of(k):
        if odd:
            return rng.choice((16, 32, 64, -1, 48))
        return size if k % size == 0 or spec["g_idx"] == "trivial" else -1

    ragged_columns = rng.random() < 0.3

    def out_of(bits):
        if bits == 3 or not ragged_columns:
            return rng.choice((64, 96))
        return rng.choice((64, 66, 68, 73, 79, 90))

    spec["layers"] = model_layers(rng, bits_of, group_of, out_of)
    spec["act_order"] = spec["g_idx"] in ("trivial", "negative") and rng.random() < 0.3
    spec["scales"] = rng.choice(("F16", "F16", "BF16", "F32"))
    spec["bias"] = rng.random() < 0.3
    spec["shards"] = rng.choice((1, 1, 2, 3))
    choose_zeros(rng, spec)
    choose_labels(rng, spec)
    spec["json_style"] = rng.choice(("two", "two", "two", "four", "tab", "line", "compact", "crlf", "bom",
                                     "no-newline"))
    spec["odd_members"] = rng.random() < 0.4
    spec["header_style"] = rng.choice(("compact", "compact", "spaced", "leading"))
    spec["extras"] = [x for x in EXTRAS if rng.random() < 0.4]
    return spec


def choose_zeros(rng, spec):
    """Zero points of 0, the style that stored them and who tells of it."""
    has3 = any(fields[3] == 3 for fields in spec["layers"])
    others = any(fields[3] != 3 for fields in spec["layers"])
    if not spec["sym"] and rng.random() < 0.6:
        spec["zero_share"] = rng.choice((0.01, 0.05, 0.12))
    if spec["format"] == "v2":
        spec["producer"] = rng.choice((None, None, "gptqmodel:7.1.0", "gptqmodel:5.8.0", "gptqmodel:1.9.0"))
        return
    if spec["zero_share"] == 0:
        spec["producer"] = rng.choice((None, "gptqmodel:7.1.0") if has3 else
                                      (None, "gptqmodel:7.1.0", "gptqmodel:1.9.0", "auto_gptq:0.7.1"))
        if has3 and spec["word"] == "I32" and rng.random() < 0.4:
            spec["style"] = "gptqmodel-3bit"
            spec["told_by"] = rng.choice(("producer", "option", "record"))
    elif has3 and not others:
        spec["style"] = rng.choice(("lane", "gptqmodel-3bit"))
        spec["told_by"] = rng.choice(("producer", "option", "record"))
    else:
        choices = ["lane", "word"]
        if has3:
            choices += ["gptqmodel-3bit"]
        if spec["word"] == "I32":
            choices += ["smeared"]
        spec["style"] = rng.choice(choices)
        spec["told_by"] = rng.choice(("producer", "option", "record"))
    name_producer(rng, spec, has3, others)
    padded = any(fields[2] * fields[3] % gm.WORD_BITS[spec["word"]] for fields in spec["layers"])
    if padded and spec["style"] in ("lane", "word") and spec["told_by"] in ("option", "record") and rng.random() < 0.5:
        spec["padding"] = "zeros"


def name_producer(rng, spec, has3, others):
    style = spec["style"]
    if style == "smeared":
        spec["told_by"], spec["zero_share"] = "producer", 0.12
        spec["producer"] = rng.choice(("auto_gptq:0.7.1", "auto_gptq:0.6.0") if has3 else
                                      ("auto_gptq:0.7.1", "auto-round:0.12.3"))
        for fields in spec["layers"]:
            fields[2] = 64 if fields[2] < 80 else 96
    elif spec["told_by"] == "producer" and style == "lane":
        if has3 and not others:
            spec["producer"] = rng.choice(("gptqmodel:7.0.0", "gptqmodel:7.7.0"))
        else:
            spec["told_by"] = rng.choice(("option", "record"))
    elif spec["told_by"] == "producer" and style == "word":
        old = [] if has3 else ["gptqmodel:0.9.0", "gptqmodel:5.0.0", "auto-round:0.13.0", "auto-round:0.15.1"]
        spec["producer"] = rng.choice(["gptqmodel:7.0.0", "gptqmodel:7.7.0"] + old)
    elif spec["told_by"] == "producer" and style == "gptqmodel-3bit":
        spec["producer"] = rng.choice(("gptqmodel:0.9.0", "gptqmodel:2.2.0", "gptqmodel:6.0.3"))


def choose_labels(rng, spec):
    spec["places"] = rng.choice(PLACES)
    spec["label_keys"] = rng.choice(LABEL_KEYS)
    spec["labelled_places"] = rng.choice(("all", "all", "first"))
    spec["header_label"] = rng.choice((None, None, None, "room", "tight"))
    # Settled by the tensors alone where no label stands: symmetric, so the lanes are all one value.
    if spec["sym"] and rng.random() < 0.15:
        spec["header_label"], spec["label_keys"] = None, []
    elif spec["sym"] and rng.random() < 0.15:
        spec["header_label"], spec["label_null"] = None, True
    elif spec["header_label"] and rng.random() < 0.3:
        spec["label_keys"] = []
    auto = (spec["producer"] or "").startswith("auto-round:")
    has3 = any(fields[3] == 3 for fields in spec["layers"])
    if spec["style"] == "smeared" or has3 and spec["zero_share"] > 0 or spec["style"] == "gptqmodel-3bit":
        return
    if spec["producer"] is None and rng.random() < 0.15 or auto and rng.random() < 0.5:
        spec["autoround"] = True
        spec["places"] = ["quantization_config.json", "config.json"]
        spec["label_keys"] = [] if spec["sym"] and rng.random() < 0.2 else ["packing_format"]
        spec["labelled_places"], spec["header_label"], spec["label_null"] = "all", None, False
