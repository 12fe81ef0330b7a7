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
from harness.selftest.support.recorded import PAGE, Recorded

FORK, COMM = rd.FORK, rd.COMM
CONFIG = 8  # offset in struct perf_event_attr


class Attached(Recorded):
    """jitproof's own capture, attached to a process with two threads."""

    fixture = "clock"

    def edit_file(self, name: str, change: Callable[[str], str]) -> None:
        text = self.read_text(name)
        self.assertNotEqual(change(text), text)
        self.put_text(name, change(text))

    def state_requests(self, cpus: int = 2, task_clock: int = 0, synth: int = 2) -> None:
        """States in `watched` what the runner requested."""
        self.edit_file("watched", lambda text: text + "cpus %d\ntask_clock %d\nsynth %d\n" %
                       (cpus, task_clock, synth))

    def find_records(self, kind: int) -> list[rd.Side]:
        return [one for one in self.perf.records if isinstance(one, rd.Side) and one.kind == kind]

    def test_as_recorded(self) -> None:
        self.expect_pass()
        self.state_requests()
        self.expect_pass()

    def test_no_such_cpu(self) -> None:
        self.state_requests(cpus=2)
        self.perf.samples()[7].cpu = 2
        self.expect_fail(self.match_count(1, "modes.bad", "no-such-cpu"))

    def test_another_clock(self) -> None:
        struct.pack_into("<Q", self.perf.attrs[0].raw, CONFIG, 1)
        self.expect_pass()  # no file contains the requested clock
        self.state_requests()
        self.expect_error("not asked for the clock, or the breakpoints, that the runner wanted")
        self.edit_file("watched", lambda text: text.replace("task_clock 0", "task_clock 1"))
        self.expect_pass()

    def test_second_clock(self) -> None:
        """Another profiler may sample a second clock; jitproof's captures have one."""
        second = copy.deepcopy(self.perf.attrs[0])
        struct.pack_into("<Q", second.raw, CONFIG, 1)
        second.ids = [1 << 40]
        self.perf.attrs.append(second)
        self.perf.samples()[7].id = second.ids[0]
        self.state_requests()
        self.facts.pop("event", None)
        self.expect_pass()
        self.facts["event"] = "cpu-clock"
        self.expect_error("event %d of perf.data was not asked for the clock" %
                          (len(self.perf.attrs) - 1))

    def test_breakpoints_of_a_clock(self) -> None:
        self.facts["breakpoints"] = "1000"
        self.expect_error("not asked for the clock, or the breakpoints, that the runner wanted")

    def test_another_frequency(self) -> None:
        self.facts["frequency"] = "1000"
        self.expect_error("not asked for the frequency that the capture states")

    def test_more_than_the_runner_saw(self) -> None:
        self.state_requests(cpus=2)
        watched = self.read_watched()
        most = 2 * (int(watched["ended"]) - int(watched["started"]))
        for key, value, message in (
                ("cpus", "3", "states 3 CPUs; the runner saw 2"),
                ("counted", str(most + 1),
                 "its events counted %d ns; the CPUs had %d" % (most + 1, most)),
                ("first_enabled", "1", "states first_enabled 1; its window began at")):
            self.expect_error_with_fact(key, value, message)
        self.expect_pass()

    def test_another_policy(self) -> None:
        self.state_requests(synth=1)
        self.expect_error("states that it synthesized exec, the runner asked for paths")

    def test_more_duplicates_than_counted(self) -> None:
        self.facts["duplicates"] = "1000"
        self.expect_fail(self.match_count(1, "event.samples", "too-many"))

    def test_doubles_of_another_profiler(self) -> None:
        self.state_requests()
        self.facts["duplicates"] = "1"
        self.expect_pass()
        del self.facts["first_enabled"]
        self.expect_error("states 1 duplicates; only jitproof's captures drop any")

    def test_record_that_ends_within_a_mapping(self) -> None:
        """A record of a part of a mapping is wrong, since the kernel records whole mappings."""
        record = next(one for one in self.perf.maps() if one.name == "//anon")
        record.size -= 4096
        self.expect_fail(self.match_count(1, "mappings.invented", "part"))

    def test_other_number_than_was_written(self) -> None:
        for _ in ("of ours", "of a profiler's"):
            for self.miscounted in (-1, 1):
                self.expect_fail(self.match_count(1, "event.samples", "not-written"))
            # jitproof writes the number of samples even if it is 0; other profilers may omit it.
            self.miscounted = -len(self.perf.samples())
            if "first_enabled" in self.facts:
                self.expect_fail(self.match_count(1, "event.samples", "not-written"))
            else:
                self.expect_pass()
            self.facts.pop("first_enabled", None)

    def test_no_snapshot(self) -> None:
        self.put_text("maps", "")
        self.expect_fail(self.match_count(1, "snapshots.missing", "no-snapshot"))

    def remove_map_lines(self, name: str) -> None:
        self.edit_file("maps", lambda text: "".join(
            line for line in text.splitlines(True) if not (name in line and "r-xp" in line)))

    def test_snapshot_without_a_line(self) -> None:
        self.remove_map_lines("/libz.so")
        self.expect_fail(self.match_count(1, "snapshots.missing", "not-shown"))

    def test_snapshot_with_a_line_more(self) -> None:
        more = "10000-20000 r-xp 00000000 00:00 0 \n"
        self.edit_file("maps", lambda text: text.replace("\n", "\n" + more, 1))
        text = self.expect_fail(self.match_count(1, "snapshots.invented", "not-there"),
                                self.match_count(1, "snapshots.missing", "not-told"))
        self.expect_only(text, "snapshots.invented", "snapshots.missing")

    def test_a_line_shared_that_is_private(self) -> None:
        self.edit_file("maps", lambda text: "".join(
            line.replace("r-xp", "r-xs") if "/libz.so" in line else line
            for line in text.splitlines(True)))
        # The process's own maps have the line, too.
        own = (self.match_count(1, "snapshots.missing", "not-shown"),
               self.match_count(1, "snapshots.invented", "not-there"))
        self.expect_fail(self.match_count(1, "snapshots.missing", "not-told"), *own)
        del self.facts["first_enabled"]
        self.expect_fail(*own)

    def test_line_without_a_record(self) -> None:
        for record in self.perf.maps():
            if record.name == "[vsyscall]":
                self.perf.records.remove(record)
        self.expect_fail(self.match_count(1, "snapshots.missing", "not-told"))

    def test_generation_in_a_read_record(self) -> None:
        record = next(one for one in self.perf.maps() if "/libz.so" in one.name)
        struct.pack_into("<Q", record.body, 48, 1)
        self.expect_fail(self.match_count(1, "snapshots.missing", "not-told"))
        record.time = 0
        self.expect_fail(self.match_count(1, "mappings.generation", "other-generation"))

    def test_made_fork_of_another_time(self) -> None:
        first = int(self.facts["first_enabled"])
        for time in (0, first + 1):
            for fork in self.find_records(FORK):
                struct.pack_into("<Q", fork.body, 16, time)
            self.expect_fail(self.match_count(3, "fork.records", "other-time"))
        for fork in self.find_records(FORK):
            struct.pack_into("<Q", fork.body, 16, first)
        self.expect_pass()

    def test_made_name_by_an_exec(self) -> None:
        self.find_records(COMM)[0].misc |= rd.COMM_EXEC
        self.expect_fail(self.match_count(1, "comm.records", "other-exec"))

    def test_names_that_are_missing(self) -> None:
        """The synthesized names of older threads have no other source."""
        for gone in self.find_records(COMM):
            self.perf.records.remove(gone)
        self.expect_fail(self.match_count(3, "comm.missing", "no-record"))

    def test_thread_that_ended_during_the_search(self) -> None:
        """A thread that ended during the search for threads: COMM or FORK may be missing."""
        for kind, missing in ((COMM, "comm.missing"), (FORK, "fork.missing")):
            gone = self.find_records(kind)[-1]
            tid = struct.unpack_from("<I", gone.body, 4 if kind == COMM else 8)[0]
            for index in self.truth.find(rd.Truth.THREAD_EXIT):
                if self.truth.get(index)[3] == tid:
                    time = int(self.facts["sampling"]) - 1
                    self.truth.change(index, {4: time, 5: time})
            where = self.perf.records.index(gone)
            self.perf.records.remove(gone)
            self.assertIn("%s: 1 with cause no-record" % missing, self.judge()[1])
            self.perf.records.insert(where, gone)

    def test_name_of_an_unknown_thread(self) -> None:
        struct.pack_into("<I", self.find_records(COMM)[1].body, 4, 4000000)
        self.expect_fail(self.match_count(1, "comm.records", "unknown"))


class Launched(Recorded):
    """A launched run: the kernel wrote each record live, and mapped files are kept."""

    fixture = "mappings"

    def test_events_on_before_the_answer(self) -> None:
        """perf enables events before it answers; records that it reads from /proc have time 0."""
        forks = [one for one in self.perf.records if one.kind == FORK]
        read = forks[0].copy()
        read.time = 0
        struct.pack_into("<Q", read.body, 16, 0)
        self.perf.records.insert(0, read)
        del self.facts["first_enabled"]
        answered = str(forks[-1].time + 1000)
        self.facts["enabled"] = self.facts["sampling"] = answered
        self.substitute("watched", r"begun \d+", "begun " + answered)
        self.expect_pass()

    def find_anonymous(self) -> list[rd.Map]:
        return [one for one in self.perf.maps() if one.name == "//anon"]

    def test_act_without_a_record_of_its_time(self) -> None:
        """The mapping grows, so the next record covers a missing one."""
        self.find_anonymous()[2].time -= 50_000_000
        self.expect_fail(self.match_count(1, "acts.records", "no-record"))

    def test_records_without_an_act(self) -> None:
        """Right records without an act at their time."""
        last = self.find_anonymous()[-1]
        self.expect_pass()
        again = copy.deepcopy(last)
        again.time += 1_000_000
        self.perf.insert(again)
        self.expect_fail(self.match_count(1, "records.acts", "no-act"))
        self.perf.records.remove(again)
        # Two records for the one mapping of an act.
        rest = copy.deepcopy(last)
        last.size, rest.start, rest.size = PAGE, last.start + PAGE, last.size - PAGE
        self.perf.records.insert(self.perf.records.index(last) + 1, rest)
        self.expect_fail(self.match_count(1, "records.acts", "no-act"))

    def test_act_of_another_thread(self) -> None:
        record = self.find_anonymous()[2]
        sample = next(one for one in self.perf.samples() if one.tid != record.tid)
        record.tid = sample.tid
        struct.pack_into("<I", record.body, record.tail()[rd.TID] + 4, sample.tid)
        self.expect_fail(self.match_count(1, "records.acts", "other-thread"))

    def test_act_with_two_records(self) -> None:
        """Two records at different times within the bracket of one act."""
        again = copy.deepcopy(self.find_anonymous()[2])
        again.time += 1
        self.perf.insert(again)
        self.expect_fail(self.match_count(1, "records.acts", "twice"))
        # If the memory was unmapped within that bracket, two records are right.
        act = self.truth.get(self.truth.find(rd.Truth.MAP)[3])
        self.truth.append(rd.Truth.UNMAP, *act[1:8], 0, 0)
        self.assertNotIn("records.acts: ", self.judge()[1])

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

    def test_sample_of_an_unknown_thread(self) -> None:
        self.perf.samples()[20].tid = 4000000
        self.expect_fail(self.match_count(1, "tasks.strangers", "unknown"))

    def test_sample_on_the_way_to_the_exec(self) -> None:
        """An exec enables events before it changes the name perf-exec of perf's child."""
        at, record = next((at, one) for at, one in enumerate(self.perf.records)
                          if one.kind == COMM)
        early = self.perf.samples()[0]
        early.misc, early.ip, early.time = rd.KERNEL, 2**64 - 4096, record.time - 1
        early.pid = early.tid = pid = struct.unpack_from("<I", record.body)[0]
        early.regs[rd.X86_IP] = user = 0x7f0000001000
        early.chain = [rd.CONTEXT_KERNEL, early.ip, rd.CONTEXT_USER, user]
        self.perf.records.remove(early)
        name = self.perf.comm(pid, pid, "perf-exec", 0)
        self.perf.records[at:at] = [name, early]
        self.expect_pass()
        name.body[8:18] = b"perf_5.10\0"  # before 5.15
        self.expect_pass()
        name.body[8:18] = b"perfect\0\0\0"
        self.expect_fail(self.match_count(1, "comm.records", "other-text"))
        name.body[8:18] = b"perf-exec\0"
        name.body[8:16] = b"tampered"
        self.expect_fail(self.match_count(1, "comm.threads", "other-text"))

    def test_name_that_a_thread_inherits(self) -> None:
        record = next(one for one in self.perf.records if one.kind == COMM)
        record.body[8:16] = b"tampered"
        self.expect_fail(self.match_count(1, "comm.records", "other-text"),
                         self.match_count(r"\d", "comm.threads", "other-text"))

    def test_protection_that_the_memory_never_had(self) -> None:
        self.find_anonymous()[1].prot = rd.READ | rd.EXECUTE
        self.expect_fail(self.match_count(r"\d", "mappings.differs", "protection"),
                         self.match_count(1, "mappings.invented", "protection"))

    def test_window_without_samples(self) -> None:
        self.facts["stopped"] = str(int(self.facts["sampling"]) + 10_000_000)
        self.expect_error("window: the window that the capture states holds 0 of 137 samples")

    def test_impossible_records(self) -> None:
        record = self.find_anonymous()[1]
        record.misc = record.misc & ~7 | rd.KERNEL
        self.expect_fail(self.match_count(1, "mappings.invented", "mode"))
        record.misc = record.misc & ~7 | rd.USER
        record.size, size = 0, record.size
        self.expect_fail(self.match_count(1, "mappings.invented", "length"))
        record.size = size
        self.expect_pass()

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

    def test_two_generations_of_one_file(self) -> None:
        record = next(one for one in self.perf.maps() if one.name.endswith("/jitproof"))
        again = rd.Map(record.kind, record.misc, bytes(record.body), record.attr)
        again.time += 50_000_000
        self.perf.insert(again)
        self.expect_pass()
        was, = struct.unpack_from("<Q", again.body, 48)
        for other in (0, was + 1):
            struct.pack_into("<Q", again.body, 48, other)
            self.expect_fail(self.match_count(1, "mappings.generation", "other-generation"))
        # After the process exit another file may have the inode number.
        pid, = {self.truth.get(index)[2] for index in self.truth.find(rd.Truth.PROCESS_EXIT)}
        for index in self.truth.find(rd.Truth.PROCESS_EXIT):
            self.truth.change(index, {4: again.time - 1, 5: again.time - 1})
        self.assertEqual(pid, again.pid)
        self.assertNotIn("mappings.generation: ", self.judge()[1])

    def test_no_file_is_kept(self) -> None:
        self.put_text("elf/index", "")
        for _ in ("of ours", "of a profiler's"):
            self.expect_fail(self.match_count(1, "elf.files", "none"))
            self.facts.pop("first_enabled", None)

    def test_kept_file_that_nothing_mapped(self) -> None:
        index = os.path.join(self.dir, "elf/index")
        lines = files.read(index).splitlines()
        for at, line in enumerate(lines):
            with self.subTest(line):
                files.write(index, "\n".join([*lines[:at], line + "x", *lines[at + 1:], ""]))
                self.expect_fail(self.match_count(1, "elf.files", "not-mapped"))
        # The kernel's suffix " (deleted)" is no error.
        files.write(index, "\n".join(line + (" (deleted)" if "/" in line.split()[-1] else "")
                                     for line in lines) + "\n")
        self.expect_pass()

    def test_kept_file_that_was_altered(self) -> None:
        text = self.read_text("elf/index")
        self.substitute("elf/index", r"^(\S+ \S+ \S+)", r"\1 #0")
        self.expect_fail(self.match_count(1, "elf.files", "altered"))
        self.put_text("elf/index", text)
        self.expect_pass()

    def test_kept_file_without_elf_header(self) -> None:
        path = self.get_path("elf/" + self.read_text("elf/index").split()[0])
        files.write_bytes(path, bytes(os.path.getsize(path)))
        self.expect_fail(self.match_count(1, "elf.files", "unreadable"))


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

    def get_first_code(self) -> bytes:
        load = rd.Jitdump(self.dump_path).loads()[0]
        return bytes(load[len(load) - rd.Jitdump.load(load)[2]:])

    def test_load_that_was_not_injected(self) -> None:
        path, injected = self.injected_path, self.injected
        pid, addr = next((pid, addr) for pid, addr, _, _ in self.list_loads()
                         if sum(one[1] == addr for one in self.list_loads()) > 2)
        record = [one for one in injected.maps() if one.pid == pid and one.start == addr and
                  "jit" in one.name][1]
        injected.records.remove(record)
        injected.save(path)
        self.expect_fail(self.match_count(1, "injected.absent", "no-record"))

    def test_more_than_the_code(self) -> None:
        """A record may end behind the code, where tables are, at a multiple of 8."""
        path, injected = self.injected_path, self.injected
        pid, addr, size, _ = self.list_loads()[0]
        record = next(one for one in injected.maps() if one.pid == pid and one.start == addr and
                      "jit" in one.name)
        for more, right in ((7, True), (4096, False)):
            record.size = size + more
            injected.save(path)
            if right:
                self.expect_pass()
            else:
                self.expect_fail(self.match_count(1, "injected.mappings", "longer"))

    def test_other_protection(self) -> None:
        """jitproof writes the protection of a private mapping, perf the mode of the file."""
        path, injected = self.injected_path, self.injected
        record = next(one for one in injected.maps() if "jit-" in one.name and
                      one.prot & rd.EXECUTE and not one.name.endswith(".dump"))
        right = (record.prot, 2, record.tid)
        for prot, flags, tid, passes in ((*right, True), (0o100644, 1, record.tid, True),
                                         (record.prot | rd.WRITE, 2, record.tid, False),
                                         (record.prot, 1, record.tid, False),
                                         (*right[:2], record.tid + 1, False)):
            record.prot, record.tid = prot, tid
            struct.pack_into("<I", record.body, 60, flags)
            injected.save(path)
            if passes:
                self.expect_pass()
            else:
                self.expect_fail(self.match_count(1, "injected.mappings", "other-protection"))

    def test_file_of_other_code(self) -> None:
        """The files in jit/ hold the code of the jitdump."""
        folder = self.get_path("jit")
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            raw = files.read_bytes(path)
            code = self.get_first_code()
            at = raw.index(code)
            files.write_bytes(path, raw[:at] + b"\xcc" + raw[at + 1:])
            self.expect_fail(self.match_count(r"\d+", "injected.mappings", "other-bytes"))
            files.write_bytes(path, raw[:18] + b"\xb7" + raw[19:])
            self.expect_fail(self.match_count(r"\d+", "injected.mappings", "other-machine"))
            files.write_bytes(path, raw)
        self.expect_pass()

    def test_tables_that_the_jitdump_lacks(self) -> None:
        """A record that covers the tables behind the code needs the tables of the jitdump."""
        pid, addr, size, _ = self.list_loads()[0]
        dump = rd.Jitdump(self.dump_path)
        load = dump.loads()[0]
        made = mj.Made(pid).unwinding(rd.Jitdump.time(load), size)
        dump.records.insert(dump.records.index(load), bytearray(made.raw[rd.Jitdump.HEADER:]))
        dump.save(self.dump_path)
        injected = self.injected
        record = next(one for one in injected.maps() if one.pid == pid and one.start == addr and
                      "jit" in one.name)
        path = os.path.join(self.dir, "jit", os.path.basename(record.name))
        behind = (size + 7) & ~7
        at = record.pgoff + behind
        raw, tables = files.read_bytes(path), bytes(made.raw[rd.Jitdump.HEADER + 40:])
        files.write_bytes(path, (raw[:at] + tables).ljust(at + len(tables), b"\0") +
                          raw[at + len(tables):])
        record.size = behind + len(tables)
        injected.save(self.injected_path)
        wrong = "# injected.mappings: 1 with cause other-tables, "
        self.assertNotIn(wrong, self.judge()[1])
        self.assertIn("with cause other-bytes", self.judge()[1])  # the old bytes
        files.write_bytes(path, raw)
        self.assertIn(wrong, self.judge()[1])
        record.size = size  # outside of the record
        injected.save(self.injected_path)
        self.assertNotIn(wrong, self.judge()[1])

    def test_samples_that_injecting_altered(self) -> None:
        path, injected = self.injected_path, self.injected
        sample = injected.samples()[10]
        sample.ip += 1
        injected.save(path)
        self.expect_fail(self.match_count(1, "samples.injected", "altered"))
        injected.records.remove(sample)
        injected.save(path)
        self.expect_fail(self.match_count(1, "samples.injected", "changed"),
                         self.match_count(1, "inject.lost", "dropped"))

    def test_name_that_injecting_forgets(self) -> None:
        path, injected = self.injected_path, self.injected
        name = next(one for one in injected.records if one.kind == COMM)
        injected.records.remove(name)
        injected.save(path)
        self.expect_fail(self.match_count(1, "injected.records", "absent"))
        injected.records += [name, name.copy()]
        injected.sort()
        injected.save(path)
        self.expect_fail(self.match_count(1, "injected.records", "added"))

    def test_records_that_injecting_altered(self) -> None:
        """An injector must neither drop nor alter mapping records of files."""
        path = self.injected_path
        for change, message in (
                (lambda one: setattr(one, "pgoff", one.pgoff + PAGE), "absent"),
                (lambda one: setattr(one, "ino", one.ino + 1), "other-file"),
                (lambda one: setattr(one, "name", one.name + "x"), "absent"),
                (lambda one: setattr(one, "time", one.time + 1), "absent")):
            injected = rd.PerfData.load(path)
            whole = files.read_bytes(path)
            change(next(one for one in injected.maps() if "/libc" in one.name))
            injected.save(path)
            self.expect_fail(self.match_count(1, "injected.records", message))
            files.write_bytes(path, whole)

    def test_build_id_for_an_inode(self) -> None:
        """`perf inject` may replace the inode of a file by its build id."""
        path, injected = self.injected_path, self.injected
        for one in injected.maps():
            if "/libc" in one.name:
                one.misc |= 1 << 14
                one.body[32:56] = bytes([20, 0, 0, 0]) + b"\x77" * 20
        injected.save(path)
        self.assertNotIn("injected.records", self.judge()[1])

    def test_event_that_injecting_altered(self) -> None:
        """An altered period, clock or config of an event."""
        path = self.injected_path
        for at, layout, value in ((16, "<Q", 5), (92, "<i", 4), (8, "<Q", 1)):
            injected = rd.PerfData.load(path)
            whole = files.read_bytes(path)
            struct.pack_into(layout, injected.attrs[0].raw, at, value)
            injected.save(path)
            self.assertIn("the samples of injected.data differ", self.judge()[1], at)
            files.write_bytes(path, whole)

    def test_sample_that_injecting_names_worse(self) -> None:
        """A wrong name is worse than none: the record refers to another function's code."""
        path, injected = self.injected_path, self.injected
        sample = injected.samples()[20]
        records = [one for one in injected.maps() if "/jit-" in one.name and
                   not one.name.endswith(".dump") and one.pid == sample.pid]
        mine = [one for one in records if one.start <= sample.ip < one.start + one.size and
                one.time <= sample.time][-1]
        mine.pgoff = next(one.pgoff for one in records if one.start != mine.start and
                          one.pgoff != mine.pgoff)
        injected.save(path)
        self.expect_fail(r"(?m)^# inject\.worse: \d+ with cause was-\w+, which nothing allows$")

    def test_jitdump_that_is_cut(self) -> None:
        files.write_bytes(self.dump_path, files.read_bytes(self.dump_path)[:-10])
        self.expect_fail(self.match_count(1, "order.bad", "jitdump"))

    def test_lines_of_a_perf_map(self) -> None:
        """Each load has exactly one line, and each line one load."""
        loads = self.list_loads()
        lines = ["%x %x %s\n" % one[1:] for one in loads]
        path = self.place(self.fixture, "perf-%d.map" % loads[0][0])
        files.write(path, "".join(lines))
        self.expect_pass()
        files.write(path, "".join(lines[:100] + lines[101:]))
        self.expect_fail(self.match_count(1, "published.absent", "no-line"))
        files.write(path, "".join(lines + ["1000 100 invented\n"]))
        self.expect_fail(self.match_count(1, "published.invented", "no-code"))
        files.write(path, "1000 100 invented\n")
        self.expect_pass()  # the map may belong to another process
