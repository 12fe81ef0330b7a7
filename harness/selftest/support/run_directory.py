#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads and rewrites the files of a run directory: perf.data, the truth, jitdumps. It shares only
the formats with the C code, so that it does not repeat a mistake of that code.

Usage: run_directory.py thin CASE_DIR NEW_DIR SAMPLES
makes a fixture of a recorded case: few samples, no unused slots, no facts about the machine.

run_directory.py skew CASE_DIR NS
imitates a machine whose clocks differ: moves records of CPUs with an even number NS nanoseconds
forwards, those of other CPUs NS nanoseconds back.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import struct
import sys
from typing import Any, Self, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../../.."))
from ci.base import files

MMAP, LOST, COMM, EXIT, FORK, SAMPLE, MMAP2, LOST_SAMPLES = 1, 2, 3, 4, 7, 9, 10, 13
FINISHED_ROUND = 68
KERNEL, USER = 1, 2  # PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER
COMM_EXEC, BUILD_ID = 1 << 13, 1 << 14
CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_MAX = 2**64 - 128, 2**64 - 512, 2**64 - 4095
READ, WRITE, EXECUTE = 1, 2, 4

(IP, TID, TIME, ADDR, ID, CPU, PERIOD, STREAM_ID, CALLCHAIN, RAW, REGS_USER, STACK_USER,
 IDENTIFIER) = (1 << bit for bit in (0, 1, 2, 3, 6, 7, 8, 9, 5, 10, 12, 13, 16))
SAMPLE_ID_ALL = 1 << 18
HEADER, ATTR = 104, 120
# Features without facts about the machine or its user, and without times of samples.
NEUTRAL_FEATURES = (6, 7, 12, 23)
PUBLISHED = re.compile(r"jit-\d+\.dump$|perf-\d+\.map$|jitted-")
X86_BP, X86_SP, X86_IP = 6, 7, 8  # numbers of PERF_REG_X86_*
ARM64_SP, ARM64_IP = 31, 32  # PERF_REG_ARM64_*; x86-64 has no register 32


@functools.cache
def list_bits(mask: int) -> tuple[int, ...]:
    return tuple(bit for bit in range(64) if mask >> bit & 1)


def make_field(buffer: str, layout: str, at: int) -> Any:
    """Returns a property: the value at offset @at of the attribute @buffer."""
    return property(lambda self: struct.unpack_from(layout, getattr(self, buffer), at)[0],
                    lambda self, value: struct.pack_into(layout, getattr(self, buffer), at, value))


def pack_string(text: str) -> bytes:
    """Returns a text as features of perf.data hold it."""
    return struct.pack("<I64s", 64, text.encode())


class Attr:
    """A perf_event_attr with its ids; sample_type and register mask give the layout of samples."""

    def __init__(self, raw: bytes, ids: Sequence[int] = ()) -> None:
        self.raw, self.ids = bytearray(raw), list(ids)

    @classmethod
    def make(cls, sample_type: int, ids: Sequence[int] = (), regs: int = 0, stack: int = 0,
             kind: int = 1, config: int = 0) -> Attr:
        raw = bytearray(ATTR)
        struct.pack_into("<IIQQQQQ", raw, 0, kind, ATTR, config, 1000, sample_type, 0,
                         SAMPLE_ID_ALL)
        struct.pack_into("<QI", raw, 80, regs, stack)
        return cls(raw, ids)

    sample_type = make_field("raw", "<Q", 24)
    flags = make_field("raw", "<Q", 40)
    regs_mask = make_field("raw", "<Q", 80)

    def registers(self) -> tuple[int, ...]:
        return list_bits(self.regs_mask)


class Cursor:
    def __init__(self, raw: bytes, at: int = 0) -> None:
        self.raw, self.at = raw, at

    def read(self, layout: str) -> Any:
        values = struct.unpack_from("<" + layout, self.raw, self.at)
        self.at += struct.calcsize("<" + layout)
        return values if len(values) > 1 else values[0]

    def read_words(self, count: int) -> tuple[int, ...]:
        """Reads @count words of 64 bits."""
        self.at += 8 * count
        return struct.unpack_from(f"<{count}Q", self.raw, self.at - 8 * count)

    def bytes(self, size: int) -> bytes:
        self.at += size
        return bytes(self.raw[self.at - size:self.at])


class Record:
    """A record as bytes; subclasses decode fields into attributes, which pack() writes back."""

    def __init__(self, kind: int, misc: int, body: bytes) -> None:
        self.kind, self.misc, self.body = kind, misc, bytearray(body)

    def pack(self) -> bytes:
        return struct.pack("<IHH", self.kind, self.misc, 8 + len(self.body)) + bytes(self.body)


class Side(Record):
    """A record that ends in a sample_id, as the kernel's sideband records do."""

    def __init__(self, kind: int, misc: int, body: bytes, attr: Attr) -> None:
        super().__init__(kind, misc, body)
        self.attr = attr

    def tail(self) -> dict[int, int]:
        """Returns the offset of each sample_id field in the body, by its bit in sample_type; key 0:
        the offset of the whole sample_id."""
        fields, offset = {}, len(self.body)
        for bit in (IDENTIFIER, CPU, STREAM_ID, ID, TIME, TID):
            if self.attr.sample_type & bit:
                offset -= 8
                fields[bit] = offset
        fields[0] = offset
        return fields

    @property
    def time(self) -> int:
        return struct.unpack_from("<Q", self.body, self.tail()[TIME])[0]

    @time.setter
    def time(self, value: int) -> None:
        struct.pack_into("<Q", self.body, self.tail()[TIME], value)

    def copy(self: Self) -> Self:
        return type(self)(self.kind, self.misc, bytes(self.body), self.attr)


class Map(Side):
    """A PERF_RECORD_MMAP2."""

    FIELDS = {"pid": (0, "I"), "tid": (4, "I"), "start": (8, "Q"), "size": (16, "Q"),
              "pgoff": (24, "Q"), "maj": (32, "I"), "min": (36, "I"), "ino": (40, "Q"),
              "prot": (56, "I"), "flags": (60, "I")}

    def __getattr__(self, name: str) -> int:
        if name not in Map.FIELDS:
            raise AttributeError(name)
        offset, layout = Map.FIELDS[name]
        return struct.unpack_from("<" + layout, self.body, offset)[0]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Map.FIELDS:
            offset, layout = Map.FIELDS[name]
            struct.pack_into("<" + layout, self.body, offset, value)
        else:
            super().__setattr__(name, value)

    @property
    def name(self) -> str:
        return os.fsdecode(bytes(self.body[64:self.tail()[0]]).split(b"\0")[0])

    @name.setter
    def name(self, value: str) -> None:
        raw = os.fsencode(value) + b"\0"
        self.body[64:self.tail()[0]] = raw + bytes(-len(raw) % 8)

    def range(self) -> str:
        return f"{self.start:x}-{self.start + self.size:x}"


class Sample(Record):
    """A PERF_RECORD_SAMPLE with decoded fields."""

    def __init__(self, misc: int, body: bytes | None, attr: Attr) -> None:
        super().__init__(SAMPLE, misc, body or b"")
        self.attr = attr
        kind, cursor = attr.sample_type, Cursor(body or b"")
        one = {bit: 0 for bit in (IDENTIFIER, IP, TIME, ADDR, ID, STREAM_ID, PERIOD)}
        self.pid = self.tid = self.cpu = 0
        self.chain: list[int] = []
        self.regs: dict[int, int] = {}
        self.abi, self.stack, self.asked = 0, bytearray(), 0
        if body is None:
            self.one = one
            return
        for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD):
            if not kind & bit:
                continue
            if bit == TID:
                self.pid, self.tid = cursor.read("II")
            elif bit == CPU:
                self.cpu = cursor.read("II")[0]
            else:
                one[bit] = cursor.read("Q")
        self.one = one
        if kind & CALLCHAIN:
            self.chain = [*cursor.read_words(cursor.read("Q"))]
        if kind & REGS_USER:
            self.abi = cursor.read("Q")
            if self.abi:
                numbers = attr.registers()
                self.regs = dict(zip(numbers, cursor.read_words(len(numbers))))
        if kind & STACK_USER:
            self.asked = cursor.read("Q")
            raw = cursor.bytes(self.asked)
            self.stack = bytearray(raw[:cursor.read("Q")] if self.asked else b"")

    @classmethod
    def make(cls, attr: Attr, **fields: Any) -> Sample:
        result = cls(USER, None, attr)
        for name, value in fields.items():
            setattr(result, name, value)
        return result

    @classmethod
    def make_stack(cls, attr: Attr, pid: int, time: int, user: Sequence[int],
                   kernel: Sequence[int] = ()) -> Sample:
        """Returns a sample with the callchain @kernel, @user at the first of their addresses."""
        stack = cls.make(attr, pid=pid, tid=pid, misc=KERNEL if kernel else USER)
        stack.chain = ([CONTEXT_KERNEL, *kernel] if kernel else []) + \
            ([CONTEXT_USER, *user] if user else [])
        stack.ip, stack.time, stack.id = (*kernel, *user)[0], time, attr.ids[0]
        return stack

    ip = property(lambda self: self.one[IP], lambda self, value: self.one.update({IP: value}))
    time = property(lambda self: self.one[TIME],
                    lambda self, value: self.one.update({TIME: value}))
    id = property(lambda self: self.one[IDENTIFIER] or self.one[ID],
                  lambda self, value: self.one.update({IDENTIFIER: value, ID: value}))

    @property
    def user_ip(self) -> int:
        return self.regs[ARM64_IP if ARM64_IP in self.regs else X86_IP]

    @property
    def user_sp(self) -> int:
        return self.regs[ARM64_SP if ARM64_IP in self.regs else X86_SP]

    def pack(self) -> bytes:
        kind, raw = self.attr.sample_type, b""
        for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD):
            if not kind & bit:
                continue
            if bit == TID:
                raw += struct.pack("<II", self.pid, self.tid)
            elif bit == CPU:
                raw += struct.pack("<II", self.cpu, 0)
            else:
                raw += struct.pack("<Q", self.one[bit])
        if kind & CALLCHAIN:
            raw += struct.pack(f"<Q{len(self.chain)}Q", len(self.chain), *self.chain)
        if kind & REGS_USER:
            numbers = self.attr.registers() if self.abi else ()
            raw += struct.pack(f"<Q{len(numbers)}Q", self.abi, *map(self.regs.__getitem__, numbers))
        if kind & STACK_USER:
            raw += struct.pack("<Q", self.asked)
            if self.asked:
                raw += bytes(self.stack).ljust(self.asked, b"\0")
                raw += struct.pack("<Q", len(self.stack))
        self.body = bytearray(raw)
        return super().pack()

    def user(self) -> Any:
        """Returns the index of the first user address in the chain, or None."""
        return self.chain.index(CONTEXT_USER) + 1 if CONTEXT_USER in self.chain else None

    def word(self, address: int) -> Any:
        """Returns the 8-byte word of the dumped stack at @address, or None outside of the dump."""
        offset = address - self.user_sp
        if offset < 0 or offset + 8 > len(self.stack):
            return None
        return struct.unpack_from("<Q", self.stack, offset)[0]

    def put(self, address: int, value: int) -> None:
        struct.pack_into("<Q", self.stack, address - self.user_sp, value)


class PerfData:
    """A perf.data file: attrs, records, features."""

    def __init__(self, attrs: Sequence[Attr] = (), records: Sequence[Any] = (),
                 features: dict[int, bytes] | None = None) -> None:
        self.attrs, self.records = list(attrs), list(records)
        self.features = dict(features or {})

    @classmethod
    def load(cls, path: str) -> PerfData:
        return cls.parse(files.read_bytes(path), path)

    @classmethod
    def parse(cls, raw: bytes, path: str) -> PerfData:
        magic, _, attr_size, attrs_at, attrs_size, at, size = struct.unpack_from("<8s6Q", raw, 0)
        if magic != b"PERFILE2":
            raise ValueError(f"{path}: no perf.data")
        bits = struct.unpack_from("<Q", raw, 72)[0]
        result = cls()
        # All sizes are 0 in a file that perf inject did not complete.
        for entry in range(attrs_at, attrs_at + attrs_size, attr_size or 1):
            ids_at, ids_size = struct.unpack_from("<QQ", raw, entry + attr_size - 16)
            result.attrs.append(Attr(raw[entry:entry + attr_size - 16],
                                   struct.unpack_from(f"<{ids_size // 8}Q", raw, ids_at)))
        table = at + size
        for bit in (bit for bit in range(64) if bits >> bit & 1):
            start, length = struct.unpack_from("<QQ", raw, table)
            result.features[bit] = raw[start:start + length]
            table += 16
        end = at + size
        while at < end:
            kind, misc, length = struct.unpack_from("<IHH", raw, at)
            result.records.append(result.decode(kind, misc, raw[at + 8:at + length]))
            at += length
        return result

    def attr_of(self, identity: int) -> Attr:
        for attr in self.attrs:
            if identity in attr.ids:
                return attr
        return self.attrs[0]

    def decode(self, kind: int, misc: int, body: bytes) -> Any:
        if kind >= 64:
            return Record(kind, misc, body)
        if len(self.attrs) == 1:
            attr = self.attrs[0]
        elif kind == SAMPLE:
            attr = self.attr_of(struct.unpack_from("<Q", body, 0)[0])
        else:
            attr = self.attr_of(struct.unpack_from("<Q", body, len(body) - 8)[0])
        if kind == SAMPLE:
            return Sample(misc, body, attr)
        return (Map if kind == MMAP2 else Side)(kind, misc, body, attr)

    def samples(self) -> list[Sample]:
        return [record for record in self.records if isinstance(record, Sample)]

    def maps(self) -> list[Map]:
        return [record for record in self.records if isinstance(record, Map)]

    def drop_samples(self) -> None:
        self.records = [record for record in self.records if not isinstance(record, Sample)]

    def insert(self, record: Any) -> None:
        """Inserts @record by its time, before a sample of the same time."""
        for index, other in enumerate(self.records):
            if isinstance(other, (Sample, Side)) and other.time >= record.time:
                self.records.insert(index, record)
                return
        self.records.append(record)

    def sort(self) -> None:
        """Sorts all records by time into one round; drops records without a time field."""
        timed = [r for r in self.records if isinstance(r, (Sample, Side))]
        self.records = sorted(timed, key=lambda record: record.time)
        self.records.append(Record(FINISHED_ROUND, 0, b""))

    def side(self, kind: int, payload: bytes, time: int, misc: int = 0, pid: int = 0,
             tid: int = 0) -> Any:
        """Returns a sideband record with the sample_id that the last attr requests."""
        attr, tail = self.attrs[-1], b""
        values = {TID: struct.pack("<II", pid, tid), TIME: struct.pack("<Q", time)}
        identity = struct.pack("<Q", attr.ids[0] if attr.ids else 0)
        for bit in (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER):
            if attr.sample_type & bit:
                tail += values.get(bit, bytes(8) if bit == CPU else identity)
        return (Map if kind == MMAP2 else Side)(kind, misc, payload + tail, attr)

    def map(self, pid: int, start: int, size: int, name: str, time: int, prot: int = READ | EXECUTE,
            pgoff: int = 0, ino: int = 0, tid: int | None = None) -> Map:
        raw = name.encode() + b"\0"
        raw += bytes(-len(raw) % 8)
        payload = struct.pack("<IIQQQIIQQII", pid, pid if tid is None else tid, start, size, pgoff,
                              0, 0, ino, 0, prot, 2) + raw
        return self.side(MMAP2, payload, time, USER, pid, pid)

    def comm(self, pid: int, tid: int, name: str, time: int, executed: bool = False) -> Side:
        raw = name.encode() + b"\0"
        raw += bytes(-len(raw) % 8)
        return self.side(COMM, struct.pack("<II", pid, tid) + raw, time,
                         COMM_EXEC if executed else 0, pid, tid)

    def fork(self, pid: int, parent: int, time: int, tid: int | None = None,
             parent_tid: int | None = None) -> Side:
        return self.side(FORK, struct.pack("<IIIIQ", pid, parent, tid or pid,
                                           parent_tid or parent, time), time, 0, pid, tid or pid)

    def pack_records(self) -> list[bytes]:
        return [record.pack() for record in self.records]

    def pack(self) -> bytes:
        entry = len(self.attrs[0].raw) + 16
        data_at = HEADER + entry * len(self.attrs)
        data = self.pack_records()
        size = sum(map(len, data))
        tail_at = data_at + size + 16 * len(self.features)
        table = tail = b""
        for bit in sorted(self.features):
            table += struct.pack("<QQ", tail_at + len(tail), len(self.features[bit]))
            tail += self.features[bit]
        attrs = b""
        for attr in self.attrs:
            attrs += bytes(attr.raw) + struct.pack("<QQ", tail_at + len(tail), 8 * len(attr.ids))
            tail += struct.pack(f"<{len(attr.ids)}Q", *attr.ids)
        bits = sum(1 << bit for bit in self.features)
        header = struct.pack("<8sQQQQQQQQ4Q", b"PERFILE2", HEADER, entry, HEADER, len(attrs),
                             data_at, size, 0, 0, bits, 0, 0, 0)
        return b"".join([header, attrs, *data, table, tail])

    def save(self, path: str) -> None:
        files.write_bytes(path, self.pack())


class Truth:
    """A truth file: its header and the slots in use."""

    PAGE, SLOT = 4096, 64
    (PROCESS_START, PROCESS_EXIT, THREAD_START, THREAD_EXIT, MAP, PROTECT, REMAP, UNMAP, TEXT,
     LAYOUT, CODE_LOAD, CODE_MOVE, CODE_UNLOAD, PATH, ROOT, ENTER, LEAVE, MARK, WAIT,
     FILE, FRAMES, MAPS, COMM, GONE) = range(1, 25)

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self.header = bytearray(file.read(Truth.PAGE))
            used = min(self.next_slot, self.capacity)
            self.slots = [bytearray(file.read(Truth.SLOT)) for _ in range(used)]

    version = make_field("header", "<I", 8)
    capacity = make_field("header", "<Q", 16)
    next_slot = make_field("header", "<Q", 32)
    next_id = make_field("header", "<Q", 40)

    @staticmethod
    def seal_of(slot: bytes) -> int:
        mask, total = 2**64 - 1, 0x9ddfea08eb382d69
        for word in struct.unpack("<8Q", bytes(4) + bytes(slot[4:])):
            total = (total ^ word) * 0xd6e8feb86659fd93 & mask
            total ^= total >> 32
        return (total ^ total >> 32) & 0xffffffff or 1

    def seal(self, index: int) -> None:
        struct.pack_into("<I", self.slots[index], 0, self.seal_of(self.slots[index]))

    def torn(self) -> list[int]:
        return [index for index, slot in enumerate(self.slots)
                if struct.unpack_from("<I", slot, 0)[0] != self.seal_of(slot)]

    def code(self) -> list[range]:
        """Returns the address ranges of all emitted functions."""
        return [range(addr, addr + size) for addr, size in (
            self.get(index)[6:8] for index in self.find(self.CODE_LOAD))]

    def find(self, kind: int) -> list[int]:
        return [index for index, slot in enumerate(self.slots)
                if struct.unpack_from("<H", slot, 4)[0] == kind]

    def find_leave(self, tid: int, time: int) -> int:
        """Returns the index of the first LEAVE of @tid after @time."""
        return min((index for index in self.find(self.LEAVE)
                    if self.get(index)[3] == tid and self.get(index)[5] > time),
                   key=lambda index: self.get(index)[5])

    def get(self, index: int) -> tuple[int, ...]:
        """Returns type, part, pid, tid, before, after, a[0..3] of a slot."""
        return struct.unpack_from("<HHIIQQ4Q", self.slots[index], 4)

    @staticmethod
    def pack(slot: bytearray, fields: Sequence[int]) -> None:
        """Writes @fields and the matching seal."""
        struct.pack_into("<HHIIQQ4Q", slot, 4, *fields)
        struct.pack_into("<I", slot, 0, Truth.seal_of(slot))

    def set(self, index: int, *fields: int) -> None:
        Truth.pack(self.slots[index], fields)

    def change(self, index: int, fields: dict[int, int]) -> None:
        """Writes the values of @fields, by index into the result of get()."""
        self.set(index,
                 *(fields.get(offset, value) for offset, value in enumerate(self.get(index))))

    def append(self, *fields: int) -> None:
        self.slots.append(bytearray(Truth.SLOT))
        self.set(len(self.slots) - 1, *fields)
        self.next_slot = len(self.slots)

    def save(self, path: str) -> None:
        files.write_bytes(path, bytes(self.header) + b"".join(self.slots))


class Jitdump:
    """A jitdump: its header and its records as bytes."""

    HEADER, LOAD, MOVE = 40, 0, 1

    def __init__(self, path: str) -> None:
        raw = files.read_bytes(path)
        offset = struct.unpack_from("<I", raw, 8)[0]
        self.header = raw[:offset]
        self.records: list[bytearray] = []
        while offset < len(raw):
            size = struct.unpack_from("<I", raw, offset + 4)[0]
            self.records.append(bytearray(raw[offset:offset + size]))
            offset += size

    @staticmethod
    def kind(record: bytes) -> int:
        return struct.unpack_from("<I", record, 0)[0]

    @staticmethod
    def time(record: bytes) -> int:
        return struct.unpack_from("<Q", record, 8)[0]

    @staticmethod
    def set_time(record: bytearray, time: int) -> None:
        struct.pack_into("<Q", record, 8, time)

    @staticmethod
    def load(record: bytes) -> tuple[int, int, int, str]:
        """Returns pid, address, size and name of a JIT_CODE_LOAD."""
        pid, _, _, addr, size, _ = struct.unpack_from("<IIQQQQ", record, 16)
        return pid, addr, size, bytes(record[56:len(record) - size]).split(b"\0")[0].decode()

    def loads(self) -> list[bytearray]:
        return [record for record in self.records if self.kind(record) == Jitdump.LOAD]

    def save(self, path: str) -> None:
        files.write_bytes(path, self.header + b"".join(self.records))


def read_facts(directory: str) -> dict[str, str]:
    with open(os.path.join(directory, "capture"), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(" ", 1) for line in file)


def write_facts(directory: str, facts: dict[str, str]) -> None:
    with open(os.path.join(directory, "capture"), "w", encoding="utf-8") as file:
        file.writelines(f"{key} {value}\n" for key, value in facts.items())


def thin(source: str, target: str, wanted: int | None) -> None:
    """Makes a fixture of @source with about @wanted evenly chosen samples in emitted code. Omits
    the witness, which would report the others as missing. Keeps all samples and the witness if
    @wanted is None."""
    os.makedirs(os.path.join(target, "elf"))
    perf = PerfData.load(os.path.join(source, "perf.data"))
    truth = Truth(os.path.join(source, "truth"))
    for name in os.listdir(source):
        if PUBLISHED.match(name):
            shutil.copy(os.path.join(source, name), os.path.join(target, name))
    if os.path.isdir(os.path.join(source, "jit")):
        shutil.copytree(os.path.join(source, "jit"), os.path.join(target, "jit"))
    code = truth.code()
    inside = [sample for sample in perf.samples() if wanted is None or
              sample.abi and any(sample.user_ip in one for one in code)]
    witnessed = wanted is None
    wanted = len(inside) if wanted is None else wanted
    step = max(1.0, len(inside) / wanted)
    chosen = [inside[int(index * step)] for index in range(min(wanted, len(inside)))]
    kept_folder = {(sample.time, sample.tid) for sample in chosen}
    for name in ("perf.data", "injected.data") + (("witness",) if witnessed else ()):
        if not os.path.exists(os.path.join(source, name)):
            continue
        perf = PerfData.load(os.path.join(source, name))
        perf.records = [record for record in perf.records if not isinstance(record, Sample)
                        or name == "witness" or (record.time, record.tid) in kept_folder]
        perf.features = {bit: raw for bit, raw in perf.features.items()
                         if bit in NEUTRAL_FEATURES}
        perf.save(os.path.join(target, name))
    truth.save(os.path.join(target, "truth"))
    facts = read_facts(source)
    for name in facts.keys() & {"samples", "counted"}:
        facts[name] = str(len(kept_folder))
    write_facts(target, facts)
    machine = json.loads(files.read(os.path.join(source, "env.json")))["machine"]
    files.write(os.path.join(target, "env.json"), '{"machine": "%s"}\n' % machine)
    for name in ("case", "maps", "intervals", "watched"):
        if os.path.exists(os.path.join(source, name)):
            shutil.copy(os.path.join(source, name), os.path.join(target, name))
    if not witnessed:
        path = os.path.join(target, "watched")
        files.write(path, re.sub(r"(?m)^witness(_since)? \d+\n", "", files.read(path)))
    # Keep only the files that the stacks need: the program and the C library.
    with open(os.path.join(source, "elf", "index"), encoding="utf-8") as file:
        lines = [line for line in file if line.rstrip().endswith(("/jitproof", "/libc.so.6"))]
    with open(os.path.join(target, "elf", "index"), "w", encoding="utf-8") as file:
        file.writelines(lines)
    for line in lines:
        name = line.split()[0]
        shutil.copy(os.path.join(source, "elf", name), os.path.join(target, "elf", name))


def skew_clock(directory: str, nanoseconds: int) -> None:
    """Imitates a capture whose clocks differ from the truth's: by @nanoseconds on CPUs with an
    even number, by -@nanoseconds on the others."""
    path = os.path.join(directory, "perf.data")
    perf = PerfData.load(path)
    for record in perf.records:
        if isinstance(record, Sample):
            cpu = record.cpu
        elif isinstance(record, Side) and record.time:
            cpu = struct.unpack_from("<I", record.body, record.tail()[CPU])[0]
        else:
            continue
        record.time += -nanoseconds if cpu % 2 else nanoseconds
    # Records without a time stay first.
    timeless = [record for record in perf.records if isinstance(record, Side) and not record.time]
    perf.records = [record for record in perf.records if record not in timeless]
    perf.sort()
    perf.records[:0] = timeless
    perf.save(path)
    for name in ("capture", "watched"):
        path = os.path.join(directory, name)
        files.write(path, re.sub(r"(?m)^slack \d+$", f"slack {nanoseconds}", files.read(path)))


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "skew":
        skew_clock(sys.argv[2], int(sys.argv[3]))
        return 0
    if len(sys.argv) != 5 or sys.argv[1] != "thin":
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    thin(sys.argv[2], sys.argv[3], None if sys.argv[4] == "all" else int(sys.argv[4]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
