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


def looks(path="M/model.safetensors"):
    """Of the large input: what tells whether it was written to, without reading all of it."""
    st = os.stat(path)
    with open(path, "rb") as f:
        return sorted(os.listdir("M")), st.st_ino, st.st_size, st.st_mtime_ns, f.read(1 << 20)


def temporary(folder):
    return [n for n in os.listdir(folder) if n.startswith(".")]


def stop(number, args, folder, before_start=None, times=1):
    """(exit code as a shell sees it, standard output, standard error) after the signal, or after as many of it. The
    command is the slower one where both want the processor, or it would be done before it is looked at."""
    def start():
        os.nice(19)
        for ignored in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(ignored, signal.SIG_DFL)  # a shell that runs us in the background has some ignored
        if before_start:
            before_start()

    process = subprocess.Popen(["gptq-convert", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=start)
    end = time.monotonic() + 60
    while not temporary(folder) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.0005)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.001 if times > 1 else 0)
    out, err = process.communicate(timeout=60)
    code = process.returncode
    return (128 - code if code < 0 else code), out.decode(), err.decode()


def check(name, number, args, folder, mib, times=1):
    """True if the signal came in time."""
    before = sorted(os.listdir(folder))
    code, out, err = stop(number, args, folder, times=times)
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
             ("SIGQUIT", signal.SIGQUIT, ["--to", "v2", "M", "out/O"]),
             ("SIGINT, impatiently", signal.SIGINT, ["--to", "v2", "M", "out/O"], 20),
             ("SIGTERM, a file", signal.SIGTERM, ["--to", "v2", "M/model.safetensors", "out/O.safetensors"]),
             ("SIGTERM, --force, a folder", signal.SIGTERM, ["--to", "v2", "--force", "M", "out/old"]),
             ("SIGTERM, --force, a file", signal.SIGTERM,
              ["--to", "v2", "--force", "M/model.safetensors", "out/old.safetensors"])]
    before = looks()
    for name, number, args, *times in cases:
        while not check(name, number, args, "out", mib, *times):
            for made in os.listdir("out"):
                if made.startswith("O"):
                    subprocess.run(["rm", "-r", "out/" + made], check=True)
            mib *= 2
            make(mib)
            before = looks()
    print("input as it was:", looks() == before)
    with open("out/old.safetensors", encoding="utf-8") as f:
        print("old file:", f.read(), end="")

    # nohup: a hangup that is ignored stays ignored
    code, out, err = stop(signal.SIGHUP, ["--to", "v2", "-q", "M", "out/N"], "out",
                          lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    print("SIGHUP ignored: exit %d" % code)
    print(out + err, end="")
    print(sorted(os.listdir("out")))


main()
