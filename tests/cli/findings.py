#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the findings of gptq-inspect --json, and checks that every code has a golden case.

usage: findings.py show [CODE]                  prints what is found in the JSON lines on standard input: severity,
                                                code, place and sentence of each finding (of that code alone)
       findings.py samples CODES_H FOLDER MAN   every code of CODES_H has a case FOLDER/finding-CODE.sh whose expected
                                                output shows it with its severity, and its row in the page MAN
"""
import json
import os
import re
import sys


def show(code):
    for line in sys.stdin:
        for f in json.loads(line).get("findings", []):
            if code in (None, f["code"]):
                print("%s %s at %s\n  %s" % (f["severity"], f["code"], json.dumps(f["where"]), f["text"]))
    return 0


def codes_of(path):
    with open(path, encoding="utf-8") as f:
        return [(code, severity.lower()) for code, severity in re.findall(r'X\(\w+,\s*"([a-z0-9-]+)", (ERROR|WARNING|NOTE)\)', f.read())]


def rows_of(page):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    part = re.search(r"^\.Sh FINDINGS\n(.*?)(?=^\.Sh )", text, re.M | re.S)
    return re.findall(r"^\.It Li (\S+) Ta (\w+) Ta \S", part.group(1), re.M) if part else []


def samples(codes_h, folder, page):
    codes, wrong = codes_of(codes_h), []
    for code, severity in codes:
        path = os.path.join(folder, "finding-%s.stdout" % code)
        if not os.path.exists(path):
            wrong.append("%s has no sample" % code)
            continue
        with open(path, encoding="utf-8") as f:
            if not re.search(r"^\| %s %s at .*\n\|   \S" % (severity, code), f.read(), re.M):
                wrong.append("%s does not show it as %s" % (path, severity))
    if rows_of(page) != codes:
        wrong.append("the table of %s is not that of %s: %s" % (page, codes_h, sorted(set(rows_of(page)) ^ set(codes))))
    if len(codes) < 50:
        wrong.append("only %d codes were found in %s" % (len(codes), codes_h))
    for w in wrong:
        print("FAIL " + w)
    print("%d passed, %d failed" % (len(codes) + 1 - len(wrong), len(wrong)))
    return 1 if wrong else 0


def main():
    if sys.argv[1] == "show":
        return show(sys.argv[2] if len(sys.argv) > 2 else None)
    return samples(*sys.argv[2:])


sys.exit(main())
