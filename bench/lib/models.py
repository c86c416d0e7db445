# SPDX-License-Identifier: Apache-2.0
"""What the synthetic checkpoints are made of: names, shapes and sizes, but no bytes.

A model is a list of tensors; each knows the line by which make_model.c writes its bytes.
"""
from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30
SIZES = {"I32": 4, "F16": 2}

# From this many bytes on: hidden size, intermediate size, columns of k and v, vocabulary.
DENSE = [(2 * GIB, 4096, 11008, 1024, 32000), (512 * MIB, 2048, 5632, 512, 32000), (0, 1024, 2816, 256, 4096)]
# From this many bytes a layer on: hidden size, intermediate size of an expert, group size.
EXPERTS = [(68000, 512, 256, 128), (17000, 256, 128, 128), (5000, 128, 64, 32), (0, 64, 64, 32)]
SMALL_EXPERT = 17000  # bytes a layer, whatever the size of a model
N_EXPERTS = 128


@dataclass
class Tensor:
    name: str
    dtype: str
    shape: list
    line: str

    @property
    def nbytes(self):
        count = SIZES[self.dtype]
        for n in self.shape:
            count *= n
        return count


@dataclass
class Model:
    name: str
    title: str
    group: int
    shards: list  # of lists of tensors
    config: dict
    folder: str = ""
    largest_header: int = 0

    def total(self, suffix=""):
        return sum(t.nbytes for shard in self.shards for t in shard if t.name.endswith(suffix))

    @property
    def n_tensors(self):
        return sum(map(len, self.shards))

    @property
    def n_layers(self):
        return sum(t.name.endswith(".qweight") for shard in self.shards for t in shard)


class Maker:
    """Gives each tensor its seed, so that the same model has the same bytes every time."""

    def __init__(self, group):
        self.group = group
        self.seed = 0

    def plain(self, name, *shape):
        self.seed += 1
        count = 1
        for n in shape:
            count *= n
        return Tensor(name, "F16", list(shape), f"plain {self.seed} {count}")

    def linear(self, name, rows, columns):
        self.seed += 1
        groups, seed = rows // self.group, self.seed
        return [Tensor(name + ".g_idx", "I32", [rows], f"g_idx {rows} {self.group}"),
                Tensor(name + ".qweight", "I32", [rows // 8, columns], f"qweight {seed} {rows} {columns} {self.group}"),
                Tensor(name + ".qzeros", "I32", [groups, columns // 8], f"qzeros {seed} {groups} {columns}"),
                Tensor(name + ".scales", "F16", [groups, columns], f"scales {seed} {groups * columns}")]


def dense_layer(make, i, hidden, inner, narrow):
    at = f"model.layers.{i}."
    out = [make.plain(at + "input_layernorm.weight", hidden)]
    for name, rows, columns in [("mlp.down_proj", inner, hidden), ("mlp.gate_proj", hidden, inner),
                                ("mlp.up_proj", hidden, inner)]:
        out += make.linear(at + name, rows, columns)
    out.append(make.plain(at + "post_attention_layernorm.weight", hidden))
    for name, rows, columns in [("k", hidden, narrow), ("o", hidden, hidden), ("q", hidden, hidden),
                                ("v", hidden, narrow)]:
        out += make.linear(f"{at}self_attn.{name}_proj", rows, columns)
    return out


def dense(size, group):
    """Like Llama, of about `size` bytes, in about six shards."""
    hidden, inner, narrow, vocabulary = next(row[1:] for row in DENSE if size >= row[0])
    make = Maker(group)
    tensors = [make.plain("lm_head.weight", vocabulary, hidden),
               make.plain("model.embed_tokens.weight", vocabulary, hidden), make.plain("model.norm.weight", hidden)]
    total, i = sum(t.nbytes for t in tensors), 0
    while total < size:
        layer = dense_layer(make, i, hidden, inner, narrow)
        total += sum(t.nbytes for t in layer)
        tensors += layer
        i += 1
    config = {"architectures": ["LlamaForCausalLM"], "hidden_size": hidden, "intermediate_size": inner,
              "model_type": "llama", "num_hidden_layers": i, "vocab_size": vocabulary}
    return Model(f"g{group}", f"4 bits, group {group}", group, cut(tensors, total // 6 + 1), config)


def expert_layers(make, count, hidden, inner):
    """`count` quantised layers of a mixture of experts, and what stands between them."""
    left, i = count, 0
    while left > 0:
        at = f"model.layers.{i}."
        names = [(f"{at}self_attn.{x}_proj", hidden, hidden) for x in "koqv"]
        for e in range(N_EXPERTS):
            names += [(f"{at}mlp.experts.{e}.{x}_proj", inner if x == "down" else hidden,
                       hidden if x == "down" else inner) for x in ("down", "gate", "up")]
        yield make.plain(at + "input_layernorm.weight", hidden)
        for name, rows, columns in names[:left]:
            yield from make.linear(name, rows, columns)
        yield make.plain(at + "mlp.gate.weight", N_EXPERTS, hidden)
        left -= len(names)
        i += 1


def experts(size, layers):
    """Like Qwen3-MoE with `layers` quantised layers, the largest of a few shapes that stays under `size`."""
    hidden, inner, group = next(row[1:] for row in EXPERTS if size // layers >= row[0])
    make = Maker(group)
    tensors = [make.plain("model.embed_tokens.weight", 1024, hidden), *expert_layers(make, layers, hidden, inner)]
    config = {"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": hidden, "moe_intermediate_size": inner,
              "model_type": "qwen3_moe", "num_experts": N_EXPERTS}
    total = sum(t.nbytes for t in tensors)
    title = f"{layers:,} quantised layers of {hidden} by {inner}, group {group}"
    return Model("experts", title, group, cut(tensors, total // 6 + 1), config)


def small_experts(size, layers):
    """Layers that are hardly larger than what is done for each of them."""
    model = experts(min(size, SMALL_EXPERT * layers), layers)
    model.name = "small-experts"
    return model


def headers(tensors, shards):
    """Hardly more than headers: the smallest layers that there can be."""
    make = Maker(32)
    made = [t for t in expert_layers(make, -(-tensors // 4), 32, 32) if not t.name.endswith("weight")
            or t.name.endswith("qweight")][:tensors]
    config = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": N_EXPERTS}
    step = -(-len(made) // shards)
    cuts = [made[i:i + step] for i in range(0, len(made), step)]
    title = f"{tensors:,} tensors in {shards} shard{'s' if shards > 1 else ''}"
    return Model(f"headers-{shards}", title, 32, cuts, config)


def cut(tensors, limit):
    """In shards of at most `limit` bytes, but for a tensor that is larger by itself."""
    shards, size = [[]], 0
    for t in tensors:
        if shards[-1] and size + t.nbytes > limit:
            shards.append([])
            size = 0
        shards[-1].append(t)
        size += t.nbytes
    return shards
