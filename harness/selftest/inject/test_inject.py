# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof inject`: the records and files that it writes, and the input that it refuses."""

import collections
import os
import re
import shutil
import struct
import subprocess
from typing import Any, Callable
import unittest

from ci.base import files, process
from harness.selftest.support import made_jitdump as mj
from harness.selftest.support import byte_order
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import JITPROOF, Folder

BASE = 0x7f0000000000
PID = 100


class Injecting(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.input, self.output = self.place("perf.data"), self.place("out.data")

    def run_inject(self, *options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        result = process.run([JITPROOF, "inject", *options, "-i", self.input, "-o", self.output],
                             timeout=240)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def dump_path(self, pid: int = PID) -> str:
        return self.place(f"jit-{pid}.dump")

    def make_marker(self, perf: rd.PerfData, pid: int = PID, time: int = 1,
                    named: int | None = None) -> rd.Map:
        path = self.dump_path(named or pid)
        ino = os.lstat(path).st_ino if os.path.lexists(path) else 1
        return perf.map(pid, 0x1000, 0x1000, path, time, ino=ino)

    def save_capture(self, perf: rd.PerfData, *markers: rd.Map) -> None:
        """Saves a capture that contains only mapping records of jitdumps; default: the process's
        own jitdump."""
        perf.records = [*(markers or (self.make_marker(perf),))]
        perf.save(self.input)

    def list_injected(self) -> list[rd.Map]:
        return [record for record in rd.PerfData.load(self.output).maps()
                if ".jit/" in record.name]

    def list_paths(self) -> list[str]:
        """Returns every path below the folder."""
        return sorted(os.path.relpath(os.path.join(folder, name), self.home)
                      for folder, folders, names in os.walk(self.home)
                      for name in names + folders)


def read_elf_symbols(path: str) -> list[tuple[int, int, str]]:
    """Returns [(file offset, size, name)] of the functions in .symtab."""
    raw = files.read_bytes(path)
    phoff, shoff = struct.unpack_from("<QQ", raw, 32)
    phnum, = struct.unpack_from("<H", raw, 56)
    shnum, = struct.unpack_from("<H", raw, 60)
    if not shnum:
        shnum, = struct.unpack_from("<Q", raw, shoff + 32)
    segments = [struct.unpack_from("<IIQQQQ", raw, phoff + 56 * i) for i in range(phnum)]
    sections = [struct.unpack_from("<IIQQQQIIQQ", raw, shoff + 64 * i) for i in range(shnum)]
    elf_symbols = []
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != 2:
            continue
        strings = sections[link][4]
        for entry in range(offset, offset + size, 24):
            name, info, _, _, value, length = struct.unpack_from("<IBBHQQ", raw, entry)
            if info & 15 != 2:
                continue
            text = raw[strings + name:raw.index(b"\0", strings + name)].decode()
            for segment in segments:
                if segment[0] == 1 and segment[3] <= value < segment[3] + segment[5]:
                    elf_symbols.append((value - segment[3] + segment[2], length, text))
    return elf_symbols


def find_symbol(path: str, offset: int) -> str:
    """Returns the function that has the byte at @offset of an injected file."""
    return next(name for start, size, name in read_elf_symbols(path)
                if start <= offset < start + size)


class Records(Injecting):
    """Tests which of the input's records the output contains."""

    def make_one_load(self, *records: Callable[..., Any], **more: Any) -> rd.PerfData:
        perf = mj.capture(**more)
        dump = mj.Made(PID).load(100, BASE + 0x40, b"\x90" * 32, 1, "one")
        dump.save(self.dump_path())
        perf.records = [self.make_marker(perf), perf.map(PID, BASE, 0x80, "//anon", 50),
                        *(record(perf) for record in records)]
        perf.save(self.input)
        return perf

    def list_anonymous(self) -> list[str]:
        return [record.range() for record in rd.PerfData.load(self.output).maps()
                if record.name == "//anon"]

    def test_all_stay(self) -> None:
        """The output keeps ids, features and records of the input, and adds records between."""
        perf = self.make_one_load(lambda perf: perf.comm(PID, PID, "name", 120))
        perf.features[11] = b"\1\0\0\0" + rd.pack_string("perf")
        perf.records.append(rd.Record(rd.FINISHED_ROUND, 0, b""))
        perf.save(self.input)
        self.run_inject()
        result = rd.PerfData.load(self.output)
        self.assertEqual([bytes(attr.raw) for attr in result.attrs],
                         [bytes(attr.raw) for attr in perf.attrs])
        self.assertEqual([attr.ids for attr in result.attrs], [attr.ids for attr in perf.attrs])
        self.assertEqual(result.features, perf.features)
        ours = [record for record in result.records
                if isinstance(record, rd.Map) and ".jit/" in record.name]
        for rounds in (True, False):
            self.assertEqual([record.pack() for record in result.records if record not in ours and
                              (record.kind == rd.FINISHED_ROUND) == rounds],
                             [record.pack() for record in perf.records
                              if (record.kind == rd.FINISHED_ROUND) == rounds])
        self.assertEqual([(record.time, record.pid, record.start, record.size, record.prot)
                          for record in ours], [(100, PID, BASE + 0x40, 32, 5)])
        self.assertEqual(bytes(ours[0].body[-8:]), struct.pack("<Q", 7))

    def test_growing_region(self) -> None:
        """The defect that inject repairs: a growing region is recorded again after code was loaded
        there, and the new record hides the code's names."""
        grown = lambda perf: perf.map(PID, BASE, 0x100, "//anon", 110)  # noqa: E731
        self.make_one_load(grown)
        whole, first = (f"{BASE:x}-{BASE + end:x}" for end in (0x100, 0x80))
        added = f"{BASE + 0x80:x}-{BASE + 0x100:x}"
        for mode, expected in (("keep", [first, whole]), ("strip", [first]),
                               ("cut", [first, added])):
            with self.subTest(mode):
                result = self.run_inject(f"--anon={mode}")
                self.assertEqual(self.list_anonymous(), expected)
                self.assertIn(f"anonymous executable records: 2 before, {len(expected)} after",
                              result.stdout)

    def test_other_protection(self) -> None:
        """The parts of the new mapping beside the code get a record each."""
        self.make_one_load(lambda perf: perf.map(PID, BASE, 0x80, "//anon", 110, prot=7))
        self.run_inject()
        self.assertEqual(self.list_anonymous(),
                         [f"{BASE:x}-{BASE + 0x80:x}", f"{BASE:x}-{BASE + 0x40:x}",
                          f"{BASE + 0x60:x}-{BASE + 0x80:x}"])
        pgoffs = [record.pgoff for record in rd.PerfData.load(self.output).maps()
                  if record.name == "//anon"]
        self.assertEqual(pgoffs, [0, 0, 0x60])

    def test_threads_share(self) -> None:
        """The FORK of a thread copies no code, and mapping records of a thread belong to its
        process."""
        self.make_one_load(lambda perf: perf.fork(PID, PID, 105, tid=PID + 1),
                           lambda perf: perf.map(PID, BASE, 0x80, "//anon", 110, tid=PID + 1))
        self.run_inject()
        self.assertEqual(self.list_anonymous(), [f"{BASE:x}-{BASE + 0x80:x}"])

    def test_grandchild(self) -> None:
        """Code of the grandparent is cut out of the grandchild's records, too."""
        self.make_one_load(lambda perf: perf.fork(PID + 1, PID, 105),
                           lambda perf: perf.fork(PID + 2, PID + 1, 106),
                           lambda perf: perf.map(PID + 2, BASE, 0x100, "//anon", 110))
        self.run_inject("--anon=cut")
        self.assertEqual(self.list_anonymous(), [f"{BASE:x}-{BASE + 0x80:x}",
                                            f"{BASE + 0x80:x}-{BASE + 0x100:x}"])

    def test_other_process(self) -> None:
        """A process without a jitdump keeps its mapping records in each mode of --anon."""
        self.make_one_load(lambda perf: perf.map(PID + 1, BASE, 0x80, "//anon", 50),
                           lambda perf: perf.map(PID + 1, BASE, 0x100, "//anon", 110))
        for mode in ("keep", "strip", "cut"):
            self.run_inject(f"--anon={mode}")
            self.assertEqual(self.list_anonymous()[-1], f"{BASE:x}-{BASE + 0x100:x}")

    def test_namespace(self) -> None:
        """The jitdump has the pid 7 of an inner namespace; the output has the capture's pid."""
        perf = mj.capture()
        mj.Made(7).load(100, BASE, b"\xc3", 1, "inside") \
            .load(101, BASE + 16, b"\xc3", 2, "child", pid=8).save(self.dump_path(7))
        self.save_capture(perf, self.make_marker(perf, named=7))
        result = self.run_inject()
        self.assertIn("1 records of pids of another namespace", result.stderr)
        self.assertEqual([(record.pid, record.start) for record in self.list_injected()],
                         [(PID, BASE)])

    def test_two_claim_one_dump(self) -> None:
        """If two processes mapped a jitdump, the process whose pid is in the file's name wrote
        it."""
        perf = mj.capture()
        mj.Made(PID).load(100, BASE, b"\xc3", 1, "one").save(self.dump_path())
        self.save_capture(perf, self.make_marker(perf, pid=55, time=1, named=PID),
                          self.make_marker(perf, time=2))
        result = self.run_inject()
        self.assertIn("process 55 also mapped this jitdump", result.stderr)
        self.assertEqual([record.pid for record in self.list_injected()], [PID])

    def test_one_dump_by_many_paths(self) -> None:
        """The jitdump is read once, without a warning."""
        perf = mj.capture()
        mj.Made(PID).load(100, BASE, b"\xc3", 1, "one").save(self.dump_path())
        ino = os.lstat(self.dump_path()).st_ino
        paths = [os.path.join(self.home, "./" * many + f"jit-{PID}.dump") for many in range(4)]
        self.save_capture(perf, *(perf.map(PID, 0x1000, 0x1000, path, time, ino=ino)
                                  for time, path in enumerate(paths)))
        result = self.run_inject()
        self.assertNotIn("mapped by", result.stderr)
        self.assertEqual([record.pid for record in self.list_injected()], [PID])

    def test_other_forms_of_the_name(self) -> None:
        """perf does not know Bun's name jit-TID-PID-RANDOM; a removed file is no marker."""
        for name, found in ((f"jit-7-{PID}-T0", 1), (f"jit-7-{PID}.dump", 1), ("jit-7.dumpy", 0),
                            ("jit-7", 0), (f"jit-{PID}.dump (deleted)", 0)):
            path = os.path.join(self.home, name)
            mj.Made(PID).load(100, BASE, b"\xc3", 1, "one").save(path)
            os.chmod(path, 0o644)
            perf = mj.capture()
            self.save_capture(perf, perf.map(PID, 0x1000, 0x1000, path, 1,
                                             ino=os.stat(path).st_ino))
            with self.subTest(name):
                self.assertIn(f" {found} jitdumps", self.run_inject().stdout)

    def test_counter_times(self) -> None:
        """Tests times of the CPU's counter, converted by TIME_CONV."""
        perf = mj.capture(monotonic=False)
        mj.Made(PID, flags=1).load(1000, BASE, b"\xc3", 1, "one").save(self.dump_path())
        self.save_capture(perf)
        self.assertIn("no TIME_CONV", self.run_inject(status=1).stderr)
        perf.records.insert(0, rd.Record(79, 0, struct.pack("<QQQ", 4, 8, 50)))
        perf.save(self.input)
        self.run_inject()
        self.assertEqual([record.time for record in self.list_injected()], [50 + 1000 // 2])

    def test_other_clock(self) -> None:
        self.make_one_load(monotonic=False)
        result = self.run_inject(status=1)
        self.assertIn("record with -k mono", result.stderr)
        self.assertFalse(os.path.exists(self.output + ".jit"))

    def test_no_times(self) -> None:
        """perf reads a capture without times in its order, and inserts the code at the marker."""
        perf = mj.capture(rd.IDENTIFIER | rd.IP | rd.TID, monotonic=False)
        mj.Made(PID).load(9, BASE, b"\xc3", 1, "old").load(5, BASE, b"\xc3", 2, "new").save(
            self.dump_path())
        self.save_capture(perf, self.make_marker(perf), perf.map(PID, BASE, 1, "//anon", 1))
        self.run_inject("--anon", "keep")
        marker, old, new, later = rd.PerfData.load(self.output).maps()
        self.assertEqual((marker.name, later.name), (self.dump_path(), "//anon"))
        self.assertEqual([list(read_elf_symbols(code.name))[0][2] for code in (old, new)],
                         ["old", "new"])

    def test_jitdump_dir(self) -> None:
        """The recorded path does not exist; --jitdump-dir has a copy with another inode."""
        self.make_one_load()
        os.mkdir(self.place("kept"))
        shutil.copy(self.dump_path(), self.place("kept"))
        os.rename(self.dump_path(), self.place("gone"))
        self.assertIn("No such file", self.run_inject(status=1).stderr)
        self.assertIn("1 loads", self.run_inject("--jitdump-dir", self.place("kept")).stdout)
        shutil.copy(self.place("gone"), self.dump_path())
        self.assertIn("another file than process 100 mapped", self.run_inject(status=1).stderr)

    def test_copied_root(self) -> None:
        """The file is at its path below another root; links there stay within that root."""
        self.make_one_load()
        path = self.place("root", *self.dump_path().strip("/").split("/"))
        os.makedirs(os.path.dirname(path))
        os.rename(self.dump_path(), path)
        root = ("--root", self.place("root"))
        self.assertIn("No such file", self.run_inject(status=1).stderr)
        self.assertIn("1 loads", self.run_inject(*root).stdout)
        folder = os.path.dirname(path)
        os.rename(folder, self.place("root", "real"))
        os.symlink("/real", folder)
        self.assertIn("1 loads", self.run_inject(*root).stdout)
        os.rename(self.place("root", "real"), self.place("outside"))
        os.remove(folder)
        os.symlink("../../outside", folder)
        self.assertIn("No such file", self.run_inject(*root, status=1).stderr)
        self.assertIn("expected the folder",
                      self.run_inject("--root", self.place("none"), status=99).stderr)

    def test_pipe_format(self) -> None:
        """In a pipe's file, attrs and features are records."""
        perf = self.make_one_load()
        attr = perf.attrs[0]
        head = struct.pack("<8sQ", b"PERFILE2", 16)
        head += rd.Record(64, 0, bytes(attr.raw) + struct.pack("<Q", 7)).pack()
        head += rd.Record(80, 0, struct.pack("<Q", 6) + perf.features[6]).pack()
        # End of the features: the number of the first feature that this perf does not know.
        head += rd.Record(80, 0, struct.pack("<Q", 32)).pack()
        self.run_inject()
        from_file = rd.PerfData.load(self.output)
        files.write_bytes(self.input, head + b"".join(record.pack() for record in perf.records))
        self.run_inject()
        from_pipe = rd.PerfData.load(self.output)
        self.assertEqual([record.pack() for record in from_pipe.records],
                         [record.pack() for record in from_file.records])
        self.assertEqual(from_pipe.features, from_file.features)
        self.assertEqual([(bytes(one.raw), one.ids) for one in from_pipe.attrs],
                         [(bytes(one.raw), one.ids) for one in from_file.attrs])

    def test_other_byte_order(self) -> None:
        perf = self.make_one_load()
        files.write_bytes(self.input, byte_order.swap_file(perf))
        self.assertIn("this machine's byte order", self.run_inject(status=99).stderr)


@unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
class ElfFiles(Injecting):
    def inject_dump(self, dump: mj.Made, arch: str = "") -> subprocess.CompletedProcess[str]:
        perf = mj.capture()
        if arch:
            perf.features[6] = rd.pack_string(arch)
        dump.save(self.dump_path())
        self.save_capture(perf)
        return self.run_inject()

    def run_readelf(self, option: str) -> str:
        names = sorted(os.listdir(self.output + ".jit"))
        result = process.run(["readelf", "-W", option,
                              *(os.path.join(self.output + ".jit", name) for name in names)])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotRegex(result.stdout, "Warning|Error")
        return result.stdout

    def locate_name(self, name: str) -> tuple[str, int]:
        """Returns (file, offset) of the symbol @name."""
        for file in os.listdir(self.output + ".jit"):
            for offset, _, text in read_elf_symbols(os.path.join(self.output + ".jit", file)):
                if text == name:
                    return file, offset
        return self.fail(name)

    def test_one_file(self) -> None:
        dump = mj.Made(PID)
        for i in range(1000):
            dump.load(100 + i, BASE + 48 * i, b"\xc3" * 33, i, f"f{i}")
        self.assertIn("1000 loads, 0 moves, 0 bad records", self.inject_dump(dump).stdout)
        self.assertEqual(len(os.listdir(self.output + ".jit")), 1)
        output = self.run_readelf("--all")
        self.assertRegex(output, r"LOAD +0x000000 .* R E 0x1000")
        self.assertRegex(output, r"Build ID: [0-9a-f]{40}")

    def test_machine(self) -> None:
        """CPython 3.13 states 0; 3 (EM_386) is possible, 183 (EM_AARCH64) is not."""
        for stated, written in (0, "X86-64"), (183, "X86-64"), (3, "80386"):
            dump = mj.Made(PID).load(100, BASE, b"\xc3", 1, "one")
            dump.raw[12:16] = struct.pack("<I", stated)
            self.inject_dump(dump, arch="x86_64")
            with self.subTest(stated):
                self.assertRegex(self.run_readelf("--file-header"), "Machine: .*" + written)
            shutil.rmtree(self.output + ".jit")

    def test_generations(self) -> None:
        """Code at an address that had other code is in another file; in each file all functions
        have the same difference of address and offset."""
        dump = mj.Made(PID)
        for i in range(30):
            dump.load(100 + i, BASE + 64 * (i % 10), b"\xc3" * (50 + i), i, f"f{i}")
        self.inject_dump(dump)
        differences = collections.defaultdict(set)
        for record in self.list_injected():
            differences[record.name].add(record.start - record.pgoff)
        self.assertEqual(len(differences), 5)
        self.assertEqual({len(difference) for difference in differences.values()}, {1})
        self.assertEqual({result.pop() % 4096 for result in differences.values()}, {0})

    def test_lines(self) -> None:
        dump = mj.Made(PID).debug(99, BASE, [(BASE, 10, "a.js"), (BASE + 4, 11, "a.js"),
                                             (BASE + 2000, 5000, "b.js"), (BASE + 2100, 1, "a.js"),
                                             (BASE + 9999, 7, "outside.js")])
        dump.load(100, BASE, b"\x90" * 3000, 1, "one")
        # Lines out of order, and first for another address: only entries within the LOAD count.
        dump.debug(101, BASE + 0x9000, [(BASE + 0x9000, 77, "stray.js")])
        dump.debug(102, BASE + 0x4000, [(BASE + 0x4008, 9, "c.js"), (BASE + 0x4000, 8, "\xff")])
        dump.load(103, BASE + 0x4000, b"\x90" * 16, 2, "two")
        result = self.inject_dump(dump)
        self.assertIn("1 DEBUG_INFO records of code that no LOAD follows", result.stderr)
        _, one = self.locate_name("one")
        _, two = self.locate_name("two")
        rows = re.findall(r"(?m)^(\S+\.js|\S+) +(\d+) +(0x[0-9a-f]+)",
                          self.run_readelf("--debug-dump=decodedline"))
        rows = [(name, int(line), int(offset, 0)) for name, line, offset in rows]
        self.assertEqual(rows[:4], [("a.js", 10, one), ("a.js", 11, one + 4),
                                    ("b.js", 5000, one + 2000), ("a.js", 1, one + 2100)])
        self.assertEqual([row[1:] for row in rows[-2:]], [(8, two), (9, two + 8)])
        self.assertNotIn(77, [row[1] for row in rows])

    def test_lines_of_v8(self) -> None:
        """V8 adds 0x40 to each address."""
        dump = mj.Made(PID, pad=0xdeadbeef).debug(99, BASE, [(BASE + 0x40, 10, "a.js")])
        dump.load(100, BASE, b"\x90" * 8, 1, "one")
        self.inject_dump(dump)
        self.assertIn(hex(self.locate_name("one")[1]), self.run_readelf("--debug-dump=decodedline"))

    def test_unwinding(self) -> None:
        dump = mj.Made(PID)
        for i in range(3):
            dump.unwinding(99 + i, 33).load(100 + i, BASE + 64 * i, b"\x90" * 33, i, f"f{i}")
        self.inject_dump(dump)
        output = self.run_readelf("--debug-dump=frames")
        self.assertEqual(output.count(" CIE"), 1)
        starts = sorted(int(result, 16) for result in re.findall(r"pc=([0-9a-f]+)\.\.", output))
        self.assertEqual(starts, [self.locate_name(f"f{i}")[1] for i in range(3)])
        self.assertEqual(output.count("DW_CFA_offset: r6 (rbp) at cfa-16"), 3)

    def test_mapped_tables(self) -> None:
        """The mapping record includes tables that the process has after the code, unless other code
        lives there."""
        dump = mj.Made(PID).unwinding(99, 33, True).load(100, BASE, b"\x90" * 33, 1, "alone")
        dump.load(101, BASE + 0x1010, b"\x90", 2, "neighbour")
        dump.unwinding(102, 33, True).load(103, BASE + 0x1000 - 32, b"\x90" * 33, 3, "beside")
        self.inject_dump(dump)
        sizes = {find_symbol(record.name, record.pgoff): record.size
                 for record in self.list_injected()}
        self.assertEqual(sizes["beside"], 33)
        self.assertGreater(sizes["alone"], 33 + len(mj.CIE))

    def test_modules_do_not_overlap(self) -> None:
        """libdw's module extends from offset 0 of a file to its segment's end: this range contains
        the tables, but no code of a neighbour."""
        dump = mj.Made(PID)
        for i in range(2):
            dump.unwinding(99 + i, 33, True).load(100 + i, BASE + 256 * i, b"\x90" * 33, i, f"f{i}")
        self.inject_dump(dump)
        segments = re.findall(r"LOAD +0x(\w+) 0x\w+ 0x\w+ 0x(\w+)", self.run_readelf("--segments"))
        self.assertEqual(len(segments), 2)
        for start, size in segments:
            self.assertEqual(int(start, 16), 64)  # only the ELF header precedes the code
            self.assertEqual(int(size, 16), 33)

    def test_bad_unwinding(self) -> None:
        """Tables of other kinds, or of other code: the function gets no tables."""
        dump = mj.Made(PID).unwinding(99, 4000).load(100, BASE, b"\x90" * 33, 1, "one")
        dump.add(mj.UNWINDING_INFO, 101, struct.pack("<QQQ", 64, 0, 0) + b"\xee" * 64)
        dump.load(102, BASE + 64, b"\x90", 2, "two")
        result = self.inject_dump(dump)
        self.assertIn("UNWINDING_INFO of 2 functions cannot be used", result.stderr)
        self.assertNotIn(" FDE", self.run_readelf("--debug-dump=frames"))


class Hostile(Injecting):
    """Tests that inject refuses bad input and then writes no other file."""

    def setUp(self) -> None:
        super().setUp()
        self.perf = mj.capture()
        self.dump = mj.Made(PID).load(100, BASE, b"\xc3" * 8, 1, "good")

    def expect_refusal(self, pattern: str, loads: int = 0, raw: bytes | None = None) -> None:
        """Expects the error, the loads before it, and no new file but the output."""
        if raw is not None:
            files.write_bytes(self.dump_path(), raw)
        self.save_capture(self.perf)
        before = self.list_paths()
        result = self.run_inject(status=0 if loads else 1)
        self.assertRegex(result.stderr, pattern)
        self.assertIn(f" {loads} loads", result.stdout)
        new = [path for path in self.list_paths() if path not in before]
        self.assertTrue(all(path in ("out.data", "out.data.jit") or
                            path.startswith("out.data.jit/jit-") for path in new), new)
        self.assertEqual("out.data.jit" in new, loads > 0)

    def test_damaged_jitdump(self) -> None:
        good = bytes(self.dump.raw)
        load = good[40:]
        huge = 2**64 - 1
        for name, options in (
                ("cut short", load[:30]),
                ("size over the end", struct.pack("<IIQ", 0, 2**31, 1) + bytes(64)),
                ("code size", struct.pack("<IIQIIQQQQ", 0, 80, 1, PID, PID, 0, BASE, huge, 1) +
                 bytes(24)),
                ("address and size overflow", struct.pack("<IIQIIQQQQ", 0, 80, 1, PID, PID, 0, huge,
                                                          16, 1) + b"name\0" + bytes(19)),
                ("name without end", struct.pack("<IIQIIQQQQ", 0, 80, 1, PID, PID, 0, BASE, 8, 1) +
                 b"n" * 24),
                ("2^60 entries", struct.pack("<IIQQQ", 2, 48, 1, BASE, 2**60) + bytes(16)),
                ("tables over the end", struct.pack("<IIQQQQ", 4, 40, 1, huge, huge, huge)),
                ("size 0", struct.pack("<IIQ", 0, 0, 1))):
            with self.subTest(name):
                shutil.rmtree(self.output + ".jit", ignore_errors=True)
                self.expect_refusal(r"jit-100\.dump: offset 1\d\d: .*expected", 1, good + options)

    def test_goes_on_behind_damage(self) -> None:
        """Each complete record is found; the report names place and number of bytes."""
        def functions(numbers: range, pid: int = PID) -> bytes:
            result = mj.Made(pid)
            for i in numbers:
                result.unwinding(200 + i, 16).load(200 + i, BASE + 64 * i, b"\xc3" * 16, 50 + i,
                                                 f"whole{i}")
            return bytes(result.raw[40:])

        before, after = functions(range(3)), functions(range(3, 6))
        one = len(before) // 3
        end = len(self.dump.raw) + len(before)
        for name, middle, skipped, loads in (
                ("bytes of no record", b"\xff" * 37, f"37 bytes skipped from offset {end} ", 6),
                ("zeros, as in a file with holes", bytes(4096),
                 f"4096 bytes skipped from offset {end} ", 6),
                ("the end of a copied record", before[-23:], "23 bytes skipped", 6),
                ("a header of the same process", bytes(mj.Made(PID).raw), "40 bytes skipped", 6),
                ("a header and a record of another process",
                 bytes(mj.Made(PID + 1).raw) + functions(range(6, 7), PID + 1),
                 "40 bytes skipped", 7),
                ("an unknown type whose size is in the file", struct.pack("<IIQ", 77, 30, 9) +
                 b"x" * 30, "46 bytes skipped", 6)):
            with self.subTest(name):
                shutil.rmtree(self.output + ".jit", ignore_errors=True)
                self.expect_refusal(skipped, 1 + loads, self.dump.raw + before + middle + after)
        for cut, loads in ((one // 2, 6), (2 * one - 4, 6)):
            with self.subTest("lost bytes", cut=cut):
                shutil.rmtree(self.output + ".jit", ignore_errors=True)
                complete = before[:cut] + before[cut + 9:] + after
                self.expect_refusal("valid record|contains later records", 1 + loads, self.dump.raw
                                    + complete)

    def test_wrong_headers(self) -> None:
        for name, raw, pattern in (
                ("empty", b"", "offset 0: expected a jitdump header"),
                ("magic", b"JUNK" + bytes(60), "offset 0: expected magic"),
                ("version", struct.pack("<II", 0x4a695444, 9) + bytes(60), "expected version 1"),
                ("size", struct.pack("<III", 0x4a695444, 1, 2**32 - 1) + bytes(60), "header size")):
            with self.subTest(name):
                self.expect_refusal(pattern, raw=raw)

    def test_no_file(self) -> None:
        ways: tuple[tuple[str, Callable[[str], None], str], ...] = (
                ("link", lambda path: os.symlink(self.place("elsewhere"), path), "symbolic link"),
                ("fifo", os.mkfifo, "a FIFO where a regular file was expected"),
                ("folder", os.mkdir, "a directory where a regular file was expected"),
                ("nothing", lambda path: None, "No such file"))
        for name, make, pattern in ways:
            with self.subTest(name):
                self.dump.save(self.place("elsewhere"))
                make(self.dump_path())
                self.expect_refusal(pattern)
                if os.path.isdir(self.dump_path()):
                    os.rmdir(self.dump_path())
                elif os.path.lexists(self.dump_path()):
                    os.unlink(self.dump_path())

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_foreign_jitdump(self) -> None:
        self.dump.save(self.dump_path())
        os.chown(self.dump_path(), 65534, 65534)
        self.expect_refusal("belongs to user 65534, expected user 0")

    def test_moves_of_unloaded_code(self) -> None:
        """Moves code that was never loaded."""
        self.dump.move(101, BASE, BASE + 64, 8, 99).move(102, BASE, BASE + 64, 0, 1)
        self.expect_refusal("2 MOVE records of code that was never loaded", 1, self.dump.raw)

    def test_far_apart(self) -> None:
        """Extreme addresses must not lead to huge files or memory."""
        for i in range(5000):
            self.dump.load(200 + i, (i + 1) << 40, b"\xc3", 2 + i, f"far{i}")
        self.expect_refusal("^$", 5001, self.dump.raw)
        self.assertLess(len(os.listdir(self.output + ".jit")), 5000)

    def test_one_address(self) -> None:
        for i in range(5000):
            self.dump.load(200 + i, BASE, b"\xc3" * 64, 2 + i, f"again{i}")
        self.expect_refusal("^$", 5001, self.dump.raw)
        self.assertLess(len(os.listdir(self.output + ".jit")), 100)

    def read_times(self) -> dict[str, int]:
        """Returns the time at which each file was written, and 0 for folders."""
        return {path: (0 if os.path.isdir(self.place(path))
                       else os.lstat(self.place(path)).st_mtime_ns)
                for path in self.list_paths()}

    def expect_no_output(self, pattern: str) -> None:
        """Expects that inject refuses to write and changes no file."""
        self.dump.save(self.dump_path())
        self.save_capture(self.perf)
        before = self.read_times()
        self.assertRegex(self.run_inject(status=99).stderr, pattern)
        self.assertEqual(self.read_times(), before)

    def test_output_is_input(self) -> None:
        self.output = self.input
        self.dump.save(self.dump_path())
        self.perf.save(self.input)
        self.assertIn("the same file", self.run_inject(status=99).stderr)

    def test_output_is_link(self) -> None:
        os.symlink(self.place("victim"), self.output)
        self.expect_no_output("expected a regular file")

    def test_folder_is_link(self) -> None:
        os.mkdir(self.place("victim"))
        os.symlink(self.place("victim"), self.output + ".jit")
        self.expect_no_output("expected a folder for ELF files")

    def test_folder_is_open(self) -> None:
        os.mkdir(self.output + ".jit")
        os.chmod(self.output + ".jit", 0o777)
        self.expect_no_output("nobody else may write into")

    def test_elf_file_is_there(self) -> None:
        """A second run with the same result is allowed; files with other contents are left
        alone."""
        self.dump.save(self.dump_path())
        self.save_capture(self.perf)
        self.run_inject()
        self.run_inject()
        name, = os.listdir(self.output + ".jit")
        path = os.path.join(self.output + ".jit", name)
        os.unlink(self.output)
        contents = files.read_bytes(path)
        for other in (contents[:-1] + bytes([contents[-1] ^ 1]), contents + b"mine"):
            files.write_bytes(path, other)
            self.expect_no_output("it is not overwritten")
            self.assertEqual(files.read_bytes(path), other)
        os.unlink(path)
        os.symlink(self.place("victim"), path)
        self.expect_no_output("it is not overwritten")
