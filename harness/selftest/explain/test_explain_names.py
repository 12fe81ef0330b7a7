# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof explain --root DIR` on files made by hand: what the labelled captures
(test_labelled.py) do not show of missing names."""

import json
import os
import shutil
import struct
import time
from typing import Any
import unittest

from ci.base import files, process
from harness.selftest.support import made_jitdump as mj
from harness.selftest.support import run_directory as rd
from harness.selftest.command import test_judge_file as judged
from harness.selftest.support.scratch import JITPROOF

PID, OTHER = 4711, 1
CODE = 0x7f1000000000
FILE = 0x7f2000000000
SAMPLES = 100
NAMESPACES = 16
NAMING = {"missing-file", "stripped-symbols", "no-name-source", "map-not-read-for-memfd",
          "map-stale", "map-partial", "map-wrong-owner", "pid-namespace-map",
          "jitdump-not-injected", "jitdump-file-gone", "jitdump-wrong-clock", "jitdump-hidden",
          "damaged-jitdump", "empty-jitdump"}


class Explained(judged.Made):
    """A process whose samples are in one page of emitted code, and a copied root with its files."""

    ends = 0  # time in ns at which the recording ends; 0: now

    def setUp(self) -> None:
        super().setUp()
        self.perf = mj.capture(rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.CALLCHAIN)
        self.root = self.place("root")
        os.makedirs(os.path.join(self.root, "tmp"))
        self.add_records(self.perf.comm(PID, PID, "java", 5))

    def add_map(self, name: str, start: int = CODE, size: int = 0x1000, time: int = 10) -> None:
        self.add_records(self.perf.map(PID, start, size, name, time))

    def add_samples(self, *addresses: int, time: int = 100) -> None:
        """Adds SAMPLES samples at the addresses in turn, 1000 ns apart."""
        for number in range(SAMPLES):
            self.add_sample(addresses[number % len(addresses)], pid=PID, time=time + 1000 * number)

    def add_memory(self, name: str = "//anon") -> None:
        """Maps memory of that name and adds samples in it."""
        self.add_map(name)
        self.add_samples(CODE + 4)

    def write_below_root(self, path: str, text: str) -> str:
        place = self.root + path
        os.makedirs(os.path.dirname(place), exist_ok=True)
        files.write(place, text)
        return place

    def write_map(self, *lines: tuple[int, int, str], pid: int = PID) -> None:
        self.write_below_root("/tmp/perf-%d.map" % pid,
                              "".join("%x %x %s\n" % line for line in lines))

    def add_dump(self, *times: int) -> str:
        """Adds a jitdump that the process has mapped; returns its path in the recording."""
        path = "/home/jit-%d.dump" % PID
        if times:
            made = mj.Made(PID)
            for number, at in enumerate(times):
                made.load(at, CODE + 0x100 * number, b"\xc3" * 0x100, number, "f%d" % number)
            os.makedirs(os.path.join(self.root, "home"), exist_ok=True)
            made.save(self.root + path)
        self.add_map(path, FILE, time=8)
        return path

    def explain(self, path: str) -> dict[str, Any]:
        root = [] if self.root == "/" else ["--root", self.root]
        result = process.run([JITPROOF, "explain", "--json", *root, path], timeout=240)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def explain_capture(self) -> dict[str, Any]:
        self.perf.save(self.path)
        if self.ends:
            os.utime(self.path, ns=(self.ends, self.ends))
        return self.explain(self.path)

    def find_causes(self, kind: str = "causes") -> list[dict[str, Any]]:
        """Returns the causes, or notes, of missing names, each checked for completeness."""
        found = [one for one in self.explain_capture()[kind] if one["id"] in NAMING]
        for one in found:
            self.assertEqual(len(one["evidence"]), 3, one)
            self.assertTrue(all(len(line) > 20 for line in [*one["evidence"], one["remedy"]]), one)
            self.assertEqual((one["pid"], one["process"]), (PID, "java"))
        return found

    def expect_cause(self, cause: str, samples: int = SAMPLES,
                     file: str | None = None) -> dict[str, Any]:
        found = self.find_causes()
        self.assertEqual([(one["id"], one["samples"], one["file"]) for one in found],
                         [(cause, samples, file)])
        return found[0]


class PerfMaps(Explained):
    def test_second_runtime_without_names(self) -> None:
        self.add_map("//anon", CODE + 0x10000)
        self.write_map((CODE + 0x10000, 0x100, "first runtime's"))
        self.add_memory()
        self.expect_cause("map-partial", file="/tmp/perf-4711.map")

    def test_second_runtime_that_runs_later(self) -> None:
        """Its memory was there before named code ran, so the map is not older."""
        self.write_map((CODE + 0x10000, 0x100, "first runtime's"))
        self.add_map("//anon", CODE + 0x10000, time=9)
        self.add_map("//anon")
        self.add_samples(CODE + 0x10004)
        self.add_samples(CODE + 4, time=200000)
        self.expect_cause("map-partial", file="/tmp/perf-4711.map")
        memory = self.perf.maps()[1]
        self.perf.records.remove(memory)
        self.add_map("//anon", time=190000)
        self.expect_cause("map-stale", file="/tmp/perf-4711.map")
        self.perf.records[-1] = memory
        self.write_map((CODE + 0x10000, 0x100, "first runtime's"), (CODE + 0x800, 0x10, "older"))
        self.expect_cause("map-stale", file="/tmp/perf-4711.map")
        self.write_map((CODE + 0x10000, 0x100, "first runtime's"))
        self.perf.records.pop()
        self.perf.records.insert(0, self.perf.map(PID, CODE, 0x1000, "//anon", 0))
        self.expect_cause("map-stale", file="/tmp/perf-4711.map")

    def move_text_to_memory(self, start: int, *sizes: int) -> None:
        """Replaces text of /usr/bin/big by anonymous memory, beside named JIT code."""
        self.write_map((CODE, 0x1000, "all"))
        self.add_map("/usr/bin/big", FILE, 0x6000)
        for size in sizes:
            self.add_map("//anon", start, size, time=20)
            start += size
        self.add_samples(start - 4)

    def test_whole_text_in_memory(self) -> None:
        self.move_text_to_memory(FILE, 0x2000, 0x4000)
        self.assertIn("large pages",
                      self.expect_cause("no-name-source", file="/usr/bin/big")["remedy"])

    def test_memory_between_others_is_emitted_code(self) -> None:
        for name, offset in (("/usr/lib/other.so", 0x4000), ("/usr/bin/big", 0)):
            with self.subTest(name=name):
                self.add_map("/usr/bin/java", FILE - 0x10000)
                self.move_text_to_memory(FILE + 0x2000, 0x2000)
                self.add_records(self.perf.map(PID, FILE + 0x4000, 0x4000, name, 21, pgoff=offset))
                self.expect_cause("map-stale", file="/tmp/perf-4711.map")
                self.perf.records.clear()
                self.add_records(self.perf.comm(PID, PID, "java", 5))

    def test_removed_file_of_a_jit(self) -> None:
        """A JIT shares the file that it has removed; a library's mapping is private."""
        self.add_memory("/tmp/code (deleted)")
        self.expect_cause("missing-file", file="/tmp/code (deleted)")
        shared = self.perf.maps()[0]
        shared.flags = 1
        self.expect_cause("no-name-source")
        self.write_map((CODE, 0x1000, "all"))
        self.expect_cause("map-not-read-for-memfd", file="/tmp/perf-4711.map")

    def test_map_that_inject_recorded_as_a_file(self) -> None:
        """perf looks up the offset in it, which is the address in the kernel's records alone."""
        self.write_map((CODE, 0x1000, "all"))
        self.add_memory("/tmp/perf-4711.map")
        found = self.expect_cause("map-not-read-for-memfd", file="/tmp/perf-4711.map")
        self.assertIn("inject without -B", found["remedy"])
        self.perf.maps()[0].pgoff = CODE
        self.assertEqual(self.find_causes(), [])

    def test_windows_image(self) -> None:
        """.NET precompiles its libraries, for which perf reads neither symbols nor the map."""
        self.write_map((CODE + 0x1000, 0x1000, "other"))
        self.add_memory("/lib/made.dll")
        self.write_below_root("/lib/made.dll", "MZ")
        found = self.expect_cause("stripped-symbols", file="/lib/made.dll")
        self.assertIn("ReadyToRun=0", found["remedy"])
        self.write_below_root("/lib/made.dll", "PK")
        self.assertIn("APK", self.expect_cause("stripped-symbols", file="/lib/made.dll")["remedy"])
        self.write_below_root("/lib/made.dll", "code")
        self.assertIn("no line", self.expect_cause("no-name-source")["evidence"][1])

    @unittest.skipIf(os.getuid(), "gives a file to another user: run as root")
    def test_of_another_user(self) -> None:
        """perf reads a map although another user owns it, so explain gives a note, not a cause."""
        self.write_map((CODE, 0x1000, "all"))
        os.chown(os.path.join(self.root, "tmp/perf-4711.map"), 12345, 12345)
        os.chmod(self.home, 0o755)
        self.add_memory()
        self.assertEqual(self.find_causes(), [])
        os.chown(self.path, 54321, 54321)
        notes = [one for one in self.explain(self.path)["notes"] if one["id"] in NAMING]
        self.assertEqual([(one["id"], one["samples"]) for one in notes], [("map-wrong-owner", 0)])
        self.assertIn("to user 12345, the recording to user 54321", notes[0]["evidence"][0])

    def test_memfd_and_fifo(self) -> None:
        os.mkfifo(os.path.join(self.root, "tmp/perf-4711.map"))
        self.add_memory("/memfd:jit (deleted)")
        self.expect_cause("map-wrong-owner", file="/tmp/perf-4711.map")

    def test_partial_map_of_a_parent_without_samples(self) -> None:
        self.write_map((CODE, 0x100, "one"))
        self.add_map("//anon")
        self.add_records(self.perf.fork(PID + 1, PID, 20))
        for number in range(SAMPLES):
            self.add_sample(CODE + number % 2 * 0x100, pid=PID + 1, time=100 + number)
        self.expect_cause("map-partial", SAMPLES // 2, "/tmp/perf-4711.map")

    def test_map_of_another_process_beside_a_program_that_is_not_pie(self) -> None:
        """Such memory has similar addresses in all processes of the program, as of node 18."""
        for pid, cause in ((OTHER, "pid-namespace-map"), (5000, "no-name-source")):
            with self.subTest(pid):
                self.setUp()
                self.write_map((0x5280000, 0x1000, "all"), pid=pid)
                self.add_map("//anon", 0x5280000)
                self.add_samples(0x5280004)
                self.assertEqual([one["id"] for one in self.find_causes()], [cause])

    def test_map_that_is_older_than_such_a_program(self) -> None:
        for age, cause in ((0, "pid-namespace-map"), (60, "no-name-source")):
            with self.subTest(age):
                self.setUp()
                self.write_map((0x5280000, 0x1000, "all"), pid=OTHER)
                os.utime(os.path.join(self.root, "tmp/perf-1.map"), (time.time() - age,) * 2)
                os.chmod(self.home, 0o755)
                self.add_records(self.perf.comm(PID, PID, "java", 3, executed=True))
                self.add_map("//anon", 0x5280000)
                self.add_samples(0x5280004)
                self.assertEqual([one["id"] for one in self.find_causes()], [cause])

    def test_code_that_forked_processes_emit(self) -> None:
        """Both emit it at the same address after the fork, so each has a map of its own."""
        self.write_map((CODE, 0x1000, "all"), pid=5)
        self.add_records(self.perf.fork(PID, 77, 6), self.perf.fork(78, 77, 6),
                         self.perf.map(78, CODE, 0x1000, "//anon", 9))
        self.add_sample(CODE + 4, pid=78, time=99)
        self.add_memory()
        self.assertEqual([one["id"] for one in self.find_causes()], ["pid-namespace-map"])

    def expect_inherited(self, sibling: int = 0) -> None:
        found = self.expect_cause("map-partial", file="/tmp/perf-1.map")
        self.assertIn("names 1 of 1 sampled", found["evidence"][1])
        self.assertIn("pid %d has code at the same" % sibling if sibling else "pid 1 forked",
                      found["evidence"][2])
        self.assertIn("cp /tmp/perf-1.map /tmp/perf-4711.map", found["remedy"])

    def test_map_of_an_absent_parent(self) -> None:
        """Two children were recorded, and not their parent."""
        self.write_map((CODE, 0x1000, "all"), pid=OTHER)
        self.add_records(self.perf.map(77, CODE, 0x1000, "//anon", 9))
        self.add_sample(CODE + 4, pid=77, time=99)
        self.add_memory()
        self.expect_inherited(77)

    def test_map_of_an_unrecorded_parent(self) -> None:
        """The child alone was recorded, in code of its own beside the inherited code."""
        self.write_map((CODE + 0x800, 0x100, "inherited"), pid=OTHER)
        self.add_memory()
        found = self.expect_cause("map-partial", file="/tmp/perf-1.map")
        self.assertIn("1 lines of that map are in the same memory", found["evidence"][2])
        self.assertIn("maps of their own", found["remedy"])
        # A parent's map may also hold what its child compiled. No namespace begins with pid 300.
        self.write_map(pid=OTHER)
        self.write_map((CODE, 0x1000, "all"), pid=300)
        self.assertIn("1 of 1 sampled", self.expect_cause(
            "map-partial", file="/tmp/perf-300.map")["evidence"][1])
        self.write_map((CODE, 0x1000, "all"), pid=299)
        self.write_map(pid=300)
        self.expect_cause("pid-namespace-map", file="/tmp/perf-299.map")
        self.write_map(pid=299)
        self.write_map((CODE + 0x1000, 0x100, "elsewhere"), pid=OTHER)
        self.assertEqual([one["id"] for one in self.find_causes()], ["no-name-source"])
        # After an exec, a map that fits is the process's own.
        self.add_records(self.perf.comm(PID, PID, "java", 3, executed=True))
        self.write_map((CODE, 0x1000, "all"), pid=300)
        self.expect_cause("pid-namespace-map", file="/tmp/perf-300.map")

    def test_map_of_an_ancestor(self) -> None:
        """The child runs code of its ancestor: it is in no pid namespace of its own."""
        self.write_map((CODE, 0x1000, "all"), pid=OTHER)
        self.add_records(self.perf.fork(77, OTHER, 6), self.perf.fork(PID, 77, 7),
                         self.perf.comm(PID, PID, "java", 8))
        self.add_memory()
        self.expect_inherited()
        # The child also emits code of its own.
        self.write_map((CODE, 1, "all"), (CODE + 4, 1, "all"), pid=OTHER)
        self.add_samples(CODE + 0x10, CODE + 0x20, CODE + 0x30)
        self.assertEqual([(one["id"], one["samples"]) for one in self.find_causes()],
                         [("map-partial", 2 * SAMPLES)])
        self.write_map((CODE + 0x800, 1, "all"), pid=OTHER)
        self.assertIn("maps of their own", self.find_causes()[0]["remedy"])
        self.add_records(self.perf.comm(PID, PID, "java", 9, executed=True))
        self.assertNotIn("map-partial", [one["id"] for one in self.find_causes()])

    def test_map_of_a_child(self) -> None:
        """The child runs code that its parent mapped, and alone writes a map. perf asks for the
        parent's."""
        self.write_map((CODE, 0x1000, "all"), pid=77)
        self.add_records(self.perf.comm(PID, PID, "java", 3, executed=True))
        self.add_map("//anon")
        self.add_records(self.perf.fork(77, PID, 20))
        for number in range(SAMPLES):
            self.add_sample(CODE + 4, pid=77, time=100 + 1000 * number)
        found = self.expect_cause("map-partial", file="/tmp/perf-77.map")
        self.assertIn("pid 4711 forked pid 77", found["evidence"][2])
        self.assertIn("cp /tmp/perf-77.map /tmp/perf-4711.map", found["remedy"])

    def test_map_of_a_child_from_before_an_exec(self) -> None:
        """The child cannot have inherited code that the parent mapped after a later exec."""
        self.write_map((CODE, 0x1000, "all"), pid=77)
        self.add_records(self.perf.fork(77, PID, 2),
                         self.perf.comm(PID, PID, "java", 3, executed=True))
        self.add_memory()
        self.expect_cause("pid-namespace-map", file="/tmp/perf-77.map")

    def add_namespaces(self, pid: int, mount: int, time: int) -> None:
        body = struct.pack("<IIQ", pid, pid, 7)
        for index in range(7):
            body += struct.pack("<QQ", 4, mount if index == 5 else 100 + index)
        self.add_records(self.perf.side(NAMESPACES, body, time))

    def test_namespaces_of_all(self) -> None:
        self.add_namespaces(OTHER, 1, 2)
        self.add_namespaces(PID, 1, 6)
        self.add_memory()
        self.expect_cause("no-name-source")

    def test_library_in_memory(self) -> None:
        """ld.so maps the text of a library privately, from an offset; JITs share their memfd."""
        for name in ("/memfd:plugin (deleted)", "/dev/shm/plugin.so"):
            self.perf.records.clear()
            self.add_records(self.perf.comm(PID, PID, "java", 5),
                             self.perf.map(PID, CODE, 0x1000, name, 10, pgoff=0x1000))
            self.add_samples(CODE + 4)
            self.expect_cause("missing-file", file=name)


class RemovedRecords(Explained):
    """perf inject has removed the records of the memory."""

    def add_injected(self, time: int) -> None:
        self.add_map("/usr/bin/java", FILE, time=8)
        self.add_samples(CODE + 0x104)
        self.add_map("/home/jitted-4711-0.so", CODE, 0x200, time)

    def test_times_after_all_samples(self) -> None:
        self.add_injected(10**18)
        self.assertIn("after the last sample",
                      self.expect_cause("jitdump-wrong-clock")["evidence"][2])

    def test_code_that_the_jitdump_lacks(self) -> None:
        self.add_injected(100 + 1000 * SAMPLES)
        self.add_sample(CODE + 4, pid=PID, time=200 + 1000 * SAMPLES)
        self.assertIn("lacks this code", self.expect_cause("damaged-jitdump")["evidence"][2])

    def test_no_load_that_perf_accepts(self) -> None:
        """perf inject leaves out the records that end rounds, and keeps a page from before."""
        self.perf.features[5] = rd.pack_string("6.12")
        self.add_records(self.perf.comm(PID, PID, "java", 5, executed=True))
        self.add_map("/usr/bin/java", FILE, time=8)
        self.add_samples(CODE + 4)
        self.assertIn("no FINISHED_ROUND",
                      self.expect_cause("damaged-jitdump")["evidence"][2])
        parts = self.place("parts")  # perf record --threads leaves them out, too
        os.mkdir(parts)
        self.perf.save(parts + "/data")
        files.write_bytes(parts + "/data.0", b"")
        self.assertEqual(self.explain(parts)["causes"][0]["id"], "attach-window")
        self.add_map("//anon", CODE - 0x10000, time=9)
        self.add_map("/home/jitted-4711-0.so", CODE + 0x1000, 0x200, 10)
        self.assertIn("lacks this code", self.expect_cause("damaged-jitdump")["evidence"][2])

    def test_no_load_of_an_attached_process(self) -> None:
        """perf inject keeps memory that lies below the jitdump's mapping, and is recorded first."""
        self.perf.features[5] = rd.pack_string("6.12")
        self.add_memory()
        self.expect_cause("no-name-source")
        root, self.root = self.root, "/"
        files.write_bytes(self.place("jit-%d.dump" % PID), b"")
        self.expect_cause("damaged-jitdump")
        self.root = root
        self.add_map("/opt/libperf-jvmti.so", FILE)
        self.expect_cause("damaged-jitdump")

    def test_jitdump_of_the_program_before_an_exec(self) -> None:
        """The program after it truncates the jitdump. perf inject removes the records of both."""
        end = 200 + 1000 * SAMPLES
        for recorded in (False, True):
            with self.subTest(recorded):
                self.setUp()
                self.add_map("/usr/bin/java", FILE, time=8)
                if recorded:
                    self.add_map("//anon")
                self.add_samples(CODE + 0x104)
                self.add_records(self.perf.comm(PID, PID, "java", end, executed=True))
                self.add_map("/usr/bin/java", FILE, time=end)
                self.add_map("/home/jitted-4711-0.so", CODE, 0x200, end + 1)
                self.assertIn("truncated the jitdump",
                              self.expect_cause("damaged-jitdump")["evidence"][2])


class Jitdumps(Explained):
    def test_injected_at_other_addresses(self) -> None:
        self.add_map("/home/jitted-%d-1.so" % PID, FILE)
        self.assertIn("none covers this code", self.expect_cause("damaged-jitdump")["evidence"][1])

    def setUp(self) -> None:
        super().setUp()
        self.add_memory()

    def test_functions_of_the_jitdump(self) -> None:
        """Writes a jitdump with two functions of 0x100 bytes: addresses after them have no name."""
        path = self.add_dump(50, 60)
        self.add_samples(CODE, CODE + 0x1ff, CODE + 0x200)
        found = self.expect_cause("jitdump-not-injected", 2 * SAMPLES, path)
        self.assertIn("2 loads, which name 3 of 4", found["evidence"][1])

    def test_jitdump_of_the_parent(self) -> None:
        path = self.add_dump(50, 60)
        self.perf.maps()[-1].pid = OTHER
        self.add_records(self.perf.fork(PID, OTHER, 9), self.perf.comm(PID, PID, "java", 9))
        self.perf.sort()
        found = self.expect_cause("jitdump-not-injected", file=path)
        self.assertIn("pid 1 mapped the jitdump", found["evidence"][0])
        self.assertIn("1 of 1", found["evidence"][1])
        self.add_records(self.perf.comm(PID, PID, "java", 9, executed=True))
        self.perf.sort()
        self.expect_cause("no-name-source")

    def test_clock_of_the_dump(self) -> None:
        self.expect_cause("jitdump-wrong-clock", file=self.add_dump(10**18, 10**18 + 5))

    def test_injected_with_another_clock(self) -> None:
        path = self.add_dump(10**18)
        self.add_map("/home/jitted-4711-0.so", CODE, 0x100, time=10**18)
        self.expect_cause("jitdump-wrong-clock", file=path)

    def test_injected_without_a_marker(self) -> None:
        """perf inject removes the marker's record."""
        self.add_map("/home/jitted-4711-0.so", CODE, 0x100, time=10**18)
        self.expect_cause("jitdump-wrong-clock")
        self.perf.maps()[-1].time = 2
        self.add_records(self.perf.comm(PID, PID, "java", 9, executed=True))
        self.perf.sort()
        self.expect_cause("jitdump-wrong-clock")

    def explain_spoiled_dump(self, cause: str, raw: bytes) -> str:
        """Expects @cause for a jitdump with these bytes; returns the whole output of explain."""
        path = self.add_dump(50)
        files.write_bytes(self.root + path, raw)
        found = self.expect_cause(cause, file=path)
        return " ".join([*found["evidence"], found["remedy"]])

    def test_empty_jitdump(self) -> None:
        for raw in (b"", bytes(mj.Made(PID).raw[:20]), bytes(mj.Made(PID).raw),
                    bytes(mj.Made(PID).add(mj.CLOSE, 60, b"").raw)):
            with self.subTest(size=len(raw)):
                self.setUp()
                text = self.explain_spoiled_dump("empty-jitdump", raw)
                self.assertIn(f"has {len(raw)} bytes", text)
                self.assertNotIn("inject --jit", text)

    def test_jitdump_of_other_addresses(self) -> None:
        for at, remedy in (50, "a load for all code"), (1, "an earlier run"):
            text = self.explain_spoiled_dump("damaged-jitdump", bytes(
                mj.Made(PID).load(at, 0x100, b"\xc3" * 0x100, 1, "relative").raw))
            self.assertIn("no load holds an address without a name", text)
            self.assertIn(remedy, text)

    def test_damaged_jitdump(self) -> None:
        def make_dump(*times: int, flags: int = 0, size: int = 0x100) -> bytearray:
            dump = mj.Made(PID, flags)
            for number, at in enumerate(times):
                dump.load(at, CODE + 0x100 * number, b"\xc3" * size, number, f"f{number}")
            return dump.raw

        whole = make_dump(50, 60)
        first = make_dump(50)
        for name, raw, text in (
                ("cut in its first record", whole[:90], "names 0 of 1 addresses"),
                ("torn between records", first + b"\xff" * 31 + whole[len(first):],
                 f"from offset {len(first)} on 31 bytes are invalid"),
                ("all times 0", make_dump(0, 0), "dump.clock"),
                ("ns times, flag of the counter", make_dump(50, 60, flags=1), "dump.arch-clock"),
                ("a flag that perf refuses", make_dump(50, flags=4), "flags within"),
                ("another version", whole[:4] + b"\2" + whole[5:], "expected version 1"),
                ("another byte order", whole[3::-1] + whole[4:], "other byte order"),
                ("no sizes", make_dump(50, size=0), "code.size")):
            with self.subTest(name):
                self.setUp()
                found = self.explain_spoiled_dump("damaged-jitdump", bytes(raw))
                self.assertIn(text, found)
                self.assertNotIn("inject --jit", found)

    def test_whole_jitdump_of_the_other_byte_order(self) -> None:
        """perf inject reads it; jitproof inject does not."""
        path = self.add_dump(50)
        with open(self.root + path, "r+b") as dump:
            dump.write(struct.pack(">IIIIII", 0x4a695444, 1, 40, 62, 0, PID))
        found = self.expect_cause("jitdump-not-injected", file=path)
        self.assertNotIn("jitproof inject", found["remedy"])

    def test_pid_in_the_name(self) -> None:
        """perf 6.12 ignores a jitdump with another pid in its name, as in a container."""
        path = self.add_dump(50).replace(str(PID), "7")
        os.rename(self.root + self.perf.maps()[-1].name, self.root + path)
        self.perf.maps()[-1].name = path
        self.perf.features[5] = rd.pack_string("7.2.13")
        self.expect_cause("jitdump-not-injected", file=path)
        self.perf.features[5] = rd.pack_string("6.12.1")
        self.expect_cause("damaged-jitdump", file=path)
        mj.Made(7).load(50, CODE, b"\xc3" * 0x100, 1, "one", pid=PID).save(self.root + path)
        found = self.expect_cause("jitdump-not-injected", file=path)
        self.assertTrue(found["remedy"].startswith("jitproof inject"))

    def test_form_of_the_name(self) -> None:
        """No perf takes Bun's file for a jitdump."""
        self.perf.features[5] = rd.pack_string("7.2.13")
        marker = self.root + self.add_dump(50)
        for name in f"jit-12-{PID}-T03sBK", f"jit-12-{PID}.dump":
            self.perf.maps()[-1].name = path = "/home/" + name
            shutil.copy(marker, self.root + path)
            with self.subTest(name):
                found = self.expect_cause("damaged-jitdump", file=path)
                self.assertTrue(found["remedy"].startswith("jitproof inject"))

    def test_link_to_the_jitdump(self) -> None:
        """perf inject follows it; jitproof inject does not."""
        path = self.add_dump(50)
        os.rename(self.root + path, self.root + "/home/moved")
        os.symlink("moved", self.root + path)
        found = self.expect_cause("jitdump-not-injected", file=path)
        self.assertNotIn("jitproof inject", found["remedy"])

    def test_counter_times(self) -> None:
        """perf converts times of the processor's counter, but not with -k mono."""
        path = self.add_dump(50)
        mj.Made(PID, 1).load(10**15, CODE, b"\xc3" * 0x100, 1, "one").save(self.root + path)
        found = self.expect_cause("jitdump-wrong-clock", file=path)
        self.assertIn("record without -k mono", found["remedy"])
        self.perf.attrs = [rd.Attr.make(self.perf.attrs[0].sample_type, [7])]
        self.expect_cause("jitdump-not-injected", file=path)


class Remedies(Explained):
    """Remedies for the runtime that emitted the code."""

    def remedy(self, comm: str, program: str, *libraries: str, caller: str | None = None) -> str:
        self.perf.records = [self.perf.comm(PID, PID, comm, 5, executed=True)]
        self.add_map("//anon")
        places = {name: FILE + (number << 24) for number, name in enumerate((program, *libraries))}
        for name, start in places.items():
            self.add_map(name, start)
        for number in range(SAMPLES):
            self.add_sample(CODE + 4, *([places[caller] + 4] if caller else []), pid=PID,
                            time=100 + number)
        return str(next(one["remedy"] for one in self.explain_capture()["causes"]
                        if one["id"] == "no-name-source"))

    def test_threads_with_names_of_their_own(self) -> None:
        self.assertIn("--perf-basic-prof", self.remedy("MainThread", "/usr/bin/node"))
        self.assertIn("--perf-basic-prof", self.remedy("worker", "/usr/bin/node"))
        self.assertIn("--perf-basic-prof", self.remedy("worker", "/opt/app", "/opt/libnode.so.108"))

    def test_engine_in_another_program(self) -> None:
        engine, own = "/opt/site-packages/_libwasmtime.so", "/opt/site-packages/engine.so"
        library = "/usr/lib/libpython3.12.so.1.0"
        python = ("python3", "/usr/bin/python3.12", library)
        self.assertIn("-X perf", self.remedy(*python))
        old = ("python3", "/usr/bin/python3.11", library.replace("12", "11"))
        self.assertNotIn("-X perf", self.remedy(*old))
        self.assertIn("wasmtime", self.remedy(*old, engine))
        self.assertIn("wasmtime", self.remedy(*python, engine))
        self.assertIn("wasmtime", self.remedy(*python, own, engine, caller=engine))
        self.assertIn("-X perf", self.remedy(*python, engine, caller=library))
        self.assertIn("engine in " + own, self.remedy("python3", python[1], own, caller=own))
        self.assertIn("engine in " + own, self.remedy(*python, own, caller=own))


class Protections(Explained):
    def found(self, name: str, prot: int, misc: int = rd.USER) -> set[str]:
        """Returns all causes for samples in a mapping with this protection, called by a program."""
        self.setUp()
        self.add_records(self.perf.map(PID, FILE, 0x10000, "/system/bin/app_process64", 7))
        record = self.perf.map(PID, CODE, 0x1000, name, 10, prot)
        record.misc = misc
        self.add_records(record)
        for number in range(SAMPLES):
            self.add_sample(CODE + 4, CODE + 4, FILE + 8, pid=PID, time=100 + number)
        found = self.explain_capture()
        return {one["id"] for one in [*found["causes"], *found["notes"]]}

    def test_unstated_protection(self) -> None:
        """simpleperf states no protection for a JIT's functions, and only PROT_READ for interpreted
        code."""
        unknown = {"older-code", "attach-window", "exec-while-disabled"}
        for name, prot in (("/data/local/tmp/perf.data_jit_app_cache:100-200", 0),
                           ("perf.data_jit_app_cache:100-200", 0x4000),
                           ("/memfd:jit-cache (deleted)", 0), ("/system/framework/boot.oat", 0),
                           ("/data/app/base.vdex", rd.READ), ("/data/app/base.apk", rd.READ)):
            with self.subTest(name):
                self.assertFalse(self.found(name, prot) & unknown)

    def test_data_mappings(self) -> None:
        """Data mappings of perf record -d contain no code."""
        self.assertTrue(self.found("/usr/share/data", 0, rd.USER | 1 << 13) & {"older-code"})


class Files(Explained):
    def setUp(self) -> None:
        super().setUp()
        self.library = self.write_below_root("/lib/made.so", "")
        process.compile_c("static __attribute__((used)) int f(void) { return 1; }", self.library,
                          "-shared", "-nostdlib", "-fPIC", "-Wl,--build-id=0x" + "ab" * 20)
        self.add_map("/lib/made.so", FILE, 0x10000)
        self.add_samples(FILE + process.read_symbols(self.library)["f"])

    def set_build_id(self, build_id: str, path: str = "/lib/made.so") -> None:
        self.perf.features[2] = judged.pack_build_id(path, build_id)

    def test_packed_symbols(self) -> None:
        """perf reads .gnu_debugdata since 6.15."""
        process.run(["strip", self.library])
        process.run(["objcopy", "--add-section", ".gnu_debugdata=" + self.write("xz", "packed"),
                     self.library])
        for version, cause in (("6.14.9", "stripped-symbols"), ("6.15.0", None),
                               ("7.3.4", None), ("made", None)):
            self.perf.features[5] = rd.pack_string(version)
            with self.subTest(version):
                self.assertEqual([one["id"] for one in self.find_causes()],
                                 [cause] if cause else [])
                found = self.find_causes("causes" if cause else "notes")
                self.assertIn(".gnu_debugdata", " ".join(found[0]["evidence"]))

    def test_debug_link(self) -> None:
        """Symbols in the file that .gnu_debuglink names: beside the file, in .debug, below
        /usr/lib/debug."""
        symbols = self.write_below_root("/made.symbols", "")
        process.run(["objcopy", "--only-keep-debug", self.library, symbols])
        process.run(["strip", self.library])
        process.run(["objcopy", "--add-gnu-debuglink", symbols, self.library])
        self.expect_cause("stripped-symbols", file="/lib/made.so")
        for folder in ("/lib", "/lib/.debug", "/usr/lib/debug/lib"):
            os.makedirs(self.root + folder, exist_ok=True)
            place = os.path.join(self.root + folder, "made.symbols")
            shutil.copyfile(symbols, place)
            self.assertEqual(self.find_causes(), [], folder)
            os.unlink(place)

    def test_called_deleted(self) -> None:
        """An existing file has a name that ends in ` (deleted)`."""
        self.set_build_id("ab" * 20, "/lib/made.so (deleted)")
        for record in self.perf.maps():
            record.name = "/lib/made.so (deleted)"
        self.assertEqual(self.find_causes(), [])
        os.rename(self.library, self.library + " (deleted)")
        self.assertEqual(self.find_causes(), [])

    def test_changed_file(self) -> None:
        """Without a build id, a file that is newer than the recording counts as replaced."""
        # explain drops root's rights.
        os.chmod(os.path.dirname(self.path), 0o755)
        self.root = "/"
        for record in self.perf.maps():
            record.name, record.ino = self.library, os.stat(self.library).st_ino
        self.assertEqual(self.find_causes(), [])
        os.utime(self.library, (time.time() + 60, time.time() + 60))
        found = self.expect_cause("missing-file", file=self.library)
        self.assertIn("after the recording", found["evidence"][1])

    def test_another_since_the_recording(self) -> None:
        """The header has the build id of a file with another inode, which replaced the recorded
        file before the end of the recording."""
        os.chmod(os.path.dirname(self.path), 0o755)
        self.root = "/"
        other = self.write("other", "other.so")
        self.add_map(other, CODE, 0x1000)
        self.set_build_id("ab" * 20, self.library)
        for record, name in zip(self.perf.maps(), (self.library, other)):
            st = os.stat(name)
            record.name, record.ino = name, st.st_ino + 10**9 * (name == self.library)
            struct.pack_into("<II", record.body, 32, os.major(st.st_dev), os.minor(st.st_dev))
        there = os.stat(self.library).st_ctime_ns
        for since, causes in ((-1, []), (0, []), (1, ["missing-file"])):
            with self.subTest(since=since):
                self.ends = there + since
                self.assertEqual([one["id"] for one in self.find_causes()], causes)

    def test_a_sample_counts_once(self) -> None:
        """A sample with unnamed frames in several files counts once for the cause."""
        os.unlink(self.library)
        self.add_map("/lib/other.so", CODE + 0x10000)
        self.add_map("/lib/third.so", CODE + 0x20000)
        for frames in ((CODE + 0x10004,), (CODE + 0x10004, FILE + 4),
                       (FILE + 4, CODE + 0x20004, CODE + 0x10004, FILE + 8)):
            for number in range(SAMPLES):
                self.add_sample(*frames, pid=PID, time=10**6 + number)
        self.add_samples(CODE + 0x40004, time=2 * 10**6)  # in no mapping
        found = self.expect_cause("missing-file", 4 * SAMPLES, file="/lib/made.so")
        self.assertEqual([(place["file"], place["samples"]) for place in found["places"]],
                         [("/lib/made.so", 3 * SAMPLES), ("/lib/other.so", 3 * SAMPLES),
                          ("/lib/third.so", SAMPLES)])
