#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds N small files to the model M, in one folder and in some below it, converts it, and looks for each of them."""
import os
import subprocess
import sys

N = int(sys.argv[1])


def name_of(i):
    return "sub%d/f%06d" % (i % 7, i) if i % 10 == 0 else "f%06d" % i


def main():
    for i in range(7):
        os.makedirs("M/sub%d" % i)
    for i in range(N):
        with open("M/" + name_of(i), "wb") as f:
            f.write(b"%d" % i if i % 3 else b"")
    done = subprocess.run(["gptq-convert", "--to", "v2", "-q", "M", "O"], check=False)
    wrong = 0
    for i in range(N):
        try:
            with open("O/" + name_of(i), "rb") as f:
                wrong += f.read() != (b"%d" % i if i % 3 else b"")
        except OSError:
            wrong += 1
    good = done.returncode == 0 and not wrong
    print("exit %d, %d files, %d wrong" % (done.returncode, sum(len(f) for _, _, f in os.walk("O")), wrong))
    done = subprocess.run(["gptq-inspect", "-q", "--check", "O"], check=False)
    print("gptq-inspect --check: exit %d" % done.returncode)
    done = subprocess.run(["gptq-verify", "M", "O"], stdout=subprocess.DEVNULL, check=False)
    print("gptq-verify: exit %d" % done.returncode)
    sys.exit(0 if good and done.returncode == 0 else 1)


main()
