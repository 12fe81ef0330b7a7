# SPDX-License-Identifier: GPL-2.0-only
"""What processes of another user's do while we look at them, or read what they publish: storms,
files that change under our eyes, mounts of their own. (Who is attacked: test_other_users.py.)"""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from typing import Iterator

from ci.base import files
from harness.selftest.support import other_users
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES

ESCAPE = "\033]0;taken\007"
OBEYED = "[\033\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
SECONDS = 1.0  # how long a storm is watched
setUpModule = other_users.prepare


class Storms(other_users.OtherUsers):
    """Each is watched by `record -p` until it is asked to end, and looked at by `lint --pid`."""

    def record(self, pid: int) -> None:
        """What is recorded ends when it is to, and is whole."""
        path = self.place("out.data")
        with subprocess.Popen([self.program, "record", "-o", path, "-p", str(pid)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as record:
            assert record.stdout
            time.sleep(SECONDS)
            record.send_signal(signal.SIGINT)
            said, _ = record.communicate(timeout=30)
        if "perf_event_open" in said and record.returncode:
            self.skipTest("perf is denied here")
        self.assertIn(record.returncode, (0, 99, -signal.SIGINT), said)
        self.assertNotRegex(said, OBEYED)
        if record.returncode == 99:
            self.assertRegex(said, "jitproof record: .+")
        if os.path.exists(path):
            done = self.run_it("judge", "--json", path, timeout=60)
            self.assertIn(done.returncode, (0, 1), done.stderr)

    def storm(self, code: str) -> None:
        with self.their_python(code) as child:
            self.record(child.pid)
            done = self.run_it("lint", "--all", "--pid", str(child.pid), timeout=30)
            self.assertIn(done.returncode, (0, 1, 99))
            self.assertNotRegex(done.stdout + done.stderr, OBEYED)

    def test_forks(self) -> None:
        self.storm("on()\nwhile True:\n    pid = os.fork()\n    if not pid:\n        os._exit(0)\n"
                   "    os.waitpid(pid, 0)\n")

    def test_threads(self) -> None:
        """Some are there whenever they are listed, none is there the next time."""
        self.storm("on()\nwhile True:\n"
                   "    made = [threading.Thread(target=int) for _ in range(20)]\n"
                   "    for one in made:\n        one.start()\n"
                   "    for one in made:\n        one.join()\n")

    def test_mappings(self) -> None:
        """Mapped and unmapped as fast as it goes, and named after a file of ours."""
        self.storm("file = open('perf-1.map', 'wb+')\nfile.truncate(1 << 20)\non()\nwhile True:\n"
                   "    made = mmap.mmap(file.fileno(), 1 << 16, mmap.MAP_PRIVATE, 5)\n"
                   "    made.close()\n")

    def test_names(self) -> None:
        """The process is called anew all the time, and never as one should be."""
        self.storm("on()\nnth = 0\nwhile True:\n    nth += 1\n"
                   "    name = '\\033[2J\\n) R 1 %d' % nth\n    libc.prctl(15, name.encode())\n")

    def test_many_names(self) -> None:
        """30,000 files that are called as jitdumps are, all mapped."""
        names = 30000
        with open("/proc/sys/vm/max_map_count", encoding="utf-8") as file:
            names = min(names, int(file.read()) - 1000)
        code = (f"libc.mmap.restype = ctypes.c_void_p\nfor nth in range({names}):\n"
                "    fd = os.open('jit-%d.dump' % nth, os.O_RDWR | os.O_CREAT, 0o644)\n"
                "    os.write(fd, b'x')\n"
                "    libc.mmap(None, ctypes.c_size_t(4096), 1, 2, fd, ctypes.c_size_t(0))\n"
                "    os.close(fd)\non()\nsignal.pause()\n")
        with self.their_python(code) as child:
            start = time.monotonic()
            done = self.run_it("lint", "--pid", str(child.pid), timeout=60)
            spent = time.monotonic() - start
        self.assertGreater(done.stderr.count("jit-") + done.stdout.count("jit-"), names // 2)
        # Each by each it took 19 s.
        self.assertLess(spent, 10)

    def test_stopped(self) -> None:
        """A process that is stopped; one whose folder in /proc belongs to root."""
        with self.their_python("on()\nos.kill(os.getpid(), signal.SIGSTOP)\n") as child:
            self.record(child.pid)
            self.run_it("lint", "--pid", str(child.pid))
        code = "libc.prctl(4, 0)\non()\nsignal.pause()\n"  # PR_SET_DUMPABLE: it is root's there
        with self.their_python(code) as child:
            name = self.plant(f"/tmp/perf-{child.pid}.map", self.link)
            self.run_it("lint", "--pid", str(child.pid))
            self.plant(name, lambda path: files.write(path, "1000 10 one\n"))
            os.chmod(name, 0o600)
            done = self.run_it("lint", "--pid", str(child.pid))
            os.unlink(name)
            self.assertIn(f"{name}: perf map, 1 lines", done.stdout + done.stderr)


    def test_lint_of_a_process(self) -> None:
        """What their process is called after leads to root's, waits, or has escapes; and their own
        file is said to be theirs, though what reads it is not root."""
        kinds: tuple[other_users.Make, ...] = (self.link, self.hard, os.mkfifo)
        with subprocess.Popen(["sleep", "60"], user=other_users.USER, group=other_users.USER,
                              extra_groups=[], cwd=self.theirs) as child:
            try:
                for name in (f"/tmp/perf-{child.pid}.map", f"/tmp/jit-{child.pid}.dump"):
                    for make in kinds:
                        with self.subTest(name=name, make=make):
                            self.plant(name, make)
                            self.run_it("lint", "--all", "--pid", str(child.pid))
                            os.unlink(name)
                name = self.plant(f"/tmp/perf-{child.pid}.map",
                                  lambda path: files.write(path, f"1000 10 {ESCAPE}\n"))
                os.chmod(name, 0o600)
                done = self.run_it("lint", "--all", "--pid", str(child.pid))
                os.unlink(name)
            finally:
                child.kill()
        self.assertIn(f"belongs to user {other_users.USER}", done.stdout)
        self.assertNotIn("\033", done.stdout + done.stderr)



class Changing(other_users.OtherUsers):
    """What we read while they change it."""

    def read_all(self, pid: int, path: str) -> None:
        for command in (["explain", path], ["judge", path], ["judge", "--unwind", path],
                        ["lint", "--pid", str(pid)]):
            for _ in range(3):
                self.run_it(*command)

    def capture_of(self, pid: int) -> str:
        """A capture of the process @pid, whose code has no file."""
        data = rd.PerfData.load(os.path.join(FIXTURES, "growth", "perf.data"))
        data.records = [record for record in data.records
                        if isinstance(record, (rd.Map, rd.Sample))]
        for record in data.records:
            if isinstance(record, rd.Sample):
                record.tid = pid
            else:
                struct.pack_into("<II", record.body, record.tail()[rd.TID], pid, pid)
                record.tid = pid
            record.pid = pid
        path = self.place("of.data")
        data.save(path)
        os.chown(path, self.victim, self.victim)
        return path

    @contextlib.contextmanager
    def publisher(self, code: str, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
        """A process of theirs, which has a perf map for which @code is done all the time: `path`,
        `one` beside it."""
        with self.their_python(
                "path = '/tmp/perf-%d.map' % os.getpid()\none = path + '.one'\n"
                "open(path, 'w').write('1000 10 name\\n' * 1000)\n"
                + code, *words) as child:
            try:
                yield child
            finally:
                for end in ("", ".one"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"/tmp/perf-{child.pid}.map{end}")

    def test_perf_map_swapped(self) -> None:
        """It is now theirs, now a link to our secret, a FIFO, a socket's."""
        for make in ("os.symlink(a[0], one)", "os.mkfifo(one)", "os.link(a[0], one)"):
            with self.publisher(f"{make}\non()\nwhile True:\n    libc.renameat2(-100, "
                                "path.encode(), -100, one.encode(), 2)\n", self.secret) as child:
                self.read_all(child.pid, self.capture_of(child.pid))

    def test_perf_map_cut(self) -> None:
        """It is cut short and grows again while it is read."""
        with self.publisher("on()\nwhile True:\n    os.truncate(path, 0)\n"
                            "    open(path, 'a').write('7f0000000000 10 name\\n' * 2000)\n"
                            ) as child:
            self.read_all(child.pid, self.capture_of(child.pid))

    def test_perf_map_endless(self) -> None:
        """It grows faster than it is read."""
        with self.publisher("on()\nout = open(path, 'a')\nwhile True:\n"
                            "    out.write('7f0000000000 10 name\\n' * 100)\n"
                            "    if out.tell() > 6 << 20:\n        signal.pause()\n") as child:
            self.read_all(child.pid, self.capture_of(child.pid))

    def cut(self, name: str, *commands: list[str]) -> None:
        """Each command reads a file of theirs that is now whole, now cut short: PATH."""
        path = self.their(os.path.basename(name))
        shutil.copy(self.fixture(name), path)
        self.hand_over(path)
        code = ("data = open(a[0], 'rb').read()\nfd = os.open(a[0], os.O_RDWR)\non()\nwhile True:\n"
                "    os.ftruncate(fd, len(data) // 3)\n    os.pwrite(fd, data, 0)\n")
        with self.their_python(code, path):
            for command in commands:
                for _ in range(10):
                    done = self.run_it(*(path if word == "PATH" else word for word in command))
                    self.assertIn(done.returncode, (0, 1, 99))
                    self.assertTrue(done.returncode != 99 or done.stderr.strip())

    def test_capture_cut(self) -> None:
        self.cut("growth/perf.data", ["judge", "PATH"], ["judge", "--unwind", "PATH"],
                 ["explain", "PATH"], ["inject", "--jitdump-dir", self.fixture("growth"), "-i",
                                       "PATH", "-o", self.place("out")])

    def test_jitdump_cut(self) -> None:
        self.cut("growth/jit-12329.dump", ["lint", "PATH"],
                 ["inject", "--jitdump-dir", self.theirs, "-i",
                  self.fixture("growth", "perf.data"), "-o", self.place("out")])

    def test_truth_cut(self) -> None:
        self.cut("memfd/truth", ["judge", "--truth", "PATH", self.fixture("memfd", "perf.data")],
                 ["explain", "--truth", "PATH", self.fixture("memfd", "perf.data")])

    def test_capture_swapped(self) -> None:
        """It is now theirs, now a FIFO, a link to a device, to our secret."""
        path = self.their("perf.data")
        shutil.copy(self.fixture("growth", "perf.data"), path)
        self.hand_over(path)
        kinds: dict[str, other_users.Make] = {
            "fifo": os.mkfifo, "link": self.link,
            "device": lambda to: os.symlink("/dev/watchdog", to),
            "zero": lambda to: os.symlink("/dev/zero", to)}
        for what, make in kinds.items():
            other = self.plant(what, make)
            with self.swapping(path, other):
                for command in (["judge"], ["explain"], ["inject", "-o", self.place("out"), "-i"]):
                    for _ in range(10):
                        self.run_it(*command, path)

    def test_pipe(self) -> None:
        """Through a pipe come zeros for ever, or a head and then nothing that fits."""
        head = files.read_bytes(os.path.join(FIXTURES, "..", "..", "harness", "selftest", "corpus",
                                             "pipe.data"))
        for first in (b"", head):
            for command in (["judge", "-"], ["explain", "-"]):
                code = f"import sys\nout = sys.stdout.buffer\nout.write({first!r})\n" \
                    "while True:\n    out.write(bytes(65536))\n"
                with subprocess.Popen([sys.executable, "-c", code],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as pipe:
                    try:
                        done = self.run_it(*command, stdin=pipe.stdout)
                    finally:
                        pipe.kill()
                    self.assertEqual(done.returncode, 99)


class Containers(other_users.OtherUsers):
    """A process that sees other files by the same names."""

    def test_other_mounts(self) -> None:
        """What we may not read there is not ours of that name."""
        program = os.path.join(self.ours("private", 0o700), "program")
        shutil.copy("/bin/true", program)
        os.chmod(program, 0o700)
        with subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-ec",
                               'mount -t tmpfs none "$1"; mkdir -m 755 "$1/private"; '
                               'cp /bin/true "$1/private/program"; '
                               'chmod 000 "$1/private" "$1/private/program"; echo on; '
                               'exec sleep 60', "sh", self.home], stdout=subprocess.PIPE) as child:
            try:
                assert child.stdout
                if child.stdout.readline() != b"on\n":
                    self.skipTest("no mount namespace")
                data = rd.PerfData.load(os.path.join(FIXTURES, "memfd", "perf.data"))
                data.features.pop(2, None)
                data.records = [record for record in data.records
                                if isinstance(record, (rd.Map, rd.Sample))]
                for record in data.records:
                    if isinstance(record, rd.Map) and "/memfd:" in record.name:
                        record.name, record.ino = program, 0
                    record.pid = child.pid
                path = self.place("inside.data")
                data.save(path)
                why = json.loads(self.run_it("judge", "--json", path).stdout)["names"]["why"]
                self.assertEqual((why["stripped"], why["no-symbol"]), (0, 0), why)
                self.assertGreater(why["missing-file"] + why["bad-file"], 0, why)
            finally:
                child.kill()
