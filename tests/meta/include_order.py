#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the folders of src include each other in one direction only.

usage: include_order.py SOURCE_ROOT

A file may include headers of its own folder and of those to its left: base < format < quant < kernels < ops. The
library's public headers are open to all. Of quant, kernels see what is about codes alone: layout.h, cells.h and
cells_vector.h; the commands (cli) see the public header and their own. A header named *_private.h or *_internal.h stays
in its folder.
"""
import os
import re
import sys

ORDER = ["base", "format", "quant", "kernels", "ops"]
CODES = ("quant/layout.h", "quant/cells.h", "quant/cells_vector.h")


def verdict(folder, name, root):
    """None if a file of `folder` may include `name`, else the reason why not."""
    if name.startswith("gptq/") or name == "config.h":
        return None
    if folder == "cli":
        own = os.path.exists(os.path.join(root, "src", "cli", name))
        return None if own else "a command sees the public header and src/cli only"
    if folder == "":
        return "files of src itself see the public header only"
    target, _, base = name.partition("/")
    if not base or target not in ORDER:
        return "not written as FOLDER/NAME.h"
    if not os.path.exists(os.path.join(root, "src", name)):
        return "there is no such header"
    if target != folder and re.search(r"_(private|internal)\.h$", base):
        return "it is private to its folder"
    if folder == "kernels" and target in ("format", "quant") and name not in CODES:
        return "kernels see base and of quant what is about codes only"
    if ORDER.index(target) > ORDER.index(folder):
        return "%s stands to the right of %s" % (target, folder)
    return None


def main():
    root = sys.argv[1]
    passed, failed = 0, 0
    for where, folders, files in os.walk(os.path.join(root, "src")):
        folders.sort()
        for f in sorted(files):
            if not f.endswith((".c", ".h", ".cu")):
                continue
            path = os.path.join(where, f)
            relative = os.path.relpath(path, os.path.join(root, "src"))
            folder = os.path.dirname(relative)
            with open(path, encoding="utf-8") as text:
                for number, line in enumerate(text, 1):
                    m = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                    if not m:
                        continue
                    reason = verdict(folder, m.group(1), root)
                    passed += reason is None
                    failed += reason is not None
                    if reason:
                        print('src/%s:%d: includes "%s": %s' % (relative, number, m.group(1), reason))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


sys.exit(main())
