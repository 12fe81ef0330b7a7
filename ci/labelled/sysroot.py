# SPDX-License-Identifier: GPL-2.0-only
"""Copies the files that a capture names into a folder for `explain --root`."""

import bisect
import collections
import os
import shutil
import stat
import struct
from typing import Iterable, Sequence

from harness.selftest.support import run_directory as rd

PAGE = 4096


class Touched:
    """The pages with samples of each file that a capture maps."""

    def __init__(self, path: str) -> None:
        self.pids: set[int] = set()
        self.pages: dict[str, set[int]] = collections.defaultdict(set)
        self.dumps, self.samples = False, 0
        try:
            perf = rd.PerfData.load(path)
        except struct.error:  # a file of a pipe: its recipe lists the files
            return
        spaces: dict[int, list[tuple[int, int, int, str]]] = collections.defaultdict(list)
        for record in perf.maps():
            self.pids.add(record.pid)
            name = record.name
            if record.prot & rd.EXECUTE and name.startswith("/"):
                spaces[record.pid].append((record.start, record.start + record.size,
                                           record.pgoff, name))
                self.pages[name]  # add an empty set, even if no sample is in the file
        # Ignores which process a sample belongs to: an additional page does no harm.
        everything = sorted({entry for entries in spaces.values() for entry in entries})
        starts = [entry[0] for entry in everything]
        self.samples = len(perf.samples())
        self.dumps = any(sample.stack for sample in perf.samples())
        seen = {address for sample in perf.samples()
                for address in [sample.ip, *getattr(sample, "chain", [])]}
        for address in seen:
            last = bisect.bisect_right(starts, address)
            for start, end, offset, name in everything[max(0, last - 40):last]:
                if start <= address < end:
                    self.pages[name].add((address - start + offset) // PAGE)


def list_wanted_files(touched: Touched, extra: Sequence[str] = (), own: str = "/") -> list[str]:
    """Returns the existing regular files and FIFOs of a capture, and what else is in the place of a
    perf map: all files below the folder @own, and other files with samples."""
    maps = {"/tmp/perf-%d.map" % pid for pid in touched.pids}
    paths = set(extra) | set(touched.pages) | maps
    found = []
    for path in sorted(paths):
        # Dumped stacks also need files without samples.
        if not touched.dumps and not path.startswith(own) and path not in extra and \
                path in touched.pages and not touched.pages[path]:
            continue
        try:
            mode = os.lstat(path).st_mode if path in maps else os.stat(path).st_mode
        except OSError:  # missing, or a dangling link
            continue
        if path in maps or stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            found.append(path)
    return found


def copy(paths: Iterable[str], root: str) -> None:
    """Copies files with their times to the folder @root."""
    for path in paths:
        dangling = not os.path.exists(path)
        target = root + (path if dangling else os.path.realpath(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if dangling:
            os.symlink(os.readlink(path), target)
        elif os.path.isdir(path):
            os.mkdir(target)
        elif stat.S_ISFIFO(os.stat(path).st_mode):
            os.mkfifo(target)
        else:
            shutil.copy2(path, target)
            os.chmod(target, 0o644)  # another user on another machine reads it
    # Paths through a link of the machine (/lib -> /usr/lib) must work in the sysroot too.
    for link in ("lib", "lib64", "bin", "sbin"):
        if os.path.islink("/" + link) and not os.path.lexists(os.path.join(root, link)):
            os.makedirs(os.path.join(root, "usr", link), exist_ok=True)
            os.symlink(os.readlink("/" + link), os.path.join(root, link))


def remove_broken_maps(touched: Touched) -> None:
    """Removes what is in the place of a perf map and is no file: it would be in the way of a later
    process with that pid."""
    for path in ("/tmp/perf-%d.map" % pid for pid in touched.pids):
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path) and not os.path.isfile(path):
            os.unlink(path)
