# SPDX-License-Identifier: GPL-2.0-only
"""Tests the names that `jitproof judge --json` counts: each source of a name and each reason for a
missing name, on files made by hand; and compares the counts with the installed perf's on real
captures."""

import os
import shutil
import struct
import sys
import unittest
import unittest.mock

from ci.base import files, process
from ci.base.status import Missing
from ci.perf import compare_names, perf_tools
from harness.selftest.support import run_directory as rd
from harness.selftest.command import test_judge_file as judged
from harness.selftest.support.scratch import JITPROOF

ANON = judged.ANON
ELF = 0x7f2000000000
BUILD_ID = "0123456789abcdef0123456789abcdef01234567"
SOURCE = """
__attribute__((noinline)) int sum(int a, int b) { return a + b; }
static __attribute__((noinline, used)) int hidden(int a) { return sum(a, 3); }
int both(int a) { return hidden(a); }
"""


def remove_map(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


class Names(judged.Made):
    """A capture of a pid that no process can have, so that no other program writes its perf map."""

    def setUp(self) -> None:
        super().setUp()
        self.pid = 0x40000000 + os.getpid()
        self.map_path = "/tmp/perf-%d.map" % self.pid
        self.addCleanup(remove_map, self.map_path)
        os.chmod(self.home, 0o755)  # judge drops root privileges
        # Use no cache of binaries but the test's own.
        home = unittest.mock.patch.dict(os.environ, {"HOME": self.home})
        home.start()
        self.addCleanup(home.stop)
        self.add_records(self.perf.comm(self.pid, self.pid, "named", 5))

    def add_map(self, start: int, name: str, **more: int) -> None:
        self.add_records(self.perf.map(self.pid, start, 0x10000, name, 10, **more))

    def expect_counts(self, *addresses: int, **wanted: int) -> None:
        """Adds samples at the addresses and expects exactly these counts, by source or reason."""
        for address in addresses:
            self.add_sample(address, pid=self.pid)
        counts = [one["names"] for one in self.judge()["processes"] if one["pid"] == self.pid][0]
        counted = {name.replace("-", "_"): count
                   for name, count in {**counts["by"], **counts["why"]}.items() if count}
        self.assertEqual(counted, wanted)
        self.assertEqual(counts["samples"], len(addresses))
        self.assertEqual(counts["named"], sum(counts["by"].values()))
        self.assertEqual(counts["unnamed"], sum(counts["why"].values()))

    def write_map(self, text: str) -> None:
        files.write(self.map_path, text)


class PerfMaps(Names):
    def test_named_addresses(self) -> None:
        self.write_map("%x 40 first\n%x 40 second\n" % (ANON, ANON + 0x40))
        self.add_map(ANON, "//anon")
        self.expect_counts(ANON, ANON + 0x7f, ANON + 0x80, map=2, not_in_map=1)

    def test_mappings_that_ask(self) -> None:
        self.write_map("%x 100000000 all\n" % ANON)
        asking = ["//anon", "[heap]", "/dev/zero (deleted)", "/SYSV00000000 (deleted)",
                  "/anon_hugepage (deleted)"]
        for number, name in enumerate(asking):
            self.add_map(ANON + number * 0x10000, name)
        self.expect_counts(*(ANON + number * 0x10000 for number in range(len(asking))),
                           map=len(asking))

    def test_mappings_that_do_not(self) -> None:
        self.write_map("%x 100000000 all\n" % ANON)
        names = ["/memfd:jit (deleted)", "[anon:jit]", "/dev/shm/gone", "[uprobes]"]
        for number, name in enumerate(names):
            self.add_map(ANON + number * 0x10000, name)
        self.add_map(ANON + 0x100000, "//anon", prot=rd.READ)
        self.expect_counts(*(ANON + number * 0x10000 for number in range(len(names))),
                           ANON + 0x100000,
                           not_anonymous=len(names) + 1)

    def test_overlapping_lines(self) -> None:
        self.write_map("%x 1000 wide\n%x 10 narrow\n" % (ANON, ANON + 0x100) +
                       "%x 10 more\n" % (ANON + 0x200))
        self.add_map(ANON, "//anon")
        self.expect_counts(ANON + 0x180, overlapped=1)

    def test_no_perf_map(self) -> None:
        self.add_map(ANON, "//anon")
        self.expect_counts(ANON, ANON + 0x20000, no_map=1, no_mapping=1)

    def test_fifo_does_not_hang(self) -> None:
        os.mkfifo(self.map_path)
        self.add_map(ANON, "//anon")
        self.expect_counts(ANON, bad_map=1)

    def test_link_is_not_followed(self) -> None:
        os.symlink(self.write("%x 40 first\n" % ANON, "elsewhere"), self.map_path)
        self.add_map(ANON, "//anon")
        self.expect_counts(ANON, bad_map=1)


class Elf(Names):
    def setUp(self) -> None:
        super().setUp()
        self.library = self.place("lib.so")
        process.compile_c(SOURCE, self.library, "-shared", "-fPIC", "-O1",
                          "-Wl,--build-id=0x" + BUILD_ID)

    def find_symbol(self, name: str) -> int:
        """Returns the file offset of a symbol, which is its address in this library."""
        return process.read_symbols(self.library)[name]

    def set_build_id(self, path: str, build_id: str) -> None:
        self.perf.features[2] = judged.pack_build_id(path, build_id)

    def test_named_addresses(self) -> None:
        hidden, both = self.find_symbol("hidden"), self.find_symbol("both")
        self.add_map(ELF, self.library)
        self.expect_counts(ELF + hidden, ELF + both, ELF + 0xf000, elf=2, no_symbol=1)

    def test_file_offset(self) -> None:
        self.add_map(ELF, self.library, pgoff=0x1000)
        self.expect_counts(ELF + self.find_symbol("both") - 0x1000, elf=1)

    def test_stripped(self) -> None:
        hidden, both = self.find_symbol("hidden"), self.find_symbol("both")
        process.run(["strip", self.library])
        self.add_map(ELF, self.library)
        self.expect_counts(ELF + hidden, ELF + both, stripped=1, elf=1)

    def test_missing_file(self) -> None:
        self.add_map(ELF, self.place("gone.so"))
        self.add_map(ELF + 0x100000, self.library + " (deleted)")
        self.expect_counts(ELF, ELF + 0x100000, missing_file=2)

    def test_build_id_of_the_file_or_another(self) -> None:
        self.add_map(ELF, self.library)
        self.set_build_id(self.library, "ff" * 20)
        self.expect_counts(ELF + self.find_symbol("both"), other_file=1)
        self.perf.drop_samples()
        self.set_build_id(self.library, BUILD_ID)
        self.expect_counts(ELF + self.find_symbol("both"), elf=1)

    def test_cache_by_build_id(self) -> None:
        offset = self.find_symbol("hidden")
        cache = self.place(".debug", ".build-id", BUILD_ID[:2], BUILD_ID[2:])
        os.makedirs(cache)
        os.rename(self.library, os.path.join(cache, "elf"))
        self.set_build_id(self.library, BUILD_ID)
        self.add_map(ELF, self.library)
        self.expect_counts(ELF + offset, elf=1)

    def test_debug_file(self) -> None:
        """Symbols in a separate debug file of the cache."""
        offset = self.find_symbol("hidden")
        cache = self.place(".debug", ".build-id", BUILD_ID[:2], BUILD_ID[2:])
        os.makedirs(cache)
        process.run(["objcopy", "--only-keep-debug", self.library, os.path.join(cache, "debug")])
        process.run(["strip", self.library])
        self.add_map(ELF, self.library)
        self.expect_counts(ELF + offset, elf=1)

    def test_no_elf(self) -> None:
        os.mkfifo(self.place("fifo"))
        self.write("text", "text")
        self.add_map(ELF, self.place("fifo"))
        self.add_map(ELF + 0x100000, self.place("text"))
        self.expect_counts(ELF, ELF + 0x100000, bad_file=1, not_elf=1)

    def test_injected(self) -> None:
        path = self.place("jitted-1-2.so")
        shutil.copyfile(self.library, path)
        self.add_map(ELF, path)
        self.expect_counts(ELF + self.find_symbol("both"), jitdump=1)

    def test_text(self) -> None:
        self.add_map(ELF, self.library)
        self.add_sample(ELF + self.find_symbol("both"), pid=self.pid)
        self.assertRegex(self.run_judge().stdout, r"perf 7\.3 names +1  100\.00 % of 1 samples")


class BadBuildIds(Names):
    def test_each_bad_build_id(self) -> None:
        for feature, expected in (
                (b"abc", "a build id of at least 37 bytes"),
                (struct.pack("<IHH", 67, 2, 8), "a build id of at least 37 bytes that fits"),
                (struct.pack("<IHH", 67, 2, 64) + bytes(40), "a build id .* that fits"),
                (struct.pack("<IHH", 67, 2, 40) + bytes(28) + b"abcd", "the name"),
                (struct.pack("<IHHi20sBxxx", 67, 2 | 1 << 15, 40, -1, bytes(20), 21) + b"abc\0",
                 "a build id of at most 20")):
            with self.subTest(expected):
                self.perf.features[2] = feature
                result = self.run_judge("--json")
                self.assertEqual(result.returncode, 99)
                self.assertRegex(result.stderr, r"offset \d+: expected " + expected)


class AsPerf(judged.Folder):
    """The counts agree with perf's own, on captures of perf."""

    def setUp(self) -> None:
        super().setUp()
        try:
            self.perf = perf_tools.find_installed()
        except Missing as reason:
            self.skipTest(str(reason))

    def compare_with_perf(self, *command: str) -> None:
        path = self.place("perf.data")
        result = self.perf.run("record", "-N", "-o", path, "-e", "cpu-clock:u", "-F", "5000", "--",
                               *command, timeout=240)
        if "Captured and wrote" not in result.stderr:
            self.skipTest("perf does not record here: " + result.stderr.strip()[-200:])
        for pid in compare_names.count_by_judge(JITPROOF, path, self.perf.number):
            self.addCleanup(remove_map, "/tmp/perf-%d.map" % pid)
        self.assertEqual(compare_names.find_differences(self.perf, JITPROOF, path), [])

    def test_many_programs(self) -> None:
        self.compare_with_perf("sh", "-c",
                               "for i in 1 2 3; do ls -lR /usr/bin | sort | gzip >/dev/null; done")

    def test_python(self) -> None:
        self.compare_with_perf(sys.executable, "-c", "import json; [json.dumps(list(range(500))) "
                               "for i in range(3000)]")

    def test_perf_map(self) -> None:
        self.compare_with_perf("timeout", "1", JITPROOF, "workload", "coalesced_growth",
                               "--publish", "map",
                               "--control-fd", "none", "--truth", self.place("truth"))
