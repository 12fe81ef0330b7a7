# SPDX-License-Identifier: GPL-2.0-only
"""Drops, doubles, delays and reorders code loads and mapping records of a recorded run. A brute
force decides which changes alter the name of a judged sample or load. jit_order must find each of
these, and no other change may alter its metrics."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import struct
import sys
from typing import Any, Iterator, NamedTuple, Sequence, TypeAlias

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

# A record of injected code without a right name (inject.stray) may alter no name.
JUDGED = re.compile(r"names\.|load\.|order\.|inject\.(better|worse|lost)")
# Metrics of the last file alone, not compared with the original capture.
LAST = re.compile(r"(names\.(right|wrong|unnamed|unjudged)|load\.right|order\.(hidden|stray))$")
NEVER = 2**64 - 1
Entry: TypeAlias = "Load | Decoded | rd.Map"
Entries: TypeAlias = "Sequence[Entry]"
# description of a change, index of the changed record, kind of change, argument of the kind
Change = tuple[str, int, str | None, Any]
SEED, MOST = 20200527, 60  # seed, and number of changes in each test


class Function: # pylint: disable=too-many-instance-attributes
    """One function at one address, by the truth: its brackets, and when it is judged."""

    def __init__(self, slot: Sequence[int], name: str, facts: dict[str, int]) -> None:
        self.pid, self.start, self.size, self.name = slot[2], slot[6], slot[7], name
        self.loaded, self.ready = slot[4], slot[5]
        self.ending = self.gone = NEVER
        self.begin = max(self.ready + facts["slack"], facts["sampling"])

    def begin_at_protect(self, truth: rd.Truth, facts: dict[str, int]) -> None:
        """Moves `begin` to the first act that made the memory executable."""
        acts = [slot for kind in (rd.Truth.MAP, rd.Truth.PROTECT)
                for slot in map(truth.get, truth.find(kind)) if slot[2] == self.pid
                and slot[6] <= self.start < slot[6] + slot[7] and slot[8] & rd.EXECUTE]
        self.begin = max(self.begin, min(slot[5] for slot in acts) + facts["slack"])

    def end_at(self, before: int, after: int) -> None:
        self.ending, self.gone = before, after

    def end(self, facts: dict[str, int]) -> int:
        return min(self.ending - (facts["slack"] if self.ending != NEVER else 0),
                   facts["stopped"])


def find_functions(truth: rd.Truth, facts: dict[str, int]) -> list[Function]:
    texts: dict[int, Any] = {}
    functions: list[Function] = []
    by_id: dict[tuple[int, int], Function] = {}
    for index in truth.find(rd.Truth.TEXT):
        slot = truth.get(index)
        total = slot[6] >> 32
        texts.setdefault(slot[6] & 0xffffffff, [total, {}])[1][slot[1]] = struct.pack(
            "<3Q", *slot[7:10])

    def read_text(identity: int) -> str:
        total, parts = texts[identity]
        return b"".join(parts[part] for part in sorted(parts))[:total].decode()

    order = sorted(range(len(truth.slots)), key=lambda index: (truth.get(index)[4], index))
    for slot in map(truth.get, order):
        if slot[0] == rd.Truth.CODE_LOAD:
            functions.append(Function(slot, read_text(slot[8] >> 32), facts))
            by_id[slot[2], slot[9] & 0xffffffff] = functions[-1]
        elif slot[0] in (rd.Truth.CODE_UNLOAD, rd.Truth.CODE_MOVE):
            old = by_id.pop((slot[2], slot[6] & 0xffffffff))
            old.end_at(slot[4], slot[5])
            if slot[0] == rd.Truth.CODE_MOVE:
                moved = list(slot)
                moved[6], moved[7] = slot[7], old.size
                functions.append(Function(moved, old.name, facts))
                by_id[slot[2], slot[6] & 0xffffffff] = functions[-1]
    for function in functions:
        function.begin_at_protect(truth, facts)
    return functions


def read_elf_symbols(path: str) -> list[tuple[int, int, str]]:
    """Returns [(file offset, size, name)] of the functions in .symtab."""
    raw = files.read_bytes(path)
    phoff, shoff = struct.unpack_from("<QQ", raw, 32)
    phnum, = struct.unpack_from("<H", raw, 56)
    shnum, = struct.unpack_from("<H", raw, 60)
    if not shnum:
        shnum, = struct.unpack_from("<Q", raw, shoff + 32)
    segments = [struct.unpack_from("<IIQQQQ", raw, phoff + 56 * i) for i in range(phnum)]
    sections = [struct.unpack_from("<IIQQQQIIQQ", raw, shoff + 64 * i) for i in range(shnum)]
    found = []
    for _, kind, _, _, at, size, link, _, _, _ in sections:
        if kind != 2:
            continue
        strings = sections[link][4]
        for entry in range(at, at + size, 24):
            name, info, _, _, value, length = struct.unpack_from("<IBBHQQ", raw, entry)
            if info & 15 != 2:
                continue
            text = raw[strings + name:raw.index(b"\0", strings + name)].decode()
            for segment in segments:
                if segment[0] == 1 and segment[3] <= value < segment[3] + segment[5]:
                    found.append((value - segment[3] + segment[2], length, text))
    return found


class Names:
    """The names that mapping records yield, found by linear search."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.files: dict[str, list[tuple[int, int, str]] | None] = {}
        self.maps: dict[int, list[tuple[int, int, str]]] = {}

    def read_symbols(self, path: str) -> list[tuple[int, int, str]] | None:
        base = path.rsplit("/", 1)[-1]
        if base not in self.files:
            real = os.path.join(self.directory, "jit", base)
            if not os.path.exists(real) and base.startswith("jitted-"):
                real = os.path.join(self.directory, base)
            self.files[base] = read_elf_symbols(real) if os.path.isfile(real) else None
        return self.files[base]

    def read_map_lines(self, pid: int) -> list[Any]:
        if pid not in self.maps:
            try:
                with open(os.path.join(self.directory, f"perf-{pid}.map"),
                          encoding="utf-8") as file:
                    split = [line.rstrip("\n").split(" ", 2) for line in file]
                self.maps[pid] = [(int(at, 16), int(size, 16), name) for at, size, name in split]
            except FileNotFoundError:
                self.maps[pid] = []
        return self.maps[pid]

    def is_injected(self, record: rd.Map) -> bool:
        return self.read_symbols(record.name) is not None

    def name_at(self, record: Any, pid: int, address: int) -> str | None:
        """Returns the name of @address by @record, the last one that covers it, or None."""
        if record is None:
            return None
        table = self.read_symbols(record.name)
        if table is not None:
            offset = address - record.start + record.pgoff
            return next((name for at, size, name in table if at <= offset < at + size), None)
        if record.prot & rd.EXECUTE and re.match(
                r"//anon$|\[heap\]$|/dev/zero|/anon_hugepage|\[stack|/SYSV", record.name):
            return next((name for at, size, name in self.read_map_lines(pid)
                         if at <= address < at + size), None)
        return None


def find_last_covering(records: Entries, pid: int, address: int, time: int) -> Entry | None:
    """Returns the last of @records, in order of time, that covers @address by @time, or None."""
    for record in reversed(records):
        if record.time <= time and record.pid == pid and \
                record.start <= address < record.start + record.size:
            return record
    return None


def find_boundaries(function: Function, records: Entries) -> list[int]:
    """Returns the first and last address of each piece of @function between record boundaries."""
    boundaries = {function.start, function.start + function.size}
    for record in records:
        boundaries |= {boundary for boundary in (record.start, record.start + record.size)
                       if function.start < boundary < function.start + function.size}
    return sorted((boundaries - {function.start + function.size}) |
                  {boundary - 1 for boundary in boundaries - {function.start}})


def do_overlap(one: Entry, other: Function) -> bool:
    return one.pid == other.pid and one.start < other.start + other.size and \
        other.start < one.start + one.size


def name_of_sample(records: Entries, names: ByLoad | Names,
                   sample: rd.Sample) -> str | None:
    ip = sample.regs[rd.X86_IP]
    return names.name_at(find_last_covering(records, sample.pid, ip, sample.time), sample.pid, ip)


def find_names(records: Entries, names: ByLoad | Names, function: Function,
                  facts: dict[str, int]) -> tuple[tuple[str, ...], ...] | None:
    """Returns the sequence, without times, of the sets of names that the bytes of @function have
    from its begin to its end, or None if it is not judged."""
    end = function.end(facts)
    if function.begin >= end:
        return None
    near = [record for record in records if do_overlap(record, function)]
    moments = sorted({function.begin} | {r.time for r in near if function.begin < r.time < end})
    follow: list[tuple[str, ...]] = []
    for moment in moments:
        now = tuple(sorted({
            str(names.name_at(find_last_covering(near, function.pid, address, moment), function.pid,
                              address)) for address in find_boundaries(function, near)}))
        if not follow or follow[-1] != now:
            follow.append(now)
    return tuple(follow)


class Decoded(NamedTuple):
    """The fields of a mapping record, decoded once."""

    pid: int
    start: int
    size: int
    pgoff: int
    prot: int
    time: int
    name: str


def decode(record: Entry) -> Entry:
    return Decoded(*(getattr(record, field) for field in Decoded._fields)) \
        if isinstance(record, rd.Map) else record


class Reference:
    """The names of all judged samples and loads, by brute force. If records change, only samples
    and loads at the addresses of these records are evaluated again: a name depends on no other
    records."""

    def __init__(self, functions: list[Function], samples: list[rd.Sample], facts: dict[str, int],
                 names: ByLoad | Names, records: Entries) -> None:
        self.functions, self.samples, self.facts, self.names = functions, samples, facts, names
        self.ranges = [(ip, ip + 1) for ip in (sample.regs[rd.X86_IP] for sample in samples)]
        self.ranges += [(one.start, one.start + one.size) for one in functions]
        self.first = self.find_names_in(records)

    def find_names_in(self, records: Entries, touched: Entries | None = None) -> list[Any]:
        records = sorted(map(decode, records), key=lambda record: record.time)
        found = [] if touched is None else list(self.first)
        near = [(record.start, record.start + record.size) for record in touched or ()]
        for index, (start, end) in enumerate(self.ranges):
            if touched is None:
                found.append(self.find_name(records, index))
            elif any(start < last and first < end for first, last in near):
                found[index] = self.find_name(records, index)
        return found

    def find_name(self, records: Entries, index: int) -> Any:
        if index < len(self.samples):
            return name_of_sample(records, self.names, self.samples[index])
        function = self.functions[index - len(self.samples)]
        return find_names(records, self.names, function, self.facts)


class Load:
    """A code load of a jitdump, as a record that covers its code."""

    def __init__(self, record: bytes) -> None:
        self.pid, self.start, self.size, self.name = rd.Jitdump.load(record)
        self.time = rd.Jitdump.time(record)


class ByLoad:
    """Names from a list of mapping records and loads."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def name_at(self, record: Any, pid: int, address: int) -> str | None:
        return record.name if isinstance(record, Load) else self.names.name_at(record, pid, address)


def merge_loads(loads: list[Load], records: list[rd.Map], cut: bool) -> Entries:
    """Returns loads and mapping records in one list. With @cut the last load that covers an address
    gives its name even if a mapping came later: all mappings get time 0."""
    before = []
    for record in records:
        before.append(record.copy())
        if cut:
            before[-1].time = 0
    return [*before, *loads]


class Changed(Folder):
    """Alterations of the fixture that a subclass names."""

    fixture: str
    dir: str
    dump: str
    facts: dict[str, int]
    functions: list[Function]
    perf: rd.PerfData
    injected: rd.PerfData
    samples: list[rd.Sample]
    names: Names

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = os.path.join(FIXTURES, cls.fixture)
        cls.facts = {key: int(value) for key, value in rd.read_facts(cls.dir).items()
                     if value.isdigit()}
        cls.functions = find_functions(rd.Truth(os.path.join(cls.dir, "truth")), cls.facts)
        cls.perf = rd.PerfData.load(os.path.join(cls.dir, "perf.data"))
        cls.injected = rd.PerfData.load(os.path.join(cls.dir, "injected.data"))
        cls.samples = [sample for sample in cls.injected.samples() if cls.is_judged(sample)]
        cls.names = Names(cls.dir)
        cls.dump = next(name for name in os.listdir(cls.dir)
                        if re.match(r"jit-\d+\.dump$", name))

    @classmethod
    def is_judged(cls, sample: rd.Sample) -> bool:
        """Returns whether @sample is in emitted code, outside of its load and unload brackets."""
        slack, ip = cls.facts["slack"], sample.regs.get(rd.X86_IP, 0)
        at = [function for function in cls.functions if function.pid == sample.pid
              and function.start <= ip < function.start + function.size
              and function.loaded <= sample.time <= function.gone]
        return bool(at) and all(sample.time > function.ready + slack
                                and (function.ending == NEVER or
                                     sample.time + slack < function.ending)
                                for function in at)

    def setUp(self) -> None:
        super().setUp()
        self.random = random.Random(SEED)

    def emitted_maps(self, perf: rd.PerfData) -> list[rd.Map]:
        """Returns records that cover emitted code: mappings and injected loads."""
        return [record for record in perf.maps() if any(
            record.pid == function.pid and record.start < function.start + function.size
            and function.start < record.start + record.size for function in self.functions)]

    def draw_time(self, timed: Entries) -> int:
        """Returns a random time of the run, mostly near the time of one of @timed."""
        if self.random.random() < 0.7:
            return self.random.choice(timed).time + self.random.choice((-2000, -1, 1, 2000))
        return self.random.randrange(self.facts["enabled"], self.facts["stopped"])

    def copy_fixture(self, number: int, **files: Any) -> str:
        """Returns a copy of the fixture with the given files replaced."""
        folder = self.place(f"{number:04}")
        os.mkdir(folder)
        for name in os.listdir(self.dir):
            source = os.path.join(self.dir, name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(folder, name))
            elif name not in files:
                shutil.copy(source, os.path.join(folder, name))
        for name, content in files.items():
            content.save(os.path.join(folder, name))
        return folder

    def judge_metrics(self) -> list[dict[str, tuple[int, int | None]]]:
        """Returns the metrics of jit_order for each written folder, in order."""
        results = self.place("results")
        done = process.run([JITPROOF, "judge", "--results", results, self.home], timeout=110)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        found = []
        with open(results, encoding="utf-8") as file:
            for line in file:
                metrics = json.loads(line)["metrics"]
                self.assertIn("names.right", metrics, line)
                found.append({name: (value["k"], value.get("n"))
                              for name, value in metrics.items() if JUDGED.match(name)})
        return found

    def compare_changes(self, kind: str, changes: list[str], yielded: list[list[Any]],
                        before: Sequence[list[Any] | None] | None = None) -> None:
        """Compares metrics with the brute force. @changes: descriptions of the changes; the first
        changes nothing. @yielded: for each, the names by the brute force in the last file.
        @before: the names in the file before injecting, if that file changed, too."""
        metrics = self.judge_metrics()
        self.assertEqual(len(metrics), len(changes))
        before = before or [None] * len(changes)
        right, judged = metrics[0]["names.right"]
        self.assertEqual(right, judged, metrics[0])
        self.assertEqual(judged, len(self.samples))
        self.assertEqual(metrics[0]["load.right"][0], metrics[0]["load.right"][1])
        noticed = alike = 0
        for change, found, names, was in zip(changes[1:], metrics[1:], yielded[1:], before[1:]):
            of_last = {name: value for name, value in found.items() if LAST.match(name)}
            if names != yielded[0]:
                self.assertNotEqual(of_last, {name: metrics[0][name] for name in of_last},
                                    f"not noticed: {change}")
                noticed += 1
                continue
            alike += 1
            same = found if was == before[0] else of_last
            self.assertEqual(same, {name: metrics[0][name] for name in same},
                             f"alters no name: {change}")
        self.assertGreater(noticed, MOST // 6)
        self.assertGreater(alike, MOST // 6)
        print(f"{self.fixture}, {kind}: {noticed} changes alter a name, each was noticed; "
              f"{alike} alter none, each left the metrics as they were", file=sys.stderr)

    def draw_changes(self, records: list[rd.Map],
                     most: int) -> list[Change]:
        changes: list[Change] = []
        for index, record in enumerate(records):
            descriptions = f"{record.name.rsplit('/', 1)[-1]} {record.range()} of {record.time}"
            changes.append((f"dropped {descriptions}", index, None, None))
            changes.append((f"moved {descriptions}", index, "move",
                            record.time + self.random.randrange(-500, 500)))
            for _ in range(2):
                changes.append((f"doubled {descriptions}", index, "double",
                                self.draw_time(records)))
                changes.append((f"moved {descriptions}", index, "move", self.draw_time(records)))
            later = [r for r in records if r.time > record.time]
            if later:
                changes.append((f"exchanged {descriptions}", index, "exchange",
                                self.random.choice(later)))
        self.random.shuffle(changes)
        # Try the few changes of mappings first.
        changes.sort(key=lambda change: records[change[1]].name.startswith("/tmp/"))
        plain = sum(not records[change[1]].name.startswith("/tmp/") for change in changes)
        return changes[:most // 2] + changes[plain:plain + most // 2] if plain > most // 2 \
            else changes[:most]

    @staticmethod
    def change_record(perf: rd.PerfData, record: rd.Map, how: str | None,
                      argument: Any) -> rd.PerfData:
        """Returns @perf with one change, made to a copy of @record."""
        other = rd.PerfData(perf.attrs, perf.records, perf.features)
        fresh = record.copy()
        if how != "double":
            other.records = [r for r in other.records if r is not record]
        if how in ("double", "move"):
            fresh.time = argument
            other.insert(fresh)
        elif how == "exchange":
            second = argument.copy()
            fresh.time, second.time = second.time, fresh.time
            other.records = [r for r in other.records if r is not argument]
            other.insert(fresh)
            other.insert(second)
        other.sort()
        return other

    def test_records(self) -> None:
        """Changes mappings and injected records of injected.data."""
        records = self.emitted_maps(self.injected)
        reference = Reference(self.functions, self.samples, self.facts, self.names, records)
        descriptions, yielded = ["as recorded"], [reference.first]
        self.copy_fixture(0)
        for text, index, how, argument in self.draw_changes(records, MOST):
            perf = self.change_record(self.injected, records[index], how, argument)
            self.copy_fixture(len(descriptions), **{"injected.data": perf})
            descriptions.append(f"{text} {argument if how in ('double', 'move') else ''}")
            touched = [records[index]] + ([argument] if how == "exchange" else [])
            yielded.append(reference.find_names_in(self.emitted_maps(perf), touched))
        self.compare_changes("records of injected.data", descriptions, yielded)

    def change_dump(self, index: int, how: str, argument: Any) -> rd.Jitdump:
        """Returns the jitdump with one change of the load @index."""
        dump = rd.Jitdump(os.path.join(self.dir, self.dump))
        loads = dump.loads()
        record = loads[index]
        if how == "drop":
            dump.records = [other for other in dump.records if other is not record]
        elif how == "double":
            dump.records.append(bytearray(record))
            dump.set_time(dump.records[-1], argument)
        elif how == "move":
            dump.set_time(record, argument)
        elif how == "exchange":
            time = dump.time(loads[argument])
            dump.set_time(loads[argument], dump.time(record))
            dump.set_time(record, time)
        else:  # move the record in the file without changing its time
            dump.records.remove(record)
            dump.records.insert(argument, record)
        return dump

    def draw_load_changes(self) -> Iterator[tuple[rd.Jitdump, rd.PerfData, str, Entries]]:
        """Yields (jitdump, perf.data, description, changed records) for changes of either file."""
        plain = rd.Jitdump(os.path.join(self.dir, self.dump))
        loads = [Load(record) for record in plain.loads()]
        records = self.emitted_maps(self.perf)
        changed = []
        for index, load in enumerate(loads):
            for how, argument in (("drop", None),
                                   ("elsewhere", self.random.randrange(len(plain.records))),
                                   ("exchange", self.random.randrange(len(loads))),
                                   ("move", load.time + self.random.randrange(-500, 500)),
                                   ("double", self.draw_time([*loads, *records])),
                                   ("move", self.draw_time([*loads, *records]))):
                touched = [load] + ([loads[argument]] if how == "exchange" else [])
                changed.append((index, how, argument, touched))
        self.random.shuffle(changed)
        for index, how, argument, touched in changed[:MOST // 2]:
            yield (self.change_dump(index, how, argument), self.perf,
                   f"{how} {argument}, load of {touched[0].name} at {touched[0].time}", touched)
        for text, index, kind, other in self.draw_changes(records, MOST // 2):
            yield (plain, self.change_record(self.perf, records[index], kind, other), text,
                   [records[index]] + ([other] if kind == "exchange" else []))

    def inject_dumps(self, folder: str) -> None:
        out = os.path.join(folder, "injected.data")
        os.unlink(out)
        shutil.rmtree(os.path.join(folder, "jit"))
        process.run_or_raise([JITPROOF, "inject", "--anon=cut", "--jitdump-dir", folder, "-i",
                              os.path.join(folder, "perf.data"), "-o", out], timeout=30)
        os.rename(out + ".jit", os.path.join(folder, "jit"))

    def test_inject(self) -> None:
        """Changes perf.data and the jitdump, and injects again."""
        plain = rd.Jitdump(os.path.join(self.dir, self.dump))
        both = []
        for cut in (True, False):
            records = merge_loads([Load(record) for record in plain.loads()],
                                  self.emitted_maps(self.perf), cut)
            both.append(Reference(self.functions, self.samples, self.facts, ByLoad(self.names),
                                  records))
        descriptions, yielded = ["as recorded"], [[reference.first] for reference in both]
        self.inject_dumps(self.copy_fixture(0))
        for dump, perf, text, touched in self.draw_load_changes():
            self.inject_dumps(self.copy_fixture(len(descriptions),
                                                **{self.dump: dump, "perf.data": perf}))
            descriptions.append(text)
            for cut, reference, into in zip((True, False), both, yielded):
                records = merge_loads([Load(record) for record in dump.loads()],
                                      self.emitted_maps(perf), cut)
                into.append(reference.find_names_in(records, touched))
        self.compare_changes("jitdump and perf.data, injected again", descriptions, *yielded)


class Growth(Changed):
    """A heap that grew: later records cover what was loaded."""

    fixture = "growth"


class Reuse(Changed):
    """Generations of code at one address."""

    fixture = "reuse"


class Early(Folder):
    """A capture that attaches on a busy machine: records merge before the snapshot is read."""

    def test_live_record_before_the_snapshot_is_read(self) -> None:
        case = self.place("case")
        shutil.copytree(os.path.join(FIXTURES, "growth"), case)
        inject = ["inject", "--anon=keep", "--jitdump-dir", case, "-i", case + "/perf.data", "-o"]
        os.remove(self.place("case/injected.data"))
        process.run([JITPROOF, *inject, self.place("case/injected.data")], timeout=60)
        files.write(self.place("case/maps"), "# pid 12329 before %d after %d\n" % (NEVER, NEVER))
        self.assertRegex(process.run([JITPROOF, "judge", case], timeout=60).stdout,
                         r"(?m)^# order.hidden: 78 with cause coalesced,")


del Changed  # only the subclasses are tests
