#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs into a temporary folder and uses what lies there as a stranger would.

usage: install.py SOURCE_ROOT BUILD_ROOT PREFIX C_COMPILER...

README.md's C example is compiled with pkg-config's flags, linked with the installed library, and run on the sample.
"""
import os
import re
import subprocess
import sys
import tempfile

FAILURES = []
PASSED = 0


def check(ok, text):
    global PASSED
    if ok:
        PASSED += 1
    else:
        FAILURES.append(text)
    return bool(ok)


def run(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


def find(root, name):
    for where, _, files in os.walk(root):
        if name in files:
            return os.path.join(where, name)
    return None


def use_library(source, root, compiler, env, folder):
    with open(os.path.join(source, "README.md"), encoding="utf-8") as f:
        example = re.search(r"^```c\n(.*?)^```", f.read(), re.M | re.S)
    if not check(example, "README.md has no C example"):
        return
    with open(os.path.join(folder, "example.c"), "w", encoding="utf-8") as f:
        f.write(example.group(1))
    code, flags = run("pkg-config", "--cflags", "--libs", "gptq", env=env)
    if not check(code == 0, "pkg-config does not know gptq: " + flags):
        return
    program = os.path.join(folder, "example")
    # a library that was built with sanitizers needs them in the program, too
    extra = re.findall(r"-fsanitize=\S+", os.environ.get("GQ_LINK_ARGS", ""))
    code, said = run(*compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", program,
                     os.path.join(folder, "example.c"), *flags.split(), *extra)
    if not check(code == 0 and not said, "README.md's example does not compile: " + said):
        return
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(find(root, "libgptq.so")))
    out = os.path.join(folder, "out")
    sample = os.path.join(source, "testdata", "cases", "w4-g32-asym")
    code, said = run(program, os.path.join(sample, "in"), out, env=env)
    check(code == 0 and not said, "the example ends with %d: %s" % (code, said))
    with open(os.path.join(sample, "v2", "model.safetensors"), "rb") as a:
        made = os.path.join(out, "model.safetensors")
        check(os.path.exists(made) and a.read() == open(made, "rb").read(), "the example wrote other bytes")
    code, said = run(program, os.path.join(sample, "in"), out, env=env)
    check(code == 2 and "out" in said, "an OUT that exists gives %d: %s" % (code, said))


def main():
    source, build, prefix = sys.argv[1:4]
    compiler = sys.argv[4:]
    with tempfile.TemporaryDirectory() as folder:
        destination = os.path.join(folder, "root")
        code, said = run("meson", "install", "-C", build, "--no-rebuild", env=dict(os.environ, DESTDIR=destination))
        check(code == 0, "meson install fails: " + said)
        root = destination + prefix
        for name in ("gptq-convert", "gptq.h", "gptq.pc", "libgptq.so", "gptq-convert.1", "libgptq.3"):
            check(find(root, name) or find(root, name + ".gz"), name + " is not installed")
        names = [f for _, _, files in os.walk(destination) for f in files]
        check(not [n for n in names if n.endswith(".a") or n.startswith("test")], "too much is installed: %s" % names)
        command = find(root, "gptq-convert")
        pc = find(root, "gptq.pc")
        if command and pc:
            code, said = run(command, "--version", env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(find(root, "libgptq.so"))))
            check(code == 0 and said.startswith("gptq-convert "), "the installed command says %d: %s" % (code, said))
            env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc), PKG_CONFIG_SYSROOT_DIR=destination)
            use_library(source, root, compiler, env, folder)
    for text in FAILURES:
        print(text)
    print("%d passed, %d failed" % (PASSED, len(FAILURES)))
    return 1 if FAILURES else 0


sys.exit(main())
