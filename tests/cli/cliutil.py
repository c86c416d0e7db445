# SPDX-License-Identifier: Apache-2.0
"""What the checks of the command line share: running, comparing, counting."""
import hashlib
import os
import subprocess


class Tally:
    """Counts checks; keeps a sentence for each that failed."""

    def __init__(self):
        self.passed, self.failures = 0, []

    def check(self, ok, text):
        if ok:
            self.passed += 1
        else:
            self.failures.append(text)
        return bool(ok)

    def close(self):
        """Prints the failures and the closing line; returns the exit status."""
        for text in self.failures:
            print(text)
        print("%d passed, %d failed" % (self.passed, len(self.failures)))
        return 1 if self.failures else 0


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr.decode("utf-8", "replace")

    def brief(self):
        """The end of what it said, for a failure's sentence."""
        said = " / ".join(line for line in self.err.strip().splitlines() if line)
        return said[-400:] or "(silent)"


def rounds(n):
    """How many of n rounds a randomised test runs: GQ_ROUNDS percent, at least one."""
    return max(1, n * int(os.environ.get("GQ_ROUNDS", "100")) // 100)


class Commands:
    """The folder of the commands under test.  A command that hangs fails.

    The words of GQ_WRAPPER (valgrind, say) are put in front of each command.
    """

    def __init__(self, folder, timeout=120):
        self.folder, self.timeout = os.path.abspath(folder), timeout
        self.wrapper = os.environ.get("GQ_WRAPPER", "").split()

    def run(self, name, *args):
        env = dict(os.environ, LC_ALL="C", NO_COLOR="1")
        try:
            return Result(subprocess.run(
                [*self.wrapper, os.path.join(self.folder, name), *args], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=self.timeout))
        except subprocess.TimeoutExpired:
            return Result(subprocess.CompletedProcess(args, 124, b"", b"ran into the time limit"))


def tree(folder):
    """Every file, link and empty folder under a folder, relative, sorted."""
    found = []
    for root, folders, files in os.walk(folder):
        leaves = [d for d in folders if os.path.islink(os.path.join(root, d)) or not os.listdir(os.path.join(root, d))]
        for f in files + leaves:
            found.append(os.path.relpath(os.path.join(root, f), folder))
    return sorted(found)


def content(path):
    if os.path.islink(path):
        return b"-> " + os.readlink(path).encode()
    if os.path.isdir(path):
        return b"(empty folder)"
    with open(path, "rb") as f:
        return f.read()


def digest(folder):
    """One digest over names and bytes of a whole tree."""
    h = hashlib.sha256()
    for name in tree(folder):
        h.update(("%s\0%s\n" % (name, hashlib.sha256(content(os.path.join(folder, name))).hexdigest())).encode())
    return h.hexdigest()


def differences(got, want, skip=()):
    """Names of the files in which two trees differ: missing, too many, other bytes."""
    a, b = tree(got), tree(want)
    found = ["%s is missing" % f for f in b if f not in a] + ["%s is too much" % f for f in a if f not in b]
    for f in a:
        if f in b and f not in skip:
            x, y = content(os.path.join(got, f)), content(os.path.join(want, f))
            if x != y:
                found.append("%s differs %s" % (f, first_difference(x, y)))
    return found


def first_difference(x, y):
    at = next((i for i, (a, b) in enumerate(zip(x, y)) if a != b), min(len(x), len(y)))
    return "at byte %d of %d, should be %d bytes: %r, should be %r" % (at, len(x), len(y), x[at:at + 24], y[at:at + 24])
