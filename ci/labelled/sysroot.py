# SPDX-License-Identifier: GPL-2.0-only
"""The files that a capture names: copied below one folder, where `explain --root` finds them."""

import bisect
import collections
import os
import re
import shutil
import stat
from typing import Iterable, Sequence

from harness.selftest.support import run_directory as rd

DUMP = re.compile(r"/jit-\d+\.dump$")
PAGE = 4096


class Touched:
    """Of each file that a capture maps, the pages that its samples lie in."""

    def __init__(self, path: str) -> None:
        perf = rd.PerfData.load(path)
        self.pids: set[int] = set()
        self.pages: dict[str, set[int]] = collections.defaultdict(set)
        spaces: dict[int, list[tuple[int, int, int, str]]] = collections.defaultdict(list)
        for record in perf.maps():
            self.pids.add(record.pid)
            name = record.name
            if record.prot & rd.EXECUTE and name.startswith("/"):
                spaces[record.pid].append((record.start, record.start + record.size,
                                           record.pgoff, name))
                self.pages[name]  # known, though no sample lies there
        # Which process is which matters little here: a page more does no harm.
        everything = sorted({entry for entries in spaces.values() for entry in entries})
        starts = [entry[0] for entry in everything]
        self.dumps = any(sample.stack for sample in perf.samples())
        seen = {address for sample in perf.samples()
                for address in [sample.ip, *getattr(sample, "chain", [])]}
        for address in seen:
            last = bisect.bisect_right(starts, address)
            for start, end, offset, name in everything[max(0, last - 40):last]:
                if start <= address < end:
                    self.pages[name].add((address - start + offset) // PAGE)


def wanted(touched: Touched, extra: Sequence[str] = (), own: str = "/") -> list[str]:
    """The regular files and FIFOs that belong to a capture and are there: of those below the folder
    @own all, of others those that its stacks lie in."""
    paths = set(extra) | set(touched.pages)
    paths |= {"/tmp/perf-%d.map" % pid for pid in touched.pids}
    found = []
    for path in sorted(paths):
        # Stacks that are dumped pass through files that no sample lies in.
        if not touched.dumps and not path.startswith(own) and path in touched.pages and \
                not touched.pages[path]:
            continue
        try:
            mode = os.stat(path).st_mode
        except OSError:  # not there, or a link that leads nowhere
            continue
        if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            found.append(path)
    return found


def copy(paths: Iterable[str], root: str) -> None:
    """Copies with times; a large file of the same file system is linked."""
    for path in paths:
        target = root + os.path.realpath(path) if os.path.islink(path) else root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if stat.S_ISFIFO(os.stat(path).st_mode):
            os.mkfifo(target)
        else:
            shutil.copy2(path, target)
            os.chmod(target, 0o644)  # who reads it is another user, on another machine
    # A path through a link of the machine (/lib -> /usr/lib) is reached in the sysroot, too.
    for link in ("lib", "lib64", "bin", "sbin"):
        if os.path.islink("/" + link) and not os.path.lexists(os.path.join(root, link)):
            os.makedirs(os.path.join(root, "usr", link), exist_ok=True)
            os.symlink(os.readlink("/" + link), os.path.join(root, link))
