#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the --help of a command with its man page, both ways: options, and exit codes.

usage: help_vs_man.py COMMAND MAN_PAGE [COMMAND MAN_PAGE]...

An option is its letter, its name and its argument as --help shows them: "-f, --force", "--from auto|v1|v2",
"--verify[=zeros]". The page is read as mdoc source, so that nothing but Python is needed; where the man program is
there, it must also format the page without a warning.
"""
import os
import re
import shutil
import subprocess
import sys

FAILURES = []
PASSED = 0


def check(ok, text):
    global PASSED
    if ok:
        PASSED += 1
    else:
        FAILURES.append(text)


def help_of(command):
    run = subprocess.run([command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return run.stdout.decode()


def options_of_help(text):
    part = text.split("\noptions:\n")[1].split("\nexit codes:\n")[0]
    found = []
    for line in part.splitlines():
        m = re.match(r"  (-\w, |    )(--\S+)( \S+)?(?:  |$)", line + "  ")
        if m:
            found.append((m.group(1).strip() + " " + m.group(2) + (m.group(3) or "")).strip())
    return found


def exits_of_help(text):
    part = text.split("\nexit codes:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+)  ", part, re.M)


def section(page, name):
    m = re.search(r"^\.Sh %s\n(.*?)(?=^\.Sh |\Z)" % re.escape(name), page, re.M | re.S)
    return m.group(1) if m else ""


def option_of_item(item):
    """'Fl f , Fl -force' -> '-f, --force'; 'Fl -verify Ns Op = Ns Cm zeros' -> '--verify[=zeros]'."""
    out, glue, close, dash = "", True, "", ""
    for word in item.split():
        if word == "Fl":
            dash = "-"
        elif word in ("Cm", "Ar"):
            pass
        elif word == "Ns":
            glue = True
        elif word == "Op":
            out, close, glue = out + "[", "]", True
        elif word in ("|", ","):
            out, glue = out + word, word == "|"
        else:
            out += ("" if glue else " ") + dash + word
            glue, dash = False, ""
    return out + close


def options_of_page(page):
    return [option_of_item(i) for i in re.findall(r"^\.It (Fl .*)$", section(page, "OPTIONS"), re.M)]


def exits_of_page(page):
    return re.findall(r"^\.It (\S+)$", section(page, "EXIT STATUS"), re.M)


def same(name, what, in_help, in_page):
    check(len(in_help) > 1, "%s: --help lists no %s" % (name, what))
    check(len(set(in_help)) == len(in_help), "%s: --help lists one of the %s twice" % (name, what))
    for x in in_help:
        check(x in in_page, "%s: the page lacks '%s', which --help shows among the %s" % (name, x, what))
    for x in in_page:
        check(x in in_help, "%s: --help lacks '%s', which the page has among the %s" % (name, x, what))


def check_formatting(path):
    if not shutil.which("man"):
        return
    env = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80", MANPAGER="cat")
    run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", path], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    said = run.stderr.decode("utf-8", "replace").strip()
    check(run.returncode == 0 and not said, "%s: man says: %s" % (path, said))


def main():
    arguments = sys.argv[1:]
    for command, path in zip(arguments[::2], arguments[1::2]):
        name = os.path.basename(command)
        with open(path, encoding="utf-8") as f:
            page = f.read()
        text = help_of(command)
        same(name, "options", options_of_help(text), options_of_page(page))
        same(name, "exit codes", exits_of_help(text), exits_of_page(page))
        check(re.search(r"^\.Nm %s$" % re.escape(name), page, re.M), "%s: the page has another name" % name)
        check_formatting(path)
    for text in FAILURES:
        print(text)
    print("%d passed, %d failed" % (PASSED, len(FAILURES)))
    return 1 if FAILURES or not PASSED else 0


sys.exit(main())
