#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares jitproof's and perf's stacks of real programs, unwound from the same stack dumps.

Records each installed program (jitproof record, dump and callchain). jitproof and perf unwind each
sample's dump from the same file; the stacks are compared address by address. Each sample that
differs belongs to a class with a known cause (docs/unwinding.md); a difference without a class is a
failure.

Exit status: 0 all differences are explained, 1 some are not, 4 nothing could be compared.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process
from ci.base.status import Missing
from ci.perf import agreement_programs, perf_tools

# Lines of `perf script -v`: perf prints them while it unwinds, and the sample after them. The
# frames come from these lines, since perf 6.1 prints a sample's addresses relative to files.
FRAME = re.compile(r"unwind: (.*):ip = 0x([0-9a-f]+) \(0x[0-9a-f]+\)")
OUTSIDE = re.compile(r"unwind: access_mem 0x([0-9a-f]+) not inside range 0x([0-9a-f]+)-"
                     r"0x([0-9a-f]+)")
BY_LIBDW = re.compile(r"unwind: (access_mem addr 0x[0-9a-f]+, val|failed with)")
RECORD = re.compile(r"\s*\d+\s+(\d+)\.(\d{9}): PERF_RECORD_")
SAMPLE = re.compile(r"\s*(\d+)\s+(\d+)\.(\d{9}): *$")
ADDRESS = re.compile(r"\s+[0-9a-f]+\s*$")
MAPPED = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ "
                    r"(0x[0-9a-f]+|0) .*?: [-r][-w]([-x])[ps] (.*)$")
FORKED = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
EXECUTED = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+$")
KERNEL = 1 << 63
INVENTED = 1 << 64  # perf's frame ffffffffffffffff, plus 1 as for every return address
# mov $15, %rax; syscall, as in __restore_rt
SIGRETURN = b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05"
MAX_STACK = 1024  # most frames of a stack, for perf and for jitproof


@dataclasses.dataclass
class Unwound:
    """perf's stack of one sample, and its messages while unwinding."""
    frames: list  # (address, name of the function)
    outside: list  # reads outside the dump: (address, start of the dump, end of the dump)
    libdw: bool  # perf unwinds with libdw, not with libunwind
    printed: int  # number of user addresses that perf script prints


@dataclasses.dataclass
class Pair:
    """jitproof's and perf's stack of a sample."""
    ours: dict
    theirs: Unwound
    a: list  # jitproof's frames, as return addresses
    b: list  # perf's frames, converted to return addresses
    common: int  # number of equal frames, from the innermost


class Space:
    """The mappings of a process. For an address, its last entry in `maps` counts."""

    def __init__(self) -> None:
        # (start, end, offset, executable, name)
        self.maps: list[tuple[int, int, int, bool, str]] = []
        self.lowest: dict[str, int] = {}  # name -> lowest address
        self.before: dict[str, int] = {}  # name -> lowest address of mappings before an exec

    def fork(self) -> Space:
        child = Space()
        child.maps, child.lowest = list(self.maps), dict(self.lowest)
        child.before = dict(self.before)
        return child

    def execute(self) -> None:
        for name, start in self.lowest.items():
            self.before[name] = min(start, self.before.get(name, start))
        self.maps, self.lowest = [], {}


class Mappings:
    """The mappings of all processes, according to the records of the file."""

    def __init__(self) -> None:
        self.spaces: collections.defaultdict[int, Space] = collections.defaultdict(Space)

    def add(self, pid: int, start: int, size: int, offset: int, executable: bool,
            name: str) -> None:
        space = self.spaces[pid]
        space.maps.append((start, start + size, offset, executable, name))
        space.lowest[name] = min(start, space.lowest.get(name, start))

    def fork(self, pid: int, parent: int) -> None:
        if pid != parent:
            self.spaces[pid] = self.spaces[parent].fork()

    def find(self, pid: int, address: int) -> tuple[int, int, int, bool, str]:
        for mapping in reversed(self.spaces[pid].maps):
            if mapping[0] <= address < mapping[1]:
                return mapping
        return (0, 0, 0, False, "")

    def name(self, pid: int, address: int) -> str:
        return self.find(pid, address)[4]

    def is_loaded_twice(self, pid: int, address: int) -> bool:
        """Returns whether code of this address's file is mapped with different load offsets."""
        name = self.name(pid, address)
        return len({start - offset for start, _, offset, executable, other_name
                    in self.spaces[pid].maps
                    if executable and other_name == name}) > 1

    def lower_before_exec(self, pid: int, address: int) -> bool:
        space, name = self.spaces[pid], self.name(pid, address)
        return name in space.before and space.before[name] < space.lowest[name]

    def is_trampoline(self, pid: int, address: int) -> bool:
        """Returns whether the address is in the two instructions that call rt_sigreturn."""
        start, _, offset, _, name = self.find(pid, address)
        try:
            with open(name, "rb") as file:
                file.seek(address - start + offset - 7)
                code = file.read(7 + len(SIGRETURN))
        except (OSError, ValueError):
            return False
        return SIGRETURN in (code[7:], code[:len(SIGRETURN)])

    def is_behind_trampoline(self, pid: int, address: int) -> bool:
        return self.is_trampoline(pid, address - len(SIGRETURN))


def get_last_common(pair: Pair) -> int:
    """Returns the address whose unwinding step gave different frames."""
    return pair.a[pair.common - 1] - (pair.common > 1) if pair.common else pair.a[0]


def is_mapped_twice(pair: Pair, mappings: Mappings) -> bool:
    address = pair.a[min(pair.common, len(pair.a) - 1)]
    return pair.theirs.libdw and pair.common == len(pair.b) and \
        mappings.is_loaded_twice(pair.ours["pid"], address)


def has_no_file(name: str) -> bool:
    return not name.startswith(("/", "[vdso")) or \
        name.startswith(("//anon", "/memfd:", "/dev/zero", "/SYSV"))


def is_without_file(pair: Pair, mappings: Mappings) -> bool:
    """Returns whether perf stops in code without a file. With libunwind perf prints the frame that
    it cannot unwind, with libdw it does not."""
    address = get_last_common(pair)
    if pair.theirs.libdw and 0 < pair.common < len(pair.a):
        address = pair.a[pair.common] - 1
    return pair.common == len(pair.b) and has_no_file(mappings.name(pair.ours["pid"], address))


# {class of a difference: condition}. A pair belongs to the first class whose condition holds.
CLASSES: dict[str, Callable[[Pair, Mappings], bool]] = {
    "perf has no mapping record yet":
        lambda pair, _: pair.ours["stop"] == "unmapped" and not pair.b,
    "the dump is empty": lambda pair, _: pair.ours["dump"] == 0,
    "perf (libdw) has the file at only one of its two addresses": is_mapped_twice,
    "perf stops in code without a file": is_without_file,
    "perf reads a file's tables where it lay before an exec":
        lambda pair, mappings: mappings.lower_before_exec(pair.ours["pid"], get_last_common(pair)),
    "sampled after sigreturn, which has no CFI":
        lambda pair, mappings: mappings.is_behind_trampoline(pair.ours["pid"], pair.a[0]),
    "perf follows rbp where we stop without CFI":
        lambda pair, _: pair.common == len(pair.a) and pair.ours["stop"] in ("no-cfi", "no-elf"),
    "perf cannot read the dump's last word":
        lambda pair, _: any(address + 8 == end for address, _, end in pair.theirs.outside),
    "perf invents ffffffffffffffff where the dump ends":
        lambda pair, _: pair.b[pair.common:] == [INVENTED] and
        any(address >= end for address, _, end in pair.theirs.outside[-2:]),
    "perf reads a register that is popped already":
        lambda pair, _: any(start - 0x1000 < address < start
                            for address, start, _ in pair.theirs.outside),
    "both guessed by rbp; perf knows no register since":
        lambda pair, _: pair.common >= pair.ours.get("guessed", len(pair.a) + 1),
}


def run_perf_script(perf: perf_tools.Perf, path: str, *options: str) -> Iterator[str]:
    """Yields the lines of perf script's output and messages in the order of writing. perf flushes
    its output after each sample at -v."""
    with subprocess.Popen([perf.path, "script", *options, "-i", path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=perf.environment,
                          text=True, encoding="utf-8", errors="replace") as child:
        assert child.stdout
        yield from child.stdout
    if child.returncode:
        raise RuntimeError("perf %s script: exit %d" % (perf.version, child.returncode))


def read_records(perf: perf_tools.Perf, path: str) -> list[tuple[int, str]]:
    """Returns (time in ns, line) of the records of processes and mappings, in the order of time."""
    records = []
    for line in run_perf_script(perf, path, "--ns", "--show-mmap-events", "--show-task-events",
                                "-F", "tid,time"):
        match = RECORD.match(line)
        if match:
            records.append((int(match[1]) * 1000000000 + int(match[2]), line.rstrip("\n")))
    return records


def read_perf(perf: perf_tools.Perf, path: str, visit: Callable[..., Any]) -> None:
    """Calls visit((tid, time in ns), Unwound, Mappings) for each sample."""
    mappings, unwound = Mappings(), Unwound([], [], False, 0)
    records, key = collections.deque(read_records(perf, path)), None
    for line in run_perf_script(perf, path, "-v", "--ns", "--no-inline", "--max-stack",
                                str(MAX_STACK), "-F", "ip,tid,time"):
        if line.startswith("unwind:"):
            parse_unwind_line(line, unwound)
        elif match := SAMPLE.match(line):
            key = int(match[1]), int(match[2]) * 1000000000 + int(match[3])
        elif key and ADDRESS.match(line):
            unwound.printed += int(line, 16) < KERNEL
        elif key and line == "\n":
            while records and records[0][0] <= key[1]:
                apply_record(records.popleft()[1], mappings)
            visit(key, unwound, mappings)
            unwound, key = Unwound([], [], False, 0), None


def parse_unwind_line(line: str, unwound: Unwound) -> None:
    match = FRAME.match(line)
    outside = not match and OUTSIDE.match(line)
    if match:
        unwound.frames.append((int(match[2], 16), match[1]))
    elif outside:
        unwound.outside.append(tuple(int(word, 16) for word in outside.groups()))
    elif BY_LIBDW.match(line):
        unwound.libdw = True


def apply_record(line: str, mappings: Mappings) -> None:
    match = MAPPED.search(line)
    if match:
        mappings.add(int(match[1]), int(match[2], 16), int(match[3], 16), int(match[4], 16),
                     match[5] == "x", match[6])
        return
    match = FORKED.search(line)
    if match:
        mappings.fork(int(match[1]), int(match[2]))
        return
    match = EXECUTED.search(line)
    if match:
        mappings.spaces[int(match[1])].execute()


def read_ours(jitproof: str, path: str, options: list[str]) -> collections.defaultdict:
    """Returns {(tid, time in ns): jitproof's stacks, in the order of the file}."""
    stacks, samples = path + ".stacks", collections.defaultdict(list)
    process.run_or_raise([jitproof, "judge", *options, "--stacks", stacks, path])
    with open(stacks, encoding="utf-8") as file:
        for line in file:
            sample = json.loads(line)
            samples[sample["tid"], sample["time"]].append(sample)
    return samples


def pair_stacks(ours: dict[str, Any], theirs: Unwound, mappings: Mappings) -> Pair:
    """Converts perf's frames to return addresses and compares them with jitproof's. perf prints the
    address before a return address, except for a frame that a signal interrupted, and with libdw
    except for the signal's trampoline."""
    own_frames, b = [int(frame, 16) for frame in ours["frames"]], []
    interrupted = True  # the sampled address is no return address, so it is not converted
    for address, _ in theirs.frames:
        trampoline = mappings.is_trampoline(ours["pid"], address)
        b.append(address + (not interrupted and not trampoline))
        interrupted = trampoline or mappings.is_trampoline(ours["pid"], b[-1])
    common = 0
    while common < min(len(own_frames), len(b)) and own_frames[common] == b[common]:
        common += 1
    return Pair(ours, theirs, own_frames, b, common)


class Comparison:
    def __init__(self) -> None:
        self.samples = self.same = self.deeper = self.shallower = self.merged = 0
        self.frames = [0, 0]
        self.classes: collections.Counter[str] = collections.Counter()
        self.unexplained: list[Pair] = []

    def add(self, pair: Pair, mappings: Mappings) -> None:
        self.samples += 1
        self.frames[0] += len(pair.a)
        self.frames[1] += len(pair.b)
        user = [address for address in pair.ours["chain"] if int(address, 16) < KERNEL]
        self.merged += bool(user) and pair.theirs.printed == len(user) + len(pair.b)
        if pair.common == len(pair.a) == len(pair.b):
            self.same += 1
            return
        self.deeper += pair.common == len(pair.b)
        self.shallower += pair.common == len(pair.a)
        for name, fits in CLASSES.items():
            if fits(pair, mappings):
                self.classes[name] += 1
                return
        self.unexplained.append(pair)

    def print_summary(self, title: str) -> None:
        print("  %-34s %6d samples, %6d identical (%6.2f %%); ours is deeper in %d, perf's in %d, "
              "they differ in %d; frames %d and %d" % (
                  title, self.samples, self.same, 100 * self.same / self.samples, self.deeper,
                  self.shallower, self.samples - self.same - self.deeper - self.shallower,
                  self.frames[0], self.frames[1]))
        for name, count in self.classes.most_common():
            print("    %6d  %s" % (count, name))
        for pair in self.unexplained[:3]:
            print("    UNEXPLAINED (%d in all) at frame %d: time %d, stop %s\n      ours %s\n"
                  "      perf %s\n      reads %s" % (
                      len(self.unexplained), pair.common, pair.ours["time"], pair.ours["stop"],
                      " ".join("%x" % frame for frame in pair.a[max(0, pair.common - 2):][:6]),
                      " ".join("%x(%s)" % (frame, pair.theirs.frames[index][1][:40]) for index,
                               frame in
                               list(enumerate(pair.b))[max(0, pair.common - 2):][:6]),
                      ["%x %x-%x" % tuple(frame) for frame in pair.theirs.outside[-3:]]))


def compare(options: Any, perf: perf_tools.Perf, path: str, judge_options: list[str]) -> Comparison:
    ours, result = read_ours(options.jitproof, path, judge_options), Comparison()
    unpaired = 0
    if judge_options:  # number of frames before frame pointers were followed
        for key, stacks in read_ours(options.jitproof, path, []).items():
            for sample, stack in zip(ours[key], stacks):
                if stack["stop"] in ("no-cfi", "no-elf"):
                    sample["guessed"] = len(stack["frames"])

    def visit(key: tuple[int, int], unwound: Unwound, mappings: Mappings) -> None:
        nonlocal unpaired
        if ours[key]:
            result.add(pair_stacks(ours[key].pop(0), unwound, mappings), mappings)
        else:
            unpaired += 1
    read_perf(perf, path, visit)
    if unpaired or any(ours.values()):
        raise RuntimeError("only perf has %d samples, only jitproof has %d" % (
            unpaired, sum(len(samples) for samples in ours.values())))
    return result


def record(options: argparse.Namespace, folder: str, command: list[str]) -> str:
    path = os.path.join(folder, "perf.data")
    process.run_or_raise([options.jitproof, "record", "--stack", str(options.stack),
                          "--freq", "999", "-o", path, "--", *command])
    return path


def run(options: argparse.Namespace, perfs: list[perf_tools.Perf], name: str) -> bool:
    """Compares the stacks of one program. Returns whether all differences are explained."""
    is_explained = True
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="jitproof-") as folder:
        path = record(options, folder,
                      agreement_programs.PROGRAMS[name](folder, options.seconds))
        print("%s:" % name)
        for perf in perfs:
            ways: tuple[tuple[str, list[str]], ...] = (
                ("", []), (", rbp where no CFI", ["--frame-pointers"]))
            for way, judge_options in ways:
                result = compare(options, perf, path, judge_options)
                result.print_summary("perf %s%s" % (perf.version, way))
                is_explained &= not result.unexplained
        print("    perf script prints chain and unwound stack, one after the other, in %d of %d"
              % (result.merged, result.samples), flush=True)
    return is_explained


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--perf-dir", default="build/perf",
                        help="folder with the perf of each suite (default: %(default)s)")
    parser.add_argument("--perf", action="append", metavar="WANTED",
                        help='a suite, a version or "installed" (the default); may be repeated')
    parser.add_argument("--stack", type=int, default=16384, help="bytes of each dump (%(default)s)")
    parser.add_argument("--seconds", type=int, default=2,
                        help="duration of each program (%(default)s)")
    parser.add_argument("--folder", help="folder for captures, some 100 MB (default: $TMPDIR)")
    parser.add_argument("program", nargs="*", help="of: " + " ".join(agreement_programs.PROGRAMS))
    options = parser.parse_args()
    options.jitproof = os.path.abspath(options.jitproof)
    is_explained, compared = True, 0
    try:
        perfs = [perf_tools.find(options.perf_dir, version)
                 for version in options.perf or [perf_tools.INSTALLED]]
    except Missing as reason:
        print("SKIP: %s" % reason)
        return 4
    for name in options.program or agreement_programs.PROGRAMS:
        try:
            is_explained &= run(options, perfs, name)
            compared += 1
        except Missing as reason:
            print("SKIP %s: %s" % (name, reason))
        except (OSError, RuntimeError, ValueError) as error:
            print("ERROR %s: %s" % (name, error))
            is_explained = False
    if not is_explained:
        return 1
    return 0 if compared else 4


if __name__ == "__main__":
    sys.exit(main())
