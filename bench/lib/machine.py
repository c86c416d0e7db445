# SPDX-License-Identifier: Apache-2.0
"""On what the figures were measured."""
import datetime
import os
import platform
import subprocess


def first_value(path, key):
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return "unknown"


def file_system(folder):
    done = subprocess.run(["df", "--output=fstype", folder], capture_output=True, text=True, check=False)
    return done.stdout.split()[-1] if done.returncode == 0 else "unknown"


def commit(root):
    done = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def lines(root, folder):
    memory = int(first_value("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20)
    return [f"date: {datetime.date.today().isoformat()}, commit {commit(root)}",
            f"processor: {first_value('/proc/cpuinfo', 'model name')}, {len(os.sched_getaffinity(0))} cores",
            f"memory: {memory:.1f} GiB; file system: {file_system(folder)}; kernel: {platform.release()}"]
