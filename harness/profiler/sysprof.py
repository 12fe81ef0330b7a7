#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for sysprof, which samples the whole machine by frame pointers.

$JITPROOF_SYSPROF is a sysprof-cli with --no-sysprofd; the default is ci/peers' or PATH's.
"""

import operator
import os
import re
import struct
import sys
import time
from typing import IO, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.family import list_threads
from adapting.observations import Stream
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, Failed, Missing, main, output_of

PERIOD_NS = 1_000_000  # period of the clock events by which it samples without hardware events
# Sysprof's file has a header of 256 bytes, then "frames" (records): a head of 24 bytes, a payload.
MAGIC, HEADER, HEAD = 0xfdca975e, 256, struct.Struct("<HhiqB7x")
SAMPLE, MAP, PROCESS, FORK, EXIT = 2, 3, 4, 5, 6
time_of = operator.itemgetter(2)
CONTEXT_USER, CONTEXT_MAX = 2**64 - 512, 2**64 - 4095


class Capture:
    """Reads sysprof's file as it grows. A frame is (kind, CPU, time in ns, pid, payload)."""

    def __init__(self, path: str) -> None:
        self.path, self.data, self.at = path, b"", HEADER
        self.frames: list[tuple[int, int, int, int, bytes]] = []

    def read(self) -> None:
        try:
            with open(self.path, "rb") as file:
                file.seek(len(self.data))
                self.data += file.read()
        except FileNotFoundError:
            return
        if len(self.data) >= HEADER and struct.unpack_from("<I", self.data)[0] != MAGIC:
            raise Failed("sysprof's file is no capture of this byte order")
        while self.at + HEAD.size <= len(self.data):
            size, cpu, pid, time_ns, kind = HEAD.unpack_from(self.data, self.at)
            if size < HEAD.size:
                raise Failed("sysprof's capture is damaged at %d" % self.at)
            if self.at + size > len(self.data):
                break
            self.frames.append((kind, cpu, time_ns, pid,
                                self.data[self.at + HEAD.size:self.at + size]))
            self.at += size


def read_text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "surrogateescape")


class Sysprof(Program):
    name, peer = "sysprof-cli", "sysprof"

    @classmethod
    def version(cls) -> str:
        if os.geteuid():
            raise Missing("sysprof without its daemon needs root")
        program = cls.program()
        if "--no-sysprofd" not in output_of(program, "--help"):
            raise Missing("%s needs its daemon; python3 ci/peers sysprof" % program)
        match = re.search(r"\d\S*", output_of(program, "--version"))
        return match[0] if match else "?"

    def command(self) -> Sequence[str]:
        return (self.program(), "--no-sysprofd", "--no-decode", "--no-battery", "--no-cpu",
                "--no-disk", "--no-memory", "--no-network", "--no-debuginfod", "-f",
                "--buffer-size=16", self.path("sysprof.syscap"))

    def begin(self) -> None:
        self.spawn()
        self.capture = Capture(self.path("sysprof.syscap"))
        self.ours = {self.pid, *list_threads(self.pid)}
        self.counted = self.count = 0
        # Wait for samples: sysprof prints "Recording" seconds before it samples.
        self.await_samples("begin", 0)

    def await_samples(self, action: str, after: int) -> None:
        """Waits until the file has a sample of each CPU later than @after (ns). Keeps each CPU busy
        in turn, because an idle CPU has no samples. Raises Failed after TIMEOUT_S. @what: what
        sysprof did not do, for the message."""
        cpus = os.sched_getaffinity(0)
        deadline = time.monotonic() + TIMEOUT_S
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            while not any(kind == SAMPLE and frame_cpu == cpu and time_ns > after
                          for kind, frame_cpu, time_ns, _, _ in reversed(self.capture.frames)):
                if self.ended() or time.monotonic() > deadline:
                    raise self.failed("did not " + action)
                self.capture.read()
        os.sched_setaffinity(0, cpus)

    def samples(self) -> int:
        """Returns the number of samples of the process and its descendants."""
        self.capture.read()
        for kind, _, time_ns, pid, payload in self.capture.frames[self.counted:]:
            if kind == FORK and pid in self.ours:
                self.ours.add(struct.unpack_from("<i", payload)[0])
            self.count += kind == SAMPLE and pid in self.ours and time_ns >= self.enabled
        self.counted = len(self.capture.frames)
        return self.count

    def end(self) -> None:
        # On SIGINT sysprof drops the content of its rings, so wait until it has written them.
        self.await_samples("write its samples", self.stopped)
        super().end()

    def write(self, file: IO[str]) -> None:
        self.samples()
        stream = self.stream(file, ["no-names", "no-losses", "no-protections"], period=PERIOD_NS)
        threads = {struct.unpack_from("<4xi", payload)[0]: pid
                   for kind, _, _, pid, payload in self.capture.frames if kind == SAMPLE}
        # The file also has frames from before self.enabled. Skip forks of processes that ended
        # before that time, because a process that reuses such a pid has another FORK frame.
        gone = {pid: time_ns for kind, _, time_ns, pid, _
                in sorted(self.capture.frames, key=time_of)
                if kind == EXIT and time_ns < stream.window[0]}
        for kind, _, time_ns, pid, payload in self.capture.frames:
            if pid not in self.ours:
                continue
            if kind == FORK and time_ns < gone.get(struct.unpack_from("<i", payload)[0], 0):
                continue
            write_frame(stream, threads, kind, max(time_ns, 0), pid, payload)


def write_frame(stream: Stream, threads: dict[int, int], kind: int, time_ns: int, pid: int,
                payload: bytes) -> None:
    """Writes one frame of sysprof's file. @threads: the pid of each tid. FORK also reports threads.
    PROCESS does not show whether an exec set the name; before sampling begins, it contains a
    command line instead."""
    if kind == SAMPLE:
        count, tid = struct.unpack_from("<H2xi", payload)
        chain = struct.unpack_from("<%dQ" % count, payload, 8)
        if CONTEXT_USER in chain:
            chain = chain[chain.index(CONTEXT_USER) + 1:]
            stream.sample(time_ns, pid, tid,
                          [address for address in chain if address < CONTEXT_MAX])
    elif kind == MAP:
        start, end, offset, inode = struct.unpack_from("<4Q", payload)
        stream.mapping(time_ns, pid, start, end, "r-xp", offset, "00:00", inode,
                       read_text(payload[32:]))
    elif kind == FORK:
        child, = struct.unpack_from("<i", payload)
        if threads.get(child, child) == child:
            stream.fork(time_ns, child, child, pid, pid)
    elif kind == EXIT:
        stream.exit(time_ns, pid, pid)
    elif kind == PROCESS and time_ns >= stream.window[0]:
        stream.comm(time_ns, pid, pid, read_text(payload))


if __name__ == "__main__":
    main(Sysprof)
