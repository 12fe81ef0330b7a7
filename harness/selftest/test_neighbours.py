#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What another user of the machine tries on root's jitproof: files planted, swapped and shared,
names that lie. Nothing of root's is read out, written to or run; nothing hangs.

It needs root, and sets fs.protected_* to 0 where it may, so that our own care is measured.
Environment: O, JITPROOF.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from typing import Callable, Iterator
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files
from harness.selftest import run_directory as rd
from harness.selftest.scratch import FIXTURES, Folder, JITPROOF

USER = 12321  # nobody's: neither root's nor 65534
SECRET = "root-only-words"
PROTECTIONS = ["/proc/sys/fs/protected_" + name
               for name in ("symlinks", "hardlinks", "fifos", "regular")]
MAPPED = r"PROT_READ, .*/perf\.data"
ESCAPE = "\033]0;taken\007"
# What a terminal obeys beyond ASCII, and what ends a line for some readers.
TURNS = "\u202e\u2066\u009b31m\u2028ok 9 - forged"
OBEYED = "[\033\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
TERABYTE = 1 << 40
Make = Callable[[str], object]  # something at a path


def setUpModule() -> None:
    if os.geteuid():
        raise unittest.SkipTest("two users need root")
    for path in PROTECTIONS:
        with contextlib.suppress(OSError):
            old = files.read(path)
            files.write(path, "0\n")
            unittest.addModuleCleanup(files.write, path, old)
    kept = [path for path in PROTECTIONS
            if os.path.exists(path) and files.read(path).strip() != "0"]
    if kept:
        print("# cannot be set to 0 here: " + ", ".join(kept))


class Neighbours(Folder):
    """root's folder with a secret, and a folder of another user's."""

    def setUp(self) -> None:
        super().setUp()
        os.chmod(self.home, 0o755)
        self.secret = self.write(SECRET + "\n" + SECRET + "\n", "secret")
        os.chmod(self.secret, 0o600)
        self.theirs = self.place("theirs")
        os.mkdir(self.theirs)
        self.give(self.theirs)

    def tearDown(self) -> None:
        self.assertEqual(files.read(self.secret), SECRET + "\n" + SECRET + "\n")

    @staticmethod
    def give(path: str) -> str:
        """It is the other user's, with all below it."""
        os.lchown(path, USER, USER)
        for folder, folders, names in os.walk(path):
            for name in folders + names:
                os.lchown(os.path.join(folder, name), USER, USER)
        return path

    def their(self, *names: str) -> str:
        return os.path.join(self.theirs, *names)

    def plant(self, name: str, make: Make) -> str:
        """What @make puts there, in the place of what was."""
        path = name if name.startswith("/") else self.their(name)
        if os.path.lexists(path):
            os.unlink(path)
        make(path)
        if make != self.hard:  # it is root's all the same
            os.lchown(path, USER, USER)
        return path

    def link(self, path: str) -> None:
        os.symlink(self.secret, path)

    def hard(self, path: str) -> None:
        os.link(self.secret, path)

    def run_it(self, *arguments: str, timeout: float = 20, program: str = JITPROOF,
               stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
        """It ends in time, says nothing of the secret, and no raw escape."""
        done = subprocess.run([program, *arguments], stdin=stdin, capture_output=True, text=True,
                              errors="replace", timeout=timeout, check=False)
        said = done.stdout + done.stderr
        self.assertNotIn(SECRET, said)
        self.assertGreaterEqual(done.returncode, 0, said)
        return done

    def refused(self, *arguments: str, **more: str) -> str:
        done = self.run_it(*arguments, **more)  # type: ignore[arg-type]
        self.assertNotIn(done.returncode, (0, 4), done.stdout + done.stderr)
        self.assertTrue(done.stderr.strip() or "not ok" in done.stdout)
        return done.stderr + done.stdout

    @contextlib.contextmanager
    def swapping(self, one: str, other: str) -> Iterator[None]:
        """The other user's process has now @one, now @other at the place of @one."""
        code = ("import ctypes, os, sys\nlibc = ctypes.CDLL(None)\n"
                f"os.setgroups([])\nos.setgid({USER})\nos.setuid({USER})\n"
                "a, b = (p.encode() for p in sys.argv[1:])\n"
                "while True: libc.renameat2(-100, a, -100, b, 2)\n")  # RENAME_EXCHANGE
        with subprocess.Popen([sys.executable, "-c", code, one, other]) as swap:
            try:
                yield
                self.assertIsNone(swap.poll())
            finally:
                swap.kill()


class Outputs(Neighbours):
    def test_run_directory(self) -> None:
        """An empty folder of theirs, a link to one, a new one below theirs."""
        os.mkdir(self.their("empty"))
        self.give(self.their("empty"))
        self.plant("link", lambda path: os.symlink(self.their("empty"), path))
        for name in ("empty", "link", "new", "empty/new"):
            with self.subTest(name):
                self.assertIn("not trusted", self.refused("run", "-o", self.their(name),
                                                          "exact/anon").replace(
                    "expected a new or an empty directory", "not trusted"))
        self.assertEqual(os.listdir(self.their("empty")), [])

    def test_run_directory_swapped(self) -> None:
        os.mkdir(self.place("ours"), 0o700)
        os.mkdir(self.their("dir"))
        self.give(self.their("dir"))
        self.plant("other", lambda path: os.symlink(self.place("ours"), path))
        with self.swapping(self.their("dir"), self.their("other")):
            for _ in range(20):
                self.refused("run", "-o", self.their("dir"), "exact/anon")
        self.assertEqual(os.listdir(self.place("ours")), [])

    def outputs(self) -> Iterator[tuple[str, list[str]]]:
        """Ways to write to the file PATH."""
        memfd, growth = os.path.join(FIXTURES, "memfd"), os.path.join(FIXTURES, "growth")
        yield "stacks", ["judge", "--elf", memfd + "/elf", "--stacks", "PATH", memfd + "/perf.data"]
        yield "results", ["judge", "--expected", FIXTURES + "/expected", "--results", "PATH",
                          FIXTURES + "/anon"]
        yield "inject", ["inject", "--jitdump-dir", growth, "-i", growth + "/perf.data", "-o",
                         "PATH"]
        yield "repro", ["repro", "fixture/anon", "--expected", FIXTURES + "/expected", "--from",
                        FIXTURES + "/anon", "-o", "PATH"]
        yield "record", ["record", "-o", "PATH", "--", "true"]

    def test_planted(self) -> None:
        """A link to a file of root's, a dangling one, a FIFO, a hard link, an own open file."""
        makes: dict[str, Make] = {
            "link": self.link, "hard": self.hard, "fifo": os.mkfifo,
            "dangling": lambda path: os.symlink(self.place("made"), path),
            "open": lambda path: files.write(path, "theirs")}
        for name, arguments in self.outputs():
            for what, make in makes.items():
                with self.subTest(output=name, what=what):
                    path = self.plant(f"{name}.{what}", make)
                    if what == "open":
                        os.chmod(path, 0o666)
                    with open(path if what == "open" else os.devnull, "rb") as held:
                        self.run_it(*(path if word == "PATH" else word for word in arguments))
                        if what == "open":
                            self.assertEqual(held.read(), b"theirs")
                    if what == "open" and os.stat(path).st_size != 6:
                        self.assertEqual(os.stat(path).st_uid, 0)
                    self.assertFalse(os.path.lexists(self.place("made")))

    def test_folder_swapped(self) -> None:
        """What goes into their folder does not land where their link leads."""
        os.mkdir(self.place("ours"), 0o700)
        os.mkdir(self.their("dir"))
        self.give(self.their("dir"))
        self.plant("other", lambda path: os.symlink(self.place("ours"), path))
        with self.swapping(self.their("dir"), self.their("other")):
            for _, arguments in self.outputs():
                for _ in range(8):
                    self.run_it(*(self.their("dir/out") if word == "PATH" else word
                                  for word in arguments))
                    self.assertEqual(os.listdir(self.place("ours")), [])

    def test_part(self) -> None:
        """Of an archive: names that could be guessed are not used."""
        for name, arguments in self.outputs():
            for end in (".part", ".tmp", ".00000000"):
                self.plant(name + end, lambda path: files.write(path, "theirs"))
            self.run_it(*(self.their(name) if word == "PATH" else word for word in arguments))
            for end in (".part", ".tmp", ".00000000"):
                self.assertEqual(files.read(self.their(name + end)), "theirs")

    def test_jit_folder(self) -> None:
        """OUT.jit that is theirs, leads elsewhere, or that anyone may write into."""
        growth = os.path.join(FIXTURES, "growth")
        command = ["inject", "--jitdump-dir", growth, "-i", growth + "/perf.data", "-o"]
        os.mkdir(self.their("a.jit"), 0o777)
        self.give(self.their("a.jit"))
        os.mkdir(self.place("ours"), 0o700)
        self.plant("b.jit", lambda path: os.symlink(self.place("ours"), path))
        os.mkdir(self.their("c.jit"))
        os.chmod(self.their("c.jit"), 0o777)
        for name in "abc":
            with self.subTest(name):
                self.refused(*command, self.their(name))
                self.assertFalse(os.path.exists(self.their(name)))
        self.assertEqual(os.listdir(self.place("ours")), [])


class Code(Neighbours):
    def test_adapters(self) -> None:
        """A program below a folder of theirs takes no adapter from there."""
        os.makedirs(self.their("bin"))
        os.makedirs(self.their("share", "jitproof", "profiler"))
        shutil.copy(JITPROOF, self.their("bin", "jitproof"))
        canary = self.place("ran")
        files.write(self.their("share", "jitproof", "profiler", "perf.py"),
                    f"open({canary!r}, 'w')\n")
        self.give(self.theirs)
        os.chown(self.their("bin", "jitproof"), 0, 0)
        for case in ("exact/anon", "process-tree/fork_exec.perf"):
            self.run_it("run", "-o", self.place(case.replace("/", "-")), case, timeout=60,
                        program=self.their("bin", "jitproof"))
        self.assertFalse(os.path.exists(canary))

    def test_confined(self) -> None:
        """The process that reads is nobody, and no debugger of nobody's gets hold of it."""
        with subprocess.Popen([JITPROOF, "judge", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
            children = f"/proc/{parent.pid}/task/{parent.pid}/children"
            end = time.monotonic() + 10
            while not (child := files.read(children).strip()) and time.monotonic() < end:
                time.sleep(0.01)
            while "\nUid:\t0" in (status := files.read(f"/proc/{child}/status")) \
                    and time.monotonic() < end:
                time.sleep(0.01)
            self.assertRegex(status, r"Uid:\t65534\t65534\t65534\t65534")
            self.assertRegex(status, r"Groups:\s*\n")
            self.assertRegex(status, r"CapPrm:\t0+\nCapEff:\t0+\n")
            while "NoNewPrivs:\t0" in (status := files.read(f"/proc/{child}/status")) \
                    and time.monotonic() < end:
                time.sleep(0.01)
            tried = subprocess.run(["cat", f"/proc/{child}/environ"], user=65534, group=65534,
                                   extra_groups=[], capture_output=True, check=False)
            self.assertNotEqual(tried.returncode, 0)
            assert parent.stdin
            parent.stdin.close()
            self.assertEqual(parent.wait(timeout=10), 99)

    def test_signals(self) -> None:
        """Whose files are read, with their rights, cannot stop who reads them."""
        for name in ("anon", "growth", "memfd"):
            shutil.copytree(os.path.join(FIXTURES, name), self.their(name))
        self.give(self.theirs)
        ours, full = os.pipe()
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
        with subprocess.Popen([JITPROOF, "judge", self.theirs], stdout=full) as parent:
            os.close(full)
            end = time.monotonic() + 10
            while f"\t{USER}\t" not in (status := self.confined(parent)) and time.monotonic() < end:
                time.sleep(0.01)
            child = files.read(f"/proc/{parent.pid}/task/{parent.pid}/children").strip()
            tried = subprocess.run(["kill", "-STOP", child], user=USER, group=USER,
                                   extra_groups=[], capture_output=True, check=False)
            with open(ours, encoding="utf-8") as out:
                said = out.read()
            parent.wait(timeout=20)
        self.assertRegex(status, rf"Uid:\t65534\t{USER}\t65534\t{USER}")
        self.assertIn(b"not permitted", tried.stderr)
        self.assertIn("# Totals:", said)

    @staticmethod
    def confined(parent: "subprocess.Popen[bytes]") -> str:
        """The status of its only child, as far as there is one yet."""
        child = files.read(f"/proc/{parent.pid}/task/{parent.pid}/children").strip()
        return files.read(f"/proc/{child}/status") if child else ""

    def read_by(self, file: str, *arguments: str) -> None:
        """Only processes that gave up root read what matches @file."""
        log = self.place("strace")
        subprocess.run(["strace", "-f", "-qq", "-y", "-e", "trace=mmap,read,pread64,setresuid",
                        "-o", log, JITPROOF, *arguments], capture_output=True, check=False,
                       timeout=120)
        lines = self.read("strace").splitlines()
        nobodies = {line.split()[0] for line in lines if "setresuid(65534, 65534, 65534" in line}
        readers = {line.split()[0] for line in lines if re.search(file + ">", line)}
        if not lines:
            self.skipTest("strace may not trace here")
        self.assertTrue(readers, lines)
        self.assertEqual(readers - nobodies, set())

    def test_who_reads(self) -> None:
        if not shutil.which("strace"):
            self.skipTest("no strace")
        growth = os.path.join(FIXTURES, "growth")
        for file, arguments in (
                (MAPPED, ["judge", growth + "/perf.data"]),
                (MAPPED, ["judge", growth]),
                (MAPPED, ["explain", growth + "/perf.data"]),
                (MAPPED, ["inject", "--jitdump-dir", growth, "-i", growth + "/perf.data",
                                  "-o", self.place("out")]),
                (r"read.*\.dump", ["lint", growth + "/jit-12329.dump"]),
                (MAPPED, ["repro", "fixture/anon", "--expected", FIXTURES + "/expected",
                                  "--from", FIXTURES + "/anon", "-o", self.place("tar")]),
                (MAPPED, ["run", "-o", self.place("run"),
                                  "growth/anon.down.mmap.jitdump.keep"]),
                (MAPPED, ["score", "--profiler=jitproof", "--samples=20", "--seconds=2",
                                  "anon_exec"])):
            with self.subTest(arguments):
                self.read_by(file, *arguments)


class Inputs(Neighbours):
    def folder(self, name: str = "anon") -> str:
        """A case's folder of theirs."""
        path = self.their(name)
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(os.path.join(FIXTURES, name), path)
        return self.give(path)

    def judge(self, folder: str) -> str:
        return self.run_it("judge", "--expected", FIXTURES + "/expected", folder).stdout

    def test_files_of_a_case(self) -> None:
        """Each is a link or hard link to root's secret, a FIFO, a socket, or endless."""
        kinds: dict[str, Make] = {
            "link": self.link, "hard": self.hard, "fifo": os.mkfifo,
            "device": lambda path: os.symlink("/dev/zero", path),
            "sparse": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), TERABYTE)}
        for name in ("case", "truth", "perf.data", "injected.data", "maps", "capture", "outcome",
                     "crash", "env.json", "ktap.txt", "watched", "intervals", "elf/index",
                     "jit-12329.dump"):
            folder = self.folder("growth")
            for what, make in kinds.items():
                with self.subTest(name=name, what=what):
                    path = os.path.join(folder, name)
                    kept = files.read_bytes(path) if os.path.isfile(path) else b""
                    self.plant(path, make)
                    self.judge(folder)
                    os.unlink(path)
                    if kept:
                        files.write_bytes(path, kept)

    def test_index(self) -> None:
        """Of elf/: names that lead out, files that are others."""
        folder = self.folder()
        index = os.path.join(folder, "elf", "index")
        ident = re.match(r"[0-9a-f]+", files.read(index))
        assert ident
        for line in ("../../../secret", "/" + self.secret, "..", ident.group().upper()):
            files.write(index, re.sub(r"(?m)^[0-9a-f]+", line, files.read(index), count=1))
            self.judge(folder)
        folder = self.folder()
        kinds: tuple[Make, ...] = (self.link, self.hard, os.mkfifo)
        for make in kinds:
            path = self.plant(os.path.join(folder, "elf", ident.group()), make)
            self.judge(folder)
            os.unlink(path)

    def test_swapped(self) -> None:
        """A case's file and folder that are now theirs, now lead to root's."""
        folder = self.folder()
        self.plant("other", self.link)
        with self.swapping(os.path.join(folder, "case"), self.their("other")):
            for _ in range(20):
                self.judge(folder)
        os.mkdir(self.place("ours"), 0o700)
        shutil.copy(self.secret, self.place("ours", "case"))
        folder = self.folder()
        self.plant("dir", lambda path: os.symlink(self.place("ours"), path))
        with self.swapping(folder, self.their("dir")):
            for _ in range(20):
                self.judge(folder)

    def named(self, *names: str, owner: int = 0) -> str:
        """A perf.data whose mappings and thread have such names, with nobody's build ids."""
        data = rd.PerfData.load(os.path.join(FIXTURES, "memfd", "perf.data"))
        first = data.maps()[0]
        for nth, name in enumerate(names):
            data.insert(data.map(first.pid, (1 << 32) + (nth << 20), 1 << 20, name, first.time))
            data.insert(data.comm(first.pid, first.pid, name[:15], first.time))
        data.sort()
        path = self.place("named.data")
        data.save(path)
        os.chown(path, owner, owner)
        return path

    def test_names_of_files(self) -> None:
        """What a perf.data names is opened only where it is a regular file, and root's not read."""
        fifo = self.plant("fifo", os.mkfifo)
        link = self.plant("link", self.link)
        device = self.place("device")
        os.mknod(device, 0o20666, os.makedev(1, 5))  # /dev/zero
        for owner in (0, USER):
            path = self.named(fifo, link, device, self.secret, "/etc/shadow", "/dev/watchdog",
                              "/dev/st0", self.theirs, "/" + "a" * 4000, owner=owner)
            for command in (["judge", "--unwind"], ["judge", "--json", "--stacks",
                                                    self.place("stacks")], ["explain"],
                            ["explain", "--json"]):
                with self.subTest(owner=owner, command=command):
                    self.run_it(*command, path)
        self.assertNotIn(SECRET, self.read("stacks"))

    def test_opened(self) -> None:
        """strace sees no device, and nobody but nobody opens what is named."""
        if not shutil.which("strace"):
            self.skipTest("no strace")
        log = self.place("strace")
        path = self.named("/dev/watchdog", "/dev/st0", self.secret)
        done = subprocess.run(["strace", "-f", "-qq", "-y", "-e", "trace=openat", "-o", log,
                               JITPROOF, "judge", "--unwind", path], capture_output=True,
                              check=False)
        if done.returncode == 1 and b"ptrace" in done.stderr:
            self.skipTest("strace may not trace here")
        opened = [line for line in self.read("strace").splitlines()
                  if re.search(r'"/dev/(watchdog|st0)"', line) and "O_PATH" not in line]
        self.assertEqual(opened, [])

    def test_escapes(self) -> None:
        """Names, words and paths with control characters reach no terminal."""
        path = self.named("/tmp/" + ESCAPE, ESCAPE + "\nok 1 - forged", TURNS,
                          "/tmp/" + TURNS, owner=USER)
        names = self.plant("perf-1.map", lambda to: files.write(to, f"10 5 {TURNS}\n10 x {TURNS}"))
        evil = self.plant(ESCAPE + ".data", lambda to: shutil.copy(path, to))
        for command in (["judge", path], ["judge", "--json", path], ["explain", path],
                        ["explain", "--json", path], ["judge", evil], ["judge", evil + "none"],
                        ["inject", "-i", path, "-o", self.place("out")],
                        ["lint", evil], ["judge", self.their("none" + ESCAPE)],
                        ["lint", "--all", names], ["lint", "--json", "--all", names],
                        ["judge", self.their("none" + TURNS)], ["explain", evil + TURNS]):
            with self.subTest(command):
                done = self.run_it(*command)
                self.assertNotRegex(done.stdout + done.stderr, OBEYED)
                self.assertNotRegex(done.stdout, r"(?m)^ok 1 - forged")
        folder = self.folder()
        for name, text in (("outcome", "ERROR " + ESCAPE + "\nok 7 - forged\n"),
                           ("outcome", "SKIP " + TURNS), ("crash", "record SIGSEGV " + TURNS),
                           ("crash", "record SIGSEGV " + ESCAPE + "\nok 7 - forged\n")):
            files.write(os.path.join(folder, name), text)
            said = self.judge(folder)
            self.assertNotRegex(said, OBEYED)
            self.assertNotRegex(said, r"(?m)^ok 7")
            os.unlink(os.path.join(folder, name))

    def test_jitdumps(self) -> None:
        """A marker leads to a link, a FIFO, another's file, a hard link, or an endless one."""
        growth = os.path.join(FIXTURES, "growth")
        kinds: dict[str, Make] = {
            "link": self.link, "hard": self.hard, "fifo": os.mkfifo,
            "another's": lambda path: shutil.copy(growth + "/jit-12329.dump", path),
            "sparse": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), TERABYTE)}
        for what, make in kinds.items():
            with self.subTest(what):
                self.plant("jit-12329.dump", make)
                done = self.run_it("inject", "--jitdump-dir", self.theirs, "-i",
                                   growth + "/perf.data", "-o", self.place("out"))
                if not done.returncode:
                    self.assertIn(" 0 loads", done.stdout)

    def test_sparse(self) -> None:
        for command in (["judge"], ["explain"], ["inject", "-o", self.place("out"), "-i"],
                        ["lint"]):
            path = self.plant("huge.data", lambda to: os.truncate(
                os.open(to, os.O_CREAT | os.O_WRONLY), TERABYTE))
            with self.subTest(command):
                self.refused(*command, path)

    def test_lint_of_a_process(self) -> None:
        """What their process is called after leads to root's, waits, or has escapes; and their own
        file is said to be theirs, though what reads it is not root."""
        kinds: tuple[Make, ...] = (self.link, self.hard, os.mkfifo)
        with subprocess.Popen(["sleep", "60"], user=USER, group=USER, extra_groups=[],
                              cwd=self.theirs) as child:
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
        self.assertIn(f"belongs to user {USER}", done.stdout)
        self.assertNotIn("\033", done.stdout + done.stderr)

    def test_repro(self) -> None:
        """Links, hard links and names that lead out do not come into an archive."""
        kinds: tuple[tuple[str, Make], ...] = (
            ("perf.data", self.link), ("truth", self.hard), ("maps", os.mkfifo),
            ("elf/..x", self.link), ("capture", self.link))
        for name, make in kinds:
            folder = self.folder()
            with self.subTest(name):
                self.plant(os.path.join(folder, name), make)
                archive = self.place("case.tar")
                self.run_it("repro", "fixture/anon", "--expected", FIXTURES + "/expected",
                            "--from", folder, "-o", archive)
                if os.path.exists(archive):
                    self.assertNotIn(SECRET.encode(), files.read_bytes(archive))
                    os.unlink(archive)


if __name__ == "__main__":
    unittest.main()
