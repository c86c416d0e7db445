#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stops an in-place conversion by signals, twice in a row, and shows that finishing or rollback leads to a known state.

The model is large enough to be stopped on its way; where it is not, because the machine is fast, the outcome is the new
state and is as good.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

MK = os.environ["MK"]


def digest(folder):
    return subprocess.run([sys.executable, MK, "digest", folder], check=True, capture_output=True, cwd=".").stdout


def contents(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def main():
    subprocess.run([sys.executable, MK, "model", "OLD", "layers=4"], check=True)
    subprocess.run(["gptq-convert", "--to", "v2", "-q", "OLD", "NEW"], check=True)
    old, new = contents("OLD"), contents("NEW")
    good = True
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        for delay in range(0, 30):
            shutil.copytree("OLD", "M")
            p = subprocess.Popen(["gptq-convert", "--to", "v2", "-i", "-q", "M"], stderr=subprocess.PIPE)
            time.sleep(delay / 4000)
            p.send_signal(number)
            p.send_signal(number)
            err = p.communicate()[1].decode()
            interrupted = ".gptq-convert.journal" in os.listdir("M")
            # before main() has run the system's default holds
            good = good and (p.returncode in (0, 128 + number, -number))
            good = good and interrupted == ("--rollback" in err)
            if interrupted:
                way = "--rollback" if delay % 2 else "--in-place"
                subprocess.run(["gptq-convert", way, "-q", "M"], check=True)
                good = good and contents("M") == (old if delay % 2 else new)
            else:
                good = good and contents("M") in (old, new)
                good = good and (p.returncode != 0 or contents("M") == new)
            shutil.rmtree("M")
    print("all ended in a known state" if good else "WRONG")


main()
