#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts a model whose path, or whose output's path, is as long as a path can be, and a little shorter and longer: all
of it is there in the end, or there is a message and nothing new."""
import os
import shutil
import subprocess
import sys

COMPONENT = 255
LIMIT = 4096  # with the NUL at the end


def go_deep(n, base):
    """A path of n bytes below base of the longest components, and the name that makes it whole; no folder for that."""
    path = base
    while len(path) + 1 + COMPONENT < n - 1:
        path += "/" + "d" * COMPONENT
    left = n - len(path) - 1
    if left > COMPONENT:
        path += "/" + "e" * (left - 100)
        left = 99
    return path, "n" * left


def make_folders(path):
    """One after the other: a path may be too long for one call."""
    here = os.open("/", os.O_RDONLY)
    for part in path.strip("/").split("/"):
        try:
            os.mkdir(part, dir_fd=here)
        except FileExistsError:
            pass
        down = os.open(part, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = down
    return here


def convert(*args):
    done = subprocess.run(["gptq-convert", "-q", "--to", "v2", *args], capture_output=True, check=False)
    return done.returncode, done.stderr.decode(errors="replace")


def contents(folder):
    """What a folder that is open holds."""
    found = {}
    for name in os.listdir(folder):
        with open(os.open(name, os.O_RDONLY, dir_fd=folder), "rb") as f:
            found[name] = f.read()
    return found


def check(name, length, code, err, parent, was, new, want, seen):
    """Whole, or nothing and a message."""
    now = sorted(os.listdir(parent))
    if code == 0:
        folder = os.open(new, os.O_RDONLY, dir_fd=parent)
        good = now == sorted(was + [new]) and contents(folder) == want
        os.close(folder)
        shutil.rmtree(new, dir_fd=parent)
    else:
        good = code == 2 and now == was and "File name too long" in err
    seen.add(code)
    if not good:
        print("%s, %d bytes: exit %d, %s, left: %s" % (name, length, code, err[-300:], [n[:20] for n in now]))
    return good


def main():
    here = os.getcwd()
    with open("M/model.safetensors", "rb") as f:
        lone = f.read()
    code, err = convert("M", "O")
    print("here: exit %d%s" % (code, err))
    want = contents(os.open("O", os.O_RDONLY))
    for name in ("output", "input"):
        good, seen, lengths = 0, set(), [*range(LIMIT - 80, LIMIT - 5, 3), *range(LIMIT - 4, LIMIT + 3)]
        for length in lengths:
            path, last = go_deep(length, here + "/" + name)
            parent = make_folders(path)
            if name == "output":
                was = sorted(os.listdir(parent))
                code, err = convert("M", path + "/" + last)
                good += check(name, length, code, err, parent, was, last, want, seen)
            else:
                os.mkdir(last, dir_fd=parent)
                inside = os.open(last, os.O_RDONLY, dir_fd=parent)
                for n in ("model.safetensors", "config.json", "quantize_config.json"):
                    with open("M/" + n, "rb") as f, open(os.open(n, os.O_WRONLY | os.O_CREAT, dir_fd=inside), "wb") as g:
                        g.write(f.read())
                was = sorted(os.listdir("."))
                top = os.open(".", os.O_RDONLY)
                code, err = convert(path + "/" + last, "new")
                good += check(name, length, code, err, top, was, "new", want, seen)
                good -= contents(inside)["model.safetensors"] != lone
                os.close(top)
                os.close(inside)
                shutil.rmtree(last, dir_fd=parent)
            os.close(parent)
        print("%s: %d of %d lengths as they should be; exits %s" % (name, good, len(lengths), sorted(seen)))


main()
