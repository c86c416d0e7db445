#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stops gptq-convert at every step that changes a file, and lets every such step fail; then looks at what is left.

usage: crash.py --bin FOLDER --stepper PROGRAM [--every N] [--jobs N] [--cases FOLDER] [CASE...]

A step is one system call that changes files (stepper.c lists them). For each of them
  * the process is killed before it, after it, and, where it writes, after half of it was written;
  * the call fails with each errno that it plausibly can, and writes less than it was asked to.
This is done to runs in place, to the finishing of an interrupted run, to its rollback, and to runs into a new place, with
and without --force. Reads fail likewise. After each, the state must be the old checkpoint or the new one, byte for byte, or
a journal must be there with which finishing leads to the new and --rollback to the old; a new place is whole or not there,
and IN is untouched. --every takes every N-th step only. The last line counts: "N passed, M failed".
"""
import argparse
import concurrent.futures
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
JOURNAL = ".gptq-convert.journal"
LEFT = {JOURNAL + ".new", ".gptq-convert.config.new"}
ERRNOS = {
    "write": [0, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR],
    "pwrite": [0, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR],
    "copy_file_range": [0, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR, errno.EXDEV, errno.EOPNOTSUPP],
    "ioctl": [errno.ENOSPC, errno.EIO, errno.EOPNOTSUPP],
    "fsync": [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR],
    "openat": [errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EROFS, errno.EINTR],
    "read": [0, errno.EIO, errno.EINTR],
    "pread": [0, errno.EIO, errno.EINTR],
    "flock": [errno.EWOULDBLOCK, errno.ENOLCK, errno.EINTR],
    "fstat": [errno.EIO],
    "fstatat": [errno.EIO, errno.EACCES],
    "getdents": [errno.EIO],
}
OTHER_ERRNOS = [errno.EIO, errno.ENOSPC, errno.EACCES]


def entries(folder):
    """name -> digest of all files below, with their permissions."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(root, name), folder)] = "folder"
        for name in files:
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = (hashlib.sha256(f.read()).hexdigest(),
                                                        os.lstat(path).st_mode & 0o7777)
    return found


class Scene:
    """One kind of run: how its folder is made, the command, and what is allowed afterwards."""

    def __init__(self, lab, case, name):
        self.lab, self.case, self.name = lab, case, name

    def problem(self, place, code, died):
        raise NotImplementedError

    def reads_too(self):
        return True


class Lab:
    def __init__(self, args, tmp):
        self.convert = os.path.join(args.bin, "gptq-convert")
        self.inspect = os.path.join(args.bin, "gptq-inspect")
        self.stepper, self.tmp, self.every = args.stepper, tmp, args.every

    def run(self, *args):
        done = subprocess.run([self.convert, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode

    def step(self, place, how, command):
        """(exit code, counted calls) of the command under the stepper."""
        result = place + ".steps"
        done = subprocess.run([self.stepper, result, *how, "--", self.convert, *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        with open(result, encoding="ascii") as f:
            lines = [line.split() for line in f]
        os.unlink(result)
        return done.returncode, [(int(n), name, int(size)) for n, name, size in lines]


class InPlace(Scene):
    """A run in place, or the finishing or rollback of one that was killed after its `killed`-th step."""

    def __init__(self, lab, case, name, options, killed=0, undo=False):
        super().__init__(lab, case, name)
        self.options, self.killed, self.undo = options, killed, undo
        place = self.fresh("new-" + name.replace(" ", "-"))
        if lab.run(*self.begin(place)) != 0:
            raise RuntimeError("%s: does not convert in place" % case)
        self.new = entries(place)
        self.old = entries(self.source())

    def source(self):
        return os.path.join(self.case, "in")

    def fresh(self, name):
        place = os.path.join(self.lab.tmp, os.path.basename(self.case) + "-" + name)
        shutil.copytree(self.source(), place, copy_function=shutil.copyfile)
        for root, _, files in os.walk(place):
            for f in files:
                os.chmod(os.path.join(root, f), os.stat(os.path.join(self.source(), os.path.relpath(
                    os.path.join(root, f), place))).st_mode | 0o200)
        return place

    def begin(self, place):
        return ["--in-place", "-q", *self.options, place]

    def prepare(self, name):
        place = self.fresh(name)
        if not hasattr(self, "old"):
            self.old = entries(place)
        if self.killed:
            self.lab.step(place, ["kill", str(self.killed), "torn", "w"], self.begin(place))
        return place

    def command(self, place):
        if self.undo:
            return ["--rollback", "-q", place]
        return ["--in-place", "-q", place] if self.killed else self.begin(place)

    def problem(self, place, code, died):
        old = {k: (v if v == "folder" else (v[0], v[1] | 0o200)) for k, v in self.old.items()}
        state = entries(place)
        left = {n for n in state if n in LEFT}
        if left and not died and (JOURNAL not in state or not self.killed): 
            return "left behind: %s" % ", ".join(left)
        plain = {k: v for k, v in state.items() if k not in LEFT}
        if JOURNAL not in state:
            if plain not in (old, self.new):
                return "neither old nor new, and no journal"
            if code == 0 and plain != (old if self.undo else self.new):
                return "said to be done, but is not"
            if plain == old and not self.killed:
                if self.lab.run(*self.begin(place)) != 0 or entries(place) != self.new:
                    return "the next run did not convert"
            return None
        if code == 0:
            return "said to be done, but left its journal"
        if subprocess.run([self.lab.inspect, "--check", place], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            return "half converted, but clean to gptq-inspect"
        if self.lab.run("--to", "v2", place, place + ".out") != 2 or os.path.exists(place + ".out"):
            return "half converted, but converted to a new place"
        undo = (self.flip + self.undo) % 2 == 0
        if self.lab.run("--rollback" if undo else "--in-place", "-q", place) != 0:
            return "%s failed" % ("rollback" if undo else "finishing")
        if entries(place) != (old if undo else self.new):
            return "%s led to another state" % ("rollback" if undo else "finishing")
        return None

    flip = 0


class NewPlace(Scene):
    """A run into a new place, which may be taken (--force)."""

    def __init__(self, lab, case, name, options, force):
        super().__init__(lab, case, name)
        self.options, self.force = options, force
        self.before = entries(os.path.join(case, "in"))
        place = self.prepare("new-" + name.replace(" ", "-"))
        if lab.run(*self.command(place)) != 0:
            raise RuntimeError("%s: does not convert" % case)
        self.new = entries(os.path.join(place, "O"))

    def prepare(self, name):
        place = os.path.join(self.lab.tmp, os.path.basename(self.case) + "-" + name)
        os.mkdir(place)
        if self.force:
            os.mkdir(os.path.join(place, "O"))
            with open(os.path.join(place, "O", "old"), "w", encoding="ascii") as f:
                f.write("old\n")
        return place

    def command(self, place):
        return [*self.options, "-q", *(["--force"] if self.force else []), os.path.join(self.case, "in"),
                os.path.join(place, "O")]

    def problem(self, place, code, died):
        out = os.path.join(place, "O")
        if entries(os.path.join(self.case, "in")) != self.before:
            return "IN was changed"
        left = set(os.listdir(place)) - {"O"}
        if left and not died and not (self.force and entries(out) == self.new):  # what was replaced may resist removal
            return "left behind: %s" % ", ".join(left)
        if os.path.exists(out):
            state = entries(out)
            if state != self.new and not (self.force and list(state) == ["old"]):
                return "OUT is not whole"
            if code == 0 and state != self.new:
                return "said to be done, but is not"
        elif code == 0:
            return "said to be done, but there is no OUT"
        elif self.force and len(os.listdir(place)) != 1:
            return "the old OUT is gone"
        if not os.path.exists(out) or self.force:
            if self.lab.run(*self.command(place)) != 0 or entries(out) != self.new:
                return "the next run did not convert"
        return None


def probes(scene, lab):
    """(what, arguments of the stepper) for every interference with the scene."""
    place = scene.prepare("count-" + scene.name.replace(" ", "-"))
    _, calls = lab.step(place, ["count", "w"], scene.command(place))
    for n, name, size in calls[::lab.every]:
        for how in ("before", "after") + (("torn",) if size > 1 else ()):
            yield "kill", name, how, ["kill", str(n), how, "w"]
        for number in ERRNOS.get(name, OTHER_ERRNOS):
            yield "fail", name, errno.errorcode.get(number, "short"), ["fail", str(n), str(number), "w"]
    shutil.rmtree(place)
    place = scene.prepare("count-" + scene.name.replace(" ", "-"))
    _, calls = lab.step(place, ["count", "r"], scene.command(place))
    for n, name, size in calls[::3 * lab.every]:
        for number in ERRNOS.get(name, OTHER_ERRNOS):
            yield "fail", name, errno.errorcode.get(number, "short"), ["fail", str(n), str(number), "r"]
    shutil.rmtree(place)


def try_one(scene, lab, number, probe):
    kind, name, how, arguments = probe
    place = scene.prepare("%s-%d" % (scene.name.replace(" ", "-"), number))
    code, _ = lab.step(place, arguments, scene.command(place))
    died = code == 128 + 9
    text = None
    if (kind == "kill") != died:
        text = "exit %d" % code
    elif not died and code not in (0, 1, 2):
        text = "exit %d" % code
    if kind == "fail" and how == "short" and code != 0:
        text = "gave up after a short call, exit %d" % code
    if isinstance(scene, InPlace):
        scene.flip = number
    text = text or scene.problem(place, code, died)
    for path in (place, place + ".out"):
        shutil.rmtree(path, ignore_errors=True)
    return kind, text and "%s: %s: %s %s at %s: %s" % (os.path.basename(scene.case), scene.name, kind, " ".join(
        arguments[1:]), "%s (%s)" % (name, how), text)


def scenes(lab, case):
    answer = "v2" if os.path.isdir(os.path.join(case, "v2")) else "v1"
    options = ["--to", answer, "--jobs", "1"]  # the tracer follows one thread
    first = InPlace(lab, case, "in place", options)
    yield first
    place = first.prepare("steps")
    _, calls = lab.step(place, ["count", "w"], first.begin(place))
    begin = [n for n, name, _ in calls if name == "renameat"][0] + 2  # the journal is there and synced
    writes = [n for n, name, size in calls if size > 1 and n > begin]
    late = [n for n, name, _ in calls if name == "renameat"][-1]
    for n in sorted({begin, writes[len(writes) // 2], late}):
        yield InPlace(lab, case, "finishing after step %d" % n, options, killed=n)
        yield InPlace(lab, case, "rollback after step %d" % n, options, killed=n, undo=True)
    yield NewPlace(lab, case, "new place", options, False)
    yield NewPlace(lab, case, "new place with --force", options, True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--stepper", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--cases", default=os.path.join(HERE, "..", "..", "testdata", "cases"))
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    counts = {"kill": 0, "fail": 0}
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="gptq-crash-", dir=memory) as tmp, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        lab = Lab(args, tmp)
        probe = subprocess.run([args.stepper, tmp + "/r", "count", "w", "--", "true"], stdout=subprocess.PIPE, check=False)
        if probe.returncode:
            print("skipped: ptrace is not to be had here")
            return 77
        for name in args.names:
            for scene in scenes(lab, os.path.realpath(os.path.join(args.cases, name))):
                jobs = list(enumerate(probes(scene, lab)))
                for kind, text in pool.map(lambda job, s=scene: try_one(s, lab, *job), jobs):
                    counts[kind] += 1
                    passed += not text
                    failed += bool(text)
                    if text:
                        print("FAIL " + text, flush=True)
            print("%s: %d kill points, %d failing calls so far" % (name, counts["kill"], counts["fail"]), flush=True)
    print("%d kill points, %d failing calls" % (counts["kill"], counts["fail"]))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


sys.exit(main())
