#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps files and functions small: 500 lines a file of src, 70 a function. There is no list of exceptions.

usage: sizes.py SOURCE_ROOT

A function is what stands between a line "{" and the next line "}", both in the first column, as the formatter puts
them; its head is not counted.
"""
import os
import re
import sys

FILE_LINES = 500
FUNCTION_LINES = 70


def functions(lines):
    """(name, first line, count of lines between the braces)."""
    begin = None
    head = ""
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            m = re.findall(r"(\w+)\(", head)
            yield (m[-1] if m else "?"), begin, number - begin - 1
            begin = None
        if begin is None and re.match(r"[a-z_]", line):
            m = re.search(r"(\w+)\(", re.sub(r"__attribute__\(\(.*?\)\)\)?", "", line))
            head = m.group(0) if m else head


def main():
    root = sys.argv[1]
    passed = failed = 0

    def check(ok, text):
        nonlocal passed, failed
        passed += ok
        failed += not ok
        if not ok:
            print(text)

    for where, folders, files in os.walk(os.path.join(root, "src")):
        folders.sort()
        for f in sorted(files):
            if not f.endswith((".c", ".h", ".cu")):
                continue
            path = os.path.join(where, f)
            with open(path, encoding="utf-8") as text:
                lines = text.read().splitlines()
            name = os.path.relpath(path, root)
            check(len(lines) <= FILE_LINES, "%s has %d lines, the limit is %d" % (name, len(lines), FILE_LINES))
            for function, begin, count in functions(lines):
                check(count <= FUNCTION_LINES, "%s:%d: %s() has %d lines, the limit is %d" %
                      (name, begin, function, count, FUNCTION_LINES))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


sys.exit(main())
