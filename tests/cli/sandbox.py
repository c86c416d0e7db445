#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that gptq-inspect has given up writing by the time it reads: its process may gain no privileges any more, which
it had to promise for that. Exits with 77 where the kernel has no Landlock, or where it is not to be used."""
import ctypes
import os
import subprocess
import sys
import time

CREATE_RULESET = 444  # the same number on every machine


def status(pid, key):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        for line in f:
            if line.startswith(key + ":"):
                return line.split()[1]
    return None


def main():
    if os.environ.get("GPTQ_NO_LANDLOCK"):
        print("not under this wrapper")
        sys.exit(77)
    if ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1) < 1:
        print("no Landlock here")
        sys.exit(77)
    inspect = subprocess.Popen(["gptq-inspect", "--headers", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while status(inspect.pid, "NoNewPrivs") != "1" and time.monotonic() < end:
        time.sleep(0.01)
    print("while it reads, NoNewPrivs:", status(inspect.pid, "NoNewPrivs"))
    inspect.communicate()
    print("exit", inspect.returncode)


main()
