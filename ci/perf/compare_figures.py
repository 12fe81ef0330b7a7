# SPDX-License-Identifier: GPL-2.0-only
"""Compares the figures of `jitproof judge --json` for a perf.data with those of `perf script -D`.

Shares only the definitions of the figures with jitproof. perf reads the file, sorts its records and
prints them; this program replays the mappings from that text, in perf's order.
"""

from __future__ import annotations

import bisect
import collections
import json
import re
import subprocess
import tempfile
from typing import Any, Iterator, Mapping

from ci.base import process
from ci.base.text import find_match

RECORD = re.compile(
    r"^((?:-?\d+ )*)(?:0x[0-9a-f]+|0)(?:@\S+)? \[0x[0-9a-f]+\]: PERF_RECORD_([A-Z0-9_]+)(.*)$")
HEADER = re.compile(r"^\.  0000: (?: [0-9a-f]{2}){4} ([0-9a-f]{2}) ([0-9a-f]{2}) ")
SAMPLE = re.compile(r"^\(IP, 0x([0-9a-f]+)\): (-?\d+)/-?\d+: (?:0x)?([0-9a-f]+) ")
CHAIN = re.compile(r"^\.\.\. (?:FP|LBR) chain: nr:(\d+)")
FRAME = re.compile(r"^\.\.\.\.\. *\d+: ([0-9a-f]+)")
MAP = re.compile(
    r"^ (-?\d+)/-?\d+: \[(?:0x)?([0-9a-f]+)\((?:0x)?([0-9a-f]+)\) @ [^\]]*\]: (\S+) ?(.*)$")
COMM = re.compile(r"^( exec)?: (.*):(-?\d+)/(-?\d+)$")
TASK = re.compile(r"^\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)")
LOST = re.compile(r"lost:(\d+)")
LOST_SAMPLES = re.compile(r"lost samples ?: ?(\d+)(.*)")

CONTEXT_USER = 2**64 - 512
CONTEXT_USER_DEFERRED = 2**64 - 640
CONTEXT_MAX = 2**64 - 4095  # PERF_CONTEXT_MAX: from here on a value is a marker, no address
CPUMODE_USER = 2
# PERF_RECORD_MISC_FORK_EXEC: perf synthesized the FORK of a process that ran already, so it is no
# copy of its parent. perf prints this bit only in the bytes of the record's header.
FORK_EXEC = 1 << 13
CPUMODE_GUEST = (4, 5)
COMM_MOST = 15  # bytes of a process name that the kernel stores (TASK_COMM_LEN - 1)
NOBODY = 2**32 - 1  # pid of a task that had exited

ANON = ("//anon", "[anon:", "[stack")
TEMPORARY = re.compile(r"(^|/)(orcexec\..{6}|ffi.{6}|#\d+) \(deleted\)")  # files of JIT code
PATHS_WITHOUT_FILE = ("/dev/zero", "/SYSV", "/anon_hugepage")
RUNTIME = re.compile(r"^(libc\.so|libc\.musl|libc-\d|ld-linux|ld-musl|ld-\d|ld64\.so|ld\.so)")

COUNTS = ("samples", "user_stacks", "single_frame", "addresses", "addresses_unmapped", "rootless")
MAP_KINDS = ("file", "anon", "memfd", "other")
PLACES = MAP_KINDS + ("unmapped", "kernel", "guest")


def classify_name(name: str) -> str:
    """Returns the kind of a mapping by the name in its record."""
    if not name or name.startswith(ANON):
        return "anon"
    if name.startswith(("/memfd:", "/dev/ashmem/")) or TEMPORARY.search(name):
        return "memfd"
    if name.startswith("/") and not name.startswith(PATHS_WITHOUT_FILE):
        return "file"
    return "other"


def parse_unsigned32(text: str) -> int:
    """Parses a pid, which perf prints as a signed number."""
    return int(text) % 2**32


class Space:
    """The mappings of one process: disjoint and sorted. A new record replaces older ones."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.names: list[str | None] = []  # None: not executable
        self.program: str | None = None
        self.program_known = self.execs = False
        self.found: dict[int, str | None] = {}

    def copy_from(self, parent: Space) -> None:
        self.starts, self.ends, self.names = parent.starts[:], parent.ends[:], parent.names[:]
        self.program, self.program_known = parent.program, parent.program_known
        self.execs, self.found = False, {}

    def execute(self) -> None:
        self.copy_from(Space())
        self.execs = True

    def map(self, start: int, size: int, name: str, code: bool, comm: str) -> None:
        """Adds a mapping. @code: it is executable. @comm: name of the process, by which the first
        executable file is recognized as the program."""
        if size:
            self.insert_mapping(start, start + size, name if code else None)
        if code and classify_name(name) == "file" and not self.program_known:
            file = name.rsplit("/", 1)[-1].removesuffix(" (deleted)")
            called = bool(comm) and file[:COMM_MOST] == comm
            if self.program is None or called:
                self.program, self.program_known = name, self.execs or called

    def insert_mapping(self, start: int, end: int, name: str | None) -> None:
        pieces = []
        for old_range in zip(self.starts, self.ends, self.names):
            if old_range[0] < start:
                pieces.append((old_range[0], min(old_range[1], start), old_range[2]))
            if old_range[1] > end:
                pieces.append((max(old_range[0], end), old_range[1], old_range[2]))
        pieces.append((start, end, name))
        pieces.sort(key=lambda piece: piece[0])
        self.starts = [piece[0] for piece in pieces]
        self.ends = [piece[1] for piece in pieces]
        self.names = [piece[2] for piece in pieces]
        self.found = {}

    def find_name(self, address: int) -> str | None:
        """Returns the name of the executable mapping at an address, or None."""
        if address not in self.found:
            index = bisect.bisect_right(self.starts, address) - 1
            is_inside = index >= 0 and address < self.ends[index]
            self.found[address] = self.names[index] if is_inside else None
        return self.found[address]

    def is_root(self, address: int) -> bool:
        name = self.find_name(address)
        if name is None or classify_name(name) != "file":
            return False
        return name == self.program or bool(RUNTIME.match(name.rsplit("/", 1)[-1]))


def make_figures() -> dict[str, Any]:
    figures: dict[str, Any] = dict.fromkeys(COUNTS, 0)
    figures["mmap"] = dict.fromkeys(MAP_KINDS, 0)
    figures["mmap2"] = dict.fromkeys(MAP_KINDS, 0)
    figures["sampled"] = dict.fromkeys(PLACES, 0)
    return figures


class Peer:
    """Computes the figures from the lines of the dump."""

    def __init__(self) -> None:
        self.spaces: collections.defaultdict[int, Space] = collections.defaultdict(Space)
        self.comms: dict[int, str] = {}
        self.mmap2 = False  # the file has MMAP2 records
        self.figures: collections.defaultdict[int, dict[str, Any]] = \
            collections.defaultdict(make_figures)
        self.lost = {"lost_records": 0, "lost_events": 0, "lost_samples": 0}
        # (pid, misc, ip), until its callchain is complete.
        self.sample: tuple[int, int, int] | None = None
        self.misc = 0  # misc of the record that was printed last
        self.expected = 0
        self.chain: list[int] = []

    def handle_line(self, line: str) -> None:
        if self.expected:
            frame = FRAME.match(line)
            if not frame:
                raise ValueError("expected %d more callchain entries, found: %s"
                                 % (self.expected, line))
            self.chain.append(int(frame.group(1), 16))
            self.expected -= 1
            return
        record = RECORD.match(line)
        if record:
            self.finish_sample()
            self.handle_record(record.group(1).split(), record.group(2), record.group(3))
            return
        header = HEADER.match(line)
        if header:
            self.misc = int(header.group(2) + header.group(1), 16)
            return
        chain = CHAIN.match(line)
        if chain and self.sample:
            self.expected = int(chain.group(1))

    def handle_record(self, stamps: list[str], kind: str, remainder: str) -> None:
        time = int(stamps[-1]) if stamps else 0
        if kind == "SAMPLE":
            match = find_match(SAMPLE, remainder)
            self.sample = (parse_unsigned32(match.group(2)), int(match.group(1), 16),
                           int(match.group(3), 16))
        elif kind in ("MMAP", "MMAP2"):
            self.handle_map(kind, find_match(MAP, remainder))
        elif kind == "COMM":
            self.handle_comm(find_match(COMM, remainder))
        elif kind == "FORK":
            self.handle_fork(time, find_match(TASK, remainder))
        elif kind == "LOST":
            self.lost["lost_records"] += 1
            self.lost["lost_events"] += int(find_match(LOST, remainder).group(1))
        elif kind == "LOST_SAMPLES":
            match = find_match(LOST_SAMPLES, remainder)
            if "BPF" not in match.group(2):
                self.lost["lost_samples"] += int(match.group(1))

    def handle_map(self, kind: str, match: re.Match[str]) -> None:
        pid, name = parse_unsigned32(match.group(1)), match.group(5)
        kernel = match.group(1) == "-1"
        self.mmap2 |= kind == "MMAP2"
        self.figures[pid][kind.lower()]["other" if kernel else classify_name(name)] += 1
        if not kernel:
            self.spaces[pid].map(int(match.group(2), 16), int(match.group(3), 16), name,
                                 "x" in match.group(4), self.comms.get(pid, ""))

    def handle_comm(self, match: re.Match[str]) -> None:
        execs, name, pid, tid = match.groups()
        pid = parse_unsigned32(pid)
        if execs:
            self.spaces[pid].execute()
        if execs or pid == parse_unsigned32(tid):
            self.comms[pid] = name

    def handle_fork(self, time: int, match: re.Match[str]) -> None:
        pid, parent = parse_unsigned32(match.group(1)), parse_unsigned32(match.group(3))
        if pid == parent:
            return
        # A FORK that perf synthesized at time 0 does not replace known mappings.
        if not time and self.spaces[pid].starts:
            return
        ran_before = self.misc & FORK_EXEC
        self.spaces[pid].copy_from(Space() if ran_before else self.spaces[parent])
        self.comms[pid] = self.comms.get(parent, "")

    def finish_sample(self) -> None:
        if not self.sample:
            return
        (pid, misc, address), chain = self.sample, self.chain
        self.sample, self.chain = None, []
        if misc & 7 in CPUMODE_GUEST:
            pid = NOBODY
        figures, space = self.figures[pid], self.spaces[pid]
        figures["samples"] += 1
        if misc & 7 in CPUMODE_GUEST or pid == NOBODY:
            # jitproof counts these samples only for the whole file.
            place = "unmapped" if misc & 7 == CPUMODE_USER else "kernel"
            figures["sampled"]["guest" if misc & 7 in CPUMODE_GUEST else place] += 1
            return
        place = "kernel"
        if misc & 7 == CPUMODE_USER:
            name = space.find_name(address)
            place = "unmapped" if name is None else classify_name(name)
        figures["sampled"][place] += 1
        user = []
        if CONTEXT_USER in chain:
            position = chain.index(CONTEXT_USER)
            if CONTEXT_USER_DEFERRED not in chain[:position]:
                user = [one for one in chain[position + 1:] if one < CONTEXT_MAX]
        if not user:
            return
        figures["user_stacks"] += 1
        figures["single_frame"] += len(user) == 1
        figures["addresses"] += len(user)
        figures["addresses_unmapped"] += sum(space.find_name(one) is None for one in user)
        figures["rootless"] += not space.is_root(user[-1])

    def result(self) -> dict[str, Any]:
        self.finish_sample()
        total = make_figures()
        del total["mmap"]
        for figures in self.figures.values():
            for key in COUNTS:
                total[key] += figures[key]
            # In an old file without MMAP2 records, MMAP records count.
            mmap = figures.pop("mmap")
            if not self.mmap2:
                figures["mmap2"] = mmap
            for key in ("mmap2", "sampled"):
                for kind in total[key]:
                    total[key][kind] += figures[key][kind]
        total.update(self.lost)
        total["processes"] = {
            pid: dict(figures, comm=self.comms.get(pid, ""))
            for pid, figures in self.figures.items()
            if pid != NOBODY and (figures["samples"] or any(figures["mmap2"].values()))
        }
        return total


def flatten(figures: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, int | str]]:
    """Yields ("mmap2.file", 1) for {"mmap2": {"file": 1}}."""
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from flatten(value, "%s%s." % (prefix, key))
        else:
            yield prefix + str(key), value


def read_dump(perf: str, path: str) -> dict[str, Any]:
    """Returns the figures of a file by perf's dump.

    -F pid and --no-inline prevent perf from resolving symbols and inlined calls, which takes perf
    7.2 and 7.3 minutes for the file of a pipe.
    """
    command = [perf, "script", "-D", "-F", "pid", "--no-inline", "-i", path]
    peer = Peer()
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                              encoding="utf-8", errors="replace") as child:
            assert child.stdout
            for line in child.stdout:
                peer.handle_line(line.rstrip("\n"))
        errors.seek(0)
        message = errors.read().decode(errors="replace").strip()
    if child.returncode:
        raise RuntimeError("%s: exit %d: %s" % (" ".join(command), child.returncode, message))
    return peer.result()


def read_judge(jitproof: str, path: str) -> dict[str, Any]:
    judged = json.loads(process.run_or_raise([jitproof, "judge", "--json", path]))
    judged["processes"] = {process.pop("pid"): process for process in judged["processes"]}
    return judged


def compare(perf: str, jitproof: str, path: str) -> tuple[list[Any], int, dict[str, Any]]:
    """Returns the differences as lines, the number of compared figures, and perf's figures."""
    peer, judged = read_dump(perf, path), read_judge(jitproof, path)
    expected, ours = dict(flatten(peer)), dict(flatten(judged))
    pids = set(judged["processes"]) | set(peer["processes"])
    differences = [
        "%s: perf script -D gives %s, jitproof judge %s" % (key, value, ours.get(key, "nothing"))
        for key, value in sorted(expected.items()) if ours.get(key) != value
    ]
    for pid in sorted(pids - set(peer["processes"])):
        differences.append("processes.%d: only in jitproof judge" % pid)
    return differences, len(expected), peer
