#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A profiler in 60 lines (x86-64): stops each thread in turn, follows its frame pointers."""

import ctypes
import os
import struct
import sys
import threading
import time
from typing import IO

# Where jitproof has its own adapters, and what all share.
sys.path.insert(0, os.environ["JITPROOF_ADAPTING"])
from adapting.protocol import Adapter, main

SEIZE, INTERRUPT, GETREGS, CONT = 0x4206, 0x4207, 12, 7
ptrace = ctypes.CDLL(None).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Toy(Adapter):
    number = "1"
    on = True

    def begin(self) -> None:
        self.seen: list[tuple[int, int, list[int]]] = []
        begun = threading.Event()
        self.thread = threading.Thread(target=self.profile, args=[begun])
        self.thread.start()
        begun.wait()

    def profile(self, begun: threading.Event) -> None:
        known = set()
        while self.on:
            for tid in map(int, os.listdir(f"/proc/{self.pid}/task")):
                if tid in known or ptrace(SEIZE, tid, None, None) == 0:
                    known.add(tid)
                    self.look(tid)
            begun.set()

    def look(self, tid: int) -> None:
        registers = ctypes.create_string_buffer(27 * 8)
        ptrace(INTERRUPT, tid, None, None)
        status = os.waitpid(tid, 0x40000000)[1]  # __WALL
        ptrace(GETREGS, tid, None, registers)
        bp, ip = struct.unpack_from("<32xQ88xQ", registers)
        frames, now = [ip], time.monotonic_ns()
        try:
            with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
                while len(frames) < 127:
                    memory.seek(bp)
                    bp, ip = struct.unpack("<QQ", memory.read(16))
                    frames.append(ip)
        except (OSError, ValueError, OverflowError, struct.error):
            pass  # the end of the chain
        self.seen.append((now, tid, frames))
        ptrace(CONT, tid, None, None if status >> 16 else os.WSTOPSIG(status))
        time.sleep(0.001)

    def samples(self) -> int:
        return len(self.seen)

    def end(self) -> None:
        self.on = False
        self.thread.join()

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ["no-names", "no-mappings", "no-tasks", "no-losses"])
        for now, tid, frames in self.seen:
            stream.sample(now, self.pid, tid, frames)


main(Toy)
