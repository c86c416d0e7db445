#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that README.md, CONTRIBUTING.md and NEWS.md speak of what is there.

usage: readme.py SOURCE_ROOT BIN_DIR

Paths in code spans and links exist; sh can read the shell examples; options of the commands are in their --help; README.md's report is what the
command prints for the same arguments; its table of exit codes has the codes of --help.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT, BIN = map(os.path.abspath, sys.argv[1:])
FAILURES = []
PASSED = 0


def check(ok, text):
    global PASSED
    if ok:
        PASSED += 1
    else:
        FAILURES.append(text)


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def help_of(command):
    return subprocess.run([os.path.join(BIN, command), "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()


def check_paths(name, text):
    spans = re.findall(r"`([^`\n]+)`", text)
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S):
        spans += re.findall(r"\S*/\S+", block)
    for word in {w.rstrip(".,:;)") for s in spans for w in s.split()}:
        first = word.lstrip("./").split("/")[0]
        if first in ("scripts", "src", "tests", "testdata", "man", "include", "schema", ".ci") and "/" in word:
            if re.search(r"[<>*{}A-Z]", os.path.basename(word)) or "NAME" in word:
                continue  # a pattern
            check(os.path.exists(os.path.join(ROOT, word)), "%s: there is no %s" % (name, word))
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        check("://" in target or os.path.exists(os.path.join(ROOT, target)), "%s: link to nowhere: %s" % (name, target))
    for script in set(re.findall(r"\./scripts/\w+\.sh", text)):
        check(os.access(os.path.join(ROOT, script), os.X_OK), "%s: %s is not executable" % (name, script))


def check_options(name, text):
    """An option in a code span is one of our commands', or of these of other programs."""
    known = {"--prefix", "--record", "--suite"}
    for command in sorted(os.listdir(BIN)):
        if command.startswith("gptq-") and os.path.isfile(os.path.join(BIN, command)):
            own = set(re.findall(r"--[a-z][\w-]*", help_of(command)))
            known |= own
            for rest in re.findall(r"\b%s\b(.*)" % command, text):
                for option in re.findall(r"(?<!-)--[a-z][\w-]*", rest.split("`")[0]):
                    check(option in own, "%s: %s has no %s" % (name, command, option))
    for span in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        for option in re.findall(r"(?:^|\s)(--[a-z][\w-]*)", span):
            check(option in known, "%s: no command has %s" % (name, option))


def check_report(text):
    m = re.search(r"^```console\n\$ (gptq-convert .*?) OUT\n(.*?)^```", text, re.M | re.S)
    if not m:
        check(False, "README.md shows no report")
        return
    words = m.group(1).split()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "OUT")
        run = subprocess.run([os.path.join(BIN, words[0]), *words[1:], out], cwd=ROOT, stdout=subprocess.PIPE,
                             env=dict(os.environ, COLUMNS="80"))
        said = run.stdout.decode().replace(out, "OUT")
    check(run.returncode == 0 and said == m.group(2), "README.md's report is not what the command prints:\n" + said)


def check_shell(name, text):
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        run = subprocess.run(["sh", "-n"], input=block.encode(), stderr=subprocess.PIPE)
        check(run.returncode == 0, "%s: sh does not read this: %s\n%s" % (name, run.stderr.decode(), block))


def check_exit_codes(text):
    part = help_of("gptq-convert").split("\nexit codes:\n")[1].split("\n\n")[0]
    codes = re.findall(r"^  (\S+)  ", part, re.M)
    table = re.search(r"^\| code \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.M)
    check(table and re.findall(r"^\| (\S+) \|", table.group(1), re.M) == codes,
          "README.md's table of exit codes has other codes than --help: %s" % codes)


def main():
    for name in ("README.md", "CONTRIBUTING.md", "NEWS.md"):
        text = text_of(name)
        check_paths(name, text)
        check_options(name, text)
        check_shell(name, text)
        for number, line in enumerate(text.splitlines(), 1):
            check(line == line.rstrip(), "%s:%d: white space at the end" % (name, number))
    check_report(text_of("README.md"))
    check_exit_codes(text_of("README.md"))
    version = re.search(r"version: '([\d.]+)'", text_of("meson.build")).group(1)
    check(re.search(r"^## %s\b" % re.escape(version), text_of("NEWS.md"), re.M), "NEWS.md has no section %s" % version)
    for text in FAILURES:
        print(text)
    print("%d passed, %d failed" % (PASSED, len(FAILURES)))
    return 1 if FAILURES else 0


sys.exit(main())
