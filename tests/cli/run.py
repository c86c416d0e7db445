#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden command-line tests: what a command prints and how it ends, to the byte.

usage: run.py [--record] [--jobs N] --bin FOLDER FOLDER [NAME...]

A case is FOLDER/NAME.sh, run by sh in a scratch folder of its own, after the functions of lib.sh have been read. Its
standard output, standard error and exit code must be NAME.stdout, NAME.stderr and NAME.exit; absent files mean empty
and 0. The numbers of the object "performance" in JSON are taken for 0. A case that ends with 77 is skipped; the reason
is its last line. --bin is put in front of PATH. --record writes
the expectations anew: read the difference before committing it. Where GQ_WRAPPER holds words, such as valgrind and its
options, they stand in front of every command of --bin, and only GQ_ROUNDS percent of the cases run.

The last line counts: "N passed, M failed, K skipped".
"""
import argparse
import concurrent.futures
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 2400 if os.environ.get("GQ_WRAPPER") else 120


def environment(bin_folder, scratch):
    env = {k: v for k, v in os.environ.items() if k.startswith(("ASAN_", "UBSAN_", "LSAN_", "LD_", "VALGRIND_"))}
    env.update(PATH=bin_folder + os.pathsep + os.environ.get("PATH", "/usr/bin:/bin"), LC_ALL="C.UTF-8", COLUMNS="80",
               HOME=scratch, TMPDIR=scratch, MK=os.path.join(HERE, "mk.py"), TOOLS=HERE,
               TESTDATA=os.path.join(HERE, "..", "..", "testdata"), PYTHONDONTWRITEBYTECODE="1")
    if os.environ.get("GQ_WRAPPER"):
        env["GPTQ_NO_LANDLOCK"] = "1"  # some valgrinds complain of system calls that they do not know
    return env


def remove(folder):
    """Also what a case has left without permissions."""
    for root, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def run(case, bin_folder):
    scratch = tempfile.mkdtemp(prefix="gptq-cli-")
    work = os.path.join(scratch, "work")
    os.mkdir(work)
    os.chmod(scratch, 0o755)
    script = ". '%s/lib.sh'\n. '%s.sh'\n" % (HERE, case)
    try:
        done = subprocess.run(["sh", "-c", "umask 022\n" + script], cwd=work, env=environment(bin_folder, scratch),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        return masked(done.stdout), masked(done.stderr), done.returncode
    except subprocess.TimeoutExpired as e:
        return e.stdout or b"", (e.stderr or b"") + b"\nstopped after %d s\n" % LIMIT_S, -1
    finally:
        remove(scratch)


def wrapped(bin_folder, words, folder):
    """A folder of scripts that run the commands of bin_folder behind `words`."""
    for name in os.listdir(bin_folder):
        command = os.path.join(bin_folder, name)
        if name.startswith("gptq-") and os.path.isfile(command):
            script = os.path.join(folder, name)
            with open(script, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\nexec %s '%s' \"$@\"\n" % (words, command))
            os.chmod(script, 0o755)
    return folder


def masked(out):
    """Without the numbers of the object "performance" of gptq-convert --json: they are the machine's. No others."""
    return re.sub(rb'"performance":\{[^{}]*\{[^{}]*\}[^{}]*\}',
                  lambda m: re.sub(rb":[0-9.]+(e[-+]?[0-9]+)?", b":0", m.group()), out)


def expectation(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return b""


def record(path, data):
    if data:
        with open(path, "wb") as f:
            f.write(data)
    elif os.path.exists(path):
        os.unlink(path)


def difference(name, want, got):
    a = want.decode(errors="backslashreplace").splitlines()
    b = got.decode(errors="backslashreplace").splitlines()
    return "\n".join(difflib.unified_diff(a, b, name + " expected", name + " found", lineterm=""))


def judge(case, outcome):
    """The differences, one text; empty if there are none."""
    out, err, code = outcome
    want_code = int(expectation(case + ".exit") or b"0")
    parts = []
    for suffix, got in ((".stdout", out), (".stderr", err)):
        want = expectation(case + suffix)
        if want != got:
            parts.append(difference(os.path.basename(case) + suffix, want, got))
    if code != want_code:
        parts.append("exit code %d, expected %d" % (code, want_code))
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--bin", required=True)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    names = args.names or sorted(f[:-3] for f in os.listdir(folder) if f.endswith(".sh"))
    passed = failed = skipped = 0
    bin_folder = os.path.abspath(args.bin)
    shims = tempfile.TemporaryDirectory(prefix="gptq-cli-bin-")
    if os.environ.get("GQ_WRAPPER"):
        share = max(1, len(names) * int(os.environ.get("GQ_ROUNDS", "100")) // 100)
        names = names[::max(1, len(names) // share)]
        bin_folder = wrapped(bin_folder, os.environ["GQ_WRAPPER"], shims.name)
        os.chmod(shims.name, 0o755)
    with shims, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        cases = [os.path.join(folder, n) for n in names]
        for case, outcome in zip(cases, pool.map(lambda c: run(c, bin_folder), cases)):
            name = os.path.basename(case)
            if outcome[2] == 77:
                skipped += 1
                print("skip %s: %s" % (name, (outcome[0].decode(errors="replace").splitlines() or [""])[-1]))
                continue
            if args.record:
                record(case + ".stdout", outcome[0])
                record(case + ".stderr", outcome[1])
                record(case + ".exit", b"%d\n" % outcome[2] if outcome[2] else b"")
            text = judge(case, outcome)
            if text:
                failed += 1
                print("FAIL %s\n%s" % (name, text))
            else:
                passed += 1
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed or passed == 0 else 0


sys.exit(main())
