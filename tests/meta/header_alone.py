#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the public header alone, as C11 and, where there is a compiler for it, as C++.

usage: header_alone.py INCLUDE_DIR C_COMPILER...
"""
import os
import shutil
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def compiles(compiler, options, include, name, text):
    """The compiler's words, or None if it had none to say."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        run = subprocess.run([*compiler, *options, *STRICT, "-I", include, path], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    said = run.stdout.decode("utf-8", "replace").strip()
    return said if run.returncode or said else None


def main():
    include, compiler = sys.argv[1], sys.argv[2:]
    text = '#include <gptq/gptq.h>\n#include <gptq/gptq.h>\nint use(void);\nint use(void) { return (int)GPTQ_OK; }\n'
    runs = [(compiler, ["-std=c11"], "alone.c"), (compiler, ["-std=c17"], "alone.c")]
    skipped = 0
    cxx = next((c for c in ("c++", "g++", "clang++") if shutil.which(c)), None)
    for standard in ("c++11", "c++17"):
        if cxx:
            runs.append(([cxx], ["-std=" + standard], "alone.cc"))
        else:
            skipped += 1
    passed = failed = 0
    for command, options, name in runs:
        said = compiles(command, options, include, name, text)
        passed += said is None
        failed += said is not None
        if said is not None:
            print("%s %s:\n%s" % (" ".join(command), " ".join(options), said))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


sys.exit(main())
