# SPDX-License-Identifier: Apache-2.0
"""Results as Markdown, and their place in RESULTS.md."""
from . import machine, peers
from .bench import HERE
from .models import GIB, MIB

BEGIN, END = "<!-- whole models: begin -->", "<!-- whole models: end -->"


def table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]] + [""]


def span(pair, form):
    return " to ".join(form.format(x) for x in pair)


def row(comparison, series):
    ratios = comparison.ratios(series.name)
    wall = series.median("wall")
    itself = series.name == comparison.beside
    rate = [f"{comparison.nbytes / wall / 1e9:.2f}"] if comparison.nbytes else []
    return [series.name, f"{wall:.3f}", span(series.spread("wall"), "{:.3f}"),
            "1" if itself else f"{comparison.ratio(series.name):.3f}",
            "" if itself else span((min(ratios), max(ratios)), "{:.3f}"),
            f"{series.median('user'):.3f}", f"{series.median('system'):.3f}",
            f"{max(series.values('peak')) / MIB:.1f}", f"{series.median('written_chars') / MIB:.1f}", *rate]


def comparison_lines(bench, comparison):
    head = ["command", "seconds", "least to most", f"times {comparison.beside}", "least to most", "user, s",
            "system, s", "peak, MiB", "written, MiB"] + (["GB/s"] if comparison.nbytes else [])
    lines = [f"### {comparison.name[0].upper()}{comparison.name[1:]}", "", f"{comparison.about}.", ""]
    lines += table(head, [row(comparison, s) for s in comparison.series.values()])
    lines += [f"    {bench.shown(s.command)}" for s in comparison.series.values()]
    return lines + [""]


def render(bench, models):
    args = bench.args
    cold = "fadvise" if args.cold == "fadvise" else "drop_caches"
    lines = [f"* {line}" for line in machine.lines(HERE, args.dir)]
    if bench.found_python and bench.found_python[0]:
        lines.append(f"* {peers.versions(bench.found_python[0])}")
    lines += [f"* {args.rounds} rounds, one run of each command a round, after a round that is not counted; medians, "
              "ratios taken within a round",
              f"* cold: input taken out of the page cache by {cold}; `sync` before every run, outside of its time", ""]
    lines += table(["model", "tensors", "quantised layers", "bytes", "of them qzeros", "shards", "largest header"],
                   [[m.title, f"{m.n_tensors:,}", f"{m.n_layers:,}", f"{m.total():,}", f"{m.total('.qzeros'):,}",
                     str(len(m.shards)), f"{m.largest_header:,}"] for m in models])
    if args.size < GIB:
        lines += ["Budgets are for models of 1 GiB and more; these are smaller.", ""]
    lines += table(["what", "budget", "reached", "", "remark"], [b.cells() for b in bench.budgets])
    said = [f"* skipped: {text}" for text in bench.skipped] + [f"* {text}" for text in bench.notes]
    lines += said + [""] if said else []
    for comparison in bench.results:
        lines += comparison_lines(bench, comparison)
    return "\n".join(lines)


def replace_section(path, text):
    """Puts the text between the marks of the file. Raises ValueError where it does not have exactly one pair."""
    with open(path, encoding="utf-8") as f:
        old = f.read()
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(END) < old.index(BEGIN):
        raise ValueError(f"{path} does not have one {BEGIN} and, after it, one {END}")
    before, rest = old.split(BEGIN)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
