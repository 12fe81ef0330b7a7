# SPDX-License-Identifier: GPL-2.0-only
"""Tests each figure of `jitproof judge FILE --json` on perf.data files made by hand."""

import json
import os
import shutil
import struct
import subprocess
from typing import Any, Sequence

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import Folder, JITPROOF

KIND = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.CALLCHAIN
CODE, LIBC, MAIN, ANON = 0x10000, 0x7f0000000000, 0x400000, 0x7f1000000000
PID = 100


def pack_build_id(path: str, build_id: str) -> bytes:
    """Returns a HEADER_BUILD_ID of one user file."""
    body = struct.pack("<i20sBxxx", -1, bytes.fromhex(build_id), 20) + path.encode() + b"\0"
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", 67, rd.USER | 1 << 15, len(body) + 8) + body


class Made(Folder):
    """A perf.data with one process: program, libc and anonymous code, all mapped at time 10."""

    def setUp(self) -> None:
        super().setUp()
        self.path = self.place("perf.data")
        self.perf = rd.PerfData([rd.Attr.make(KIND, [7])], [], {6: rd.pack_string("x86_64")})
        self.add_records(self.perf.comm(PID, PID, "made", 5),
                         self.perf.map(PID, MAIN, 0x1000, "/usr/bin/made", 10),
                         self.perf.map(PID, LIBC, 0x1000, "/usr/lib/libc.so.6", 10),
                         self.perf.map(PID, ANON, 0x1000, "//anon", 10))

    def add_records(self, *records: Any) -> None:
        self.perf.records += records

    def add_sample(self, *user: int, pid: int = PID, time: int = 100,
                   kernel: tuple[int, ...] = ()) -> rd.Sample:
        sample = rd.Sample.make_stack(self.perf.attrs[0], pid, time, user or (ANON,), kernel)
        if not user:
            sample.chain = sample.chain[:-2]
        self.add_records(sample)
        return sample

    def run_judge(self, *options: str, raw: bytes | None = None,
                  before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        if raw is None:
            self.perf.save(self.path)
        else:
            files.write_bytes(self.path, raw)
        return process.run([*before, JITPROOF, "judge", *options, self.path], timeout=240)

    def judge(self) -> dict[str, Any]:
        result = self.run_judge("--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def expect_figures(self, **wanted: Any) -> dict[str, Any]:
        figures = self.judge()
        self.assertEqual({name: figures[name] for name in wanted}, wanted)
        return figures


class Counts(Made):
    def test_file_without_samples(self) -> None:
        self.expect_figures(samples=0, user_stacks=0, single_frame=0, addresses=0,
                            addresses_unmapped=0,
                            rootless=0, lost_records=0, lost_samples=0)

    def test_whole_stack(self) -> None:
        self.add_sample(ANON + 8, MAIN + 4, LIBC + 2)
        self.expect_figures(samples=1, user_stacks=1, single_frame=0, addresses=3,
                            addresses_unmapped=0,
                            rootless=0)

    def test_single_frame(self) -> None:
        self.add_sample(ANON + 8)
        self.add_sample(MAIN + 8)
        self.add_sample(MAIN + 8, LIBC)
        self.expect_figures(samples=3, user_stacks=3, single_frame=2, addresses=4, rootless=1)

    def test_no_user_stack(self) -> None:
        self.add_sample(kernel=(0xffffffff81000000,))
        self.add_sample()
        self.expect_figures(samples=2, user_stacks=0, single_frame=0, addresses=0)

    def test_kernel_part_is_not_counted(self) -> None:
        self.add_sample(ANON, LIBC, kernel=(0xffffffff81000000, 0xffffffff81000010))
        self.expect_figures(samples=1, user_stacks=1, single_frame=0, addresses=2)

    def test_garbage_like_a_marker(self) -> None:
        """Values above the context markers are not addresses and end no stack; a stack of such
        values alone is no stack."""
        self.add_sample(ANON, 2**64 - 4095, LIBC)
        self.add_sample(ANON, rd.CONTEXT_KERNEL, LIBC + 1)
        self.add_sample(ANON, 2**64 - 1)
        self.add_sample(2**64 - 300)
        self.expect_figures(samples=4, user_stacks=3, addresses=5, single_frame=1, rootless=1,
                            addresses_unmapped=0)

    def test_one_below_the_markers_is_an_address(self) -> None:
        self.add_sample(ANON, 2**64 - 4096)
        self.expect_figures(addresses=2, addresses_unmapped=1, single_frame=0, rootless=1)

    def test_rootless(self) -> None:
        self.add_sample(LIBC, ANON)          # the stack ends in anonymous code
        self.add_sample(ANON, 0xdead0000)    # the stack ends in no mapping
        self.add_records(self.perf.map(PID, CODE, 0x1000, "/usr/lib/libother.so", 11))
        self.add_sample(ANON, CODE)          # the stack ends in a library, where no thread begins
        self.add_sample(ANON, MAIN)
        self.add_sample(ANON, LIBC)
        self.expect_figures(user_stacks=5, rootless=3)

    def test_runtimes_are_roots(self) -> None:
        for number, name in enumerate(("ld-linux-x86-64.so.2", "libc-2.31.so", "ld-2.31.so",
                                       "libc.musl-x86_64.so.1", "ld-musl-x86_64.so.1")):
            start = CODE + 0x1000 * number
            self.add_records(self.perf.map(PID, start, 0x1000, "/usr/lib/" + name, 11))
            self.add_sample(ANON, start)
        self.expect_figures(user_stacks=5, rootless=0)

    def test_data_covers_no_code(self) -> None:
        """perf record -d records data mappings, too: addresses in them are unmapped and not a
        root."""
        data = ANON + 0x100000
        self.add_sample(ANON, data + 8, LIBC)
        self.add_sample(ANON, MAIN + 0x1800)
        self.add_sample(data)
        without = self.expect_figures(addresses=6, addresses_unmapped=3, rootless=2)
        for record in reversed((self.perf.map(PID, data, 0x1000, "//anon", 11, rd.READ),
                                self.perf.map(PID, MAIN + 0x1000, 0x1000, "/usr/bin/made", 11,
                                              rd.READ | rd.WRITE))):
            self.perf.records.insert(0, record)
        figures = self.judge()
        for name in ("addresses", "addresses_unmapped", "rootless", "single_frame", "sampled"):
            self.assertEqual(figures[name], without[name], name)

    def test_samples_of_guests(self) -> None:
        """Addresses of guests are in mappings without records."""
        for mode in (4, 5):
            self.add_sample(ANON + 0x100000, 0xdead).misc = mode
        self.add_sample(ANON, LIBC)
        figures = self.expect_figures(samples=3, user_stacks=1, addresses=2, addresses_unmapped=0)
        self.assertEqual((figures["sampled"]["guest"], figures["sampled"]["anon"]), (2, 1))
        self.assertEqual([(walk["pid"], walk["samples"]) for walk in figures["processes"]],
                         [(PID, 1)])

    def test_samples_of_ended_tasks(self) -> None:
        """Samples of ended tasks have pid -1, which is not a process with mappings."""
        self.add_sample(kernel=(0xffffffff81000000,), pid=2**32 - 1)
        self.add_sample(ANON, LIBC, kernel=(0xffffffff81000000,), pid=2**32 - 1)
        figures = self.expect_figures(samples=2, user_stacks=0, addresses=0, addresses_unmapped=0)
        self.assertEqual(figures["sampled"]["kernel"], 2)
        self.assertEqual([walk["pid"] for walk in figures["processes"]], [PID])

    def test_program(self) -> None:
        """The main program is the file of the exec, or else the file with the process's name."""
        low, late, long = 0x200000, 0x7e0000000000, "a-name-of-more-than-15"
        cases: list[tuple[int, list[tuple[Any, ...]], list[int]]] = [
            # The process was attached to; a library lies below the program.
            (1, [("comm", "run", False), (low, "/usr/lib/liba.so"), (CODE, "/opt/run")],
             [CODE]),
            (2, [("comm", long[:15], False), (low, "/usr/lib/liba.so"),
                 (CODE, "/opt/" + long + " (deleted)")], [CODE]),
            # No file has the process's name: guess.
            (3, [("comm", "renamed", False), (CODE, "/opt/run"), (low, "/opt/other")], [CODE]),
            # After an exec the first mapped file is the program, whatever its name is.
            (4, [("comm", "other", True), (CODE, "/opt/run"), (low, "/opt/other")], [CODE]),
            (5, [("comm", "run", True), (CODE, "/opt/run"), ("comm", "next", True),
                 (late, "/opt/next"), (CODE, "/opt/run")], [late]),
            # A mapping of another file's data is not the program.
            (6, [("comm", "what", True), (low, "/opt/data", rd.READ), (CODE, "/opt/run")],
             [CODE])]
        for pid, records, roots in cases:
            with self.subTest(pid=pid):
                for time, (first, name, *fields) in enumerate(records, 10):
                    self.add_records(self.perf.comm(pid, pid, name, time,
                                                    *fields) if first == "comm" else
                                     self.perf.map(pid, first, 0x1000, name, time, *fields))
                for start in (low, CODE, late):
                    self.add_sample(ANON, start, pid=pid)
                found = {walk["pid"]: walk for walk in self.judge()["processes"]}[pid]
                self.assertEqual(found["rootless"], 3 - len(roots))
                self.add_sample(ANON, roots[0], pid=pid)
                found = {walk["pid"]: walk for walk in self.judge()["processes"]}[pid]
                self.assertEqual(found["rootless"], 3 - len(roots))

    def test_lost_records(self) -> None:
        identity = self.perf.attrs[0].ids[0]
        self.add_records(self.perf.side(rd.LOST, struct.pack("<QQ", identity, 12), 50),
                         self.perf.side(rd.LOST, struct.pack("<QQ", identity, 3), 60),
                         self.perf.side(rd.LOST_SAMPLES, struct.pack("<Q", 5), 70))
        figures = self.expect_figures(lost_records=2, lost_samples=5)
        self.assertEqual(figures["lost_events"], 15)

    def test_kinds_of_mappings(self) -> None:
        for number, (name, _) in enumerate((("/memfd:x (deleted)", "memfd"), ("[heap]", "other"),
                                            ("/dev/zero (deleted)", "other"), ("[vdso]", "other"),
                                            ("/SYSV00000001 (deleted)", "other"),
                                            ("[anon:v8]", "anon"), ("/a/b", "file"),
                                            ("/anon_hugepage (deleted)", "other"))):
            self.add_records(self.perf.map(PID, CODE + 0x10000 * number, 0x1000, name, 11))
        # The kernel's own maps belong to no process.
        for kind in (rd.MMAP, rd.MMAP2):
            record = self.perf.map(2**32 - 1, 2**63, 0x1000, "[kernel.kallsyms]_text", 12)
            record.kind, record.misc = kind, rd.KERNEL
            if kind == rd.MMAP:
                del record.body[32:64]  # fields that only MMAP2 records have
            self.add_records(record)
        figures = self.judge()
        self.assertEqual(figures["mmap2"], {"file": 3, "anon": 2, "memfd": 1, "other": 6})

    def test_processes(self) -> None:
        self.add_records(self.perf.map(200, CODE, 0x1000, "/usr/bin/second", 10))
        self.add_sample(ANON, LIBC)
        self.add_sample(ANON, CODE, pid=200)
        self.add_sample(CODE, pid=200)
        figures = self.expect_figures(samples=3, addresses=5, addresses_unmapped=1)
        by_pid = {walk["pid"]: walk for walk in figures["processes"]}
        self.assertEqual((by_pid[PID]["samples"], by_pid[PID]["addresses_unmapped"]), (1, 0))
        self.assertEqual((by_pid[200]["samples"], by_pid[200]["single_frame"],
                          by_pid[200]["rootless"], by_pid[200]["addresses_unmapped"]),
                         (2, 1, 0, 1))
        self.assertEqual(by_pid[PID]["comm"], "made")


class Deferred(Made):
    """Kernels from 6.19 may walk the user part of a stack later, and write it in a record with the
    samples' cookie."""

    RECORD, MARKER, COOKIE = 22, 2**64 - 640, 0x300000001

    def setUp(self) -> None:
        super().setUp()
        # defer_callchain, defer_output
        self.perf.attrs[0].flags |= 3 << 38

    def add_deferred_sample(self, time: int = 100) -> None:
        sample = self.add_sample(kernel=(2**64 - 2**20,), time=time)
        sample.chain += [self.MARKER, self.COOKIE]

    def add_deferred_chain(self, *user: int, time: int = 200, count: int = 0) -> None:
        payload = struct.pack(f"<QQ{len(user)}Q", self.COOKIE, count or len(user), *user)
        self.add_records(self.perf.side(self.RECORD, payload, time, rd.USER, PID, PID))

    def test_joined_deferred_chains(self) -> None:
        """One record completes each sample with the same cookie, before or after it in the file."""
        self.add_deferred_sample(time=100)
        self.add_deferred_sample(time=110)
        self.add_deferred_chain(ANON, ANON + 8, LIBC, time=300)
        self.expect_figures(samples=2, user_stacks=2, addresses=6, addresses_unmapped=0, rootless=0)

    def test_judged_at_the_time_of_the_sample(self) -> None:
        late = ANON + 0x100000
        self.add_deferred_sample(time=100)
        self.add_records(self.perf.map(PID, late, 0x1000, "//anon", 150))
        self.add_deferred_chain(late, LIBC, time=200)
        self.expect_figures(addresses=2, addresses_unmapped=1)

    def test_longer_than_its_record(self) -> None:
        self.add_deferred_sample()
        self.add_deferred_chain(ANON, LIBC, count=2**61)
        result = self.run_judge()
        self.assertEqual(result.returncode, 99)
        self.assertIn("expected a deferred callchain that fits into its record", result.stderr)

    def test_deferred_chain_not_requested(self) -> None:
        """The marker of a deferred callchain and the record with the callchain are ignored unless
        the attr sets defer_callchain."""
        self.perf.attrs[0].flags &= ~(3 << 38)
        self.add_deferred_sample()
        self.add_deferred_chain(ANON, LIBC)
        self.expect_figures(samples=1, user_stacks=0)


class Order(Made):
    """A mapping record applies to samples with later times, wherever it is in the file."""

    def test_before_its_mapping(self) -> None:
        """The order of the file is not that of time."""
        late, records = ANON + 0x100000, list(self.perf.records)
        for first, second in ((100, 200), (200, 100)):
            self.perf.records = list(records)
            self.add_sample(late, LIBC, time=first)
            self.add_records(self.perf.map(PID, late, 0x1000, "//anon", 150))
            self.add_sample(late, LIBC, time=second)
            self.expect_figures(addresses=4, addresses_unmapped=1)

    def test_file_order_across_rounds(self) -> None:
        """A round may contain records newer than some of the next round, but never newer than those
        of later rounds."""
        late = ANON + 0x100000
        finished = rd.Record(rd.FINISHED_ROUND, 0, b"")
        self.add_sample(late, LIBC, time=200)
        self.add_records(finished, self.perf.map(PID, late, 0x1000, "//anon", 150), finished)
        self.expect_figures(addresses=2, addresses_unmapped=0)

    def test_perf_names_by_mappings_before_an_exec(self) -> None:
        """perf keeps mappings from before an exec; a newer mapping hides an older one. Injected
        code is named, too."""
        injected = ANON + 0x10000
        self.add_records(self.perf.map(PID, ANON, 0x2000, "/bin/sh", 20),
                         self.perf.map(PID, injected, 0x1000, "/tmp/jitted-100-1.so", 20),
                         self.perf.comm(PID, PID, "other", 150, True),
                         self.perf.comm(PID, PID, "third", 160, True),
                         self.perf.map(PID, ANON + 0x1000, 0x1000, "/bin/cat", 170))
        for address in (ANON, ANON + 0x1000, ANON + 0x8000, injected):
            self.add_sample(address, time=200)
        found = self.judge()
        self.assertEqual((found["addresses"], found["addresses_unmapped"]), (4, 2))
        self.assertEqual(found["names"]["why"]["no-mapping"], 1)
        if not shutil.which("perf"):
            return
        output = process.run(["perf", "script", "-i", self.path, "-F", "ip,dso"],
                             timeout=240).stdout
        for name, count in (("/bin/sh)", 1), ("/bin/cat)", 1), ("jitted-100-1.so)", 1),
                            ("([unknown])", 1)):
            self.assertEqual(output.count(name), count, output)

    def test_fork_inherits(self) -> None:
        self.add_records(self.perf.fork(300, PID, 50))
        self.add_records(self.perf.map(PID, ANON + 0x100000, 0x1000, "//anon", 60))
        self.add_sample(ANON, MAIN, pid=300)
        self.add_sample(ANON + 0x100000, MAIN, pid=300)
        self.add_sample(ANON, pid=300, time=20)
        self.expect_figures(addresses=5, addresses_unmapped=2, rootless=1)


class Refusals(Made):
    """A refused file gives status 99, no figures, and a message with file, offset and
    expectation."""

    def test_chain_longer_than_its_record(self) -> None:
        self.add_sample(ANON, *[LIBC] * 4)
        raw = bytearray(self.perf.pack())
        offset = raw.rindex(struct.pack("<QQ", 6, rd.CONTEXT_USER))
        struct.pack_into("<Q", raw, offset, 2**61 + 6)
        start = rd.HEADER + len(self.perf.attrs[0].raw) + 16 + sum(
            len(record.pack()) for record in self.perf.records[:-1])
        result = self.run_judge("--json", raw=raw)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (99, "", 1))
        self.assertIn(self.path, result.stderr)
        self.assertRegex(result.stderr, rf"offset ({start}|0x{start:x}|{offset}|0x{offset:x})\b")

    def test_missing(self) -> None:
        result = process.run([JITPROOF, "judge", self.path + ".none"], timeout=240)
        self.assertEqual(result.returncode, 99)
        self.assertIn("No such file", result.stderr)


class Stacks(Made):
    """--stacks writes a line for each stack dump."""

    DUMPED = KIND | rd.REGS_USER | rd.STACK_USER
    SP, CODE = 0x7ffd00000000, ANON + 0x100

    def setUp(self) -> None:
        super().setUp()
        mask = 1 << rd.X86_BP | 1 << rd.X86_SP | 1 << rd.X86_IP
        self.attr = rd.Attr.make(self.DUMPED, [9], mask, 128)
        self.perf.attrs.append(self.attr)
        self.out = self.path + ".stacks"

    def add_dump(self, *words: int, size: int | None = None, time: int = 100) -> None:
        """Adds a sample with a dump: two words at the stack pointer, and @words at the frame
        pointer."""
        sample = rd.Sample.make(self.attr, pid=PID, tid=PID + 1, chain=[rd.CONTEXT_USER, ANON, 1])
        sample.ip, sample.time, sample.id = self.CODE, time, 9
        sample.abi = 2
        sample.regs = {rd.X86_BP: self.SP + 16, rd.X86_SP: self.SP, rd.X86_IP: self.CODE}
        sample.stack = bytearray(struct.pack("<%dQ" % (2 + len(words)), 7, 8, *words)[:size])
        sample.asked = 128
        self.add_records(sample)

    def judge_stacks(self, *options: str) -> list[dict[str, Any]]:
        result = self.run_judge(*options, "--stacks", self.out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(self.out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_json_line_of_a_stack(self) -> None:
        self.add_sample(ANON)  # a sample without a dump gives no line
        self.add_dump(self.SP + 32, ANON + 0x20, 0, 0)
        self.assertEqual(self.judge_stacks(), [{
            "pid": PID, "tid": PID + 1, "time": 100, "ip": hex(self.CODE), "dump": 48,
            "asked": 128, "chain": [hex(rd.CONTEXT_USER), hex(ANON), "0x1"],
            "frames": [hex(self.CODE), hex(ANON + 0x20)], "stop": "root",
            "where": hex(ANON + 0x1f)}])

    def test_where_walks_stop(self) -> None:
        self.add_dump(self.SP + 32, 0xdead0001, 0, 0)
        self.add_dump(self.SP + 32, ANON + 0x20, size=24, time=101)
        self.add_dump(self.SP, ANON + 0x20, 0, 0, time=102)
        self.assertEqual([(stack["stop"], len(stack["frames"]),
                           stack["where"]) for stack in self.judge_stacks()],
                         [("unmapped", 2, "0xdead0000"), ("dump-short", 1, hex(self.CODE)),
                          ("bad-frame", 2, hex(ANON + 0x1f))])

    def test_frame_pointers_through_files(self) -> None:
        """Without the program's ELF file the walk continues only with --frame-pointers."""
        self.add_dump(self.SP + 32, MAIN + 0x20, self.SP + 48, MAIN + 0x40, 0, 0)
        self.assertEqual([(stack["stop"], len(stack["frames"])) for stack in self.judge_stacks()],
                         [("no-elf", 2)])
        self.assertEqual([(walk["stop"], len(walk["frames"])) for walk in
                          self.judge_stacks("--frame-pointers")], [("root", 3)])

    def test_methods(self) -> None:
        """dump_fp needs no file, and stores a final 0 as the kernel does; dump_cfi needs it."""
        self.add_dump(self.SP + 32, MAIN + 0x20, self.SP + 48, MAIN + 0x40, 0, 0)
        for method, stop in (("dump", ("no-elf", 2)), ("dump_fp", ("root", 4)),
                             ("dump_cfi", ("no-cfi", 1))):
            with self.subTest(method):
                self.assertEqual([(stack["stop"], len(stack["frames"])) for stack in
                                  self.judge_stacks("--method", method)], [stop])
        result = self.run_judge("--method=chain")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--method=chain: expected dump", result.stderr)

    def test_cannot_be_written(self) -> None:
        self.add_dump(self.SP + 32, ANON + 0x20, 0, 0)
        out = self.place("stacks")
        for place, reason, before in (
                ("/dev/full", "expected a regular file", ()),
                (self.path + "/no", "Not a dir", ()),
                (out, "cannot be written", ("prlimit", "--fsize=20"))):
            result = self.run_judge("--stacks", place, before=before)
            self.assertEqual((result.returncode, result.stdout), (99, ""))
            self.assertIn(place, result.stderr)
            self.assertIn(reason, result.stderr)
        self.assertEqual([name for name in os.listdir(self.home) if name.startswith("stacks")], [])


class FailIf(Made):
    def test_counts_and_shares(self) -> None:
        self.add_sample(ANON)
        self.add_sample(ANON, LIBC)
        self.add_sample(ANON, LIBC)
        self.add_sample(ANON, LIBC)
        for expression, status in (("single_frame>0", 1), ("single_frame>1", 0),
                                   ("single_frame>0.5", 1), ("single_frame>24.9%", 1),
                                   ("single_frame>25%", 0), ("rootless>0", 1),
                                   ("addresses_unmapped>0", 0), ("lost_samples>0", 0)):
            with self.subTest(expression):
                result = self.run_judge("--fail-if", expression)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertEqual(bool(result.stderr), bool(status))

    def test_bad_expressions(self) -> None:
        for expression in ("single_frame", "nothing>1", "single_frame>", "single_frame>x",
                           "single_frame<1", ">1", "single_frame>1%%", "single_frame>nan"):
            with self.subTest(expression):
                result = self.run_judge("--fail-if", expression)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("usage:", result.stderr)
