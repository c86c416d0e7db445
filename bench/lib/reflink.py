# SPDX-License-Identifier: Apache-2.0
"""gptq-convert where files can share blocks: in the scratch folder itself, or in a volume in a file."""
import contextlib
import os
import shutil
import subprocess

from . import budgets, convert_cases, extents, make, measure
from .bench import Skipped
from .models import GIB

MAKERS = [("mkfs.xfs", ["-q", "-m", "reflink=1"]), ("mkfs.btrfs", ["-q"])]


def can_share(folder):
    a, b = (os.path.join(folder, name) for name in ("share-a", "share-b"))
    with open(a, "wb") as f:
        f.write(os.urandom(1 << 16))
    done = subprocess.run(["cp", "--reflink=always", a, b], stderr=subprocess.DEVNULL, check=False)
    for path in (a, b):
        measure.remove(path)
    return done.returncode == 0


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"{command[0]} failed: {done.stdout.strip()}")


@contextlib.contextmanager
def volume(scratch, nbytes):
    """A folder of a file system that can share blocks, in a loop device over a file in `scratch`."""
    found = next(((shutil.which(name), options) for name, options in MAKERS if shutil.which(name)), None)
    if os.geteuid() != 0:
        raise Skipped("a volume can only be mounted by root")
    if not found or not shutil.which("losetup"):
        raise Skipped("neither mkfs.xfs nor mkfs.btrfs is there, or no losetup")
    image, folder = os.path.join(scratch, "volume"), os.path.join(scratch, "mounted")
    with open(image, "wb") as f:
        f.truncate(nbytes)
    try:
        run([found[0], *found[1], image])
        os.mkdir(folder)
        run(["mount", "-o", "loop", image, folder])
        try:
            yield folder
        finally:
            run(["umount", folder])
    finally:
        measure.remove(folder)
        measure.remove(image)


def used(folder):
    stat = os.statvfs(folder)
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


class Growth:
    """New blocks of each run of a unit: those of the files themselves, and what the volume has less of."""

    def __init__(self, unit, folder, out):
        self.own, self.volume, self.begin = [], [], 0
        before, after = unit.before, unit.after

        def start():
            before()
            os.sync()
            self.begin = used(folder)

        def end():
            os.sync()
            self.volume.append(used(folder) - self.begin)
            self.own.append(extents.own_bytes(measure.files_of(out)))
            after()
        unit.before, unit.after = start, end


def compare(bench, model, folder):
    out, copy = os.path.join(folder, "OUT"), os.path.join(folder, "COPY")
    cp = bench.cp(model, copy=copy)
    ours = convert_cases.convert_unit(bench, model, False, out=out)
    grown = Growth(ours, folder, out)
    found = bench.compare(f"convert, {model.title}, blocks shared", "page cache warm", [cp, ours], cp.name,
                          model.total())
    zeros = model.total(".qzeros")
    bench.budget(f"convert, {model.title}, blocks shared: times cp and sync", found.ratio(ours.name),
                 budgets.CONVERT_SHARED)
    bench.budget(f"convert, {model.title}, blocks shared: new bytes, times qzeros",
                 max(grown.own) / zeros, budgets.SHARED_BYTES, remark="blocks of OUT that it does not share; the "
                 f"volume's free space fell by {max(grown.volume) / zeros:.2f}, with what the file system keeps ready")


def shared(bench, model):
    if can_share(bench.scratch):
        compare(bench, model, bench.scratch)
        return
    if not bench.args.reflink:
        raise Skipped("the file system of --dir cannot share blocks; --reflink tries a volume in a file")
    home, model.folder = model.folder, ""
    with volume(bench.scratch, int(2.2 * model.total()) + GIB) as folder:
        try:
            make.write_model(bench.tool("make_model"), model, os.path.join(folder, "MODEL-" + model.name))
            compare(bench, model, folder)
        finally:
            model.folder = home
