# SPDX-License-Identifier: GPL-2.0-only
"""Tests hostile processes of another user: storms of tasks and mappings, published files that
change while they are read, mount namespaces. (Victims: test_other_users.py.)"""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from ci.base import files
from harness.selftest.support import other_users
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, HERE

ESCAPE = "\033]0;taken\007"
OBEYED = "[\033\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
SECONDS = 1.0  # recording time of a storm
setUpModule = other_users.prepare


class Storms(other_users.OtherUsers):
    """Each process is recorded by `record -p` and read by `lint --pid`."""

    def record_process(self, pid: int) -> None:
        """Records until SIGINT; the file must be complete."""
        path = self.place("out.data")
        with subprocess.Popen([self.program, "record", "-o", path, "-p", str(pid)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as record:
            assert record.stdout
            time.sleep(SECONDS)
            record.send_signal(signal.SIGINT)
            output, _ = record.communicate(timeout=240)
        if "perf_event_open" in output and record.returncode:
            self.skipTest("perf is denied here")
        self.assertIn(record.returncode, (0, 99, -signal.SIGINT), output)
        self.assertNotRegex(output, OBEYED)
        if record.returncode == 99:
            self.assertRegex(output, "jitproof record: .+")
        if os.path.exists(path):
            result = self.run_it("judge", "--json", path, timeout=240)
            self.assertIn(result.returncode, (0, 1), result.stderr)

    def check_storm(self, code: str) -> None:
        with self.run_attacker(code) as child:
            self.record_process(child.pid)
            result = self.run_it("lint", "--all", "--pid", str(child.pid), timeout=240)
            self.assertIn(result.returncode, (0, 1, 99))
            self.assertNotRegex(result.stdout + result.stderr, OBEYED)

    def test_forks(self) -> None:
        self.check_storm("on()\nwhile True:\n    pid = os.fork()\n"
                         "    if not pid:\n        os._exit(0)\n"
                         "    os.waitpid(pid, 0)\n")

    def test_threads(self) -> None:
        """Creates threads that end before they are listed a second time."""
        self.check_storm("on()\nwhile True:\n"
                         "    made = [threading.Thread(target=int) for _ in range(20)]\n"
                         "    for one in made:\n        one.start()\n"
                         "    for one in made:\n        one.join()\n")

    def test_mappings(self) -> None:
        """Creates and removes mappings of a file that is named like a perf map."""
        self.check_storm("file = open('perf-1.map', 'wb+')\nfile.truncate(1 << 20)\n"
                         "on()\nwhile True:\n"
                         "    made = mmap.mmap(file.fileno(), 1 << 16, mmap.MAP_PRIVATE, 5)\n"
                         "    made.close()\n")

    def test_names(self) -> None:
        """A process that changes its name all the time, with control characters."""
        self.check_storm("on()\nnth = 0\nwhile True:\n    nth += 1\n"
                         "    name = '\\033[2J\\n) R 1 %d' % nth\n"
                         "    libc.prctl(15, name.encode())\n")

    def test_many_names(self) -> None:
        """Maps 30,000 files with names of jitdumps."""
        names = 30000
        with open("/proc/sys/vm/max_map_count", encoding="utf-8") as file:
            names = min(names, int(file.read()) - 1000)
        code = (f"libc.mmap.restype = ctypes.c_void_p\nfor nth in range({names}):\n"
                "    fd = os.open('jit-%d.dump' % nth, os.O_RDWR | os.O_CREAT, 0o644)\n"
                "    os.write(fd, b'x')\n"
                "    libc.mmap(None, ctypes.c_size_t(4096), 1, 2, fd, ctypes.c_size_t(0))\n"
                "    os.close(fd)\non()\nsignal.pause()\n")
        with self.run_attacker(code) as child:
            start = time.monotonic()
            result = self.run_it("lint", "--pid", str(child.pid), timeout=240)
            spent = time.monotonic() - start
        self.assertGreater(result.stderr.count("jit-") + result.stdout.count("jit-"), names // 2)
        # If each name were compared with all others, this took 19 s.
        self.assertLess(spent, 10)

    def test_stopped_process(self) -> None:
        """A stopped process, and a process whose folder in /proc belongs to root."""
        with self.run_attacker("on()\nos.kill(os.getpid(), signal.SIGSTOP)\n") as child:
            self.record_process(child.pid)
            self.run_it("lint", "--pid", str(child.pid))
        code = "libc.prctl(4, 0)\non()\nsignal.pause()\n"  # PR_SET_DUMPABLE: root owns /proc/PID
        with self.run_attacker(code) as child:
            name = self.plant_file(f"/tmp/perf-{child.pid}.map", self.plant_link)
            self.run_it("lint", "--pid", str(child.pid))
            self.plant_file(name, lambda path: files.write(path, "1000 10 one\n"))
            os.chmod(name, 0o600)
            result = self.run_it("lint", "--pid", str(child.pid))
            os.unlink(name)
            self.assertIn(f"{name}: perf map, 1 lines", result.stdout + result.stderr)

    def test_lint_of_a_process(self) -> None:
        """The perf map and jitdump of a process are links, FIFOs or contain escapes; lint reports
        the owner of the attacker's file."""
        kinds: tuple[other_users.Make, ...] = (self.plant_link, self.plant_hard_link, os.mkfifo)
        with subprocess.Popen(["sleep", "60"], user=other_users.USER, group=other_users.USER,
                              extra_groups=[], cwd=self.theirs) as child:
            try:
                for name in (f"/tmp/perf-{child.pid}.map", f"/tmp/jit-{child.pid}.dump"):
                    for make in kinds:
                        with self.subTest(name=name, make=make):
                            self.plant_file(name, make)
                            self.run_it("lint", "--all", "--pid", str(child.pid))
                            os.unlink(name)
                name = self.plant_file(f"/tmp/perf-{child.pid}.map",
                                       lambda path: files.write(path, f"1000 10 {ESCAPE}\n"))
                os.chmod(name, 0o600)
                result = self.run_it("lint", "--all", "--pid", str(child.pid))
                os.unlink(name)
            finally:
                child.kill()
        self.assertIn(f"belongs to user {other_users.USER}", result.stdout)
        self.assertNotIn("\033", result.stdout + result.stderr)


class Published(other_users.OtherUsers):
    """A process of the attacker with a perf map, whose names are read."""

    def read_all(self, pid: int, path: str) -> None:
        for command in (["explain", path], ["judge", path], ["judge", "--unwind", path],
                        ["lint", "--pid", str(pid)]):
            for _ in range(2):
                self.run_it(*command)

    def make_capture(self, pid: int) -> str:
        """Creates a capture of the process @pid with emitted code."""
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

    def check_publisher(self, code: str, *words: str) -> None:
        """Reads the names of a process of the attacker with a perf map `path`, and `one` beside it,
        which @code changes."""
        with self.run_attacker(
                "path = '/tmp/perf-%d.map' % os.getpid()\none = path + '.one'\n"
                "open(path, 'w').write('1000 10 name\\n' * 1000)\n"
                + code, *words) as child:
            try:
                self.read_all(child.pid, self.make_capture(child.pid))
            finally:
                for end in ("", ".one"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"/tmp/perf-{child.pid}.map{end}")


class Swapped(Published):
    """Tests files that the attacker exchanges while they are read."""

    def test_perf_map_swapped(self) -> None:
        """The map is exchanged for a link or hard link to the secret, or a FIFO."""
        for make in ("os.symlink(a[0], one)", "os.mkfifo(one)", "os.link(a[0], one)"):
            self.check_publisher(f"{make}\non()\nwhile True:\n    libc.renameat2(-100, "
                                 "path.encode(), -100, one.encode(), 2)\n", self.secret)

    def test_capture_swapped(self) -> None:
        """A capture is exchanged for a FIFO, a link to a device, or to the secret."""
        path = self.attacker_path("perf.data")
        shutil.copy(self.fixture_path("growth", "perf.data"), path)
        self.hand_over(path)
        kinds: dict[str, other_users.Make] = {
            "fifo": os.mkfifo, "link": self.plant_link,
            "device": lambda to: os.symlink("/dev/watchdog", to),
            "zero": lambda to: os.symlink("/dev/zero", to)}
        for what, make in kinds.items():
            other = self.plant_file(what, make)
            with self.swap_paths(path, other):
                for command in (["judge"], ["explain"], ["inject", "-o", self.place("out"), "-i"]):
                    for _ in range(5):
                        self.run_it(*command, path)


class Changing(Published):
    """Tests files that the attacker changes while they are read."""

    def test_perf_map_cut(self) -> None:
        """The map is truncated and grows again."""
        self.check_publisher("on()\nwhile True:\n    os.truncate(path, 0)\n"
                             "    open(path, 'a').write('7f0000000000 10 name\\n' * 2000)\n")

    def test_perf_map_endless(self) -> None:
        """The map grows faster than it is read."""
        self.check_publisher("on()\nout = open(path, 'a')\nwhile True:\n"
                             "    out.write('7f0000000000 10 name\\n' * 100)\n"
                             "    if out.tell() > 6 << 20:\n        signal.pause()\n")

    def check_truncated(self, name: str, *commands: list[str]) -> None:
        """Runs each command on PATH, a file that the attacker truncates and restores."""
        path = self.attacker_path(os.path.basename(name))
        shutil.copy(self.fixture_path(name), path)
        self.hand_over(path)
        code = ("data = open(a[0], 'rb').read()\nfd = os.open(a[0], os.O_RDWR)\non()\nwhile True:\n"
                "    os.ftruncate(fd, len(data) // 3)\n    os.pwrite(fd, data, 0)\n")
        with self.run_attacker(code, path):
            for command in commands:
                for _ in range(5):
                    result = self.run_it(*(path if word == "PATH" else word for word in command))
                    self.assertIn(result.returncode, (0, 1, 99))
                    self.assertTrue(result.returncode != 99 or result.stderr.strip())

    def test_capture_cut(self) -> None:
        self.check_truncated(
            "growth/perf.data", ["judge", "PATH"], ["judge", "--unwind", "PATH"],
            ["explain", "PATH"],
            ["inject", "--jitdump-dir", self.fixture_path("growth"), "-i", "PATH",
             "-o", self.place("out")])

    def test_jitdump_cut(self) -> None:
        self.check_truncated(
            "growth/jit-12329.dump", ["lint", "PATH"],
            ["inject", "--jitdump-dir", self.theirs, "-i", self.fixture_path("growth", "perf.data"),
             "-o", self.place("out")])

    def test_truth_cut(self) -> None:
        for command in ("judge", "explain"):
            self.check_truncated("memfd/truth", [command, "--truth", "PATH",
                                                 self.fixture_path("memfd", "perf.data")])

    def test_pipe(self) -> None:
        """A pipe delivers endless zeros, or a header followed by them."""
        head = files.read_bytes(os.path.join(HERE, "fuzz", "corpus", "pipe.data"))
        for first in (b"", head):
            for command in (["judge", "-"], ["explain", "-"]):
                code = f"import sys\nout = sys.stdout.buffer\nout.write({first!r})\n" \
                    "while True:\n    out.write(bytes(65536))\n"
                with subprocess.Popen([sys.executable, "-c", code],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as pipe:
                    try:
                        result = self.run_it(*command, stdin=pipe.stdout)
                    finally:
                        pipe.kill()
                    self.assertEqual(result.returncode, 99)


class Containers(other_users.OtherUsers):
    """A process in a mount namespace with other files of the same names."""

    def test_other_mounts(self) -> None:
        """If a file is unreadable in that namespace, jitproof does not use the file of that name in
        its own."""
        program = os.path.join(self.make_victim_folder("private", 0o700), "program")
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
                reason = json.loads(self.run_it("judge", "--json", path).stdout)["names"]["why"]
                self.assertEqual((reason["stripped"], reason["no-symbol"]), (0, 0), reason)
                self.assertGreater(reason["missing-file"] + reason["bad-file"], 0, reason)
            finally:
                child.kill()
