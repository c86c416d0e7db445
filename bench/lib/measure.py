# SPDX-License-Identifier: Apache-2.0
"""Runs commands side by side and keeps what each run cost."""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Callable, Optional

DROP_CACHES = "/proc/sys/vm/drop_caches"


class CommandFailed(Exception):
    pass


def nothing():
    pass


@dataclass
class Unit:
    """One command to measure. `before` and `after` are not timed; `seconds` reads the time from its output instead."""
    name: str
    command: list
    before: Callable = nothing
    after: Callable = nothing
    warm_up: Optional[list] = None  # the command of the first round, which is not counted
    seconds: Optional[Callable] = None


@dataclass
class Series:
    """What the rounds of one unit cost: lists, one entry a round."""
    name: str
    command: list
    samples: list = field(default_factory=list)
    warm_up_output: str = ""

    def values(self, key):
        return [s[key] for s in self.samples]

    def median(self, key):
        return statistics.median(self.values(key))

    def spread(self, key):
        return min(self.values(key)), max(self.values(key))


@dataclass
class Comparison:
    name: str
    about: str
    series: dict  # by the unit's name
    beside: str  # the unit that the others are compared with

    def ratios(self, name, key="wall", inverse=False):
        """Of each round: what drifts in the course of a run touches both sides of a ratio."""
        pairs = zip(self.series[name].values(key), self.series[self.beside].values(key))
        return [(b / a if inverse else a / b) if a and b else 0.0 for a, b in pairs]

    def ratio(self, name, key="wall", inverse=False):
        return statistics.median(self.ratios(name, key, inverse))


def files_of(*paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for where, _, names in os.walk(path):
            yield from (os.path.join(where, name) for name in names)


def remove(path):
    """What a run wrote, so that it costs the next one nothing."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def make_warm(*paths):
    for path in files_of(*paths):
        with open(path, "rb", buffering=0) as f:
            while f.read(1 << 22):
                pass


def make_cold(how, *paths):
    """Takes the files out of the page cache. Call it after os.sync(): dirty pages would stay."""
    if how == "drop":
        with open(DROP_CACHES, "w", encoding="ascii") as f:
            f.write("1\n")
        return
    for path in files_of(*paths):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def run_group(command, output):
    """Runs it as a process group, so that nothing of it goes on writing when we are interrupted."""
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


class Runner:
    """Measures with the program made of timed.c; keeps outputs of commands in `scratch`."""

    def __init__(self, tool, scratch, rounds):
        self.tool, self.scratch, self.rounds = tool, scratch, rounds

    def once(self, unit, command):
        """(what it cost, what it printed)"""
        result, output = (os.path.join(self.scratch, name) for name in ("timed.json", "output.txt"))
        unit.before()
        os.sync()
        with open(output, "wb") as out:
            status = run_group([self.tool, result, *command], out)
        with open(output, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if status != 0:
            raise CommandFailed(f"exit {status} of: {' '.join(command)}\n{text[-2000:]}")
        with open(result, encoding="ascii") as f:
            cost = json.load(f)
        unit.after()
        cost["cpu"] = cost["user"] + cost["system"]
        if unit.seconds:
            cost["wall"] = unit.seconds(text)
        return cost, text

    def compare(self, name, about, units, beside):
        """A B C, A B C, ...: one round to warm up, then those that count."""
        series = {u.name: Series(u.name, u.command) for u in units}
        for i in range(self.rounds + 1):
            for unit in units:
                note(f"{name}: round {i} of {self.rounds}: {unit.name}")
                cost, text = self.once(unit, unit.warm_up if i == 0 and unit.warm_up else unit.command)
                if i == 0:
                    series[unit.name].warm_up_output = text
                else:
                    series[unit.name].samples.append(cost)
        return Comparison(name, about, series, beside)


def shell(text):
    return ["sh", "-c", text]


def note(text):
    print(f"bench/run: {text}", file=sys.stderr, flush=True)
