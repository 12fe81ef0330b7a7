# SPDX-License-Identifier: GPL-2.0-only
"""Code loads and mapping records of a recorded run are dropped, doubled, delayed, reordered. A
brute force of its own decides which changes alter the name that belongs to an address at some
judged sample or load. jit_order must notice each of these, and no other may move any of its
metrics."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import struct
import sys
from typing import Any, Iterator, Sequence, TypeAlias

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

# A record of injected code that names nothing right (inject.stray) may alter no name.
JUDGED = re.compile(r"names\.|load\.|order\.|inject\.(better|worse|lost)")
# Of the last file alone: what is not compared with the capture as it was.
LAST = re.compile(r"(names\.(right|wrong|unnamed|unjudged)|load\.right|order\.(hidden|stray))$")
NEVER = 2**64 - 1
Entry: TypeAlias = "Load | rd.Map"
Entries: TypeAlias = "Sequence[Load | rd.Map]"
# Words, index, what, with what.
Change = tuple[str, int, str | None, Any]
SEED, MOST = 20200527, 120  # changes of each test


class Life: # pylint: disable=too-many-instance-attributes
    """One function at one address, by the truth: its brackets, and when it is judged."""

    def __init__(self, slot: Sequence[int], name: str, facts: dict[str, int]) -> None:
        self.pid, self.start, self.size, self.name = slot[2], slot[6], slot[7], name
        self.loaded, self.ready = slot[4], slot[5]
        self.ending = self.gone = NEVER
        self.begin = max(self.ready + facts["slack"], facts["sampling"])

    def executable_from(self, truth: rd.Truth, facts: dict[str, int]) -> None:
        """Its memory is made executable once, and stays so: by which act?"""
        acts = [slot for kind in (rd.Truth.MAP, rd.Truth.PROTECT)
                for slot in map(truth.get, truth.of(kind)) if slot[2] == self.pid
                and slot[6] <= self.start < slot[6] + slot[7] and slot[8] & rd.EXECUTE]
        self.begin = max(self.begin, min(slot[5] for slot in acts) + facts["slack"])

    def end_at(self, before: int, after: int) -> None:
        self.ending, self.gone = before, after

    def end(self, facts: dict[str, int]) -> int:
        return min(self.ending - (facts["slack"] if self.ending != NEVER else 0),
                   facts["stopped"])


def lives_of(truth: rd.Truth, facts: dict[str, int]) -> list[Life]:
    texts: dict[int, Any] = {}
    lives: list[Life] = []
    by_id: dict[tuple[int, int], Life] = {}
    for index in truth.of(rd.Truth.TEXT):
        slot = truth.get(index)
        total = slot[6] >> 32
        texts.setdefault(slot[6] & 0xffffffff, [total, {}])[1][slot[1]] = struct.pack(
            "<3Q", *slot[7:10])

    def text(identity: int) -> str:
        total, parts = texts[identity]
        return b"".join(parts[part] for part in sorted(parts))[:total].decode()

    order = sorted(range(len(truth.slots)), key=lambda index: (truth.get(index)[4], index))
    for slot in map(truth.get, order):
        if slot[0] == rd.Truth.CODE_LOAD:
            lives.append(Life(slot, text(slot[8] >> 32), facts))
            by_id[slot[2], slot[9] & 0xffffffff] = lives[-1]
        elif slot[0] in (rd.Truth.CODE_UNLOAD, rd.Truth.CODE_MOVE):
            old = by_id.pop((slot[2], slot[6] & 0xffffffff))
            old.end_at(slot[4], slot[5])
            if slot[0] == rd.Truth.CODE_MOVE:
                moved = list(slot)
                moved[6], moved[7] = slot[7], old.size
                lives.append(Life(moved, old.name, facts))
                by_id[slot[2], slot[6] & 0xffffffff] = lives[-1]
    for life in lives:
        life.executable_from(truth, facts)
    return lives


def elf_symbols(path: str) -> list[tuple[int, int, str]]:
    """[(file offset, size, name)] of the functions in .symtab."""
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
    """Which name a list of mapping records yields, by looking at all of them each time."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.files: dict[str, list[tuple[int, int, str]] | None] = {}
        self.maps: dict[int, list[tuple[int, int, str]]] = {}

    def symbols(self, path: str) -> list[tuple[int, int, str]] | None:
        base = path.rsplit("/", 1)[-1]
        if base not in self.files:
            real = os.path.join(self.directory, "jit", base)
            if not os.path.exists(real) and base.startswith("jitted-"):
                real = os.path.join(self.directory, base)
            self.files[base] = elf_symbols(real) if os.path.isfile(real) else None
        return self.files[base]

    def lines(self, pid: int) -> list[Any]:
        if pid not in self.maps:
            try:
                with open(os.path.join(self.directory, f"perf-{pid}.map"),
                          encoding="utf-8") as file:
                    split = [line.rstrip("\n").split(" ", 2) for line in file]
                self.maps[pid] = [(int(at, 16), int(size, 16), name) for at, size, name in split]
            except FileNotFoundError:
                self.maps[pid] = []
        return self.maps[pid]

    def injected(self, record: rd.Map) -> bool:
        return self.symbols(record.name) is not None

    def of(self, record: Any, pid: int, address: int) -> str | None:
        """The name that @record, the last that covers @address, leads to; None: none."""
        if record is None:
            return None
        table = self.symbols(record.name)
        if table is not None:
            offset = address - record.start + record.pgoff
            return next((name for at, size, name in table if at <= offset < at + size), None)
        if record.prot & rd.EXECUTE and re.match(
                r"//anon$|\[heap\]$|/dev/zero|/anon_hugepage|\[stack|/SYSV", record.name):
            return next((name for at, size, name in self.lines(pid)
                         if at <= address < at + size), None)
        return None


def last_over(records: Entries, pid: int, address: int, time: int) -> Entry | None:
    """Of @records in the order of time, the last one by @time that covers @address."""
    for record in reversed(records):
        if record.time <= time and record.pid == pid and \
                record.start <= address < record.start + record.size:
            return record
    return None


def places(life: Life, records: Entries) -> list[int]:
    """An address of each piece of @life that some record tells apart, and the last of each."""
    edges = {life.start, life.start + life.size}
    for record in records:
        edges |= {edge for edge in (record.start, record.start + record.size)
                  if life.start < edge < life.start + life.size}
    return sorted((edges - {life.start + life.size}) | {edge - 1 for edge in edges - {life.start}})


def overlap(one: Load | rd.Map, other: Life) -> bool:
    return one.pid == other.pid and one.start < other.start + other.size and \
        other.start < one.start + one.size


def name_of_sample(records: Entries, names: ByLoad | Names,
                   sample: rd.Sample) -> str | None:
    ip = sample.regs[rd.X86_IP]
    return names.of(last_over(records, sample.pid, ip, sample.time), sample.pid, ip)


def names_of_life(records: Entries, names: ByLoad | Names, life: Life,
                  facts: dict[str, int]) -> tuple[tuple[str, ...], ...] | None:
    """The names that its bytes have from its begin to its end: how they follow each other, not
    when. None: it is not judged."""
    end = life.end(facts)
    if life.begin >= end:
        return None
    near = [record for record in records if overlap(record, life)]
    moments = sorted({life.begin} | {r.time for r in near if life.begin < r.time < end})
    follow: list[tuple[str, ...]] = []
    for moment in moments:
        now = tuple(sorted({str(names.of(last_over(near, life.pid, address, moment), life.pid,
                                         address)) for address in places(life, near)}))
        if not follow or follow[-1] != now:
            follow.append(now)
    return tuple(follow)


class Reference:
    """What belongs to each judged sample and load. Of a changed list of records only what the
    changed ones touch is looked at again: a name hangs on the records over its address alone."""

    def __init__(self, lives: list[Life], samples: list[rd.Sample], facts: dict[str, int],
                 names: ByLoad | Names, records: Entries) -> None:
        self.lives, self.samples, self.facts, self.names = lives, samples, facts, names
        self.first = self.of(records)

    def of(self, records: Entries,
           touched: Entries | None = None) -> list[Any]:
        records = sorted(records, key=lambda record: record.time)
        found: list[Any] = []
        for index, sample in enumerate(self.samples):
            ip = sample.regs[rd.X86_IP]
            if touched is None or any(record.start <= ip < record.start + record.size
                                      for record in touched):
                found.append(name_of_sample(records, self.names, sample))
            else:
                found.append(self.first[index])
        for index, life in enumerate(self.lives, len(found)):
            if touched is None or any(overlap(record, life) for record in touched):
                found.append(names_of_life(records, self.names, life, self.facts))
            else:
                found.append(self.first[index])
        return found


class Load:
    """A code load of a jitdump, as a record that covers what it loads."""

    def __init__(self, record: bytes) -> None:
        self.pid, self.start, self.size, self.name = rd.Jitdump.load(record)
        self.time = rd.Jitdump.time(record)


class ByLoad:
    """Names where loads are mapping records like others."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, record: Any, pid: int, address: int) -> str | None:
        return record.name if isinstance(record, Load) else self.names.of(record, pid, address)


def with_loads(loads: list[Load], records: list[rd.Map], cut: bool) -> Entries:
    """Loads and mapping records together. With @cut the last load that covers an address is its
    name, whatever mapping came later: as if these had all been there before."""
    before = []
    for record in records:
        before.append(record.copy())
        if cut:
            before[-1].time = 0
    return [*before, *loads]


class Changed(Folder):
    """What is done to a fixture; which one, its heirs say."""

    fixture: str
    dir: str
    dump: str
    facts: dict[str, int]
    lives: list[Life]
    perf: rd.PerfData
    injected: rd.PerfData
    samples: list[rd.Sample]
    names: Names

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = os.path.join(FIXTURES, cls.fixture)
        cls.facts = {key: int(value) for key, value in rd.read_facts(cls.dir).items()
                     if value.isdigit()}
        cls.lives = lives_of(rd.Truth(os.path.join(cls.dir, "truth")), cls.facts)
        cls.perf = rd.PerfData.load(os.path.join(cls.dir, "perf.data"))
        cls.injected = rd.PerfData.load(os.path.join(cls.dir, "injected.data"))
        cls.samples = [sample for sample in cls.injected.samples() if cls.judged(sample)]
        cls.names = Names(cls.dir)
        cls.dump = next(name for name in os.listdir(cls.dir)
                        if re.match(r"jit-\d+\.dump$", name))

    @classmethod
    def judged(cls, sample: rd.Sample) -> bool:
        """In emitted code, outside of the brackets of its load and unload."""
        slack, ip = cls.facts["slack"], sample.regs.get(rd.X86_IP, 0)
        at = [life for life in cls.lives if life.pid == sample.pid
              and life.start <= ip < life.start + life.size
              and life.loaded <= sample.time <= life.gone]
        return bool(at) and all(sample.time > life.ready + slack
                                and (life.ending == NEVER or sample.time + slack < life.ending)
                                for life in at)

    def setUp(self) -> None:
        super().setUp()
        self.random = random.Random(SEED)

    def emitted_maps(self, perf: rd.PerfData) -> list[rd.Map]:
        """Records that cover emitted code: mappings, and what inject made of loads."""
        return [record for record in perf.maps() if any(
            record.pid == life.pid and record.start < life.start + life.size
            and life.start < record.start + record.size for life in self.lives)]

    def moment(self, timed: Entries) -> int:
        """Some time of the run: near one of @timed, or anywhere."""
        if self.random.random() < 0.7:
            return self.random.choice(timed).time + self.random.choice((-2000, -1, 1, 2000))
        return self.random.randrange(self.facts["enabled"], self.facts["stopped"])

    def copy(self, number: int, **files: Any) -> str:
        """A folder like the fixture with some files in place of its own."""
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

    def metrics(self) -> list[dict[str, tuple[int, int | None]]]:
        """What jit_order says of each folder that was written, in their order."""
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

    def compare(self, what: str, changes: list[str], yielded: list[list[Any]],
                before: Sequence[list[Any] | None] | None = None) -> None:
        """@changes: words for each, the first one of none; @yielded: what the brute force says of
        the last file; @before: of what was injected into it, if that changed too."""
        metrics = self.metrics()
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
        self.assertGreater(noticed, 20)
        self.assertGreater(alike, 20)
        print(f"{self.fixture}, {what}: {noticed} changes alter a name, each was noticed; "
              f"{alike} alter none, each left the metrics as they were", file=sys.stderr)

    def changed_records(self, records: list[rd.Map],
                        most: int) -> list[Change]:
        """(words, index, what, with what) for each change of @records."""
        changes: list[Change] = []
        for index, record in enumerate(records):
            words = f"{record.name.rsplit('/', 1)[-1]} {record.range()} of {record.time}"
            changes.append((f"dropped {words}", index, None, None))
            changes.append((f"moved {words}", index, "move",
                            record.time + self.random.randrange(-500, 500)))
            for _ in range(2):
                changes.append((f"doubled {words}", index, "double", self.moment(records)))
                changes.append((f"moved {words}", index, "move", self.moment(records)))
            later = [r for r in records if r.time > record.time]
            if later:
                changes.append((f"exchanged {words}", index, "exchange",
                                self.random.choice(later)))
        self.random.shuffle(changes)
        # Mappings are few among the loads: they come first.
        changes.sort(key=lambda change: records[change[1]].name.startswith("/tmp/"))
        plain = sum(not records[change[1]].name.startswith("/tmp/") for change in changes)
        return changes[:most // 2] + changes[plain:plain + most // 2] if plain > most // 2 \
            else changes[:most]

    @staticmethod
    def changed(perf: rd.PerfData, record: rd.Map, how: str | None,
                with_what: Any) -> rd.PerfData:
        """@perf with one change made to a copy of @record."""
        other = rd.PerfData(perf.attrs, perf.records, perf.features)
        fresh = record.copy()
        if how != "double":
            other.records = [r for r in other.records if r is not record]
        if how in ("double", "move"):
            fresh.time = with_what
            other.insert(fresh)
        elif how == "exchange":
            second = with_what.copy()
            fresh.time, second.time = second.time, fresh.time
            other.records = [r for r in other.records if r is not with_what]
            other.insert(fresh)
            other.insert(second)
        other.sort()
        return other

    def test_records(self) -> None:
        """Of injected.data: mappings, and the records that inject wrote for loads."""
        records = self.emitted_maps(self.injected)
        reference = Reference(self.lives, self.samples, self.facts, self.names, records)
        words, yielded = ["as recorded"], [reference.first]
        self.copy(0)
        for text, index, how, with_what in self.changed_records(records, MOST):
            perf = self.changed(self.injected, records[index], how, with_what)
            self.copy(len(words), **{"injected.data": perf})
            words.append(f"{text} {with_what if how in ('double', 'move') else ''}")
            touched = [records[index]] + ([with_what] if how == "exchange" else [])
            yielded.append(reference.of(self.emitted_maps(perf), touched))
        self.compare("records of injected.data", words, yielded)

    def changed_dump(self, index: int, how: str, with_what: Any) -> rd.Jitdump:
        """The jitdump with one change made to its load @index."""
        dump = rd.Jitdump(os.path.join(self.dir, self.dump))
        loads = dump.loads()
        record = loads[index]
        if how == "drop":
            dump.records = [other for other in dump.records if other is not record]
        elif how == "double":
            dump.records.append(bytearray(record))
            dump.set_time(dump.records[-1], with_what)
        elif how == "move":
            dump.set_time(record, with_what)
        elif how == "exchange":
            time = dump.time(loads[with_what])
            dump.set_time(loads[with_what], dump.time(record))
            dump.set_time(record, time)
        else: # elsewhere in the file, at its own time
            dump.records.remove(record)
            dump.records.insert(with_what, record)
        return dump

    def changed_loads(self) -> Iterator[tuple[rd.Jitdump, rd.PerfData, str, Entries]]:
        """(jitdump, perf.data, words, what was touched) for each change of either."""
        plain = rd.Jitdump(os.path.join(self.dir, self.dump))
        loads = [Load(record) for record in plain.loads()]
        records = self.emitted_maps(self.perf)
        changed = []
        for index, load in enumerate(loads):
            for how, with_what in (("drop", None),
                                   ("elsewhere", self.random.randrange(len(plain.records))),
                                   ("exchange", self.random.randrange(len(loads))),
                                   ("move", load.time + self.random.randrange(-500, 500)),
                                   ("double", self.moment([*loads, *records])),
                                   ("move", self.moment([*loads, *records]))):
                touched = [load] + ([loads[with_what]] if how == "exchange" else [])
                changed.append((index, how, with_what, touched))
        self.random.shuffle(changed)
        for index, how, with_what, touched in changed[:MOST // 2]:
            yield (self.changed_dump(index, how, with_what), self.perf,
                   f"{how} {with_what}, load of {touched[0].name} at {touched[0].time}", touched)
        for text, index, kind, other in self.changed_records(records, MOST // 2):
            yield (plain, self.changed(self.perf, records[index], kind, other), text,
                   [records[index]] + ([other] if kind == "exchange" else []))

    def inject(self, folder: str) -> None:
        out = os.path.join(folder, "injected.data")
        os.unlink(out)
        shutil.rmtree(os.path.join(folder, "jit"))
        process.must([JITPROOF, "inject", "--anon=cut", "--jitdump-dir", folder, "-i",
                      os.path.join(folder, "perf.data"), "-o", out], timeout=30)
        os.rename(out + ".jit", os.path.join(folder, "jit"))

    def test_inject(self) -> None:
        """Of perf.data and the jitdump, injected anew."""
        plain = rd.Jitdump(os.path.join(self.dir, self.dump))
        both = []
        for cut in (True, False):
            records = with_loads([Load(record) for record in plain.loads()],
                                 self.emitted_maps(self.perf), cut)
            both.append(Reference(self.lives, self.samples, self.facts, ByLoad(self.names),
                                  records))
        words, yielded = ["as recorded"], [[reference.first] for reference in both]
        self.inject(self.copy(0))
        for dump, perf, text, touched in self.changed_loads():
            self.inject(self.copy(len(words), **{self.dump: dump, "perf.data": perf}))
            words.append(text)
            for cut, reference, into in zip((True, False), both, yielded):
                records = with_loads([Load(record) for record in dump.loads()],
                                     self.emitted_maps(perf), cut)
                into.append(reference.of(records, touched))
        self.compare("jitdump and perf.data, injected again", words, *yielded)


class Growth(Changed):
    """A heap that grew: later records cover what was loaded."""

    fixture = "growth"


class Reuse(Changed):
    """Generations of code at one address."""

    fixture = "reuse"


class Early(Folder):
    """A capture that attaches on a busy machine: the bug is there before its snapshot is read."""

    def test_live_record_before_the_snapshot_is_read(self) -> None:
        case = self.place("case")
        shutil.copytree(os.path.join(FIXTURES, "growth"), case)
        inject = ["inject", "--anon=keep", "--jitdump-dir", case, "-i", case + "/perf.data", "-o"]
        os.remove(self.place("case/injected.data"))
        process.run([JITPROOF, *inject, self.place("case/injected.data")], timeout=60)
        files.write(self.place("case/maps"), "# pid 12329 before %d after %d\n" % (NEVER, NEVER))
        self.assertRegex(process.run([JITPROOF, "judge", case], timeout=60).stdout,
                         r"(?m)^# order.hidden: 78 with cause coalesced,")


del Changed  # only its heirs are tests
