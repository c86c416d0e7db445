# SPDX-License-Identifier: Apache-2.0
"""gptq-convert beside cp, and beside the script that people use."""
import os
import shlex

from . import budgets, measure, peers
from .measure import Unit, shell


def convert_unit(bench, model, cold, name="convert", options=(), out=None):
    out = out or bench.out
    command = [bench.command("gptq-convert"), "--to", "v2", *options, model.folder, out]
    return Unit(name, command, bench.before(model, cold, out, bench.copy), lambda: measure.remove(out),
                warm_up=command[:1] + ["--json"] + command[1:])


def variants(bench, model, cold):
    yield convert_unit(bench, model, cold)
    if bench.has_option("gptq-convert", "--jobs"):
        yield convert_unit(bench, model, cold, "convert, one thread", ["--jobs", "1"])
    if bench.has_option("gptq-convert", "--manifest"):
        yield convert_unit(bench, model, cold, "convert with manifest", ["--manifest"])


def to_folder(bench, model, cold=False):
    state = "cold" if cold else "warm"
    name = f"convert, {model.title}, {state}"
    found = bench.compare(name, f"page cache {state}", [bench.cp(model, cold), *variants(bench, model, cold)],
                          "cp and sync", model.total())
    for unit in list(found.series)[1:]:
        bench.budget(f"{unit}, {model.title}, {state}: times cp and sync", found.ratio(unit), budgets.CONVERT)
        bench.memory(f"{unit}, {model.title}, {state}", found.series[unit], model)


def to_folder_cold(bench, model):
    to_folder(bench, model, cold=True)


def beside_python(bench, model):
    framework = peers.framework(bench.python)
    script = shlex.join(bench.peer("peer_convert.py", "--framework", framework, model.folder, bench.copy))
    peer = Unit(f"Python, {framework}", shell(f"{script} && sync -f {shlex.quote(bench.copy)}"),
                bench.before(model, False, bench.copy, bench.out), lambda: measure.remove(bench.copy))
    bench.compare(f"convert beside Python, {model.title}, warm", "the script checks nothing",
                  [peer, convert_unit(bench, model, False)], peer.name, model.total())


def config_bytes(model):
    """Configs may be written whole, once into the journal and once into place."""
    names = ("config.json", "quantize_config.json")
    return 2 * sum(os.path.getsize(os.path.join(model.folder, n)) for n in names)


def in_place(bench, model):
    """To v2 and back, so that each round begins with the same bytes."""
    def unit(to):
        command = [bench.command("gptq-convert"), "--to", to, "--in-place", model.folder]
        return Unit(f"in place to {to}", command, bench.before(model, False, bench.copy),
                    warm_up=command[:1] + ["--json"] + command[1:])
    found = bench.compare(f"in place, {model.title}, warm", "page cache warm",
                          [bench.cp(model), unit("v2"), unit("v1")], "cp and sync", model.total())
    zeros = model.total(".qzeros")
    for name in ("in place to v2", "in place to v1"):
        series = found.series[name]
        if model.name == "g128":
            bench.budget(f"{name}, {model.title}: times cp and sync", found.ratio(name), budgets.IN_PLACE)
        bench.budget(f"{name}, {model.title}: bytes written, times qzeros",
                     (series.median("written_chars") - config_bytes(model)) / zeros, budgets.IN_PLACE_BYTES,
                     remark=f"configs taken off; {series.median('written_bytes') / zeros:.2f} counted in whole pages")
        bench.memory(f"{name}, {model.title}", series, model)
