#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one of the checkpoints of this folder with the program that its name gives.

usage: make_real.py PROGRAM FORMAT BITS sym|asym act|noact plain|onesided OUT

PROGRAM is gptqmodel, auto-round or autogptq; whichever version is installed
does the work.  FORMAT is what that program calls it (gptq, gptq_v2, auto_gptq,
auto_round:auto_gptq ...).  README.md beside this file says which versions made
what.  Needs torch and transformers besides; runs on the CPU and downloads
nothing: the model is a random Llama of two layers, the calibration data are
random tokens.

Beside OUT it writes OUT.memory.json: for each layer the zero points that the
program itself handed to its packer, before they became lanes, and for
GPTQModel the digest of the weights that it dequantises after loading OUT.
"""
import hashlib
import json
import os
import random
import shutil
import struct
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")

import torch

VOCAB, GROUP, SEED = 128, 32, 1
packed = []          # (scales as packed, zeros as handed over), one a layer


def make_model(path, onesided):
    """A random Llama.  onesided: one group in ten holds positive weights only,
    so that its zero point is 0; plain random weights have next to none."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=512,
        bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model = LlamaForCausalLM(config).to(torch.float16)
    if onesided:
        with torch.no_grad():
            for name, p in model.named_parameters():
                if name.endswith("_proj.weight"):
                    chosen = torch.rand(p.shape[0], p.shape[1] // GROUP) < 0.1
                    mask = chosen.repeat_interleave(GROUP, 1)
                    p.copy_(torch.where(mask, p.abs() + 0.001, p))
    model.save_pretrained(path, safe_serialization=True)
    words = {"<unk>": 0, "<s>": 1, "</s>": 2}
    words.update(("w%d" % i, i) for i in range(3, VOCAB))
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        pad_token="<unk>", model_max_length=512).save_pretrained(path)


def calibration(samples, length):
    r = random.Random(7)
    return [[r.randrange(3, VOCAB) for _ in range(length)] for _ in range(samples)]


def watch(cls, *names):
    """Notes what the packer of a quantised linear is given."""
    for name in names:
        inner = cls.__dict__.get(name)
        if inner is None:
            continue

        def outer(self, linear, scales, zeros, *args, _inner=inner, **kw):
            z = zeros.detach().clone() if isinstance(zeros, torch.Tensor) else zeros
            result = _inner(self, linear, scales, zeros, *args, **kw)
            packed.append((self.scales.detach().clone(), z))
            return result
        setattr(cls, name, outer)


def by_gptqmodel(src, out, fmt, bits, sym, act):
    import gptqmodel
    from gptqmodel import BACKEND, GPTQModel, QuantizeConfig
    from gptqmodel.nn_modules.qlinear import torch as kernels

    Linear = getattr(kernels, "TorchLinear", None) or kernels.TorchQuantLinear

    for cls in Linear.__mro__:
        if cls.__module__.startswith("gptqmodel"):
            watch(cls, "pack", "pack_block", "pack_original", "pack_gpu")
    config = QuantizeConfig(bits=bits, group_size=GROUP, sym=sym, desc_act=act, format=fmt)
    if hasattr(config, "offload_to_disk"):
        config.offload_to_disk = False
    model = GPTQModel.load(src, config)
    model.quantize([{"input_ids": ids, "attention_mask": [1] * len(ids)} for ids in calibration(32, 64)],
                   batch_size=4)
    model.save(out)
    weights = {}
    loaded = GPTQModel.load(out, backend=BACKEND.TORCH, device="cpu", dtype=torch.float16)  # the dtype of its scales
    for name, module in loaded.model.named_modules():
        if isinstance(module, Linear):
            w = module.dequantize_weight().detach().to(torch.float16).contiguous()
            raw = w.view(torch.int16).flatten().tolist()
            weights[name] = hashlib.sha256(struct.pack("<%dh" % len(raw), *raw)).hexdigest()
    return gptqmodel.__version__, weights


def by_autoround(src, out, fmt, bits, sym, act):
    import auto_round
    from auto_round import AutoRound
    from transformers import AutoModelForCausalLM, AutoTokenizer

    for where in ("auto_round_extension.torch.qlinear_torch_zp", "auto_round_extension.torch.qlinear_torch",
                  "auto_round.export.export_to_autogptq.qlinear_triton"):
        try:
            module = __import__(where, fromlist=["QuantLinear"])
        except ImportError:
            continue
        watch(module.QuantLinear, "pack")
    data = [torch.tensor([ids]) for ids in calibration(16, 64)]
    options = dict(bits=bits, group_size=GROUP, sym=sym, iters=4, nsamples=16, seqlen=64, batch_size=4, dataset=data)
    model = AutoModelForCausalLM.from_pretrained(src, torch_dtype=torch.float16)
    tokenizer = AutoTokenizer.from_pretrained(src)
    try:
        rounder = AutoRound(model, tokenizer, device_map="cpu", **options)
    except TypeError:
        rounder = AutoRound(model, tokenizer, device="cpu", **options)
    rounder.quantize_and_save(out, format=fmt)
    inner = [d for d in os.listdir(out) if os.path.isdir(os.path.join(out, d))]
    if "config.json" not in os.listdir(out) and len(inner) == 1:
        for f in os.listdir(os.path.join(out, inner[0])):
            shutil.move(os.path.join(out, inner[0], f), os.path.join(out, f))
        os.rmdir(os.path.join(out, inner[0]))
    return auto_round.__version__, {}


def by_autogptq(src, out, fmt, bits, sym, act):
    """AutoGPTQ insists on a GPU to quantise: its name for the first GPU is
    replaced by the CPU.  Its arithmetic and its packer are as released."""
    import auto_gptq
    import auto_gptq.modeling._base as base
    from auto_gptq import BaseQuantizeConfig
    from auto_gptq.modeling.llama import LlamaGPTQForCausalLM
    from auto_gptq.nn_modules.qlinear import qlinear_cuda, qlinear_cuda_old
    from transformers import LlamaForCausalLM

    base.CUDA_0 = torch.device("cpu")
    torch.cuda.synchronize = lambda *a: None
    watch(qlinear_cuda_old.QuantLinear, "pack")
    watch(qlinear_cuda.QuantLinear, "pack")
    model = LlamaForCausalLM.from_pretrained(src, torch_dtype=torch.float16)
    model.seqlen = 512
    wrapped = LlamaGPTQForCausalLM(model, False, BaseQuantizeConfig(bits=bits, group_size=GROUP, sym=sym, desc_act=act))
    wrapped.quantize([{"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
                      for ids in calibration(32, 64)], batch_size=4, use_triton=False)
    wrapped.save_quantized(out, use_safetensors=True)
    return auto_gptq.__version__, {}


def memory_of(out):
    """Joins the packed layers with their names by the scales that they hold."""
    from safetensors import safe_open

    scales = {}
    for f in sorted(os.listdir(out)):
        if f.endswith(".safetensors"):
            with safe_open(os.path.join(out, f), "pt") as st:
                for key in st.keys():
                    if key.endswith(".scales"):
                        t = st.get_tensor(key)
                        scales[key[:-len(".scales")]] = (tuple(t.shape), t.float().flatten().tolist())
    layers = {}
    for s, z in packed:
        s = s.detach().cpu()
        look = (tuple(s.shape), s.float().flatten().tolist())
        names = [n for n, v in scales.items() if v == look]
        assert len(names) == 1, names
        rows, cols = s.shape
        if isinstance(z, torch.Tensor):
            z = z.detach().cpu().float()
            z = z if tuple(z.shape) == (rows, cols) and rows != cols else z.t()
            assert tuple(z.shape) == (rows, cols), (z.shape, s.shape)
            flat = [int(x) for x in z.contiguous().flatten().tolist()]
        else:
            flat = [int(z)] * (rows * cols)
        layers[names[0]] = {
            "groups": rows, "out_features": cols, "zeros_equal_0": flat.count(0),
            "zero_min": min(flat), "zero_max": max(flat), "zeros": bytes(flat).hex()}
    assert sorted(layers) == sorted(scales), (len(layers), len(scales))
    return layers


def main():
    program, fmt, bits, sym, act, kind, out = sys.argv[1:]
    make = {"gptqmodel": by_gptqmodel, "auto-round": by_autoround, "autogptq": by_autogptq}[program]
    torch.manual_seed(SEED)
    with tempfile.TemporaryDirectory() as tmp:
        src = os.path.join(tmp, "model")
        make_model(src, kind == "onesided")
        torch.manual_seed(SEED)
        version, weights = make(src, out, fmt, int(bits), sym == "sym", act == "act")
    memory = {"program": program, "version": version, "layers": memory_of(out)}
    for name, digest in weights.items():
        memory["layers"][name]["program_weights_sha256"] = digest
    with open(out + ".memory.json", "w") as f:
        json.dump(memory, f, indent=1, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()
