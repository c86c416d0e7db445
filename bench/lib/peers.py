# SPDX-License-Identifier: Apache-2.0
"""Finds a Python that has the modules which the scripts to compare with need."""
import os
import subprocess
import sys

MODULES = ["safetensors", "numpy"]


def imports(python, *modules):
    command = [python, "-c", "import " + ", ".join(modules)]
    return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def find_python(venv):
    """(path, "") or (None, why not). Makes `venv`, which must not be in the source tree, where nothing else will do."""
    for python in (sys.executable, os.path.join(venv, "bin", "python")):
        if os.path.exists(python) and imports(python, *MODULES):
            return python, ""
    for command in ([sys.executable, "-m", "venv", venv], [python, "-m", "pip", "install", "--quiet", *MODULES]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return None, f"no Python with {' and '.join(MODULES)}, and making one failed: {last_line(done.stdout)}"
    return python, ""


def last_line(text):
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no message")


def framework(python):
    return "torch" if imports(python, "safetensors", "torch") else "numpy"


def versions(python):
    code = "import platform, safetensors, numpy; print('Python', platform.python_version() + ', safetensors', " \
           "safetensors.__version__ + ', numpy', numpy.__version__)"
    return subprocess.check_output([python, "-c", code], text=True).strip()
