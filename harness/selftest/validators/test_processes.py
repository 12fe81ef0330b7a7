# SPDX-License-Identifier: GPL-2.0-only
"""Tests the validator of processes and their files on a recorded run: each missing or wrong record
must be reported with the right metric and cause."""

import copy
import struct

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import PAGE, Recorded

FORK, EXEC = 1, 3
IDENTITY = "00" * 20


class WithFiles(Recorded):
    """A fixture whose truth gets records about its program."""

    def setUp(self) -> None:
        super().setUp()
        self.program = [record for record in self.perf.maps()
                        if record.name.endswith("/jitproof")][0]
        start = self.truth.get(self.truth.find(rd.Truth.PROCESS_START)[0])
        self.pid, self.started = start[2], start[5]

    def add_slot(self, kind: int, time: int, *values: int, pid: int | None = None) -> None:
        pid = pid or self.pid
        self.truth.append(kind, 0, pid, pid, time, time, *(list(values) + [0] * 4)[:4])

    def add_text(self, text: str) -> int:
        """Adds TEXT records of 24 bytes each that contain @text. Returns their id."""
        raw = text.encode()
        fresh, self.truth.next_id = self.truth.next_id, self.truth.next_id + 1
        for part in range(max(1, (len(raw) + 23) // 24)):
            body = raw[part * 24:part * 24 + 24].ljust(24, b"\0")
            self.truth.append(rd.Truth.TEXT, part, self.pid, self.pid, self.started, self.started,
                              fresh | len(raw) << 32, *struct.unpack("<3Q", body))
        return fresh

    def add_file(self, time: int, addr: int | None = None, ino: int | None = None,
                 name: str | None = None, pid: int | None = None) -> None:
        """Adds a FILE record of the program's file, with the given differences."""
        record = self.program
        major, minor = struct.unpack_from("<II", record.body, 32)
        self.add_slot(rd.Truth.FILE, time, record.start if addr is None else addr, PAGE,
                      record.ino if ino is None else ino,
                      (major << 20 | minor) << 32 |
                      self.add_text(f"{IDENTITY} {name or record.name}"), pid=pid)


class Runner(WithFiles):
    fixture = "gated"

    def test_in_the_interval_of_its_child(self) -> None:
        """A gated capture has no record of the runner's program, only of announced processes."""
        enabled, announced = [(int(line.split()[3]), int(line.split()[1])) for line in
                              self.read_text("intervals").splitlines()
                              if line.startswith("interval")][1]
        place = 0x1000
        self.add_file(self.started, addr=place)
        self.add_file(enabled, addr=place, pid=announced)
        for pid in (self.pid, announced):
            sample = copy.deepcopy(self.perf.samples()[0])
            sample.pid, sample.tid = pid, pid + 100000
            sample.time, sample.ip = enabled + 1000, place + 1
            sample.chain = [sample.chain[0], place + 1]
            sample.regs[rd.X86_IP] = place + 1
            self.perf.insert(sample)
            self.perf.sort()
            if pid == self.pid:
                self.assertNotIn("# files.credited", self.judge()[1])
        self.expect_fail(self.match_count(1, "files.credited", "no-record"))


class Images(WithFiles):
    def test_deleted_since(self) -> None:
        self.add_file(self.started)
        self.program.name += " (deleted)"
        self.expect_pass()

    def test_in_shared_memory(self) -> None:
        """A file in /dev/shm counts as any other file."""
        self.program.name = "/dev/shm/bin/jitproof"
        self.add_file(self.started)
        self.assertNotIn("files.identity", self.judge()[1])

    def test_the_program_before_the_exec(self) -> None:
        """The capture still shows the program from before the exec."""
        self.add_file(self.started)
        self.add_slot(rd.Truth.PROCESS_START, self.started + 1, 1, EXEC)
        self.add_file(self.started + 2, ino=self.program.ino + 1, name="/another")
        self.expect_fail(self.match_count(1, "files.identity", "earlier-program"))

    def test_unmapped_file_needs_no_record(self) -> None:
        self.add_file(self.started)
        self.add_slot(rd.Truth.UNMAP, self.started + 1, self.program.start, PAGE)
        self.perf.records.remove(self.program)
        self.assertNotRegex(self.judge()[1], r"files\.")

    def test_samples_in_it(self) -> None:
        """Samples in code that is in a file according to the truth, but in anonymous memory
        according to the capture."""
        # The middle of the sampling window, with no act near.
        middle = (int(self.facts["sampling"]) + int(self.facts["stopped"])) // 2
        late = [sample for sample in self.perf.samples() if sample.time > middle]
        page = late[0].regs[rd.X86_IP] & -PAGE
        # Samples in the kernel have a kernel address.
        inside = [sample for sample in late if sample.misc & 7 == 2 and
                  sample.regs[rd.X86_IP] & -PAGE == page]
        self.add_file(middle, addr=page)
        self.expect_fail(self.match_count(1, "files.identity", "no-file"),
                         self.match_count(len(inside), "files.credited", "no-file"))

    def test_child_that_ended_before(self) -> None:
        before = int(self.facts["enabled"]) - 2000000
        self.add_slot(rd.Truth.PROCESS_START, before, self.pid, FORK, pid=self.pid + 1)
        self.add_slot(rd.Truth.PROCESS_EXIT, before + 1000, pid=self.pid + 1)
        self.expect_pass()
