# SPDX-License-Identifier: Apache-2.0
"""What all cases share: programs, folders, results."""
import json
import os
import shlex
import subprocess
import sys

from . import budgets, measure, peers
from .measure import Unit, shell

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = ["make_model", "memory_rate", "timed"]


class Skipped(Exception):
    """A case that cannot run here, and why."""


class Bench:
    def __init__(self, args, scratch):
        self.args, self.scratch, self.build = args, scratch, os.path.abspath(args.build)
        self.out, self.copy = os.path.join(scratch, "OUT"), os.path.join(scratch, "COPY")
        self.runner = measure.Runner(self.tool("timed"), scratch, args.rounds)
        self.results, self.budgets, self.notes, self.skipped = [], [], [], []
        self.found_python = None

    def tool(self, name):
        return os.path.join(self.build, "bench", name)

    def command(self, name):
        return os.path.join(self.build, "src", "cli", name)

    def has_option(self, name, option):
        text = subprocess.check_output([self.command(name), "--help"], text=True)
        return option + " " in text or option + "[" in text or option + "\n" in text

    @property
    def python(self):
        if self.found_python is None:
            venv = self.args.venv or os.path.join(self.scratch, "venv")
            self.found_python = peers.find_python(os.path.abspath(venv))
        if self.found_python[0] is None:
            raise Skipped(self.found_python[1])
        return self.found_python[0]

    @staticmethod
    def script(name):
        return os.path.join(HERE, name)

    def peer(self, script, *arguments):
        return [self.python, self.script(script), *arguments]

    def before(self, model, cold, *outputs):
        """What to do before a run: no outputs, and the model in the page cache or out of it."""
        def prepare():
            for path in outputs:
                measure.remove(path)
            os.sync()
            if cold:
                measure.make_cold(self.args.cold, model.folder)
            else:
                measure.make_warm(model.folder)
        return prepare

    def cp(self, model, cold=False, copy=None):
        copy = copy or self.copy
        text = f"cp -r --reflink=never {shlex.quote(model.folder)} {shlex.quote(copy)} && sync -f {shlex.quote(copy)}"
        return Unit("cp and sync", shell(text), self.before(model, cold, copy, self.out), lambda: measure.remove(copy))

    def compare(self, name, about, units, beside, nbytes):
        found = self.runner.compare(name, about, units, beside)
        found.nbytes = nbytes
        self.results.append(found)
        for series in found.series.values():
            self.note_performance(name, series)
        return found

    def note_performance(self, name, series):
        """Phases, as the command itself tells them, where it does."""
        for line in series.warm_up_output.splitlines():
            if line.startswith("{"):
                performance = json.loads(line).get("performance")
                if performance:
                    self.notes.append(f"{name}, {series.name}, one run: `{json.dumps(performance)}`")

    def budget(self, *args, **kwargs):
        self.budgets.append(budgets.Budget(*args, **kwargs))

    def memory(self, what, series, model):
        self.budgets.append(budgets.memory(what, max(series.values("peak")), model.largest_header))

    def shown(self, command):
        """A command as people read it, without the paths of this run."""
        text = command[2] if command[0] == "sh" else shlex.join(command)
        for path, word in [(self.command(""), ""), (self.tool(""), ""), (HERE + "/", "bench/"),
                           (self.scratch + "/", "")]:
            text = text.replace(path, word)
        for python in {self.found_python and self.found_python[0] or sys.executable, sys.executable}:
            text = text.replace(python, "python3")
        return text
