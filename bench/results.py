#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of bench/RESULTS.md from the log of bench/run_gpu.sh.

usage: results.py run_gpu.log [RESULTS.md]

Replaces what stands between the lines "<!-- run: begin -->" and "<!-- run: end -->". Exit 1 where the log has no
figures or the file no such lines.
"""
import csv
import re
import sys

BEGIN, END = "<!-- run: begin -->", "<!-- run: end -->"
CUDA = re.compile(r"(?P<bits>\d) bits (?P<dtype>\S+) +(?P<what>\S.*?) +(?P<ms>[\d.]+) ms +must read +(?P<mb>[\d.]+) MB +"
                  r"(?P<moved>[\d.]+) GB/s moved \((?P<moved_ratio>[\d.]+)\) +(?P<packed>[\d.]+) GB/s packed "
                  r"\((?P<packed_ratio>[\d.]+)\) +from the host +(?P<host>[\d.]+) GB/s")
CPU = re.compile(r"(?P<bits>\d) bits (?P<dtype>\S+) +(?P<groups>blocks|order) +(?P<level>\S+) +"
                 r"(?P<dequantise>[\d.]+) +(?P<dequantise_ratio>[\d.]+) +(?P<every>[\d.]+) +(?P<every_ratio>[\d.]+) +"
                 r"(?P<table>[\d.]+) +(?P<table_ratio>[\d.]+) +(?P<memcpy>[\d.]+) +(?P<memcmp>[\d.]+)$")
NAMES = {"every": "one set of codes", "every, two": "both sides' codes", "table": "`table`",
         "every, order": "one set of codes, act-order", "two, order": "both sides' codes, act-order"}
DTYPES = ["F16", "BF16", "F32"]  # as the kernels number them
LEAST_EVERY = {"avx512": 0.25, "avx2": 0.12}


def verdict(ratio, least):
    return f"{least:.2f}, met" if float(ratio) >= least else f"{least:.2f}, **missed**"


def cuda_budget(row):
    """Section 10 has budgets for 4 bits: `every` in packed bytes, codes read once; `table` in bytes moved."""
    if row["bits"] == "4" and row["what"] in ("every", "every, order"):
        return verdict(row["packed_ratio"], 0.5)
    if row["bits"] == "4" and row["what"] == "table":
        return verdict(row["moved_ratio"], 0.85)
    return "-"


def share(value):
    """Percent of a peak, as a ratio."""
    return f"{float(value.replace(',', '')) / 100:.2f}"


def profile(lines):
    """Rows of Nsight Compute's details, a kernel each: how near to what it comes."""
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    if not rows:
        return []
    head, kernels = {name: i for i, name in enumerate(rows[0])}, {}
    for row in rows[1:]:
        if row[head["Metric Name"]]:
            kernels.setdefault((int(row[head["ID"]]), row[head["Kernel Name"]]), {}).setdefault(
                row[head["Metric Name"]], row[head["Metric Value"]])
    found = []
    for (_, name), metric in sorted(kernels.items()):
        variant = re.search(r"(compare_\w+)<(\d), (\d+), (\d)>", name)
        what = [variant[1], DTYPES[int(variant[2])], "one set" if variant[4] == "1" else "both sides'"] if variant \
            else [name.split("(")[0], "-", "both sides'"]
        found.append(["`%s`" % what[0], *what[1:], f"{float(metric['Duration'].replace(',', '')) / 1e6:.3f}",
                      share(metric["Issue Slots Busy"]), metric["Executed Ipc Active"], share(metric["DRAM Throughput"]),
                      share(metric["L1/TEX Cache Throughput"]), share(metric["Achieved Occupancy"])])
    return found


def sections(text):
    """{title: lines}; what stands before the first section is under ""."""
    found, title = {"": []}, ""
    for line in text.splitlines():
        if line.startswith("== "):
            title = line[3:].split(":")[0]
            found[title] = []
        else:
            found[title].append(line)
    return found


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return lines + [""]


def tables(log):
    parts = sections(log)
    out = [f"Run of {'; '.join(line.strip() for line in parts[''] if line.strip())}.", ""]
    cuda = [m.groupdict() for m in map(CUDA.match, parts.get("bench-cuda", [])) if m]
    cpu = [m.groupdict() for m in map(CPU.match, parts.get("bench-cpu", [])) if m]
    if not cuda or not cpu:
        sys.exit("results.py: the log has no figures of both benchmarks")
    out += [" ".join(line for line in parts["bench-cuda"] if not CUDA.match(line)), ""]
    out += table(["bits", "scales", "proof", "time, ms", "must read, MB", "read, GB/s", "of the copy", "packed, GB/s",
                  "of the copy", "budget", "from the host, GB/s"],
                 [[r["bits"], r["dtype"], NAMES.get(r["what"], r["what"]), r["ms"], r["mb"], r["moved"],
                   r["moved_ratio"], r["packed"], r["packed_ratio"], cuda_budget(r), r["host"]] for r in cuda])
    out += [f"One core: {next(line for line in parts['bench-cpu'] if line.strip())}.", ""]
    out += table(["bits", "scales", "groups", "level", "dequantise", "of memcpy", "budget", "`every`", "of memcpy", "budget",
                  "`table`", "of memcmp", "budget", "memcpy", "memcmp"],
                 [[r["bits"], r["dtype"], r["groups"], r["level"], r["dequantise"], r["dequantise_ratio"],
                   verdict(r["dequantise_ratio"], LEAST_EVERY[r["level"]]) if r["level"] in LEAST_EVERY else "-",
                   r["every"], r["every_ratio"],
                   verdict(r["every_ratio"], LEAST_EVERY[r["level"]]) if r["level"] in LEAST_EVERY else "-",
                   r["table"], r["table_ratio"], verdict(r["table_ratio"], 0.5), r["memcpy"], r["memcmp"]]
                  for r in cpu])
    kernels = profile(parts.get("profile", []))
    if kernels:
        out += ["By Nsight Compute, the same layers at 4 bits, one launch each, shares of what the device can do:", ""]
        out += table(["kernel", "scales", "codes", "time, ms", "issue slots", "instructions a cycle", "DRAM",
                      "first-level cache and shared memory", "occupancy"], kernels)
    out += ["Steps of the run:", ""]
    out += [f"* {line}" for line in parts.get("summary", []) if line.strip()]
    for title in ("test", "test-large", "levels", "memcheck", "racecheck", "initcheck", "commands", "torch"):
        said = [line for line in parts.get(title, []) if re.search(r"agree|compared|SUMMARY|^\d+ passed, \d+ failed$", line)]
        out += [f"* {title}: {line.replace('========= ', '')}" for line in said]
    return "\n".join(out)


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    path = sys.argv[2] if len(sys.argv) == 3 else "bench/RESULTS.md"
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        new = tables(file.read())
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"results.py: {path} does not have one {BEGIN} and one {END}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{new}\n{END}{after}")


if __name__ == "__main__":
    main()
