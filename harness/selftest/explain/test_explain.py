# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof explain` on perf.data files made by hand: what the labelled captures
(test_labelled.py) do not show of broken stacks."""

import json
import os
import struct
import subprocess
import time
from typing import Any

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import HERE, JITPROOF, Folder

KIND = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.CALLCHAIN
LIBC, MAIN, ANON, LIBRARY = 0x7f0000000000, 0x400000, 0x7f1000000000, 0x7f2000000000
GARBAGE, ROOT = 0x5f5f5f5f5f5f, LIBC + 0x2724a
PID, START = 100, 1000
STACKS = {"older-code", "attach-window", "exec-while-disabled", "jit-no-frame-pointer",
          "library-no-frame-pointer", "dump-too-small", "empty-dump", "depth-limit",
          "no-cfi-for-jit", "interpreter", "lost-records", "lost-samples", "throttled",
          "kernel-only"}
TRACEPOINT, BREAKPOINT = 2, 5
INHERIT, MMAP_FLAG = 1 << 1, 1 << 8


class Recording(Folder):
    """A capture of a launched process, with records of its program and libc."""

    attached = False

    def setUp(self) -> None:
        super().setUp()
        self.path = self.place("perf.data")
        self.perf = rd.PerfData([self.make_attr()], [], {6: rd.pack_string("x86_64")})
        self.time = START
        if not self.attached:
            self.add_records(self.perf.comm(PID, PID, "made", 5, executed=True))
            self.add_map(MAIN, "/usr/bin/made", 6)
            self.add_map(LIBC, "/usr/lib/libc.so.6", 7, size=0x100000)

    def make_attr(self) -> rd.Attr:
        return rd.Attr.make(KIND, [7])

    def add_records(self, *records: Any) -> None:
        self.perf.records += records

    def add_map(self, start: int, name: str, time: int, size: int = 0x10000, **more: Any) -> None:
        self.add_records(self.perf.map(PID, start, size, name, time, **more))

    def build_library(self, source: str, *options: str, language: str = "assembler",
                      name: str = "libmade.so") -> dict[str, int]:
        """Builds and maps a library; returns the addresses of its symbols."""
        self.library = self.place(name)
        process.compile_c(source, self.library, "-shared", "-nostdlib", "-fPIC", *options,
                          language=language)
        self.add_map(LIBRARY, self.library, 8, size=0x1000, pgoff=0x1000,
                     ino=os.stat(self.library).st_ino)
        return {symbol: LIBRARY + at - 0x1000
                for symbol, at in process.read_symbols(self.library).items()}

    def build_function(self, *options: str, name: str = "libmade.so") -> int:
        """Builds and maps a library in C; returns the address of its function, without frame."""
        return self.build_library("long made(long n) { return n + 1; }", "-fomit-frame-pointer",
                                  *options, language="c", name=name)["made"]

    def add_synthesized(self, start: int, name: str, size: int = 0x10000) -> None:
        """Adds a mapping record as perf synthesizes it: without time and event."""
        record = self.perf.map(PID, start, size, name, 0)
        record.body[-8:] = bytes(8)
        self.add_records(record)

    def add_samples(self, *user: int, count: int = 1, pid: int = PID,
                    kernel: tuple[int, ...] = ()) -> None:
        for _ in range(count):
            self.add_records(rd.Sample.make_stack(self.perf.attrs[0], pid, self.time, user, kernel))
            self.time += 10

    def run_explain(self, *options: str) -> subprocess.CompletedProcess[str]:
        self.perf.save(self.path)
        return process.run([JITPROOF, "explain", *options, self.path], timeout=240)

    def run_json(self) -> dict[str, Any]:
        result = self.run_explain("--json")
        found = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0 if found["healthy"] else 1, result.stderr)
        self.assertEqual(found["healthy"], not found["causes"])
        shares = [cause["share"] for cause in found["causes"]]
        self.assertTrue(all(0.02 <= share <= 1 for share in shares), shares)
        for cause in found["causes"]:
            self.assertEqual(len(cause["evidence"]), 3, cause["evidence"])
            self.assertTrue(all(cause["evidence"]) and cause["remedy"], cause)
        return found

    def find_causes(self) -> dict[str, Any]:
        """Returns the causes of broken stacks by id."""
        return {cause["id"]: cause for cause in self.run_json()["causes"]
                if cause["id"] in STACKS}

    def expect_cause(self, wanted: str, share: float | None = None) -> dict[str, Any]:
        found = self.find_causes()
        self.assertEqual(list(found), [wanted])
        if share is not None:
            self.assertAlmostEqual(found[wanted]["share"], share, places=3)
        return found[wanted]


class Walks(Recording):
    """Tests callchains of a process whose mappings are all known."""

    def setUp(self) -> None:
        super().setUp()
        self.add_map(ANON, "//anon", 8)
        self.add_map(LIBRARY, "/nowhere/liblost.so", 9)

    def add_whole_stacks(self, count: int) -> None:
        self.add_samples(ANON + 8, ANON + 0x100, MAIN + 4, ROOT, count=count)

    def test_healthy(self) -> None:
        self.add_whole_stacks(300)
        self.assertEqual(self.find_causes(), {})

    def test_file_of_a_failed_inject(self) -> None:
        """perf inject writes the contents of the header at last; until then, files of 6.1 begin
        with its size, later ones with zeros."""
        begun = b"PERFILE2" + struct.pack("<Q", 104)
        for head, offset in ((begun + bytes(88 + 4096), 16), (bytes(4096), 0), (begun, 16)):
            files.write_bytes(self.path, head)
            result = process.run([JITPROOF, "explain", "--json", self.path], timeout=240)
            found = json.loads(result.stdout)["causes"]
            self.assertEqual(([one["id"] for one in found], result.returncode),
                             (["failed-inject"], 1))
            judged = process.run([JITPROOF, "judge", self.path], timeout=240)
            self.assertRegex(judged.stderr, "offset %d: expected .* found none" % offset)

    def test_killed_recorder(self) -> None:
        """perf writes the size of the data at last."""
        self.perf.save(self.path)
        raw = files.read_bytes(self.path)
        end = sum(struct.unpack_from("<QQ", raw, 40))
        files.write_bytes(self.path, raw[:48] + bytes(8) + raw[56:end])
        result = process.run([JITPROOF, "explain", "--json", "--partial", self.path], timeout=240)
        found, = json.loads(result.stdout)["causes"]
        self.assertEqual((found["id"], len(found["evidence"])), ("no-samples", 3))
        self.assertIn("SIGKILL", found["remedy"])

    def test_block_in_two_records(self) -> None:
        """perf ends at a compressed record that holds the head of a zstd block only."""
        self.add_whole_stacks(100)
        whole = self.perf.records
        self.perf.records = []
        self.add_whole_stacks(100)
        packed = b"".join(record.pack() for record in self.perf.records)
        head = bytes.fromhex("28b52ffd 0038") + struct.pack("<I", len(packed) << 3 | 1)[:3]
        self.perf.records = [*whole, rd.Record(81, 0, head), rd.Record(81, 0, packed)]
        self.assertIn(("unreadable-by-perf", 100),
                      [(cause["id"], cause["samples"]) for cause in self.run_json()["causes"]])

    def test_garbage_above_the_root(self) -> None:
        """A coroutine begins in libc's __start_context() with any frame pointer. Up to two
        addresses above the root may come from a frame of main(); three are garbage."""
        for count, causes in ((2, []), (3, ["library-no-frame-pointer"])):
            self.perf.drop_samples()
            for number in range(100):
                self.add_samples(MAIN + 4, ROOT, *(GARBAGE + (number << 12 + at)
                                                   for at in range(count)))
            with self.subTest(count):
                self.assertEqual(list(self.find_causes()), causes)

    def test_garbage_above_a_hand_written_entry(self) -> None:
        """Code without call frame information that switches stacks."""
        self.add_samples(MAIN + 8, MAIN + 4, count=100)
        self.assertEqual(self.find_causes(), {})
        self.perf.drop_samples()
        for number in range(100):
            self.add_samples(MAIN + 8, MAIN + 4, GARBAGE + (number << 12))
        found = self.expect_cause("library-no-frame-pointer", 1)
        self.assertEqual(found["file"], "/usr/bin/made")
        self.assertIn("perf record --call-graph dwarf", found["remedy"])
        self.assertIn("clear the frame pointer", found["remedy"])

    def test_jit_that_starts_threads(self) -> None:
        """Threads may start in emitted code, as in Erlang: their chains end at one address
        there."""
        for offset in range(200):
            self.add_samples(ANON + offset, ANON + 0x100, ANON + 0x200, ANON + 0x300)
        self.assertEqual(self.find_causes(), {})

    def test_code_far_from_code(self) -> None:
        """No JIT's memory spans 2^40 bytes, so addresses so far apart belong to another program."""
        nowhere = 0x500000000000
        for spread, cause in ((2**40 - 1, "attach-window"), (2**40, "exec-while-disabled")):
            self.perf.drop_samples()
            self.add_samples(nowhere, nowhere + 64, nowhere + spread, count=100)
            self.assertIn(cause, self.find_causes(), spread)

    def test_depth_of_a_larger_chain(self) -> None:
        """The remedy suggests a larger max_stack, but not more than 8,100 addresses, since a perf
        record has no more room."""
        for depth, remedy in ((1024, "max_stack=8100 "), (8100, "at most 64 kB")):
            self.perf.drop_samples()
            self.add_samples(*(ANON + 8 * number for number in range(depth)), count=100)
            self.add_whole_stacks(100)
            with self.subTest(depth):
                self.assertIn(remedy, self.expect_cause("depth-limit", 0.5)["remedy"])

    def test_circular_chain(self) -> None:
        """Without the start of a recursion, the chain may come from a frame pointer that points to
        itself."""
        self.add_samples(ANON, *([ANON + 8] * 126), count=100)
        self.add_whole_stacks(100)
        found = self.find_causes()
        self.assertEqual([(cause, found[cause]["share"]) for cause in found],
                         [("jit-no-frame-pointer", 0.5), ("depth-limit", 0.5)])
        self.assertIn("shows which of these", found["jit-no-frame-pointer"]["evidence"][2])

    def test_library_beside_musl(self) -> None:
        """musl's libc is its ld.so."""
        self.perf.maps()[1].name = "/lib/ld-musl-x86_64.so.1"
        self.add_map(LIBRARY, "/usr/lib/libwork.so", 9)
        self.add_samples(LIBRARY + 8, LIBRARY + 0x40, count=100)
        self.expect_cause("library-no-frame-pointer", 1)

    def test_library_far_above_emitted_code(self) -> None:
        """The chain goes on through frames that emitted code has not broken."""
        self.add_map(LIBRARY, "/usr/lib/libwork.so", 9)
        callers = [LIBRARY + 0x40 * number for number in range(1, 7)]
        self.add_samples(ANON + 8, *callers, count=100)
        self.expect_cause("library-no-frame-pointer", 1)
        self.add_samples(ANON + 8, *callers[:2], count=100)
        self.assertEqual([(cause, found["share"]) for cause, found in self.find_causes().items()],
                         [("library-no-frame-pointer", 1), ("jit-no-frame-pointer", 0.5)])

    def test_libc_in_small_amounts_is_usual(self) -> None:
        self.add_samples(LIBC + 8, count=14)
        self.add_whole_stacks(286)
        self.assertEqual(self.find_causes(), {})
        self.add_samples(LIBC + 8, count=16)
        self.expect_cause("library-no-frame-pointer", 0.095)

    def test_libc_at_the_start_is_usual(self) -> None:
        """A short recording of a JIT shows little else than its start."""
        self.add_samples(LIBC + 8, count=10)
        self.add_samples(MAIN + 8, ROOT, count=30)
        self.add_whole_stacks(40)
        self.assertEqual(self.find_causes(), {})
        self.add_samples(LIBC + 8, count=8)
        self.expect_cause("library-no-frame-pointer", 18 / 88)
        self.add_samples(MAIN + 8, ROOT, count=200)
        self.assertEqual(self.find_causes(), {})

    def test_waiting_threads_of_a_jit(self) -> None:
        """Threads of a garbage collector wait for each other by libc."""
        self.add_whole_stacks(300)
        self.add_samples(LIBC + 8, count=30, kernel=(2**64 - 2**31,))
        self.assertEqual(self.find_causes(), {})
        self.add_samples(LIBC + 8, count=5, kernel=(2**64 - 2**31,))
        self.expect_cause("library-no-frame-pointer", 35 / 335)

    def test_constructors_of_a_jit(self) -> None:
        """Chains of constructors end in __libc_csu_init(), which is in the program."""
        self.add_samples(MAIN + 8, count=10)
        self.add_whole_stacks(40)
        self.expect_cause("library-no-frame-pointer", 0.2)
        self.add_whole_stacks(40)
        self.assertEqual(self.find_causes(), {})
        self.add_samples(MAIN + 8, count=3)
        self.expect_cause("library-no-frame-pointer", 13 / 93)

    def test_interpreter_in_memory(self) -> None:
        self.add_map(LIBRARY, "/usr/bin/python3.11", 9)
        self.add_map(LIBRARY + 0x4000, "//anon", 10, size=0x4000)
        self.add_samples(LIBRARY + 0x4008, MAIN, ROOT, count=100)
        self.assertEqual(self.expect_cause("interpreter", 1)["file"], "/usr/bin/python3.11")

    def test_interpreters_by_name(self) -> None:
        for number, name in enumerate(("bash", "libswipl.so.9", "ocamlrun", "libguile-3.0.so.1",
                                       "libneko.so.2", "php-fpm8.2", "jvm/zero/libjvm.so")):
            at = LIBRARY + (number + 1 << 24)
            self.perf.drop_samples()
            self.add_map(at, "/usr/lib/" + name, 10)
            self.add_samples(at, MAIN, ROOT, count=100)
            self.assertEqual(self.expect_cause("interpreter", 1)["file"], "/usr/lib/" + name)

    def test_names_that_begin_like_an_interpreter_s(self) -> None:
        for number, name in enumerate(("perlin", "ruby_bench", "php-stan", "luatex")):
            at = LIBRARY + (number + 1 << 24)
            self.add_map(at, "/usr/bin/" + name, 10)
            self.add_samples(at, MAIN, ROOT, count=100)
        self.assertEqual(self.find_causes(), {})

    def test_interpreter_with_emitted_code(self) -> None:
        self.add_map(LIBRARY + (1 << 24), "/usr/lib/libpython3.13.so.1.0", 10)
        self.add_samples(LIBRARY + (1 << 24), ANON, MAIN, ROOT, count=100)
        self.assertEqual(self.find_causes(), {})

    def test_interpreter_that_is_emitted(self) -> None:
        """java -Xint: the perf map gives all emitted code one name."""
        pid = os.getpid()  # this process's pid, so that no other program writes its map
        name = f"/tmp/perf-{pid}.map"
        files.write(name, f"{ANON:x} 1000 Interpreter\n{ANON + 0x1000:x} 1000 void Hot.main()\n")
        self.addCleanup(os.unlink, name)
        self.add_records(self.perf.fork(pid, PID, START),
                         self.perf.map(pid, ANON, 0x10000, "//anon", START))
        self.add_samples(ANON + 8, ANON + 16, MAIN, ROOT, count=100, pid=pid)
        self.expect_cause("interpreter", 1)
        self.add_samples(ANON + 0x1000, ANON + 16, MAIN, ROOT, count=100, pid=pid)
        self.assertEqual(self.find_causes(), {})

    def test_map_that_is_a_link(self) -> None:
        """perf follows it, explain does not."""
        pid = os.getpid()
        name, real = f"/tmp/perf-{pid}.map", f"/tmp/real-{pid}.map"
        files.write(real, "")
        os.symlink(real, name)
        self.addCleanup(os.unlink, name)
        self.add_records(self.perf.fork(pid, PID, START),
                         self.perf.map(pid, ANON, 0x10000, "//anon", START))
        self.add_samples(ANON + 8, ANON + 16, MAIN, ROOT, count=100, pid=pid)
        self.assertIn("map-wrong-owner", [one["id"] for one in self.run_json()["notes"]])
        os.unlink(real)
        self.assertIn("map-wrong-owner", [one["id"] for one in self.run_json()["causes"]])
        if os.getuid() == 0:  # explain reads no hard link to what only root may read
            os.unlink(name)
            files.write(name, "")
            os.chmod(name, 0o600)
            os.link(name, real)
            self.assertIn("map-wrong-owner", [one["id"] for one in self.run_json()["notes"]])
            os.unlink(real)

    def test_several_processes_are_one_cause(self) -> None:
        for pid in range(200, 260):
            self.add_records(self.perf.fork(pid, PID, START))
            self.add_samples(ANON + 8, count=3, pid=pid)
        found = self.expect_cause("jit-no-frame-pointer", 1)
        self.assertEqual(len(found["places"]), 60)


class Libraries(Recording):
    """Causes that need a file's call frame information."""

    def test_unknown_caller(self) -> None:
        """A function with a frame has a real caller: one constant address is no garbage."""
        names = self.build_library(
            "long leaf(long n) { long x = 1; while (n--) x ^= x << 7 ^ n; return x; }\n"
            "long other(long (*f)(long), long n)\n"
            "{ volatile long a[4] = {n}; return f(a[0]) + f(a[1]); }", "-O1",
            "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", language="c")
        self.add_samples(names["leaf"] + 9, names["other"] + 20, ANON, count=100)
        self.expect_cause("attach-window", 1)

    def test_frame_pointer_without_a_record(self) -> None:
        """libffi keeps its caller's frame pointer at another place than the kernel expects."""
        names = self.build_library(
            "made: .cfi_startproc\n.cfi_def_cfa 6, 32\n.cfi_offset 6, -16\n"
            ".fill 64, 1, 0x90\n.cfi_endproc\n")
        self.add_samples(MAIN, names["made"] + 32, ANON, count=100)
        self.expect_cause("library-no-frame-pointer", 1)

    def call_site(self, body: str) -> int:
        """Returns the return address of a call of a function with @body."""
        self.add_map(ANON, "//anon", 8)
        self.symbols = self.build_library(
            "calls: .cfi_startproc\n" + body + " .balign 64\n .cfi_endproc\n"
            "outer: .cfi_startproc\n call calls\nsite: ret\n .cfi_endproc\n")
        return self.symbols["site"]

    FRAME = ("push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset 6, -16\n mov %rsp, %rbp\n"
             ".cfi_def_cfa_register 6\n call *%rax\n pop %rbp\n .cfi_def_cfa 7, 8\n"
             "lea 1(%rax), %rax\n")

    def test_probe_of_an_entry(self) -> None:
        """A probe or breakpoint where a function has no frame, as at its entry, takes samples
        without the caller, unless the kernel adds it: does the code before the next address call
        this function?"""
        site = self.call_site(self.FRAME + "ret\n")
        self.perf.attrs = [rd.Attr.make(KIND, [7], kind=TRACEPOINT)]
        self.add_samples(self.symbols["calls"], site, MAIN, ROOT, count=100)
        self.assertEqual(self.find_causes(), {})
        self.add_samples(self.symbols["outer"], site, MAIN, ROOT, count=100)
        self.expect_cause("library-no-frame-pointer", 0.5)
        self.perf.attrs = [rd.Attr.make(KIND, [7], kind=BREAKPOINT)]  # of data, without a bp_type
        self.assertEqual(self.find_causes(), {})

    def test_split_stack(self) -> None:
        """A function of -fsplit-stack calls before it has a frame, and the called function calls
        the rest of it. The chain lacks the caller of main() alone."""
        self.library = self.place("made")
        process.compile_c(
            "made: .cfi_startproc\n call more\nsplit: ret\n" + self.FRAME + "ret\n .cfi_endproc\n"
            "more: .cfi_startproc\n" + self.FRAME + "ret\n .cfi_endproc\n"
            "last: .cfi_startproc\n .cfi_def_cfa 6, 16\n .cfi_offset 6, -16\n call more\n"
            ".cfi_endproc\nnext: .cfi_startproc\n" + self.FRAME + "ret\n .cfi_endproc\n",
            self.library, "-shared", "-nostdlib", language="assembler")
        program = self.perf.maps()[0]
        program.name, program.ino = self.library, os.stat(self.library).st_ino
        names = {name: MAIN + at for name, at in process.read_symbols(self.library).items()}
        self.add_samples(names["split"] + 8, names["more"] + 6, names["split"], count=100)
        self.assertEqual(self.find_causes(), {})
        for other in names["split"] + 8, names["next"]:
            self.perf.drop_samples()
            self.add_samples(names["split"] + 8, names["more"] + 6, other, count=100)
            self.expect_cause("library-no-frame-pointer", 1)

    def test_assembly_without_frame(self) -> None:
        """Assembly without .cfi directives skips its caller, if that has a frame."""
        site = self.call_site(self.FRAME + "ret\n .cfi_endproc\nbare: .skip 64, 0x90\n"
                              ".cfi_startproc\n")
        self.add_samples(self.symbols["bare"] + 40, site, MAIN, ROOT, count=100)
        self.assertIn(".cfi", self.expect_cause("library-no-frame-pointer", 1)["remedy"])


class HotSpot(Recording):
    """HotSpot calls emitted code only through a stub with a frame: it calls main(), run() and few
    others."""

    HOT, STARTED, STUB = ANON + 0x2000, ANON + 0x4000, ANON + 0x100

    def setUp(self) -> None:
        super().setUp()
        self.pid = os.getpid()  # this process's pid, so that no other program writes its map
        self.add_records(self.perf.comm(self.pid, self.pid, "java", 7, executed=True),
                         *(self.perf.map(self.pid, start, 0x10000, name, 8) for start, name in (
                             (MAIN, "/usr/bin/java"), (ANON, "//anon"),
                             (LIBRARY, "/nowhere/libjvm.so"), (ROOT, "/usr/lib/libc.so.6"))))

    def add_stacks(self, *emitted: int, count: int = 100) -> None:
        self.add_samples(*(addr + 8 for addr in emitted), LIBRARY + 8, ROOT, count=count,
                         pid=self.pid)

    def test_chains_that_look_whole(self) -> None:
        name = f"/tmp/perf-{self.pid}.map"
        files.write(name, f"{self.HOT:x} 40 int A.hot()\n{self.STARTED:x} 40 void A.main()\n")
        self.addCleanup(os.unlink, name)
        self.add_stacks(self.HOT, self.STARTED, self.STUB)
        self.add_stacks(self.STARTED, self.STUB)
        self.assertEqual(self.find_causes(), {})
        self.perf.drop_samples()
        self.add_stacks(self.STARTED, self.STUB, count=50)
        self.add_stacks(self.HOT, self.STUB)
        self.expect_cause("jit-no-frame-pointer", 100 / 150)

    def test_chains_without_the_stub(self) -> None:
        self.add_stacks(self.HOT, self.STUB)
        self.assertEqual(self.find_causes(), {})
        self.add_stacks(self.HOT, count=20)
        self.expect_cause("jit-no-frame-pointer", 1)


class Node(Recording):
    """The interpreter of node, a function in node's own file: its presence in stacks shows that
    functions of the program were interpreted."""

    def setUp(self) -> None:
        super().setUp()
        self.add_records(self.perf.comm(PID, PID, "node", 8, executed=True))
        places = self.build_library(
            "void Builtins_InterpreterEntryTrampoline(void) {} void other(void) {}",
            "-falign-functions=64", language="c", name="node")
        self.add_map(LIBC, "/usr/lib/libc.so.6", 9, size=0x100000)
        self.entry, self.other = (places[name] + 4 for name in
                                  ("Builtins_InterpreterEntryTrampoline", "other"))

    def test_called_by_it(self) -> None:
        self.add_samples(self.other, self.entry, self.other, ROOT, count=30)
        self.add_samples(self.other, ROOT, count=70)
        self.expect_cause("interpreter", 0.3)

    def test_a_start(self) -> None:
        self.add_samples(self.other, self.entry, self.other, ROOT, count=10)
        self.add_samples(self.other, ROOT, count=90)
        self.assertEqual(self.find_causes(), {})


class Records(Recording):
    """Samples in code without a mapping record."""

    attached = True

    def add_known_files(self) -> None:
        self.add_records(self.perf.comm(PID, PID, "made", 0))
        self.add_synthesized(MAIN, "/usr/bin/made")
        self.add_synthesized(LIBC, "/usr/lib/libc.so.6", 0x100000)

    def test_attach_window(self) -> None:
        self.add_known_files()
        self.add_synthesized(ANON, "//anon")
        self.add_samples(ANON + 8, MAIN, ROOT, count=100)
        self.add_samples(ANON + (1 << 24), MAIN, ROOT, count=100)
        self.expect_cause("attach-window", 0.5)

    def test_exec_on_a_cpu_that_is_not_recorded(self) -> None:
        """perf record -C opens events on a part of the CPUs."""
        self.perf.attrs[0].sample_type |= rd.CPU
        self.perf.attrs[0].flags |= INHERIT
        self.perf.features[7] = struct.pack("<II", 4, 4)
        self.add_known_files()
        for offset in range(100):
            self.add_samples(0x560000000000 + offset, 0x7f5000000000 + offset)
        self.assertIn("1 of 4 CPUs", self.expect_cause("exec-while-disabled", 1)["evidence"][2])

    def test_exec_after_samples(self) -> None:
        """The mapped files have samples at first and none later, so unknown callers of emitted code
        belong to a new program and are not garbage."""
        self.add_known_files()
        self.add_samples(MAIN + 8, ROOT, count=200)
        self.add_map(ANON, "//anon", self.time)
        for offset in range(100):
            self.add_samples(0x560000000000 + offset, 0x560000001000)
            self.add_samples(ANON + offset, 0x560000000000 + offset)
        self.expect_cause("exec-while-disabled", 0.5)

    def test_samples_during_exec(self) -> None:
        """During an exec the registers belong to the old program, whose memory is already
        unmapped."""
        self.add_known_files()
        for pid in range(200, 240):
            self.add_records(self.perf.comm(pid, pid, "made", self.time, executed=True))
            self.add_samples(ANON + 8, kernel=(0xffffffff81000000,), count=3, pid=pid)
            self.add_records(self.perf.map(pid, MAIN, 0x10000, "/usr/bin/made", self.time),
                             self.perf.map(pid, LIBC, 0x100000, "/usr/lib/libc.so.6", self.time))
            self.add_samples(MAIN + 8, ROOT, count=3, pid=pid)
        self.assertEqual(self.find_causes(), {})

    def test_exec_of_an_unknown_process(self) -> None:
        for pid in (200, 201):
            self.add_records(self.perf.map(pid, ANON, 0x10000, "//anon", 900))
            self.add_samples(ANON + 8, 0x560000000000, GARBAGE, count=50, pid=pid)
            self.add_samples(LIBC, count=50, pid=pid)
        self.expect_cause("exec-while-disabled", 1)

    def test_exec_without_mapping_records(self) -> None:
        """A recorder that asks for COMM records alone."""
        self.add_records(self.perf.comm(PID, PID, "made", self.time, executed=True))
        self.add_samples(MAIN + 8, ROOT, count=100)
        self.assertIn("no mapping", self.expect_cause("older-code", 1)["evidence"][2])


class Losses(Recording):
    def test_all_samples_are_lost(self) -> None:
        self.add_records(self.perf.side(rd.LOST_SAMPLES, struct.pack("<Q", 100), self.time))
        self.expect_cause("lost-samples", 1)
        self.assertIn("there are no samples, because the kernel lost samples (lost-samples)\n",
                      self.run_explain().stdout)

    def test_lost_records(self) -> None:
        """An event that also records mappings lost records; samples after that are in no
        mapping."""
        self.perf.attrs[0].flags |= MMAP_FLAG
        self.add_samples(MAIN, ROOT, count=100)
        self.add_records(self.perf.side(rd.LOST, struct.pack("<QQ", 7, 50), self.time))
        self.add_samples(ANON, MAIN, ROOT, count=100)
        self.expect_cause("lost-records", 0.5)

    def test_lost_records_among_samples(self) -> None:
        """Samples in no mapping show that a mapping record was lost, although the ring had only
        samples before the loss."""
        self.perf.attrs[0].flags |= MMAP_FLAG
        self.add_samples(MAIN, ROOT, count=150)
        self.add_records(self.perf.side(rd.LOST, struct.pack("<QQ", 7, 200), self.time))
        self.add_samples(ANON, MAIN, ROOT, count=50)
        found = self.find_causes()
        self.assertEqual([(name, round(one["share"], 2)) for name, one in found.items()],
                         [("lost-samples", 0.5), ("lost-records", 0.25)])

    def test_lost_records_of_a_storm(self) -> None:
        """A ring has samples and mapping records: lost records are assumed to have the same
        proportions as the received ones, which are mostly mapping records."""
        self.perf.attrs[0].flags |= MMAP_FLAG
        self.add_samples(MAIN, ROOT, count=100)
        for number in range(1000):
            self.add_map(ANON + number * 0x10000, "//anon", self.time)
        self.add_records(self.perf.side(rd.LOST, struct.pack("<QQ", 7, 1000), self.time))
        found = self.find_causes()
        self.assertEqual(set(found), {"lost-records", "lost-samples"})
        self.assertAlmostEqual(found["lost-records"]["share"], 0.475, places=2)


class Dumps(Recording):
    """Stack dumps without callchains."""

    BP, SP, IP = 6, 7, 8
    ASKED, STACK = 256, 0x7ffff0000000

    def make_attr(self) -> rd.Attr:
        kind = (KIND & ~rd.CALLCHAIN) | rd.REGS_USER | rd.STACK_USER
        return rd.Attr.make(kind, [7], regs=0xff0fff, stack=self.ASKED)

    def add_dumps(self, ip: int, size: int, words: dict[int, int] | None = None, count: int = 100,
                  bp: int = 0, misc: int = rd.USER) -> None:
        for _ in range(count):
            attr = self.perf.attrs[0]
            made = rd.Sample.make(attr, pid=PID, tid=PID, abi=2, asked=self.ASKED,
                                  stack=bytearray(size))
            made.regs = {number: 0 for number in attr.registers()}
            made.regs.update({self.BP: bp, self.SP: self.STACK, self.IP: ip})
            for at, word in (words or {}).items():
                struct.pack_into("<Q", made.stack, at, word)
            made.ip, made.time, made.id, made.misc = ip, self.time, 7, misc
            self.time += 10
            self.add_records(made)

    def test_injected_and_covered(self) -> None:
        """A later record of anonymous memory at the same addresses hides the names and the unwind
        information of the injected file."""
        function = self.build_function("-fasynchronous-unwind-tables",
                                       name="jitted-%d-1.so" % PID)
        self.add_map(LIBRARY, "//anon", 9, size=0x1000)
        self.add_dumps(function + 1, self.ASKED)
        found = self.run_json()
        self.assertEqual([(one["id"], one["samples"], one["consequence_of"])
                          for one in found["stacks"]],
                         [("jitdump-hidden", 100, None), ("no-cfi-for-jit", 100, "jitdump-hidden")])
        self.assertEqual([one["id"] for one in found["names"]], ["jitdump-hidden"])

    def test_injected_without_unwind_information(self) -> None:
        """The injected file exists without build id and call frame information."""
        path = self.place("jitted-%d-1.so" % PID)
        process.compile_c("int f(void) { return 1; }", path, "-shared", "-nostdlib",
                          "-fno-asynchronous-unwind-tables")
        process.run_or_raise(["strip", "-R", ".eh_frame", "-R", ".eh_frame_hdr", path])
        self.add_map(ANON, path, 8, ino=os.stat(path).st_ino)
        self.add_dumps(ANON + 8, self.ASKED)
        found = self.expect_cause("no-cfi-for-jit", 1)
        self.assertEqual(found["file"], path)
        self.assertIn("without unwind information", found["evidence"][1])
        os.unlink(path)
        self.assertEqual(self.run_json()["causes"][0]["id"], "missing-file")

    def test_text_in_memory(self) -> None:
        """The text in anonymous memory has no call frame information of a file."""
        self.add_map(MAIN + 0x4000, "//anon", 8, size=0x4000)
        self.add_dumps(MAIN + 0x4008, self.ASKED)
        self.assertEqual(self.expect_cause("no-cfi-for-jit", 1)["file"], "/usr/bin/made")

    def test_file_that_goes_on_by_frame_pointers(self) -> None:
        """perf follows frame pointers from a function without unwind information. The stack counts
        as whole if they lead to the thread's start."""
        names = self.build_library(".globl bare\nbare: nop\n ret\n .balign 64\n"
                                   ".globl whole\nwhole: .cfi_startproc\n ret\n .cfi_endproc\n")
        bare = names["bare"]
        self.add_dumps(bare, self.ASKED, {64: 0, 72: MAIN + 8}, bp=self.STACK + 64)
        self.assertEqual(self.find_causes(), {})
        self.perf.drop_samples()
        self.add_dumps(bare, self.ASKED, {64: 1, 72: MAIN + 8}, bp=self.STACK + 64)
        self.assertEqual(self.expect_cause("no-cfi-for-jit", 1)["file"], self.library)
        self.perf.drop_samples()
        self.add_map(ANON, "//anon", 9)
        self.add_dumps(names["whole"], self.ASKED, {0: bare + 1, 64: 0, 72: ANON + 8},
                       bp=self.STACK + 64)
        self.assertEqual(self.expect_cause("no-cfi-for-jit", 1)["file"], "//anon")

    def test_frame_pointer_that_skips_a_caller(self) -> None:
        """Assembly without unwind information has no frame: the frame pointer is its caller's."""
        names = self.build_library(
            ".globl bare\nbare: ret\n .balign 64\nframed: .cfi_startproc\n" +
            Libraries.FRAME + "ret\n .cfi_endproc\n .balign 64\n.globl outer\n"
            "outer: .cfi_startproc\n call framed\n nop\n .cfi_endproc\n")
        self.add_dumps(names["bare"], self.ASKED, {64: 0, 72: names["outer"] + 5},
                       bp=self.STACK + 64)
        self.assertNotIn("perf record -g", self.expect_cause("no-cfi-for-jit", 1)["remedy"])

    def test_stack_pointer_after_a_frame_pointer(self) -> None:
        """libunwind follows a frame pointer, but then has no stack pointer, by which most code
        without frame pointers finds its frame."""
        names = self.build_library(
            ".globl bare\nbare: nop\n ret\n .balign 64\nouter: .cfi_startproc\n .fill 64, 1, 0x90\n"
            ".cfi_endproc\n .balign 64\nframed: .cfi_startproc\n.cfi_def_cfa 6, 16\n"
            ".cfi_offset 6, -16\n .fill 64, 1, 0x90\n .cfi_endproc\n .balign 64\n"
            "user: .cfi_startproc\n.cfi_def_cfa 7, 16\n.cfi_offset 6, -16\n .fill 64, 1, 0x90\n"
            ".cfi_endproc\n")
        for version, caller, causes in (("7.3.4", "outer", []), ("6.12.1", "framed", []),
                                        ("6.12.1", "outer", ["no-cfi-for-jit"]),
                                        ("6.12.1", "user", ["no-cfi-for-jit"])):
            self.perf.drop_samples()
            self.perf.features[5] = rd.pack_string(version)
            self.add_dumps(names["bare"], self.ASKED,
                           {64: self.STACK + 96, 72: names[caller] + 32,
                            80: MAIN + 8 if caller == "outer" else 0, 88: MAIN + 8, 96: 0,
                            104: names["outer"] + 32, 112: MAIN + 8}, bp=self.STACK + 64)
            with self.subTest((version, caller)):
                self.assertEqual(list(self.find_causes()), causes)

    def test_text_far_from_its_file_offset(self) -> None:
        """lld links so. perf finds wrong call frame information: with libdw if the distance is
        another than the first segment's, before 6.0 if it is another than the index's."""
        self.library = self.place("libmade.so")
        source = ".globl made\nmade: .cfi_startproc\n ret\n .cfi_endproc\n"
        self.add_map(LIBRARY, self.library, 8, size=0x1000, pgoff=0x1000)
        self.add_dumps(LIBRARY, self.ASKED, {0: MAIN + 8})
        for section, wrong in ((".text=0x21000", "7.3.4"), (".eh_frame_hdr=0x41000", "5.10.1")):
            process.compile_c(source, self.library, "-shared", "-nostdlib",
                              "-Wl,--section-start=" + section, language="assembler")
            self.perf.maps()[2].ino = os.stat(self.library).st_ino
            for version in "5.10.1", "6.12.1", "7.3.4":
                self.perf.features[5] = rd.pack_string(version)
                with self.subTest((section, version)):
                    found = self.find_causes().get("no-cfi-for-jit", {"file": None})
                    self.assertEqual(found["file"], self.library if version == wrong else None)
                    if version == wrong:
                        self.assertIn("lld", found["evidence"][1])
                        self.assertIn("libunwind", found["remedy"])

    def test_file_without_unwind_information_and_build_id(self) -> None:
        """perf 7.3 stores no build id of a Go program. The file is the recorded one if it is not
        newer than the recording."""
        names = self.build_library(".globl bare\nbare: nop\n ret\n", "-Wl,--build-id=none")
        self.add_dumps(names["bare"], self.ASKED)
        self.assertEqual(self.expect_cause("no-cfi-for-jit", 1)["file"], self.library)
        os.chmod(self.home, 0o755)  # explain drops root's rights
        later = time.time() + 100
        os.utime(self.library, (later, later))
        self.assertEqual([one["id"] for one in self.run_json()["stacks"]], ["missing-file"])

    def test_file_with_unwind_information_for_debuggers(self) -> None:
        """Go's programs have .debug_frame alone, which perf 7.2 reads, and explain does not."""
        self.add_dumps(self.build_function("-g", "-fno-asynchronous-unwind-tables"), self.ASKED)
        self.perf.features[5] = rd.pack_string("6.12.1")
        self.assertIn("libdw", self.expect_cause("no-cfi-for-jit", 1)["remedy"])
        self.perf.features[5] = rd.pack_string("7.3.4")
        self.assertEqual(self.find_causes(), {})

    def test_another_stack(self) -> None:
        """A frame lies below the dump, as if a signal handler has a stack of its own."""
        names = self.build_library(
            ".globl odd\nodd: .cfi_startproc\n.cfi_def_cfa 6, 16\n ret\n .cfi_endproc\n")
        self.add_dumps(names["odd"], self.ASKED, bp=self.STACK - 0x1000)
        self.assertIn("another stack", self.expect_cause("dump-too-small", 1)["remedy"])

    def test_return_probe(self) -> None:
        self.add_dumps(self.build_function(), self.ASKED, {0: 0x7fffffffe000})
        self.assertIn("without return probes", self.expect_cause("no-cfi-for-jit", 1)["remedy"])

    def test_largest_dump(self) -> None:
        """The kernel cuts a dump of 65528 bytes, since a record has no room for more."""
        names = self.build_library(
            ".globl deep\ndeep: .cfi_startproc\n.cfi_def_cfa 7, 70000\n ret\n .cfi_endproc\n")
        self.ASKED = 65280
        self.add_dumps(names["deep"], self.ASKED)
        self.assertNotIn("dwarf", self.expect_cause("dump-too-small", 1)["remedy"])

    def test_stack_of_the_caller(self) -> None:
        """C code runs on another stack than the Go code that calls it."""
        part = self.place("go.o")
        process.compile_c("long go(long n) { return n + 1; }", part, "-c", "-fPIC", "-g",
                          "-fno-asynchronous-unwind-tables")
        names = self.build_library("long c(long n) { return n; }", "-fomit-frame-pointer", part,
                                   language="c")
        self.add_dumps(names["c"], self.ASKED, {0: names["go"] + 4}, bp=self.STACK - 0x1000)
        self.perf.features[5] = rd.pack_string("7.3.4")
        self.assertIn("another stack", self.expect_cause("no-cfi-for-jit", 1)["remedy"])

    def test_file_with_unwind_information_without_index(self) -> None:
        """tcc writes no .eh_frame_hdr, which perf with libunwind needs."""
        self.add_dumps(self.build_function("-Wl,--no-eh-frame-hdr"), self.ASKED, {0: MAIN + 8})
        self.perf.features[5] = rd.pack_string("6.12.1")
        found = self.expect_cause("no-cfi-for-jit", 1)
        self.assertEqual(found["file"], self.library)
        self.assertIn("libdw", found["remedy"])
        self.perf.features[5] = rd.pack_string("7.3.4")
        self.assertNotIn(self.library, [one["file"] for one in self.find_causes().values()])

    def test_image_of_a_runtime(self) -> None:
        """SBCL's code is in a file that is not ELF."""
        path = self.write("heap", "sbcl.core")
        self.add_map(ANON, path, 8, ino=os.stat(path).st_ino)
        self.add_dumps(ANON + 8, self.ASKED)
        os.chmod(os.path.dirname(path), 0o755)  # explain drops root's rights
        found = self.expect_cause("no-cfi-for-jit", 1)
        self.assertIn("no ELF file", found["evidence"][1])
        self.assertIn("runtime", found["remedy"])

    def test_empty_in_the_kernel_too(self) -> None:
        self.add_map(ANON, "//anon", 8)
        self.add_dumps(ANON + 8, 0, count=50)
        self.add_dumps(ANON + 8, 0, count=50, misc=rd.KERNEL)
        self.expect_cause("empty-dump", 1)

    def test_older_code_far_apart(self) -> None:
        """Frame pointers lead from the code to the program, so the code does not belong to another
        program."""
        for start in (ANON, ANON - 2**40):
            self.add_dumps(start + 8, self.ASKED, {64: 0, 72: MAIN + 8}, bp=self.STACK + 64)
        self.assertEqual(set(self.find_causes()), {"attach-window"})


class Command(Recording):
    def test_names_that_move_the_cursor(self) -> None:
        self.add_records(self.perf.comm(PID, PID, "a\x1b[2Jb", 8))
        self.add_map(ANON, "//anon", 8)
        self.add_samples(ANON, count=100)
        self.assertNotIn("\x1b", self.run_explain().stdout)

    def test_fail_if(self) -> None:
        self.add_map(ANON, "//anon", 8)
        self.add_samples(ANON, count=30)
        self.add_samples(ANON, MAIN, ROOT, count=70)
        for limit, status in (("jit-no-frame-pointer>29%", 1), ("jit-no-frame-pointer>30%", 0),
                              ("jit-no-frame-pointer>29", 1), ("older-code>0", 0),
                              ("no-such-cause>1%", 2), ("older-code", 2), ("older-code>x", 2)):
            self.assertEqual(self.run_explain("--fail-if", limit).returncode, status, limit)

    def test_unreadable(self) -> None:
        files.write_bytes(self.path, b"PERFILE2")
        result = process.run([JITPROOF, "explain", self.path], timeout=240)
        self.assertEqual(result.returncode, 99)
        self.assertIn(self.path, result.stderr)

    def test_causes(self) -> None:
        table = json.loads(process.run_or_raise([JITPROOF, "explain", "--causes", "--json"]))
        words = {cause["id"]: {one["word"] for one in cause["words"]} for cause in table["causes"]}
        self.assertTrue(STACKS <= set(words))
        self.assertEqual(words["depth-limit"], {"max-stack"})
        self.assertIn("mremap", {one["word"] for one in table["words"]})
        text = process.run_or_raise([JITPROOF, "explain", "--causes"])
        for cause, finer in words.items():
            self.assertIn(cause, text)
            for word in finer:
                self.assertRegex(text, rf"(?m)^    {word} ")
        self.assertEqual(process.run([JITPROOF, "explain", "--causes", self.path]).returncode, 2)

    def test_help_lists_every_cause(self) -> None:
        result = process.run([JITPROOF, "explain", "--help"])
        self.assertEqual(result.returncode, 0)
        page = files.read(os.path.join(HERE, "../../docs/explain.md"))
        for name in STACKS:
            self.assertIn(name, result.stdout)
            self.assertIn(f"| `{name}` |", page)
        table = json.loads(process.run_or_raise([JITPROOF, "explain", "--causes", "--json"]))
        for cause in table["causes"]:
            self.assertIn(f"| `{cause['id']}` | {cause['text']} |\n", page)
