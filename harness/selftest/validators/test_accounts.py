# SPDX-License-Identifier: GPL-2.0-only
"""Tests the rules for records and files besides the stacks: events, CPUs, snapshots, kept files,
acts and tasks. Each test alters one of them in a fixture that passes."""

import copy
import os
import struct
from typing import Callable

from ci.base import files
from harness.selftest.support import made_jitdump as mj
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import PAGE, Recorded, WATCHED_SINCE_CPUS

FORK, COMM = rd.FORK, rd.COMM
CONFIG = 8  # offset in struct perf_event_attr


class TwoClocks(Recorded):
    def add_second_clock(self, sample: int) -> None:
        """Adds an event that counts another clock, and took the sample of this index."""
        second = copy.deepcopy(self.perf.attrs[0])
        struct.pack_into("<Q", second.raw, CONFIG, 1)
        second.ids = [1 << 40]
        self.perf.attrs.append(second)
        self.perf.samples()[sample].id = second.ids[0]


class Attached(TwoClocks):
    """jitproof's own capture, attached to a process with two threads."""

    fixture = "clock"

    def edit_file(self, name: str, change: Callable[[str], str]) -> None:
        text = self.read_text(name)
        self.assertNotEqual(change(text), text)
        self.put_text(name, change(text))

    def state_requests(self) -> None:
        """States in `watched` what the runner requested."""
        self.put_text("watched", self.read_text("watched") + WATCHED_SINCE_CPUS)

    def find_records(self, kind: int) -> list[rd.Side]:
        return [one for one in self.perf.records if isinstance(one, rd.Side) and one.kind == kind]

    def test_as_recorded(self) -> None:
        self.expect_pass()
        self.state_requests()
        self.expect_pass()

    def test_another_clock(self) -> None:
        struct.pack_into("<Q", self.perf.attrs[0].raw, CONFIG, 1)
        self.expect_pass()  # no file contains the requested clock
        self.state_requests()
        self.expect_error("not asked for the clock, or the breakpoints, that the runner wanted")
        self.edit_file("watched", lambda text: text.replace("task_clock 0", "task_clock 1"))
        self.expect_pass()

    def test_second_clock(self) -> None:
        """Another profiler may sample a second clock; jitproof's captures have one."""
        self.add_second_clock(7)
        self.state_requests()
        self.facts.pop("event", None)
        self.expect_pass()
        self.facts["event"] = "cpu-clock"
        self.expect_error("event %d of perf.data was not asked for the clock" %
                          (len(self.perf.attrs) - 1))

    def test_more_than_the_runner_saw(self) -> None:
        self.state_requests()
        watched = self.read_watched()
        most = 2 * (int(watched["ended"]) - int(watched["started"]))
        for key, value, message in (
                ("cpus", "3", "states 3 CPUs; the runner saw 2"),
                ("counted", str(most + 1),
                 "its events counted %d ns; the CPUs ran for at most %d" % (most + 1, most)),
                ("first_enabled", "1", "states first_enabled 1; its window began at")):
            self.expect_error_with_fact(key, value, message)
        self.expect_pass()

    def test_doubles_of_another_profiler(self) -> None:
        self.state_requests()
        self.facts["duplicates"] = "1"
        self.expect_pass()
        del self.facts["first_enabled"]
        self.expect_error("states 1 duplicates; only jitproof's captures drop any")

    def test_thread_that_ended_during_the_search(self) -> None:
        """A thread that ended during the search for threads: COMM or FORK may be missing."""
        for kind, missing in ((COMM, "comm.missing"), (FORK, "fork.missing")):
            removed = self.find_records(kind)[-1]
            tid = struct.unpack_from("<I", removed.body, 4 if kind == COMM else 8)[0]
            for index in self.truth.find(rd.Truth.THREAD_EXIT):
                if self.truth.get(index)[3] == tid:
                    time = int(self.facts["sampling"]) - 1
                    self.truth.change(index, {4: time, 5: time})
            where = self.perf.records.index(removed)
            self.perf.records.remove(removed)
            self.assertIn("%s: 1 with cause no-record" % missing, self.judge()[1])
            self.perf.records.insert(where, removed)


class Witnessed(TwoClocks):
    fixture = "witness"

    def test_second_clock_samples_first(self) -> None:
        """The witness is compared with the clock that the runner requested."""
        self.add_second_clock(0)
        self.assertNotIn("# cpu.samples", self.judge()[1])


class Launched(Recorded):
    """A launched run: the kernel wrote each record live, and mapped files are kept."""

    fixture = "mappings"

    def test_events_on_before_the_answer(self) -> None:
        """perf enables events before it answers; records that it reads from /proc have time 0."""
        forks = [record for record in self.perf.records if record.kind == FORK]
        read = forks[0].copy()
        read.time = 0
        struct.pack_into("<Q", read.body, 16, 0)
        self.perf.records.insert(0, read)
        del self.facts["first_enabled"]
        answered = str(forks[-1].time + 1000)
        self.facts["enabled"] = self.facts["sampling"] = answered
        self.substitute("watched", r"begun \d+", "begun " + answered)
        self.expect_pass()

    def test_records_without_an_act(self) -> None:
        """Right records without an act at their time."""
        last = [one for one in self.perf.maps() if one.name == "//anon"][-1]
        self.expect_pass()
        copied = copy.deepcopy(last)
        copied.time += 1_000_000
        self.perf.insert(copied)
        self.expect_fail(self.match_count(1, "records.acts", "no-act"))
        self.perf.records.remove(copied)
        # Two records for the one mapping of an act.
        remainder = copy.deepcopy(last)
        last.size, remainder.start, remainder.size = PAGE, last.start + PAGE, last.size - PAGE
        self.perf.records.insert(self.perf.records.index(last) + 1, remainder)
        self.expect_fail(self.match_count(1, "records.acts", "no-act"))

    def test_act_missing_in_the_truth(self) -> None:
        """The truth's maps show memory and its unmapping, without a mapping act."""
        acts = self.truth.find(rd.Truth.MAP)
        for index in acts[-1], acts[0]:  # the page and its reservation
            del self.truth.slots[index]
        self.truth.next_slot = len(self.truth.slots)
        self.expect_error("executable in its maps, but no operation of the truth mapped it")

    def test_unmapping_what_nothing_mapped(self) -> None:
        index = self.truth.find(rd.Truth.UNMAP)[0]
        self.truth.change(index, {6: self.truth.get(index)[6] - (1 << 30)})
        self.expect_error(r"pid \d+ unmaps \S+ at \d+, and nothing mapped ")

    def test_sample_on_the_way_to_the_exec(self) -> None:
        """An exec enables events before it changes the name perf-exec of perf's child."""
        offset, record = next((offset, one) for offset, one in enumerate(self.perf.records)
                          if one.kind == COMM)
        early = self.perf.samples()[0]
        early.misc, early.ip, early.time = rd.KERNEL, 2**64 - 4096, record.time - 1
        early.pid = early.tid = pid = struct.unpack_from("<I", record.body)[0]
        early.regs[rd.X86_IP] = user = 0x7f0000001000
        early.chain = [rd.CONTEXT_KERNEL, early.ip, rd.CONTEXT_USER, user]
        self.perf.records.remove(early)
        name = self.perf.comm(pid, pid, "perf-exec", 0)
        self.perf.records[offset:offset] = [name, early]
        self.expect_pass()
        name.body[8:18] = b"perf_5.10\0"  # perf before 5.15
        self.expect_pass()
        name.body[8:18] = b"perfect\0\0\0"
        self.expect_fail(self.match_count(1, "comm.records", "other-text"))
        name.body[8:18] = b"perf-exec\0"
        name.body[8:16] = b"tampered"
        self.expect_fail(self.match_count(1, "comm.threads", "other-text"))

    def test_generation_that_is_not_the_kept_files(self) -> None:
        record = next(one for one in self.perf.maps() if "/libc.so" in one.name)
        index, generation = self.get_path("elf/index"), 7
        struct.pack_into("<Q", record.body, 48, generation)
        text = files.read(index).replace(str(record.ino), "%d.%d" % (record.ino, generation))
        files.write(index, text)
        self.expect_pass()
        struct.pack_into("<Q", record.body, 48, generation + 1)
        self.expect_fail(self.match_count(1, "mappings.generation", "not-told"))
        files.write(index, text.replace(".%d " % generation, ".%ds " % generation))
        self.expect_fail(self.match_count(1, "mappings.generation", "other-generation"))
        # A later file may have the inode of a file that is gone.
        later = rd.Map(record.kind, record.misc, bytes(record.body), record.attr)
        struct.pack_into("<Q", later.body, 48, generation)
        later.time += 50_000_000
        self.perf.insert(later)
        self.assertNotIn("and was kept with", self.judge()[1])

    def test_two_generations_of_one_file(self) -> None:
        record = next(one for one in self.perf.maps() if one.name.endswith("/jitproof"))
        repeated = rd.Map(record.kind, record.misc, bytes(record.body), record.attr)
        repeated.time += 50_000_000
        self.perf.insert(repeated)
        self.expect_pass()
        was, = struct.unpack_from("<Q", repeated.body, 48)
        for other in (0, was + 1):
            struct.pack_into("<Q", repeated.body, 48, other)
            self.expect_fail(self.match_count(1, "mappings.generation", "other-generation"))
        # After the process exit another file may have the inode number.
        pid, = {self.truth.get(index)[2] for index in self.truth.find(rd.Truth.PROCESS_EXIT)}
        for index in self.truth.find(rd.Truth.PROCESS_EXIT):
            self.truth.change(index, {4: repeated.time - 1, 5: repeated.time - 1})
        self.assertEqual(pid, repeated.pid)
        self.assertNotIn("mappings.generation: ", self.judge()[1])


class Published(Recorded):
    """Published jitdumps and perf maps, and the injected records, also those without samples."""

    fixture = "reuse"

    def setUp(self) -> None:
        super().setUp()
        self.dump_path = next(self.get_path(one) for one in os.listdir(self.dir)
                              if one.endswith(".dump"))
        self.injected_path = self.get_path("injected.data")
        self.injected = rd.PerfData.load(self.injected_path)

    def list_loads(self) -> list[tuple[int, int, int, str]]:
        return [rd.Jitdump.load(one) for one in rd.Jitdump(self.dump_path).loads()]

    def test_more_than_the_code(self) -> None:
        """A record may end behind the code, where tables are, at a multiple of 8."""
        path, injected = self.injected_path, self.injected
        pid, addr, size, _ = self.list_loads()[0]
        record = next(one for one in injected.maps() if one.pid == pid and one.start == addr and
                      "jit" in one.name)
        for options, right in ((7, True), (4096, False)):
            record.size = size + options
            injected.save(path)
            if right:
                self.expect_pass()
            else:
                self.expect_fail(self.match_count(1, "injected.mappings", "longer"))

    def test_tables_that_the_jitdump_lacks(self) -> None:
        """A record that covers the tables behind the code needs the tables of the jitdump."""
        pid, addr, size, _ = self.list_loads()[0]
        dump = rd.Jitdump(self.dump_path)
        load = dump.loads()[0]
        result = mj.Made(pid).unwinding(rd.Jitdump.time(load), size, True)
        dump.records.insert(dump.records.index(load), bytearray(result.raw[rd.Jitdump.HEADER:]))
        dump.save(self.dump_path)
        injected = self.injected
        record = next(one for one in injected.maps() if one.pid == pid and one.start == addr and
                      "jit" in one.name)
        path = os.path.join(self.dir, "jit", os.path.basename(record.name))
        behind = (size + 7) & ~7
        at = record.pgoff + behind
        raw, tables = files.read_bytes(path), bytes(result.raw[rd.Jitdump.HEADER + 40:])
        files.write_bytes(path, (raw[:at] + tables).ljust(at + len(tables), b"\0") +
                          raw[at + len(tables):])
        record.size = behind + len(tables)
        injected.save(self.injected_path)
        wrong = "# injected.mappings: 1 with cause other-tables, "
        self.assertNotIn(wrong, self.judge()[1])
        self.assertIn("with cause other-bytes", self.judge()[1])  # the old bytes
        files.write_bytes(path, raw)
        self.assertIn(wrong, self.judge()[1])
        record.size = size  # the changed byte is now outside of the record
        injected.save(self.injected_path)
        self.assertNotIn(wrong, self.judge()[1])

    def test_build_id_for_an_inode(self) -> None:
        """`perf inject` may replace the inode of a file by its build id."""
        path, injected = self.injected_path, self.injected
        for one in injected.maps():
            if "/libc" in one.name:
                one.misc |= 1 << 14
                one.body[32:56] = bytes([20, 0, 0, 0]) + b"\x77" * 20
        injected.save(path)
        self.assertNotIn("injected.records", self.judge()[1])

    def test_jitdump_that_is_cut(self) -> None:
        files.write_bytes(self.dump_path, files.read_bytes(self.dump_path)[:-10])
        self.expect_fail(self.match_count(1, "order.bad", "jitdump"))

    def test_lines_of_a_perf_map(self) -> None:
        """Each load has exactly one line, and each line one load."""
        loads = self.list_loads()
        lines = ["%x %x %s\n" % load[1:] for load in loads]
        path = self.place(self.fixture, "perf-%d.map" % loads[0][0])
        files.write(path, "".join(lines))
        self.expect_pass()
        files.write(path, "".join(lines[:100] + lines[101:]))
        self.expect_fail(self.match_count(1, "published.absent", "no-line"))
        files.write(path, "".join(lines + ["1000 100 invented\n"]))
        self.expect_fail(self.match_count(1, "published.invented", "no-code"))
        files.write(path, "1000 100 invented\n")
        self.expect_pass()  # the map may belong to another process
