# SPDX-License-Identifier: GPL-2.0-only
"""Loads recorded cases, provides operations for alterations, and judges altered cases."""

from __future__ import annotations

import bisect
import copy
import functools
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence, TypeVar
import zlib

from ci.base import files
from ci.tamper.kinds import Absent, Changes, Make, Unobservable, add, require
from harness.selftest.support import run_directory as rd

Some = TypeVar("Some")
Rewrite = Callable[["Capture"], "Capture"]
TIMEOUT_S = 60
X86_IP = rd.X86_IP
FRAMES_VDSO = 1  # harness/format/truth/format.h


class Verdict(NamedTuple):
    outcome: str
    why: str
    control: bool = False


class Capture(rd.PerfData):
    """A perf.data whose records keep their bytes until one is replaced."""

    packed: dict[int, bytes] = {}

    @classmethod
    def load(cls, path: str) -> Capture:
        capture = cls()
        perf = rd.PerfData.load(path)
        capture.attrs, capture.records, capture.features = perf.attrs, perf.records, perf.features
        capture.packed = {id(record): record.pack() for record in capture.records}
        return capture

    def pack_record(self, record: Any) -> bytes:
        return self.packed.get(id(record)) or record.pack()

    def pack_records(self) -> list[bytes]:
        find_packed = self.packed.get
        try:
            return [find_packed(id(record)) or record.pack() for record in self.records]
        except struct.error as error:
            raise Absent("a record would be longer than the format allows") from error

    def copy_with(self, records: Iterable[Any] | None = None,
                  attrs: Sequence[rd.Attr] | None = None,
                  features: dict[int, bytes] | None = None) -> Capture:
        capture = Capture(self.attrs if attrs is None else attrs,
                       self.records if records is None else list(records),
                       self.features if features is None else features)
        capture.packed = self.packed
        return capture

    def equals(self, other: Capture) -> bool:
        """Returns whether both would be written as the same bytes."""
        return self.pack_records() == other.pack_records() and \
            self.features == other.features and \
            [(attr.raw, attr.ids) for attr in self.attrs] == \
            [(attr.raw, attr.ids) for attr in other.attrs]

    def map_records(self, change: Callable[[Any], Any]) -> Capture:
        """Returns a copy with changed records. @change: returns one or several records, or None to
        delete the record."""
        records: list[Any] = []
        for record in self.records:
            new = change(record)
            records += [] if new is None else new if isinstance(new, list) else [new]
        return self.copy_with(records)

    def delete_records(self, gone: Callable[[Any], bool]) -> Capture:
        return self.copy_with(record for record in self.records if not gone(record))

    def sort_by_time(self) -> Capture:
        """Returns a copy with one round, after all records without a time."""
        head, timed = [], []
        for record in self.records:
            if isinstance(record, (rd.Sample, rd.Side)) and record.time:
                timed.append(record)
            elif record.kind != rd.FINISHED_ROUND:
                head.append(record)
        return self.copy_with([*head, *sorted(timed, key=lambda record: record.time),
                               rd.Record(rd.FINISHED_ROUND, 0, b"")])

    def replace_attr(self, index: int, change: Callable[[bytearray], None]) -> Capture:
        """Returns a copy with a changed attr, which the records of the old attr have too."""
        old = self.attrs[index]
        new = rd.Attr(bytes(old.raw), old.ids)
        change(new.raw)
        return self.copy_with((clone(record, attr=new) if getattr(record, "attr", None) is old
                               else record
                               for record in self.records),
                              [new if attr is old else attr for attr in self.attrs])

    def change_attrs(self, change: Callable[[int, rd.Attr], rd.Attr | None]) -> Capture:
        """Returns a copy with changed attrs. @change: gets the index and a copy of each attr, and
        returns the new attr, or None to keep the old one."""
        return self.copy_with(attrs=[
            change(index, rd.Attr(bytes(attr.raw), attr.ids)) or attr
            for index, attr in enumerate(self.attrs)])

    def insert_records(self, *new: Any) -> Capture:
        """Returns a copy with added records, inserted by their times."""
        waiting = sorted(new, key=lambda record: record.time)
        records: list[Any] = []
        for record in self.records:
            while waiting and isinstance(record, (rd.Sample, rd.Side)) and \
                    record.time >= waiting[0].time:
                records.append(waiting.pop(0))
            records.append(record)
        return self.copy_with(records + waiting)


def clone(record: Some, **fields: Any) -> Some:
    """Copies a record so that changes do not affect the original. @fields: new values."""
    altered = copy.copy(record)
    for name in ("one", "chain", "regs", "stack", "body"):
        if name in record.__dict__:
            object.__setattr__(altered, name, copy.copy(record.__dict__[name]))
    for name, value in fields.items():
        setattr(altered, name, value)
    return altered


def make_capture_file(facts: Mapping[str, str]) -> Changes:
    return {"capture": "".join("%s %s\n" % fact for fact in facts.items()).encode()}


def set_body_field(record: Some, at: int, layout: str, value: int) -> Some:
    """Copies a record and sets the number at offset @at of its body."""
    made: Any = clone(record)
    struct.pack_into("<" + layout, made.body, at, value)
    return made


def change_field(at: int, layout: str, value: Callable[[int], int]) -> Callable[[bytearray], None]:
    """Returns a function that changes the number at offset @at."""
    def change(raw: bytearray) -> None:
        struct.pack_into("<" + layout, raw, at, value(struct.unpack_from("<" + layout, raw, at)[0]))
    return change


class Case:
    """A case of a run directory. It does not change the files."""

    def __init__(self, top: str, name: str, seed: int, jitproof: str) -> None:
        self.top, self.name, self.seed, self.jitproof = top, name, seed, jitproof
        self.scratch: str | None = None  # a folder for a kind's temporary files
        self.captures: dict[str, Capture] = {}
        self.seen: dict[int, bool] = {}
        self.kind = ""  # name of the current kind, on which choices depend

    def path(self, name: str) -> str:
        return os.path.join(self.top, self.name, name)

    def list_files(self) -> list[str]:
        return sorted(os.listdir(self.path("")))

    def read(self, name: str) -> bytes:
        require(os.path.exists(self.path(name)), "the case has no %s" % name)
        return files.read_bytes(self.path(name))

    def find_skipped(self) -> tuple[int, int]:
        """Returns (samples of the witness that the kernel skipped, samples that were due),
        according to the run's results; (0, 0) if these do not state it."""
        for line in files.read(os.path.join(self.top, "results.jsonl")).splitlines():
            result = json.loads(line)
            if result["case"] == self.name:
                metric = result["metrics"].get("witness.skipped", {"k": 0, "n": 0})
                return metric["k"], metric["n"]
        return 0, 0

    def capture(self, name: str) -> Capture:
        require(os.path.exists(self.path(name)), "the case has no %s" % name)
        if name not in self.captures:
            self.captures[name] = Capture.load(self.path(name))
        return self.captures[name]

    @functools.cached_property
    def truth(self) -> rd.Truth:
        return rd.Truth(self.path("truth"))

    def acts(self, *numbers: int) -> list[tuple[int, ...]]:
        """Returns the truth's records of the types @numbers."""
        return [self.truth.get(slot) for number in numbers for slot in self.truth.find(number)]

    @functools.cached_property
    def facts(self) -> dict[str, str]:
        return rd.read_facts(self.path(""))

    @functools.cached_property
    def window(self) -> tuple[int, int]:
        """The time in which the capture watched all of the workload, in ns."""
        facts = self.facts
        return (max(int(facts.get("enabled", 0)), int(facts.get("sampling", 0))),
                int(facts.get("stopped", 0)) or 2**64 - 1)

    def require_image_until_sampling(self, slots: Iterable[int]) -> None:
        """Raises Unobservable if an exec replaced the process image of all truth records at @slots
        before sampling."""
        execs = self.acts(rd.Truth.PROCESS_START)
        if all(any(exec[2] == old[2] and old[5] < exec[4] and exec[5] < self.window[0]
                   for exec in execs) for old in map(self.truth.get, slots)):
            raise Unobservable("an exec took the image away before samples were taken")

    @functools.cached_property
    def watched_pids(self) -> set[int]:
        return {act[2] for act in self.acts(rd.Truth.PROCESS_START)}

    @functools.cached_property
    def code(self) -> list[tuple[int, int]]:
        """All ranges that ever contained emitted code: disjoint and sorted."""
        size_of, ranges = {}, []
        for addr, size, _, identity in (act[6:10] for act in self.acts(rd.Truth.CODE_LOAD)):
            size_of[identity & 0xffffffff] = size
            ranges.append((addr, addr + size))
        for identity, addr in (act[6:8] for act in self.acts(rd.Truth.CODE_MOVE)):
            ranges.append((addr, addr + size_of.get(identity, 0)))
        merged: list[tuple[int, int]] = []
        for start, end in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def is_code(self, address: int) -> bool:
        index = bisect.bisect_right(self.code, (address, 2**64)) - 1
        return index >= 0 and address < self.code[index][1]

    @functools.cached_property
    def vdso(self) -> list[range]:
        """Ranges of vDSO code that paths call, whose layouts may lack instructions."""
        frames = {act[6] & 0xffffffff for act in self.acts(rd.Truth.FRAMES)
                  if act[9] & FRAMES_VDSO}
        return [range(act[6], act[6] + act[7]) for act in self.acts(rd.Truth.CODE_LOAD)
                if act[9] >> 32 in frames]

    def overlaps_code(self, record: rd.Map) -> bool:
        at = bisect.bisect_left(self.code, (record.start + record.size, 0)) - 1
        return at >= 0 and self.code[at][1] > record.start

    def is_in_window(self, time: int) -> bool:
        return self.window[0] < time < self.window[1]

    def is_in_code(self, sample: Any) -> bool:
        """Returns whether a record is a sample in emitted code of a watched process, within the
        window."""
        if not isinstance(sample, rd.Sample):
            return False
        stored_answer = self.seen.get(id(sample))
        if stored_answer is None:
            stored_answer = sample.pid in self.watched_pids and self.is_in_window(sample.time) and \
                self.is_code(sample.regs.get(X86_IP, sample.ip))
            if any(id(sample) in capture.packed for capture in self.captures.values()):
                self.seen[id(sample)] = stored_answer  # the sample exists as long as the case
        return stored_answer

    @functools.cached_property
    def code_samples(self) -> list[rd.Sample]:
        return [sample for sample in self.capture("perf.data").samples() if self.is_in_code(sample)]

    def adjust_facts(self, changes: Changes, **values: int) -> Changes:
        """Adds @values to the figures of the file `capture`, in addition to @changes."""
        facts = dict(self.facts)
        for key in values.keys() & facts.keys():
            facts[key] = str(max(0, int(facts[key]) + values[key]))
        return {**changes, **make_capture_file(facts)}

    @functools.cached_property
    def snapshot_maps(self) -> list[rd.Map]:
        """The mapping records of the capture that were read from /proc."""
        return [record for record in self.capture("perf.data").maps() if not record.time]

    def choose(self, records: Sequence[Some], share: float, capture: Capture) -> list[Some]:
        """Chooses a share of @records, at least one. Depends on the records' bytes, so it chooses
        the same records in perf.data and injected.data."""
        salt = ("%d %s" % (self.seed, self.kind)).encode()

        def rank_record(record: Some) -> int:
            raw = capture.pack_record(record)
            return zlib.crc32(raw[:64] + raw[-48:], zlib.crc32(salt))
        count = max(1, round(share * len(records)))
        return sorted(records, key=rank_record)[:count]

    def rewrite(self, change: Rewrite, *names: str) -> Changes:
        """Applies @change to perf.data and injected.data, or to the files @names."""
        changes: dict[str, bytes | None] = {}
        same = True
        for name in names or ("perf.data", "injected.data"):
            if name == "injected.data" and not names and not os.path.exists(self.path(name)):
                continue
            before = self.capture(name)
            try:
                after = change(before)
            except Absent:
                # The injector may have removed the record from injected.data.
                if name == "perf.data" or names:
                    raise
                continue
            same = same and before.equals(after)
            if same and name == "perf.data" and not names:
                break  # do not alter injected.data alone
            changes[name] = after.pack()
        if same:
            raise Absent("the altered file is the same, byte by byte")
        return changes


# Returns one or several records that replace a record, or None to delete it.
Change = Callable[[Case, Any], Any]
# Returns why the alteration of a record is unobservable, or None.
Proof = Callable[[Case, Any], str | None]
SHARE = 0.3
SHARES = {"": SHARE, ".some": SHARE, ".all": 1.0, ".one": 0.0}
SOME_ONE, ALL_ONE, ALL_SOME = (".some", ".one"), (".all", ".one"), (".all", ".some")


class Target(NamedTuple):
    """The records of a case that kinds alter."""

    where: Callable[[Case, Any], object]
    what: str
    files: tuple[str, ...] = ()  # see Case.rewrite()

    def alter(self, change: Change, share: float = SHARE, proof: Proof | None = None) -> Make:
        """Makes a kind that alters a share of the records."""
        def alter_capture(case: Case, capture: Capture) -> Capture:
            matches = [record for record in capture.records if self.where(case, record)]
            require(matches, "the case holds no " + self.what)
            alter = case.choose(matches, share, capture)
            proofs = [proof(case, record) for record in alter] if proof else [None]
            if all(proofs):
                raise Unobservable("; ".join(sorted(set(filter(None, proofs)))))
            chosen = {id(record) for record in alter}
            return capture.map_records(
                lambda record: change(case, record) if id(record) in chosen else record)
        return lambda case: case.rewrite(functools.partial(alter_capture, case), *self.files)

    def add(self, shares: Iterable[str], changes: Mapping[str, Change], proof: Proof | None = None
            ) -> None:
        """Registers a kind for each change and share. @shares: ends of names, as in SHARES;
        @changes: {name without that end: change}."""
        for name, change in changes.items():
            for share in shares:
                add(name + share, self.alter(change, SHARES[share], proof))


def set_to(**fields: Any) -> Change:
    """Makes a change that sets fields of a record."""
    return lambda _, record: clone(record, **fields)


CODE = Target(Case.is_in_code, "sample in emitted code within the window")


class Bench:
    """A run directory in memory with one case, to judge altered copies of it."""

    def __init__(self, jitproof: str, case: Case) -> None:
        self.jitproof, self.case = jitproof, case
        self.dirty: set[str] = set()  # files that differ from the recorded ones
        self.scratch = tempfile.mkdtemp(prefix="tamper-", dir="/dev/shm"
                                        if os.access("/dev/shm", os.W_OK) else None)
        self.folder = os.path.join(self.scratch, "run", case.name)
        os.makedirs(os.path.dirname(self.folder))
        shutil.copytree(case.path(""), self.folder)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *unused: object) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def judge(self, changes: Changes) -> Verdict:
        for name in self.dirty - set(changes):
            self.restore(name)
        for name, content in changes.items():
            path = os.path.join(self.folder, name)
            if content is not None:
                files.write_bytes(path, content)
            elif os.path.exists(path):
                os.unlink(path)
        self.dirty = set(changes)
        return self.run()

    def restore(self, name: str) -> None:
        path = os.path.join(self.folder, name)
        if os.path.exists(self.case.path(name)):
            shutil.copyfile(self.case.path(name), path)
        elif os.path.exists(path):
            os.unlink(path)

    def run(self) -> Verdict:
        results = os.path.join(self.scratch, "results.jsonl")
        if os.path.exists(results):
            os.unlink(results)
        try:
            result = subprocess.run([self.jitproof, "judge", "--results", results,
                                     os.path.join(self.scratch, "run")], timeout=TIMEOUT_S,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            return Verdict("HANG", "still running after %d s" % TIMEOUT_S)
        if result.returncode < 0:
            return Verdict("CRASH", signal.Signals(-result.returncode).name)
        output = (result.stdout + result.stderr).decode(errors="replace").strip().splitlines()
        lines = files.read(results).splitlines() if os.path.exists(results) else []
        for line in map(json.loads, lines):
            if line.get("case") == self.case.name:
                return Verdict(line["outcome"], line.get("why", ""), line["control"])
        if result.returncode == 99:
            return Verdict("REFUSED", output[-1] if output else "")
        return Verdict("NOTHING", "exit %d: %s" % (result.returncode, output[-1] if output else ""))
