#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A profiler in 60 lines (x86-64): it stops each thread in turn and follows frame pointers."""

import ctypes
import os
import struct
import sys
import threading
import time
from typing import IO

# The folder of jitproof's own adapters and of the module that they share.
sys.path.insert(0, os.environ["JITPROOF_ADAPTING"])
from adapting.protocol import Adapter, main

SEIZE, INTERRUPT, GETREGS, CONT = 0x4206, 0x4207, 12, 7
ptrace = ctypes.CDLL(None).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Toy(Adapter):
    number = "1"
    running = True

    def begin(self) -> None:
        self.taken: list[tuple[int, int, list[int]]] = []
        started = threading.Event()
        self.thread = threading.Thread(target=self.take_samples, args=[started])
        self.thread.start()
        started.wait()

    def take_samples(self, started: threading.Event) -> None:
        seized_tids = set()
        while self.running:
            for tid in map(int, os.listdir(f"/proc/{self.pid}/task")):
                if tid in seized_tids or ptrace(SEIZE, tid, None, None) == 0:
                    seized_tids.add(tid)
                    self.sample_thread(tid)
            started.set()

    def sample_thread(self, tid: int) -> None:
        registers = ctypes.create_string_buffer(27 * 8)
        ptrace(INTERRUPT, tid, None, None)
        status = os.waitpid(tid, 0x40000000)[1]  # __WALL: also threads
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
            pass  # the chain ends
        self.taken.append((now, tid, frames))
        ptrace(CONT, tid, None, None if status >> 16 else os.WSTOPSIG(status))
        time.sleep(0.001)

    def samples(self) -> int:
        return len(self.taken)

    def end(self) -> None:
        self.running = False
        self.thread.join()

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ["no-names", "no-mappings", "no-tasks", "no-losses"])
        for now, tid, frames in self.taken:
            stream.sample(now, self.pid, tid, frames)


main(Toy)
