# SPDX-License-Identifier: GPL-2.0-only
"""Planted faults turn exactly their own cells of a trial red."""

import json
import os
import subprocess
import sys
import unittest

from ci.base import process
from harness.selftest.support.scratch import JITPROOF, Folder, stay_on_one_cpu

# Emits a loop and publishes it in /tmp/perf-PID.map. AFTER: age (make the map old first), exec (run
# again before the end) and remove delete the map at the end; data (also write a jitdump, whose
# mapping is not executable), hide (write a map with only a second function, which then runs until
# the input ends) and move (move the code first) print the names of their files.
EMITTER = """
import ctypes, mmap, os, select, struct, sys, time
# push %rbp; mov %rsp, %rbp; mov $10000, %ecx; 1: dec %ecx; jne 1b; pop %rbp; ret
CODE = bytes.fromhex("554889e5b910270000ffc975fc5dc3")
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(CODE)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
if "AFTER" == "move":
    remap = ctypes.CDLL(None).mremap
    remap.argtypes = [ctypes.c_size_t] * 5
    remap(address, 4096, 4096, 3, address - (1 << 32))
    address -= 1 << 32
pid = os.getpid()
path = "/tmp/perf-%d.map" % pid
if "AFTER" == "data":
    with open("/tmp/jit-%d.dump" % pid, "wb+") as file:
        file.write(struct.pack("=6I2Q", 0x4a695444, 1, 40, 62, 0, pid, time.monotonic_ns(), 0))
        file.write(struct.pack("=2IQ2I4Q", 0, 61 + len(CODE), time.monotonic_ns(), pid, pid,
                               address, address, len(CODE), 0) + b"loop\\0" + CODE)
        file.flush()
        marker = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    print("left:", file.name, file=sys.stderr)
if "AFTER" in ("data", "hide", "move"): print("left:", path, file=sys.stderr)
with open(path, "w") as file: file.write("%x %x loop\\n" % (address, len(CODE)))
if "AFTER" == "age": os.utime(path, (1, 1))
call = ctypes.CFUNCTYPE(None)(address)
end = time.monotonic() + (0.3 if "AFTER" == "hide" else 1.5)
while time.monotonic() < end: call()
if "AFTER" == "hide":
    memory.write(CODE)
    with open(path) as file: line = file.read()
    other = "%x %x other\\n" % (address + len(CODE), len(CODE))
    with open(path, "w") as file: file.write(other)
    call = ctypes.CFUNCTYPE(None)(address + len(CODE))
    while not select.select([0], [], [], 0)[0]: call()
    with open(path, "w") as file: file.write(other + line)
if "AFTER" in ("data", "hide", "move"): os._exit(0)
again = len(sys.argv) > 1
if again or "AFTER" != "exec": os.unlink(path)
else: os.execv(sys.executable, [sys.executable, __file__, "again"])
"""

DONE = "bursts are done"


class Trial(Folder):
    def setUp(self) -> None:
        super().setUp()
        stay_on_one_cpu(self)

    def try_workload(self, publish: str, *options: str, workload: str = "anon_exec",
                     shapes: tuple[str, ...] = ("--shapes", "fp,realign", "--depth", "4"),
                     bursts: str = "6") -> dict[str, tuple[int, int]]:
        """Returns (bad, of) for each cell of a workload that publishes in the way @publish."""
        return self.try_command(
            "10", bursts, *options, "--", JITPROOF, "workload", workload, *shapes, "--shorter",
            "20000", "--publish", publish, "--publish-dir", self.home, "--publish-with",
            "unwinding")

    def try_command(self, interval: str, bursts: str, *arguments: str
                    ) -> dict[str, tuple[int, int]]:
        """Ends the command's input after the bursts, and removes the files that it names."""
        started = subprocess.Popen(
            [JITPROOF, "trial", "--json", "--seed", "7", "--interval", interval, "--bursts",
             bursts, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, TMPDIR=self.home))
        assert started.stderr
        errors = ""
        for line in started.stderr:
            errors += line
            if line.startswith("left: "):
                self.addCleanup(os.unlink, line.split()[1])
            if DONE in line:
                break
        output, _ = started.communicate(timeout=240)
        cells = json.loads(next(line for line in output.splitlines() if line[0] == "{"))["cells"]
        red = [name for name, cell in cells.items() if cell["bad"]]
        self.assertEqual(started.returncode, 1 if red else 0, errors)
        return {name: (cell["bad"], cell["of"]) for name, cell in cells.items()}

    def check_red(self, expected: set[str], publish: str, *absent: str
                  ) -> dict[str, tuple[int, int]]:
        """@absent: cells without evidence."""
        cells = self.try_workload(publish, "--once")
        self.assertEqual({name for name, (bad, _) in cells.items() if bad}, expected, cells)
        for name, (_, total) in cells.items():
            if name not in ("fork.names", "exec.map", "exec.dump", *absent):
                self.assertGreater(total, 0, name)
        return cells


class Planted(Trial):
    def test_healthy_jit_is_not_red(self) -> None:
        self.check_red(set(), "both")

    def test_one_line_late(self) -> None:
        """The last function runs in about half of the bursts, so many bursts meet it surely."""
        cells = self.try_workload("both:behind", "--once", bursts="20",
                                  shapes=("--shapes", "fp,realign", "--depth", "2"))
        self.assertEqual([name for name, (bad, _) in cells.items() if bad], ["map.late"], cells)
        bad, total = cells["map.late"]
        self.assertLess(bad, total, "only the last function is late")

    def test_map_at_the_end(self) -> None:
        bad, total = self.check_red({"map.late"}, "both:late", "attach.map", "map.wrong",
                                    "map.stale", "map.gone")["map.late"]
        self.assertEqual(bad, total)

    def test_missing_lines(self) -> None:
        self.check_red({"map.missing"}, "both:partial", "map.late")

    def test_wrong_tier(self) -> None:
        self.check_red({"map.wrong"}, "both:tier")

    def test_code_published_before_relocation(self) -> None:
        bad, total = self.check_red({"dump.bytes"}, "both:unrelocated")["dump.bytes"]
        self.assertEqual(bad, total, "each function has a frame")

    def test_late_rows(self) -> None:
        """Rows that begin late are wrong right after each change of the frame."""
        cells = self.check_red({"unwind.entry", "unwind.body", "unwind.exit"}, "both:late-rows")
        bad, total = cells["unwind.entry"]
        self.assertEqual(bad, total)

    def test_wrong_slot(self) -> None:
        self.check_red({"unwind.entry", "unwind.body", "unwind.call", "unwind.exit"},
                       "both:wrong-slot")

    def test_times_backwards(self) -> None:
        self.check_red({"dump.order"}, "both:time-backwards")

    def test_dump_that_a_late_profiler_does_not_find(self) -> None:
        bad, total = self.check_red({"attach.dump"}, "both:marker-unmapped")["attach.dump"]
        self.assertEqual(bad, total)

    def test_dump_without_end(self) -> None:
        self.check_red({"dump.missing"}, "both:silent-stop", "dump.late")


class Other(Trial):
    def test_nothing_published(self) -> None:
        cells = self.try_workload("none", "--once")
        self.assertEqual(cells["published"][0], cells["published"][1])
        self.assertGreater(cells["published"][0], 0)
        self.assertEqual(cells["map.missing"], (0, 0))

    def test_no_frames(self) -> None:
        cells = self.try_workload("both", "--once",
                                  shapes=("--shapes", "fp,no_fp,realign", "--depth", "4"))
        self.assertGreater(cells["fp.calls"][0], 0)
        self.assertEqual(cells["fp.kept"][0], 0)

    def test_frame_pointer_lost(self) -> None:
        cells = self.try_workload("both", "--once", workload="bad_chain", shapes=(), bursts="15")
        self.assertGreater(cells["fp.kept"][0], 0)

    def try_emitter(self, after: str, interval: str = "2", bursts: str = "1000",
                    once: str = "--once") -> dict[str, tuple[int, int]]:
        return self.try_command(interval, bursts, once, "--steps", "100", "--",
                                sys.executable, "-S",
                                self.write(EMITTER.replace("AFTER", after), "emitter.py"))

    def check_only_red(self, name: str, cells: dict[str, tuple[int, int]]) -> None:
        self.assertEqual([cell for cell, (bad, _) in cells.items() if bad], [name], cells)
        self.assertEqual(*cells[name])

    def test_dump_that_perf_does_not_find(self) -> None:
        self.check_only_red("dump.marker", self.try_emitter("data"))

    def test_map_that_a_late_profiler_does_not_find(self) -> None:
        cells = self.try_emitter("hide", "10", "120")
        self.assertEqual([name for name, (bad, _) in cells.items() if bad], ["attach.map"], cells)

    def test_memory_without_a_record(self) -> None:
        """mremap() writes no mapping record."""
        self.check_only_red("code.record", self.try_emitter("move"))

    def test_map_removed_at_the_end(self) -> None:
        cells = self.try_emitter("remove")
        self.assertEqual(cells["map.gone"][0], cells["map.gone"][1])
        self.assertGreater(cells["map.gone"][0], 0)
        self.assertEqual((cells["map.missing"][0], cells["exec.map"]), (0, (0, 0)))

    def test_map_of_an_earlier_process(self) -> None:
        """A launched process may get a pid whose map is still there."""
        cells = self.try_emitter("age")
        self.assertEqual(cells["published"][0], cells["published"][1])
        self.assertGreater(cells["published"][0], 0)
        self.assertEqual(cells["map.missing"], (0, 0))

    def test_map_overwritten_after_an_exec(self) -> None:
        """Both programs name their code, and the end of the second removes the map."""
        cells = self.try_emitter("exec")
        self.assertEqual(cells["exec.map"][0], cells["exec.map"][1])
        self.assertGreater(cells["exec.map"][0], 0)
        self.assertGreater(cells["map.gone"][0], cells["exec.map"][0])

    def test_killed(self) -> None:
        """A map that is written at the end is empty after a signal that cannot be handled."""
        cells = self.try_workload("both:late", "--bursts", "5")
        self.assertEqual(cells["kill.map"][0], cells["kill.map"][1])
        self.assertGreater(cells["kill.map"][0], 0)
        self.assertEqual((cells["kill.dump"][0], cells["term.map"][0]), (0, 0))

    def test_end_before_the_signal(self) -> None:
        cells = self.try_emitter("remove", once="--json")
        self.assertEqual((cells["term.map"], cells["kill.map"]), ((0, 0), (0, 0)))
        self.assertGreater(cells["map.gone"][1], 0)


class Runtimes(unittest.TestCase):
    def try_name(self, *options: str) -> subprocess.CompletedProcess[str]:
        return process.run([JITPROOF, "trial", *options], timeout=240,
                           env={**os.environ, "JITPROOF_RUNTIMES": "/nonexistent"})

    def test_list(self) -> None:
        names = self.try_name("--list").stdout.split()
        self.assertIn("node-map", names)
        self.assertNotIn("prelude", names)
        self.assertEqual(names, sorted(set(names)))

    def test_absent_runtime(self) -> None:
        """If a runtime is absent, the message ends with the command that installs it."""
        done = self.try_name("bun-dump")
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertTrue(done.stderr.strip().endswith(
            ": npm install --prefix /nonexistent/npm @oven/bun-linux-x64"), done.stderr)

    def test_unknown_runtime(self) -> None:
        done = self.try_name("--once", "no-such-runtime")
        self.assertEqual(done.returncode, 99, done.stdout)
        self.assertIn("no-such-runtime: it did not start", done.stderr)

    def test_start_of_a_runtime(self) -> None:
        done = self.try_name("--once", "--json", "--bursts", "2", "luajit")
        if done.returncode == 4:
            self.skipTest(done.stderr.strip())
        cells = json.loads(done.stdout)["cells"]
        self.assertEqual(cells["published"]["bad"], cells["published"]["of"])
        self.assertGreater(cells["published"]["of"], 0)
