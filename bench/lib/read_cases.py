# SPDX-License-Identifier: Apache-2.0
"""gptq-inspect --headers beside Python, gptq-verify beside memcpy and memcmp."""
import subprocess
import sys

from . import budgets, measure
from .bench import Skipped
from .measure import Unit


def headers(bench, model):
    prepare = bench.before(model, False)
    inspect = [bench.command("gptq-inspect"), "--headers"]
    ours = [Unit("inspect --headers", [*inspect, model.folder], prepare),
            Unit("inspect --headers --json", [*inspect, "--json", model.folder], prepare),
            Unit("inspect --headers --tensors", [*inspect, "--tensors", model.folder], prepare)]
    peers = []
    try:
        peers = [Unit("Python, safetensors", bench.peer("peer_inspect.py", "safetensors", model.folder), prepare)]
    except Skipped as why:
        bench.skipped.append(f"{model.title}, Python's safetensors: {why}")
    script = [sys.executable, bench.script("peer_inspect.py")]
    peers.append(Unit("Python, json alone", [*script, "json", model.folder], prepare))
    found = bench.compare(f"headers, {model.title}", "page cache warm", [*peers, *ours], peers[0].name, 0)
    for unit in ours:
        bench.memory(f"{unit.name}, {model.title}", found.series[unit.name], model)
    if model.name == "headers-100":
        bench.budget(f"inspect --headers, {model.title}: times {peers[0].name}", found.ratio(ours[0].name),
                     budgets.HEADERS)


def memory_unit(bench, what, nbytes):
    return Unit(what, [bench.tool("memory_rate"), what, str(nbytes)], seconds=float)


def verify(bench, model):
    """Rates are in packed bytes, those of one side's qweight. The files are read from the page cache within them.

    No budget: those of the proofs are for data in memory, which bench_kernels measures.
    """
    packed = model.total(".qweight")
    measure.remove(bench.out)
    subprocess.run([bench.command("gptq-convert"), "--quiet", "--to", "v2", model.folder, bench.out], check=True)
    try:
        verify_method(bench, model, packed, "table", "memcmp")
        verify_method(bench, model, packed, "every", "memcpy")
    finally:
        measure.remove(bench.out)


def verify_method(bench, model, packed, method, beside):
    options = ["--jobs", "1", "--device", "cpu", "--method", method]
    command = [bench.command("gptq-verify"), *options, model.folder, bench.out]
    unit = Unit(f"verify, {method}", command, lambda: measure.make_warm(model.folder, bench.out))
    bench.compare(f"verify, {method}, {model.title}, one thread", "page cache warm; bytes are packed codes of one side",
                  [memory_unit(bench, beside, packed), unit], beside, packed)
