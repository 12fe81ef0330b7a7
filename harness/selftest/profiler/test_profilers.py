# SPDX-License-Identifier: GPL-2.0-only
"""Tests adapters with real profilers, if these are installed, and with recorded output."""

import argparse
import io
import os
import struct
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.abspath(__file__ + "/../../../profiler"))
import bpftrace
import bpftrace_counts
import eu_stackprof
import hotspot
import libbpf_profile
import perf
import perf_script
import sysprof
from adapting import protocol, script, shown
from ci.base import process
from harness.selftest.support.scratch import Folder, JITPROOF

SAMPLES = """Attaching 2 probes...
T 100
S 250 7 8

\t7f10 jit_a+33 (/tmp/perf-7.map)
\t7f20 operator new(unsigned long)+0x12 (/lib/a b.so)
\t7f30 0x7f30 ([unknown])

S 260 7 8


T 300
"""
SUMS = """T 100

@[7, 8,
\t7f10 jit_a+33 (/tmp/perf-7.map)
\t7f30 0x7f30 ([unknown])
\t7f40 0x7f40 ([unknown])
]: 12
@[7, 9,
]: 3
"""
SCRIPT = """    7/8     1.000000250:
        ffffffff81000000 do_syscall_64 ([kernel.kallsyms])
                    7f10 jit_a+0x21 (/tmp/perf-7.map)
                    82f0 [unknown] (/memfd:a (b) (deleted))
                    92f0 [unknown] ([vdso])

    7/8     1.000000260:

"""

PROFILE = b"""Sampling at 999 Hertz of PID [7] by user... Hit Ctrl-C to end.
    jit_a(int, int)
    [unknown]
    main
    -                a (b) (7)
        12

    -                a (b) (7)
        3

"""
STACKPROF = """Starting stack profile collection pid 7
find_dwfl newly seen pid 7 (a): hdr_size=8384 size=8192 pc=7f10 sp=7ffc+0
* frame 0: rel_pc=10 raw_pc=7f10 sp=7ffc+0 [initial]
* pid 7 pc=7f10 -> MODULE NOT FOUND
* frame 1: rel_pc=1f raw_pc=7f1f sp=7ffc+30 [ebl]
find_dwfl pid 7 (cached) (a): hdr_size=8384 size=8192 pc=7f10 sp=7ffc+0
* frame 0: rel_pc=10 raw_pc=7f10 sp=7ffc+0 [initial]
* frame 1: rel_pc=1f raw_pc=7f1f sp=7ffc+30 [eh_frame]
find_dwfl newly seen pid 9 (a): hdr_size=8384 size=8192 pc=7f30 sp=7ffc+0
* frame 0: rel_pc=30 raw_pc=7f30 sp=7ffc+0 [initial]
* frame 1: rel_pc=ffffffffffffffff raw_pc=ffffffffffffffff sp=7ffc+30 [eh_frame]
find_dwfl pid 7 (cached) (a): hdr_size=8384 size=8192 pc=7f10 sp=7ffc+0
WARNING: find_dwfl pid 8 (b) (failed)
TOTAL -- received 5 samples, lost 5 samples, loaded 2 processes
"""


def make_hotspot_stream(*records: tuple[int, bytes]) -> bytes:
    return hotspot.MAGIC + bytes(4) + b"".join(
        struct.pack("<IB", len(body) + 1, kind) + body for kind, body in records)


class Parsing(Folder):
    def setUp(self) -> None:
        super().setUp()
        version = mock.patch.object(bpftrace.Bpftrace, "version", return_value="1")
        version.start()
        self.addCleanup(version.stop)

    def run_adapter(self, kind: type[bpftrace.Bpftrace], output: str) -> str:
        self.write(output, "bpftrace.txt")
        self.write("Lost 4 events\n", "profiler.txt")
        instance = kind(argparse.Namespace(dir=self.home, freq=1000))
        instance.enabled, instance.stopped = 0, 10**18
        if isinstance(instance, bpftrace_counts.Counts):
            instance.mappings = {7: [(range(0x7f40, 0x7f50), "[vdso]")]}
        file = io.StringIO()
        instance.write(file)
        return file.getvalue()

    def test_bpftrace(self) -> None:
        text = self.run_adapter(bpftrace.Bpftrace, SAMPLES)
        self.assertIn("sample 250 7 8 0x7f10=jit_a 0x7f20=operator%20new(unsigned%20long) 0x7f30\n"
                      "sample 260 7 8\n", text)
        self.assertIn(" samples 4\n", text)
        self.assertIn("period 1000000\n", text)

    def test_counts(self) -> None:
        text = self.run_adapter(bpftrace_counts.Counts, SUMS)
        self.assertIn("declares no-time no-addresses no-losses\n", text)
        self.assertIn("sample 12 7 8 jit_a ? [vdso]\nsample 3 7 9\n", text)

    def test_mappings(self) -> None:
        """The adapters read the mappings of a process; a process that has ended has none."""
        result = {path: range_ for range_, path in bpftrace_counts.read_mappings(os.getpid())}
        with open("/proc/self/auxv", "rb") as file:
            vectors = {key: value for key, value in struct.iter_unpack("QQ", file.read())}
        self.assertEqual(result["[vdso]"].start, vectors[33])  # AT_SYSINFO_EHDR
        self.assertIn(os.path.realpath(sys.executable), result)
        self.assertEqual(bpftrace_counts.read_mappings(2 ** 22 + os.getpid()), [])

    def test_libbpf_profile(self) -> None:
        with mock.patch.object(libbpf_profile.Profile, "version", return_value="1"):
            instance = libbpf_profile.Profile(argparse.Namespace(dir=self.home, freq=1000))
            instance.output = PROFILE
            file = io.StringIO()
            instance.write(file)
        self.assertIn("\nsample 12 7 - jit_a(int,%20int) ? main\nsample 3 7 -\n", file.getvalue())

    def test_eu_stackprof(self) -> None:
        """Equal stacks are summed; a caller's address is the return address. Samples without a
        frame count as lost."""
        self.write(STACKPROF, "stackprof.txt")
        with mock.patch.object(eu_stackprof.StackProf, "version", return_value="1"):
            instance = eu_stackprof.StackProf(argparse.Namespace(dir=self.home))
            file = io.StringIO()
            instance.write(file)
        self.assertTrue(file.getvalue().endswith(
            "\nsample 2 7 - 0x7f10 0x7f20\nsample 1 9 - 0x7f30 0x0\nsample 1 7 -\n"))
        self.assertEqual(instance.lost, 2)

    def test_hotspot(self) -> None:
        """A frame has the name of its function, not of a function inlined into it; if the function
        has no name, the name of its program. Leading kernel frames are dropped."""
        def pack_location(number: int, address: int, parent: int) -> tuple[int, bytes]:
            return hotspot.LOCATION, struct.pack(">iQiIiii", number, address, -1, 7, 0, 0, parent)
        frames = 3, 1, 4, 5, 3
        parsed = hotspot.Parsed(make_hotspot_stream(
            (hotspot.STRING, struct.pack(">iI", 9, 5) + b"jit_a"),
            (hotspot.STRING, struct.pack(">iI", 10, 6) + b"[vdso]"),
            (hotspot.STRING, struct.pack(">iI", 11, 6) + b"//anon"),
            pack_location(0, 0x7f00, -1),
            (hotspot.SYMBOL, struct.pack(">iiii?", 0, 9, -1, -1, False)),
            pack_location(2, 0, 0), pack_location(1, 0x7f10, 2), pack_location(4, 0x82f0, -1),
            (hotspot.SYMBOL, struct.pack(">iiii?", 4, -1, -1, 11, False)),
            pack_location(5, 0x92f0, -1),
            (hotspot.SYMBOL, struct.pack(">iiii?", 5, -1, -1, 10, False)),
            pack_location(3, 0xffffffff81000000, -1), (99, b"what"),
            (hotspot.SAMPLE, struct.pack(">IIQII5i", 7, 8, 250, 0, 5, *frames) + bytes(9))))
        self.assertEqual(list(parsed.samples()),
                         [(250, 7, 8, ["jit_a", "?", "[vdso]", "?"])])
        # As a reader, it shows no name instead of the file's.
        output = io.StringIO()
        with mock.patch.object(hotspot.Hotspot, "parse", return_value=parsed.samples()):
            hotspot.Hotspot.show("perf.data", self.home, shown.Shown(output, "hotspot 1", "a"))
        self.assertIn("\nsample 250 7 8 jit_a jit_a ? ? ?\n", output.getvalue())
        with self.assertRaisesRegex(hotspot.protocol.Failed, "is cut"):
            list(hotspot.Parsed(parsed.data + b"12345").samples())

    def test_sysprof(self) -> None:
        """Reads a growing capture: records of own processes, the user part of chains, no threads,
        and no FORK of processes that ended before the window."""
        def pack_frame(kind: int, time: int, pid: int, payload: bytes = b"", cpu: int = 0) -> bytes:
            return sysprof.HEAD.pack(sysprof.HEAD.size + len(payload), cpu, pid, time,
                                     kind) + payload
        chain = struct.pack("<HHi5Q", 5, 0, 8, 2**64 - 128, 0xffffffff81000000,
                            sysprof.CONTEXT_USER, 0x7f10, 0x7f20)
        data = struct.pack("<I", sysprof.MAGIC) + bytes(252) + b"".join((
            pack_frame(sysprof.FORK, 80, 7, struct.pack("<i4x", 9)),
            pack_frame(sysprof.EXIT, 85, 9),
            pack_frame(sysprof.FORK, 90, 7, struct.pack("<i4x", 9)),
            pack_frame(sysprof.EXIT, 95, 9, cpu=1),
            pack_frame(sysprof.FORK, 99, 7, struct.pack("<i4x", 8)),
            pack_frame(sysprof.FORK, 100, 7, struct.pack("<i4x", 9)),
            pack_frame(sysprof.MAP, 110, 9, struct.pack("<4Q", 0x7000, 0x8000, 0, 3) + b"/a b\0"),
            pack_frame(sysprof.SAMPLE, 250, 7, chain), pack_frame(sysprof.SAMPLE, 250, 6, chain)))
        with open(self.place("sysprof.syscap"), "wb") as out:
            out.write(data[:-3])
        with mock.patch.object(sysprof.Sysprof, "version", return_value="1"):
            instance = sysprof.Sysprof(argparse.Namespace(dir=self.home))
            instance.capture = sysprof.Capture(self.place("sysprof.syscap"))
            instance.ours, instance.counted, instance.count = {7}, 0, 0
            instance.enabled, instance.stopped = 105, 10**18
            self.assertEqual(instance.samples(), 1)
            with open(self.place("sysprof.syscap"), "ab") as out:
                out.write(data[-3:])
            file = io.StringIO()
            instance.write(file)
        self.assertTrue(file.getvalue().endswith(
            "exit 85 9 9\nexit 95 9 9\nfork 100 9 9 7 7\n"
            "map 110 9 7000-8000 r-xp 00000000 00:00 3 /a b\n"
            "sample 250 7 8 0x7f10 0x7f20\n"), file.getvalue())

    def test_perf_script(self) -> None:
        frames = [(0xffffffff81000000, "do_syscall_64", None, "[kernel.kallsyms]"),
                  (0x7f10, "jit_a", 0x21, "/tmp/perf-7.map"),
                  (0x82f0, None, None, "/memfd:a (b) (deleted)"), (0x92f0, None, None, "[vdso]")]
        samples = list(script.parse(SCRIPT))
        self.assertEqual(samples, [(1000000250, 7, 8, frames), (1000000260, 7, 8, [])])
        self.assertEqual([perf_script.find_name(place) for place in samples[0].frames[1:]],
                         ["jit_a", "?", "[vdso]"])
        self.assertEqual(list(script.parse("7/8 1.000000250: 7f10 a (b)+0x21 (/c (d))\n")),
                         [(1000000250, 7, 8, [(0x7f10, "a (b)", 0x21, "/c (d)")])])


# When it attaches, samply has no names of older code (results/PROFILERS.md).
NAMELESS = "samply", "codspeed_samply"


class Real(unittest.TestCase):
    def test_conflicts(self) -> None:
        """perf accepts options with which it writes what nobody can read."""
        for words, reason in ((["--output=-", "--switch-output=1M"], "second file of a pipe"),
                              (["-z", "--switch-output"], "first compressed file"),
                              (["-z", "--output=-"], None), (["--switch-output=1M"], None)):
            with mock.patch.object(perf, "find_perf", return_value="/bin/true"), \
                    mock.patch.object(perf, "version_of", return_value="7.3.4"):
                try:
                    perf.try_options(argparse.Namespace(
                        verb_for="launch", with_words=words, freq=99, user_only=False,
                        task_clock=False))
                    self.assertIsNone(reason, words)
                except protocol.Missing as error:
                    self.assertIn(str(reason), str(error))

    def test_truthful_profilers(self) -> None:
        """Attaches to a workload and launches it."""
        for name in ("perf", "perf_script", "bpftrace", "bpftrace_counts", "hotspot", "codspeed",
                     "samply", "samply_import", "codspeed_samply"):
            with self.subTest(name):
                result = process.run([JITPROOF, "adapter", "check", name], timeout=240)
                if result.returncode == 4 or "perf_event_open" in result.stdout:
                    self.skipTest(result.stdout)
                if name in NAMELESS:
                    self.assertIn("\nnot ok 2 attach\n", result.stdout)
                    self.assertRegex(result.stdout, "names.unnamed, cause no-name: [0-9]+,")
                else:
                    self.assertIn("\nok 2 attach\n", result.stdout)
                self.assertIn("\nok 3 launch\n", result.stdout)
