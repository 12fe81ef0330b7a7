# SPDX-License-Identifier: GPL-2.0-only
"""Tests that each record of a jitdump agrees with the truth, and that none is missing. Each test
alters one record of a fixture that passes."""

import os
import struct

from harness.selftest.support import made_jitdump as mj
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded

Lines = list[tuple[int, int, str]]
FAR = 1 << 30


class Records(Recorded):
    """A process that loads code and never moves it."""

    fixture = "growth"

    def setUp(self) -> None:
        super().setUp()
        self.path = next(self.get_path(name) for name in os.listdir(self.dir)
                         if name.endswith(".dump"))
        self.dump = rd.Jitdump(self.path)
        self.last = self.dump.loads()[-1]
        self.at = next(offset for offset, record in enumerate(self.dump.records)
                       if record is self.last)
        self.pid, self.addr, self.size, self.name = rd.Jitdump.load(self.last)

    def expect_cause(self, cause: str, count: int | str = 1,
                     metric: str = "jitdump.records") -> None:
        self.dump.save(self.path)
        self.expect_fail(self.match_count(count, metric, cause))

    def make_dump(self) -> mj.Made:
        return mj.Made(self.pid)

    def insert_before_last(self, result: mj.Made) -> None:
        self.dump.records.insert(self.at, bytearray(result.raw[rd.Jitdump.HEADER:]))
        self.at += 1

    def test_record_twice(self) -> None:
        self.dump.records.insert(self.at, bytearray(self.last))
        self.expect_cause("twice")

    def test_record_behind_close(self) -> None:
        """CLOSE itself may be missing."""
        close = next(record for record in self.dump.records if self.dump.kind(record) == mj.CLOSE)
        self.dump.records.remove(close)
        self.dump.save(self.path)
        self.expect_pass()
        self.dump.records.insert(self.at, close)
        self.expect_cause("behind-close")

    def make_lines(self) -> Lines:
        """Returns line entries as the workload makes them."""
        return [(self.addr + offset, 10 * offset + 10, "/jitproof/%s.jit" % self.name) for offset
                in range(4)]

    def test_line_tables(self) -> None:
        """All functions have lines, or none has."""
        for at in range(len(self.dump.records) - 1, -1, -1):
            if self.dump.kind(self.dump.records[at]) == mj.LOAD:
                _, addr, _, name = rd.Jitdump.load(self.dump.records[at])
                time = rd.Jitdump.time(self.dump.records[at])
                result = self.make_dump().debug(time, addr, [(addr, 10, "/jitproof/%s.jit" % name)])
                self.dump.records.insert(at, bytearray(result.raw[rd.Jitdump.HEADER:]))
        self.dump.save(self.path)
        self.expect_pass()
        del self.dump.records[0]
        self.expect_cause("other-lines")

    def test_lines_of_no_load(self) -> None:
        self.dump.records.append(bytearray(self.make_dump().debug(
            rd.Jitdump.time(self.dump.records[-1]), self.addr, self.make_lines())
                                           .raw[rd.Jitdump.HEADER:]))
        self.dump.records.remove(next(record for record in self.dump.records
                                      if self.dump.kind(record) == mj.CLOSE))
        self.expect_cause("no-load")

    def test_unwinding_tables(self) -> None:
        """All tables are mapped or none; sizes and header lead to the tables."""
        time = rd.Jitdump.time(self.last)
        for mapped in (False, True):
            self.insert_before_last(self.make_dump().unwinding(time, self.size, mapped))
            self.dump.save(self.path)
            self.expect_pass()
            self.at -= 1
            tables = self.dump.records.pop(self.at)
            for offset, distance in ((24, 8), (32, 8), (len(tables) - 20, 1), (len(tables) - 16, 4),
                                 (len(tables) - 8, 8)):
                wrong = bytearray(tables)
                struct.pack_into("<i", wrong, offset, struct.unpack_from("<i", wrong, offset)[0]
                                 + distance)
                self.dump.records.insert(self.at, wrong)
                self.expect_cause("other-tables")
                del self.dump.records[self.at]

    def test_tables_twice(self) -> None:
        for _ in range(2):
            self.insert_before_last(self.make_dump().unwinding(rd.Jitdump.time(self.last),
                                                               self.size))
        self.expect_cause("no-load")

    def add_move(self, from_: int) -> None:
        """Moves the last function after the last activation."""
        load = next(slot for slot in map(self.truth.get, self.truth.find(rd.Truth.CODE_LOAD))
                    if slot[6] == self.addr)
        later = max(slot[5] for slot in map(self.truth.get, self.truth.find(rd.Truth.LEAVE))) + 1
        identity = load[9] & 0xffffffff
        self.truth.append(rd.Truth.CODE_MOVE, 0, self.pid, load[3], later, later + 10, identity,
                          self.addr + FAR, 0, 0)
        result = self.make_dump().move(later + 5, from_, self.addr + FAR, self.size, identity)
        record = bytearray(result.raw[rd.Jitdump.HEADER:])
        struct.pack_into("<I", record, 20, load[3])
        self.dump.records.insert(self.at + 1, record)

    def test_move_from_elsewhere(self) -> None:
        self.add_move(self.addr + 4096)
        self.expect_cause("other-origin")
