# SPDX-License-Identifier: GPL-2.0-only
"""FUSE file systems of another user: one never answers, one claims that all files are root's and
changes data at each reading. (Victims: test_other_users.py.)

The test mounts them as fusermount3 would for a user, in a mount namespace of its own."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from typing import Iterator
import unittest

from harness.selftest.support import other_users
from harness.selftest.support.scratch import FIXTURES

CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 1 << 18, 2
LIBC = ctypes.CDLL(None, use_errno=True)
# Serves the FUSE descriptor a[0]: all files belong to root; each contains the bytes of the file
# a[1], with another altered byte at each reading.
SERVER = r"""
import struct
fd, data = int(a[0]), open(a[1], "rb").read()
reads = 0
def attributes(node):
    size, mode = (0, 0o40755) if node == 1 or node % 2 == 0 else (len(data), 0o100755)
    return struct.pack("<6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
def answer(unique, error=0, body=b""):
    try:
        os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
    except OSError:
        pass
on()
while True:
    request = os.read(fd, 1 << 18)
    length, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    body = request[40:length]
    if opcode == 26:
        answer(unique, 0, struct.pack("<4I2HI2H", 7, 31, 1 << 16, 0, 8, 8, 4096, 0, 0) + bytes(32))
    elif opcode == 1:
        name = body.rstrip(b"\0")
        child = 2 if name.startswith(b"d") else 3
        entry = struct.pack("<4Q2I", child, 0, 0, 0, 0, 0) + attributes(child)
        answer(unique, -2) if name == b"new" else answer(unique, 0, entry)
    elif opcode == 3:
        answer(unique, 0, struct.pack("<QII", 0, 0, 0) + attributes(node))
    elif opcode in (14, 27):
        answer(unique, 0, struct.pack("<QII", 0, 1, 0))
    elif opcode == 15:
        offset, size = struct.unpack_from("<8xQI", body)
        reads += 1
        part = bytearray(data[offset:offset + size])
        if part and not data.startswith(b"#!"):
            part[reads * 7919 % len(part)] ^= 0xff
        answer(unique, 0, bytes(part))
    elif opcode == 17:
        answer(unique, 0, bytes(80))
    elif opcode in (18, 25, 29):
        answer(unique)
    elif opcode not in (2, 36, 42):
        answer(unique, -38)
"""


def setUpModule() -> None:
    other_users.prepare()
    if LIBC.unshare(CLONE_NEWNS) or LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        raise unittest.SkipTest("no mount namespace")
    with contextlib.suppress(OSError):
        os.close(os.open("/dev/fuse", os.O_RDWR))
        return
    raise unittest.SkipTest("no /dev/fuse")


class Served(other_users.OtherUsers):
    @contextlib.contextmanager
    def mount_fuse(self, path: str, options: str = "") -> Iterator[int]:
        """Mounts the attacker's file system at @path; yields its FUSE descriptor."""
        fuse = os.open("/dev/fuse", os.O_RDWR)
        data = f"fd={fuse},rootmode=40000,user_id={other_users.USER},group_id={other_users.USER}"
        if LIBC.mount(b"theirs", path.encode(), b"fuse", 6, (data + options).encode()):
            os.close(fuse)
            self.skipTest("no FUSE mount: " + os.strerror(ctypes.get_errno()))
        try:
            yield fuse
        finally:
            LIBC.umount2(path.encode(), MNT_DETACH)
            os.close(fuse)

    @contextlib.contextmanager
    def serve_file(self, path: str, data: str) -> Iterator[None]:
        """Mounts the attacker's file system for all users, as /etc/fuse.conf can allow, and serves
        @data."""
        with self.mount_fuse(path, ",allow_other") as fuse:
            os.set_inheritable(fuse, True)
            with self.run_attacker(SERVER, str(fuse), data, inherit=[fuse]):
                yield

    def mount_folder(self) -> str:
        os.mkdir(self.attacker_path("mount"))
        return self.hand_over(self.attacker_path("mount"))

    def test_silent_server(self) -> None:
        """The FUSE server does not answer; the kernel refuses all users but the mount's owner, root
        as well."""
        memfd, growth = self.fixture_path("memfd"), self.fixture_path("growth")
        path = self.mount_folder()
        with self.mount_fuse(path):
            for command in (
                    ["judge", path], ["judge", path + "/perf.data"], ["explain", path + "/x"],
                    ["lint", path + "/perf-1.map"], ["run", "-o", path + "/run", "exact/anon"],
                    ["record", "-o", path + "/out", "--", "true"],
                    ["inject", "-i", growth + "/perf.data", "-o", path + "/out"],
                    ["judge", "--stacks", path + "/out", memfd + "/perf.data"],
                    ["judge", "--truth", path + "/truth", memfd + "/perf.data"],
                    ["repro", "fixture/anon", *self.list_options(), "--from", path, "-o",
                     self.place("tar")]):
                with self.subTest(command):
                    self.expect_refusal(*command)
            for command in (["judge", "--unwind", "--elf", path, memfd + "/perf.data"],
                            ["judge", "--unwind", "--root", path, memfd + "/perf.data"],
                            ["inject", "--jitdump-dir", path, "-i", growth + "/perf.data", "-o",
                             self.place("out")]):
                with self.subTest(command):
                    self.run_it(*command)

    def test_waits_and_is_killed(self) -> None:
        """With allow_other, readers wait until a signal ends them."""
        path = self.mount_folder()
        with self.mount_fuse(path, ",allow_other"):
            for command in (["judge", path + "/x"], ["explain", path + "/x"],
                            ["lint", path + "/x"]):
                for number in (signal.SIGTERM, signal.SIGKILL):  # a shell may ignore other signals
                    with self.subTest(command=command, signal=number), \
                            subprocess.Popen([self.program, *command], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL) as waiting:
                        time.sleep(0.2)  # kill at any moment
                        waiting.send_signal(number)
                        try:
                            self.assertEqual(waiting.wait(timeout=240), -number)
                        finally:
                            waiting.kill()

    def test_all_is_roots(self) -> None:
        """All folders appear as root's: jitproof creates no file and runs no code there."""
        script = self.write(f"#!/bin/sh\n''''\n: > {self.place('ran')}\n#'''\n"
                            f"open({self.place('ran')!r}, 'w')\n", "script", runs=True)
        mount = self.place("mount")  # in a folder of ours, whose parents are trusted
        os.mkdir(mount)
        with self.serve_file(mount, script):
            self.assertEqual(os.stat(mount + "/dir").st_uid, 0)
            output = self.expect_refusal("run", "-o", mount + "/dir/new", "exact/anon")
            self.assertIn("another user serves", output)
            output = self.expect_refusal("run", "exact/anon",
                                         environment={"TMPDIR": mount + "/dir"})
            self.assertIn("another user serves", output)
            output = self.expect_refusal("adapter", "check", "perf",
                                         environment={"JITPROOF_PROFILERS": mount + "/dir"})
            self.assertIn("another user serves", output)
            result = self.run_it("adapter", "check", "perf", timeout=240, environment={
                "PATH": f"{mount}/dir:{os.environ['PATH']}"})
            self.assertIn("of PATH is left out", result.stderr)
            self.assertFalse(os.path.exists(self.place("ran")))

    def test_changing_file(self) -> None:
        """Each reading returns other bytes."""
        path = self.mount_folder()
        growth = self.fixture_path("growth")
        for name, commands in (
                ("growth/perf.data", [["judge", "FILE"], ["judge", "--unwind", "FILE"],
                                      ["explain", "FILE"],
                                      ["inject", "-i", "FILE", "-o", self.place("out")]]),
                ("growth/jit-12329.dump", [["lint", "FILE"]]),
                ("memfd/truth", [["judge", "--truth", "FILE", growth + "/perf.data"]])):
            with self.serve_file(path, os.path.join(FIXTURES, name)):
                for command in commands:
                    for _ in range(5):
                        with self.subTest(command):
                            result = self.run_it(*(path + "/file" if word == "FILE" else word
                                                   for word in command))
                            self.assertIn(result.returncode, (0, 1, 99))
