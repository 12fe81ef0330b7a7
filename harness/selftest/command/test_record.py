# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof record` beside other profilers. If another profiler requests build ids, kernels
6.1 to 7.1 wrongly mark jitproof's records, too, though they contain inodes."""

import json
import os
import re
import sys

from ci.base import files, process
from ci.base.text import find_match
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import Folder, JITPROOF

MMAP_BUILD_ID = 1 << 14
CAP_SYS_NICE = 23
PROGRAM = "/bin/true"
# Another profiler that samples itself, with the flags of perf record's event except inherit. It
# maps a file that it has read, since the kernel takes build ids only from pages in memory
# (lib/buildid.c).
OTHER = r"""
import ctypes, mmap, os, struct, time
EXCLUDE_KERNEL, MMAP, MMAP2, BUILD_ID = 5, 8, 23, 34
bits = sum(1 << bit for bit in (EXCLUDE_KERNEL, MMAP, MMAP2, BUILD_ID))
attr = ctypes.create_string_buffer(struct.pack("<IIQQQQQ", 1, 136, 9, 0, 0, 0, bits), 136)
fd = ctypes.CDLL(None, use_errno=True).syscall(298, attr, 0, -1, -1, 8)
if fd < 0:
    raise SystemExit("no event with attr.build_id")
ring = mmap.mmap(fd, 2 * mmap.PAGESIZE)
program = os.open("%s", os.O_RDONLY)
os.read(program, 1 << 20)
maps = [mmap.mmap(program, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        for _ in range(9)]
end = time.process_time() + 0.05
while time.process_time() < end:
    pass
head, = struct.unpack_from("<Q", ring, 1024)
marked, at = 0, mmap.PAGESIZE
while at < mmap.PAGESIZE + head:
    kind, misc, size = struct.unpack_from("<IHH", ring, at)
    marked += kind == 10 and misc >> 14 & 1
    at += size
print(marked, "build ids")
""" % PROGRAM

# Prints the nice values of the parent's threads.
NICE = r"""
import os
import re
folder = "/proc/%d/task" % os.getppid()
print(sorted(os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in os.listdir(folder)))
"""


class Beside(Folder):
    def test_reader_comes_first(self) -> None:
        """Only the reading thread gets a higher priority, if permitted."""
        own_priority = os.getpriority(os.PRIO_PROCESS, 0)
        result = process.run([JITPROOF, "record", "-o", self.place("data"), "--", sys.executable,
                              "-c", NICE], timeout=240)
        if "perf_event_open" in result.stderr:
            self.skipTest(result.stderr.strip())
        rights = int(find_match(r"CapEff:\s*(\w+)", files.read("/proc/self/status"))[1], 16)
        reader = -20 if rights >> CAP_SYS_NICE & 1 else own_priority
        first, *others = json.loads(result.stdout)
        self.assertEqual(first, reader, result.stderr)
        self.assertEqual(set(others), {own_priority}, result.stderr)

    def test_records_hold_inodes(self) -> None:
        data = self.place("data")
        result = process.run([JITPROOF, "record", "-o", data, "--", sys.executable, "-c", OTHER],
                             timeout=240)
        if re.search("perf_event_open|attr.build_id", result.stderr):
            self.skipTest(result.stderr.strip())
        self.assertEqual((result.returncode, result.stdout), (0, "9 build ids\n"), result.stderr)
        status = os.stat(PROGRAM)
        mappings = [mapping for mapping in rd.PerfData.load(data).maps()
                if mapping.name == os.path.realpath(PROGRAM)]
        self.assertEqual(len(mappings), 9)
        for one in mappings:
            self.assertFalse(one.misc & MMAP_BUILD_ID)
            self.assertEqual((one.ino, one.maj, one.min), (
                status.st_ino, os.major(status.st_dev), os.minor(status.st_dev)))
