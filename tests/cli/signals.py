#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stops gptq-convert half way, in the current folder, and shows what is left: nothing.

The input is large and sparse. The signal is sent as soon as the temporary output is seen, which is long before the copy
of it is done; should the machine be so fast that it is done all the same, a larger input is tried.
"""
import os
import signal
import subprocess
import sys
import time

MK = os.environ["MK"]


def make(mib):
    os.makedirs("M", exist_ok=True)
    subprocess.run([sys.executable, MK, "big", "M/model.safetensors", str(mib)], check=True)
    with open("M/quantize_config.json", "w", encoding="utf-8") as f:
        f.write('{"bits": 4, "group_size": 32, "quant_method": "gptq", "checkpoint_format": "gptq"}\n')


def digest():
    return subprocess.run([sys.executable, MK, "digest", "M"], check=True, capture_output=True).stdout


def temporary(folder):
    return [n for n in os.listdir(folder) if n.startswith(".")]


def stop(number, args, folder, before_start=None):
    """(exit code as a shell sees it, standard error) after the signal."""
    process = subprocess.Popen(["gptq-convert", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=before_start)
    end = time.monotonic() + 60
    while not temporary(folder) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.0005)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    code = process.returncode
    return (128 - code if code < 0 else code), out.decode(), err.decode()


def check(name, number, args, folder, mib):
    """True if the signal came in time."""
    before = sorted(os.listdir(folder))
    code, out, err = stop(number, args, folder)
    if code == 0 and mib < 4096:
        return False
    print("%s: exit %d" % (name, code))
    print(out + err, end="")
    print("left as it was:", sorted(os.listdir(folder)) == before)
    return True


def main():
    os.mkdir("out")
    with open("out/old.safetensors", "w", encoding="utf-8") as f:
        f.write("old\n")
    os.mkdir("out/old")
    mib = 64
    make(mib)
    cases = [("SIGINT", signal.SIGINT, ["--to", "v2", "M", "out/O"]),
             ("SIGTERM", signal.SIGTERM, ["--to", "v2", "M", "out/O"]),
             ("SIGHUP", signal.SIGHUP, ["--to", "v2", "M", "out/O"]),
             ("SIGTERM, a file", signal.SIGTERM, ["--to", "v2", "M/model.safetensors", "out/O.safetensors"]),
             ("SIGTERM, --force, a folder", signal.SIGTERM, ["--to", "v2", "--force", "M", "out/old"]),
             ("SIGTERM, --force, a file", signal.SIGTERM,
              ["--to", "v2", "--force", "M/model.safetensors", "out/old.safetensors"])]
    before = digest()
    for case in cases:
        while not check(*case, "out", mib):
            for name in os.listdir("out"):
                if name.startswith("O"):
                    subprocess.run(["rm", "-r", "out/" + name], check=True)
            mib *= 4
            make(mib)
            before = digest()
    print("input as it was:", digest() == before)
    with open("out/old.safetensors", encoding="utf-8") as f:
        print("old file:", f.read(), end="")

    # nohup: a hangup that is ignored stays ignored
    code, out, err = stop(signal.SIGHUP, ["--to", "v2", "-q", "M", "out/N"], "out",
                          lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    print("SIGHUP ignored: exit %d" % code)
    print(out + err, end="")
    print(sorted(os.listdir("out")))


main()
