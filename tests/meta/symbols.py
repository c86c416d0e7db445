#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the shared library exports with what the public headers declare, and looks for comments there.

usage: symbols.py LIBRARY HEADER_FOLDER
"""
import os
import re
import subprocess
import sys


def declared(text):
    """(name, comment or "") of each GPTQ_API function, in order."""
    found = []
    for m in re.finditer(r"^GPTQ_API\b[^;]*?\b(gptq_\w+)\(", text, re.M):
        before = text[:m.start()].rstrip("\n") if text[m.start() - 2:m.start()] != "\n\n" else ""
        comment = before.endswith("*/")
        found.append((m.group(1), before[before.rfind("/*"):] if comment else ""))
    return found


def exported(library):
    run = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True)
    return {line.split()[-1].split("@")[0] for line in run.stdout.decode().splitlines() if line.split()[-2] != "A"}


def main():
    library, folder = sys.argv[1:]
    text = ""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text += f.read()
    functions = declared(text)
    names = {name for name, _ in functions}
    # a library built with AddressSanitizer may carry symbols of the instrumentation
    have = {s for s in exported(library) if not re.match(r"(__asan_|__odr_asan|__ubsan_|_init$|_fini$)", s)}
    problems = ["%s is declared GPTQ_API and not exported" % n for n in sorted(names - have)]
    problems += ["%s is exported and not declared GPTQ_API" % n for n in sorted(have - names)]
    problems += ["%s has no comment above it" % n for n, comment in functions if len(comment) < 12]
    problems += ["%s is declared without GPTQ_API" % n
                 for n in re.findall(r"^(?!GPTQ_API)(?:[a-z]\w*[ *]+)+(gptq_\w+)\([^;]*\);", text, re.M)]
    for p in problems:
        print(p)
    print("%d passed, %d failed" % (2 * len(names) - len(problems), len(problems)))
    return 1 if problems or not names else 0


sys.exit(main())
