# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof lint`: a correct file has no finding; each rule finds the one defect in a file
made for it; running processes."""

import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import time
from typing import Any, Callable

from ci.base import files, process
from harness.selftest.support import made_jitdump as mj
from harness.selftest.support.scratch import JITPROOF, ROOT, Folder

PID = 4711
NOW = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
WALL = time.time_ns()
CODE = b"\x90" * 16
Spoil = Callable[[mj.Made], object]


def make_dump() -> mj.Made:
    """Makes a correct jitdump: lines, tables and code of two functions; the first moves."""
    dump = mj.Made(PID)
    struct.pack_into("<Q", dump.raw, 24, NOW - 100)
    dump.debug(NOW + 1, 0x1000, [(0x1000, 1, "a.js"), (0x1008, 2, "a.js")])
    dump.unwinding(NOW + 2, 16)
    dump.load(NOW + 3, 0x1000, CODE, 1, "one")
    dump.load(NOW + 4, 0x2000, CODE, 2, "zwei: \u00e4")
    return dump.move(NOW + 5, 0x1000, 0x3000, 16, 1)


def close_dump(dump: mj.Made) -> mj.Made:
    return dump.add(mj.CLOSE, NOW + 9, b"")


def patch_number(form: str, at: int, value: int) -> Spoil:
    return lambda dump: struct.pack_into(form, dump.raw, at, value)


def add_cut_load(dump: mj.Made) -> None:
    dump.load(NOW + 6, 0x4000, CODE, 3, "cut")
    del dump.raw[-4:]


def add_debug_before_load(dump: mj.Made, lines: list[tuple[int, int, str]],
                          more: bytes = b"") -> None:
    offset = len(dump.raw)
    dump.debug(NOW + 6, 0x5000, lines)
    dump.raw += more
    struct.pack_into("<I", dump.raw, offset + 4, len(dump.raw) - offset)
    dump.load(NOW + 7, 0x5000, CODE, 3, "three")


def add_bad_record(dump: mj.Made) -> None:
    dump.add(mj.LOAD, NOW + 6, struct.pack("<IIQQQQ", PID, PID, 0x4000, 0x4000, 999, 3) + b"x\0")
    dump.load(NOW + 7, 0x6000, CODE, 4, "behind")


def add_coarse_times(dump: mj.Made) -> None:
    del dump.raw[40:]
    for i in range(20):
        dump.load((NOW // 1000 + 1 + i // 2) * 1000, 0x1000 * (i + 1), CODE, i, f"f{i:03}")


def add_patched_load(at: int, value: int, code: bytes = CODE) -> Spoil:
    def spoil(dump: mj.Made) -> None:
        offset = len(dump.raw)
        dump.load(NOW + 6, 0x4000, code, 3, "three")
        struct.pack_into("<Q", dump.raw, offset + at, value)
    return spoil


def add_load(**changed: Any) -> Spoil:
    fields: dict[str, Any] = {"time": NOW + 6, "addr": 0x4000, "code": CODE, "index": 3,
                              "name": "three", **changed}
    return lambda dump: dump.load(**fields)


# Rule -> function that makes the correct jitdump break it. A CLOSE is appended, unless None
# follows.
DUMPS: dict[str, Spoil] = {
    "dump.version": patch_number("<I", 4, 2),
    "dump.header-size": patch_number("<I", 8, 39),
    "dump.flags": patch_number("<Q", 32, 6),
    "dump.arch-clock": patch_number("<Q", 32, 1),
    "dump.machine": patch_number("<I", 12, 0),
    "dump.padding": patch_number("<I", 16, 7),
    "dump.pid": add_load(pid=PID + 1),
    "dump.record": add_bad_record,
    "dump.unknown": lambda dump: dump.add(9, NOW + 6, b"new"),
    "dump.close-middle": lambda dump: add_load(time=NOW + 9)(close_dump(dump)),
    "dump.load-padding": add_patched_load(40, 16, CODE + b"\0" * 3),
    "dump.debug-order": lambda dump: dump.debug(NOW + 6, 0x2000, [(0x2000, 1, "b.js")]),
    "dump.debug-size": lambda dump: add_debug_before_load(dump, [(0x5000, 1, "a")], b"\1" * 8),
    "dump.debug-range": lambda dump: add_debug_before_load(dump, [(0x5011, 1, "a")]),
    "dump.unwinding-order": lambda dump: dump.unwinding(NOW + 6, 16),
    "dump.move": lambda dump: dump.move(NOW + 6, 0x1000, 0x4000, 16, 1),
    "dump.clock": add_load(time=WALL),
    "dump.header-clock": patch_number("<Q", 24, WALL // 1000),
    "dump.time-order": add_load(time=NOW - 50),
    "code.size": add_load(code=b""),
    "code.address": add_load(addr=2**64 - 64),
    "dump.vma": add_patched_load(24, 0),
    "dump.overlap": lambda dump: (add_load()(dump), add_load(addr=0x4008, index=4)(dump)),
    "dump.reuse": add_load(addr=0x2008),
    "dump.index": add_load(index=2**32 + 1),
    "name.empty": add_load(name=""),
    "name.control": add_load(name="a\tb"),
    "name.long": add_load(name="x" * 65536),
}
OPEN: dict[str, Spoil] = {
    "dump.no-close": lambda dump: None,
    "dump.coarse-time": add_coarse_times,
    "dump.cut-short": add_cut_load,
    "dump.no-record": lambda dump: dump.raw.extend(mj.Made(PID).raw),
    "dump.copy": lambda dump: dump.raw.extend(dump.raw[-40:]),
    "dump.zero-tail": lambda dump: close_dump(dump).raw.extend(bytes(64)),
}
# Rules that are also broken if this rule is broken.
ACCOMPANYING = {
    "dump.cut-short": {"dump.no-close"},
    "dump.no-record": {"dump.no-close"},
    "dump.copy": {"dump.no-close", "dump.no-record"},
    "dump.coarse-time": {"dump.no-close"},
    "dump.clock": {"dump.time-order"},
}
GOOD = "7000 40 one\n7040 40 two with blanks\n"
MAPS: dict[str, bytes] = {
    "map.line": b"7080 40\x00 three\n",
    "map.prefix": b"0x7080 0x40 three\n",
    "map.upper": b"70A0 40 three\n",
    "map.blanks": b"7080  40\tthree\n",
    "map.crlf": b"7080 40 three\r\n",
    "map.short-name": b"7080 40 ab\n",
    "map.last-line": b"7080 40 three",
    "map.overlap": b"7060 40 three\n",
    "map.reuse": b"7040 40 three\n",
    "map.repeat": b"7040 40 two with blanks\n",
    "code.size": b"7080 0 three\n",
    "code.address": b"0 40 three\n",
    "name.empty": b"7080 40 \n",
    "name.utf8": b"7080 40 \xff\xfe\xfd\n",
    "name.control": b"7080 40 a\x1b[2J\n",
    "name.long": b"7080 40 " + b"x" * 65536 + b"\n",
}
# A process that has a page of code, and the files that its argument names.
PROCESS = """
import ctypes, mmap, os, sys
exec_page = mmap.mmap(-1, 4096, prot=7)
at = ctypes.addressof(ctypes.c_char.from_buffer(exec_page))
fd = os.memfd_create("jit")
os.ftruncate(fd, 4096)
memfd = mmap.mmap(fd, 4096, prot=7)
at_memfd = ctypes.addressof(ctypes.c_char.from_buffer(memfd))
print(os.getpid(), at, at_memfd, flush=True)
sys.stdin.readline()
if sys.argv[1:]:
    marker = open(sys.argv[1], "rb")
    if sys.argv[2:]:
        mapped = mmap.mmap(marker.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=5)
print("ready", flush=True)
sys.stdin.readline()
"""


class Linting(Folder):
    def lint_json(self, *arguments: str, status: int | None = None) -> dict[str, Any]:
        result = process.run([JITPROOF, "lint", "--json", *arguments], timeout=240)
        if status is not None:
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def count_rules(self, path: str, *options: str) -> dict[str, int]:
        return self.lint_json(path, *options)["checked"][0]["rules"]

    def write_dump(self, dump: mj.Made, name: str = f"jit-{PID}.dump") -> str:
        path = self.place(name)
        dump.save(path)
        os.chmod(path, 0o600)
        return path

    def write_map(self, text: bytes, name: str = f"perf-{PID}.map") -> str:
        os.makedirs(self.place("tmp"), exist_ok=True)
        path = self.place(f"tmp/{name}")
        files.write_bytes(path, text)
        os.chmod(path, 0o600)
        return path


class Rules(Linting):
    def test_right_files(self) -> None:
        self.assertEqual(self.count_rules(self.write_dump(close_dump(make_dump()))), {})
        self.assertEqual(self.count_rules(self.write_map(GOOD.encode())), {})

    def test_each_rule_of_jitdumps(self) -> None:
        for spoils, finish_dump in ((DUMPS, close_dump), (OPEN, lambda dump: dump)):
            for rule, spoil in spoils.items():
                dump = make_dump()
                spoil(dump)
                with self.subTest(rule=rule):
                    self.assertEqual(set(self.count_rules(self.write_dump(finish_dump(dump)))),
                                     {rule, *ACCOMPANYING.get(rule, ())})

    def test_each_rule_of_maps(self) -> None:
        for rule, line in MAPS.items():
            with self.subTest(rule=rule):
                self.assertEqual(self.count_rules(self.write_map(GOOD.encode() + line)), {rule: 1})

    def test_rules_of_files(self) -> None:
        for name, rule in (("jit-1-2-XY", "dump.file-name"), ("jit-1.dump", "dump.pid")):
            path = self.write_dump(close_dump(make_dump()), name)
            self.assertEqual(self.count_rules(path), {rule: 1})
        self.assertEqual(self.count_rules(self.write_dump(close_dump(mj.Made(PID)))).keys(),
                         {"dump.header-clock", "dump.no-load"})
        self.assertEqual(self.count_rules(self.write_map(b"")), {"map.empty": 1})
        self.assertEqual(self.count_rules(self.write_map(GOOD.encode(), "my.map")),
                         {"map.file-name": 1})
        path = self.place(f"perf-{PID}.map")
        files.write_bytes(path, GOOD.encode())
        os.chmod(path, 0o622)
        self.assertEqual(self.count_rules(path), {"map.folder": 1, "file.mode": 1})

    def test_name_that_is_not_utf8_in_a_jitdump(self) -> None:
        dump = make_dump().load(NOW + 6, 0x4000, CODE, 3, "XXXX")
        dump.raw = dump.raw.replace(b"XXXX", b"a\xc3(b")
        self.assertEqual(self.count_rules(self.write_dump(close_dump(dump))), {"name.utf8": 1})

    def test_clocks(self) -> None:
        for name, clock_time in (("wall clock in ns", WALL), ("in microseconds", WALL // 1000),
                         ("wall clock in ms", WALL // 10**6), ("in seconds", WALL // 10**9),
                         ("CLOCK_MONOTONIC in microseconds",
                          time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000), ("missing", 0)):
            dump = mj.Made(PID).load(clock_time, 0x1000, CODE, 1, "one")
            found = self.lint_json(self.write_dump(close_dump(dump)))["checked"][0]["findings"]
            text = [finding["text"] for finding in found if finding["rule"] == "dump.clock"]
            self.assertEqual(len(text), 1, name)
            self.assertIn(name, text[0])

    def test_goes_on_behind_a_bad_record(self) -> None:
        dump = make_dump()
        add_bad_record(dump)
        add_load(time=NOW + 8, addr=2**63, index=9)(dump)
        findings = self.lint_json(self.write_dump(close_dump(dump)))["checked"][0]
        self.assertEqual(findings["rules"], {"dump.record": 1, "code.address": 1})
        self.assertEqual(findings["findings"][0]["rule"], "code.address")

    def test_names_the_copy_of_a_buffer(self) -> None:
        """A child and its parent write the same buffer, which begins within a record."""
        dump = make_dump()
        start = len(dump.raw) - 20
        add_load(time=NOW + 8, addr=0x8000, index=9)(dump)
        size = len(dump.raw) - start
        dump.raw += dump.raw[start:]
        findings = self.lint_json(self.write_dump(close_dump(dump)))["checked"][0]["findings"]
        text = [(finding["offset"], finding["text"]) for finding in findings
                if finding["rule"] == "dump.copy"]
        self.assertEqual([offset for offset, _ in text], [start + size])
        self.assertIn(f"{size} bytes are a copy of those from offset {start} on", text[0][1])
        self.assertIn("to the next valid record at offset", str(findings))

    def test_equal_unwinding_information_is_no_copy(self) -> None:
        """V8 writes the same empty index for each function, with times of whole microseconds."""
        dump = mj.Made(PID)
        for index in range(3):
            dump.unwinding(NOW, 0)
            add_load(time=NOW, addr=0x8000 + 0x100 * index, index=index)(dump)
        self.assertNotIn("dump.copy", self.count_rules(self.write_dump(close_dump(dump))))

    def test_every_rule_has_a_test_and_a_section(self) -> None:
        listed = process.run([JITPROOF, "lint", "--rules"], timeout=240).stdout
        names = {line.split()[0] for line in listed.splitlines()}
        page = files.read(os.path.join(ROOT, "docs", "lint.md"))
        self.assertEqual(names, set(re.findall(r"^### (\S+)$", page, re.M)))
        own_text = files.read(__file__)
        self.assertEqual([name for name in names if f'"{name}"' not in own_text], ["file.owner"]
                         if os.geteuid() else [])


class Command(Linting):
    def run_lint(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return process.run([JITPROOF, "lint", *arguments], timeout=240)

    def test_status(self) -> None:
        valid_dump = self.write_dump(close_dump(make_dump()))
        warned = self.write_map(GOOD.encode() + MAPS["map.crlf"])
        wrong = self.write_map(GOOD.encode() + b"nonsense\n", "perf-1.map")
        self.assertEqual(self.run_lint(valid_dump).returncode, 0)
        self.assertEqual(self.run_lint(valid_dump, warned).returncode, 0)
        self.assertEqual(self.run_lint("--strict", valid_dump, warned).returncode, 1)
        self.assertEqual(self.run_lint("--strict", "--allow", "map.crlf", warned).returncode, 0)
        self.assertEqual(self.run_lint(warned, wrong).returncode, 1)
        self.assertEqual(self.run_lint(wrong, self.place("absent")).returncode, 99)
        self.assertEqual(self.run_lint().returncode, 2)
        self.assertEqual(self.run_lint("--allow", "no.rule", valid_dump).returncode, 2)

    def test_text(self) -> None:
        path = self.write_map(GOOD.encode() + b"7080 0 a\x1b[2Jb\n" * 7)
        out = self.run_lint(path).stdout
        self.assertNotIn("\x1b", out)
        self.assertIn(f"{path}: line 3: warning: 'a\\x1b[2Jb' has size 0", out)
        self.assertIn("2 more of these [code.size]", out)
        self.assertEqual(self.run_lint("--all", path).stdout.count("has size 0"), 7)

    def test_refuses_other_files(self) -> None:
        os.mkfifo(self.place("perf-1.map"))
        files.write_bytes(self.place("jit-2.dump"), b"JiT")
        files.write_bytes(self.place("picture"), b"\x89PNG\r\n")
        os.symlink(self.write_map(GOOD.encode()), self.place("perf-3.map"))
        swapped = close_dump(make_dump())
        swapped.raw[:4] = swapped.raw[3::-1]
        files.write_bytes(self.place("jit-4.dump"), swapped.raw)
        for name, reason in (("perf-1.map", "a FIFO"), ("jit-2.dump", "the file ends"),
                          ("picture", "expected a jitdump or a perf map"),
                          ("perf-3.map", "symbolic link"), ("jit-4.dump", "other byte order")):
            result = self.run_lint(self.place(name))
            self.assertEqual(result.returncode, 99, name)
            self.assertIn(reason, result.stderr)


class Processes(Linting):
    def start_process(self, *arguments: str) -> tuple[subprocess.Popen[str], int, int, int]:
        child = subprocess.Popen([sys.executable, "-c", PROCESS, *arguments], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.communicate)
        assert child.stdout
        pid, addr, at_memfd = map(int, child.stdout.readline().split())
        # A dead process with the same pid left these where `lint --pid` looks.
        for path in (f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        return child, pid, addr, at_memfd

    def lint_process(self, pid: int) -> dict[str, dict[str, int]]:
        return {finding["kind"]: finding["rules"] for finding
                in self.lint_json("--pid", str(pid))["checked"]}

    def test_without_names(self) -> None:
        _, pid, addr, at_memfd = self.start_process()
        found = self.lint_json("--pid", str(pid), status=0)["checked"]
        self.assertEqual({finding["address"] for finding in found[0]["findings"]}, {addr, at_memfd})
        self.assertEqual(found[0]["rules"], {"process.no-names": 2})

    def write_own_map(self, pid: int, text: str) -> str:
        """Writes the perf map of a process, where perf looks for it."""
        path = f"/tmp/perf-{pid}.map"
        with open(path, "x") as out:
            out.write(text)
        self.addCleanup(os.unlink, path)
        os.chmod(path, 0o600)
        return path

    def test_perf_map(self) -> None:
        _, pid, addr, at_memfd = self.start_process()
        self.write_own_map(pid, f"{addr:x} 40 one\n{at_memfd:x} 40 two\n10000 40 gone\n")
        self.assertEqual(self.lint_process(pid), {"perf map": {"code.unmapped": 1},
                                                  "process": {"process.unread-map": 1}})

    def start_with_dump(self, *more: str, time_: int = NOW) -> tuple[int, str]:
        # The file's name contains the pid, which is known after the start.
        link = self.place("jit.dump")
        child, pid, addr, _ = self.start_process(link, *more)
        dump = mj.Made(pid).load(time_, addr, CODE, 1, "one")
        struct.pack_into("<Q", dump.raw, 24, NOW - 100)
        path = self.write_dump(dump, f"jit-{pid}.dump")
        os.symlink(path, link)
        assert child.stdin and child.stdout
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        return pid, path

    def test_jitdump(self) -> None:
        pid, path = self.start_with_dump("mapped")
        self.assertEqual(self.lint_process(pid),
                         {"jitdump": {}, "process": {"process.no-names": 1}})
        os.unlink(path)
        self.assertEqual(self.lint_process(pid)["process"],
                         {"process.deleted": 1, "process.no-names": 2})

    def test_jitdump_without_a_marker(self) -> None:
        pid, path = self.start_with_dump()
        self.assertEqual(self.lint_process(pid)["process"],
                         {"process.marker": 1, "process.no-names": 1})
        with open(path, "ab") as out:
            out.write(b"\0\0\0\0\x40\0\0\0")
        self.assertEqual(self.lint_process(pid)["jitdump"], {"dump.unfinished": 1})

    def test_file_of_an_earlier_process(self) -> None:
        _, pid, addr, _ = self.start_process()
        path = self.write_own_map(pid, f"{addr:x} 40 one\n")
        self.assertEqual(self.lint_process(pid)["perf map"], {})
        os.utime(path, (time.time() - 60, time.time() - 60))
        self.assertEqual(self.lint_process(pid)["perf map"], {"file.stale": 1})

    def test_jitdump_of_the_future(self) -> None:
        pid, _ = self.start_with_dump("mapped", time_=NOW + 10**13)
        self.assertEqual(self.lint_process(pid)["jitdump"], {"dump.future": 1})

    def test_no_such_process(self) -> None:
        result = process.run([JITPROOF, "lint", "--pid", "4194304"], timeout=240)
        self.assertEqual(result.returncode, 99)


class Owner(Linting):
    def test_other_owner(self) -> None:
        if os.geteuid():
            self.skipTest("only root gives files away")
        path = self.write_map(GOOD.encode())
        os.chown(path, 65534, 65534)
        self.assertEqual(self.count_rules(path), {"file.owner": 1})
