#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose standard error is a terminal, feeds it a file slowly, and makes the terminal narrower half way.

usage: progress.py FILE SECONDS WIDTH NARROW COMMAND...

Prints what the lines of progress have in common, so that nothing of it depends on the machine.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time

FIGURES = re.compile(r"^ *\d+%  \S+ \w+ of \S+ \w+  \S+ \w+/s  (\S+ s|[\d:]+|\?) left  ")


def resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def main():
    path, seconds, width, narrow = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    master, slave = pty.openpty()
    resize(master, width)
    process = subprocess.Popen(sys.argv[5:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    seen, halves = b"", []

    def collect():
        nonlocal seen
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:
                return
            if not data:
                return
            seen += data

    reader = threading.Thread(target=collect)
    reader.start()
    with open(path, "rb") as f:
        raw = f.read()
    n_steps = 60
    for i in range(n_steps):
        process.stdin.write(raw[len(raw) * i // n_steps:len(raw) * (i + 1) // n_steps])
        process.stdin.flush()
        time.sleep(seconds / n_steps)
        if i == n_steps // 2:
            time.sleep(0.1)  # what is under way arrives
            halves.append(len(seen))
            resize(master, narrow)
    process.stdin.close()
    print("exit %d" % process.wait())
    reader.join(2)
    wide, thin = (part.decode().split("\r\x1b[K")[1:] for part in (seen[:halves[0]], seen[halves[0]:]))
    messages = thin.pop()
    print("lines before and after:", len(wide) > 1, len(thin) > 2)
    print("all figures, where there is room:", all(FIGURES.match(line) for line in wide))
    print("never as wide as the terminal:", all(len(line) < width for line in wide), all(len(line) < narrow for line in thin))
    print("one line, wiped at the end:", "\n" not in "".join(wide + thin), messages.startswith("gptq-convert: warning"))
    print("shares only grow:", shares(wide + thin) == sorted(shares(wide + thin)))


def shares(lines):
    return [int(line.split("%")[0]) for line in lines if "%" in line]


main()
