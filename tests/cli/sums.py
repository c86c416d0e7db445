#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a manifest against the files that it should be about, with hashlib.

usage: sums.py MANIFEST FOLDER    every file below FOLDER but the manifest itself, in the byte order of names
       sums.py MANIFEST FILE      that file alone, by its own name

Prints what is wrong, or "N files, as hashlib says".
"""
import hashlib
import os
import sys


def escaped(name):
    plain = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return (b"\\" if plain != name else b""), plain


def line(path, name):
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest().encode()
    mark, name = escaped(name)
    return mark + digest + b"  " + name + b"\n"


def main():
    manifest, root = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2])
    names = []
    for folder, _, files in os.walk(root):
        names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    if os.path.isdir(root):
        names = [n for n in names if os.path.realpath(os.path.join(root, n)) != os.path.realpath(manifest)]
        want = [line(os.path.join(root, n), n) for n in sorted(names)]
    else:
        want = [line(root, os.path.basename(root))]
    with open(manifest, "rb") as f:
        got = f.read()
    if got == b"".join(want):
        print("%d file%s, as hashlib says" % (len(want), "s" if len(want) > 1 else ""))
    else:
        print("not as hashlib says:\n%r\n%r" % (b"".join(want), got))


main()
