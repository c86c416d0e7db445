#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the tests that meson ran in the given build folders.

usage: tally.py BUILD...

Check programs close with "N%: Checks: C, Failures: F, Errors: E", the scripts with "P passed, F failed"
(", S skipped"). A test that left no such line counts as one. The last line printed is the sum, in the second form.
"""
import json
import os
import re
import sys

CHECK = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


def count(test):
    """(passed, failed, skipped) of one line of meson's log."""
    if test["result"] in ("SKIP", "SKIPPED"):
        return 0, 0, 1
    out = test.get("stdout", "")
    passed = failed = skipped = 0
    for checks, failures, errors in CHECK.findall(out):
        bad = int(failures) + int(errors)
        passed += int(checks) - bad
        failed += bad
    for good, bad, skip in SCRIPT.findall(out):
        passed += int(good)
        failed += int(bad)
        skipped += int(skip or 0)
    ok = test["result"] in ("OK", "EXPECTEDFAIL")
    if passed + failed + skipped == 0:
        return (1, 0, 0) if ok else (0, 1, 0)
    if not ok and failed == 0:
        failed = 1  # it ended badly after its last good check
    return passed, failed, skipped


def logs(build):
    folder = os.path.join(build, "meson-logs")
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if re.match(r"testlog.*\.json$", f))


def main():
    total = [0, 0, 0]
    for build in sys.argv[1:]:
        here = [0, 0, 0]
        for log in logs(build):
            with open(log, encoding="utf-8") as lines:
                for line in lines:
                    here = [a + b for a, b in zip(here, count(json.loads(line)))]
        print("%s: %d passed, %d failed, %d skipped" % (os.path.basename(build.rstrip("/")), *here))
        total = [a + b for a, b in zip(total, here)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] or total[0] == 0 else 0


sys.exit(main())
