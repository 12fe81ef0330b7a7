# SPDX-License-Identifier: GPL-2.0-only
"""What tests of two users share: who attacks, whose jitproof it is, what is planted and swapped.
They need root, which plays both, and set fs.protected_* to 0 where they may, so that our own care
is measured.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from typing import Any, Callable, Iterator, Sequence
import unittest

from ci.base import files
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

USER = 12321  # who attacks; nobody's number: neither root's nor 65534
ORDINARY = 12322  # another one, who is attacked
SECRET = "root-only-words"
PROTECTIONS = ["/proc/sys/fs/protected_" + name
               for name in ("symlinks", "hardlinks", "fifos", "regular")]
TERABYTE = 1 << 40
Make = Callable[[str], object]  # something at a path


def prepare() -> None:
    """For setUpModule()."""
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


def listening(path: str) -> None:
    """A socket; what is left of it once nobody listens any more."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


def sparse(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(TERABYTE)


class OtherUsers(Folder):
    """The victim's folder with a secret, and a folder of the attacker's."""

    victim = 0

    def setUp(self) -> None:
        super().setUp()
        os.chmod(self.home, 0o755)
        os.chown(self.home, self.victim, self.victim)
        self.secret = self.write(SECRET + "\n" + SECRET + "\n", "secret")
        os.chown(self.secret, self.victim, self.victim)
        os.chmod(self.secret, 0o600)
        self.theirs = self.place("theirs")
        os.mkdir(self.theirs)
        self.give(self.theirs)
        self.program, self.fixtures = JITPROOF, FIXTURES
        if self.victim:
            self.make_ordinary()

    def make_ordinary(self) -> None:
        """Where anyone may read it, wherever the tree is; and they share a folder."""
        os.chmod(self.theirs, 0o777)
        self.program = self.place("bin", "jitproof")
        os.mkdir(self.place("bin"))
        shutil.copy(JITPROOF, self.program)
        shutil.copytree(os.path.join(os.path.dirname(JITPROOF), "profiler"),
                        self.place("bin", "profiler"))
        self.fixtures = self.place("fixtures")
        shutil.copytree(FIXTURES, self.fixtures)
        self.ours("tmp", 0o700)

    def tearDown(self) -> None:
        self.assertEqual(files.read(self.secret), SECRET + "\n" + SECRET + "\n")

    def fixture(self, *names: str) -> str:
        return os.path.join(self.fixtures, *names)

    def known(self) -> list[str]:
        """The expectations of the fixtures."""
        return ["--expected", self.fixture("expected")]

    @staticmethod
    def give(path: str, user: int = USER) -> str:
        """It is the attacker's, with all below it."""
        os.lchown(path, user, user)
        for folder, folders, names in os.walk(path):
            for name in folders + names:
                os.lchown(os.path.join(folder, name), user, user)
        return path

    def their(self, *names: str) -> str:
        return os.path.join(self.theirs, *names)

    def ours(self, name: str, mode: int = 0o700) -> str:
        """A folder of the victim's."""
        os.mkdir(self.place(name), mode)
        os.chmod(self.place(name), mode)
        os.chown(self.place(name), self.victim, self.victim)
        return self.place(name)

    def plant(self, name: str, make: Make) -> str:
        """What @make puts there, in the place of what was."""
        path = name if name.startswith("/") else self.their(name)
        if os.path.lexists(path):
            os.unlink(path)
        make(path)
        if make != self.hard:  # it is the victim's all the same
            os.lchown(path, USER, USER)
        return path

    def link(self, path: str) -> None:
        os.symlink(self.secret, path)

    def hard(self, path: str) -> None:
        os.link(self.secret, path)

    def environment(self, **more: str) -> dict[str, str]:
        ordinary = {"TMPDIR": self.place("tmp"), "HOME": self.home} if self.victim else {}
        return {**os.environ, **ordinary, **more}

    def as_victim(self) -> dict[str, Any]:
        """For subprocess."""
        return {"user": self.victim, "group": self.victim,
                "extra_groups": []} if self.victim else {}

    def run_it(self, *arguments: str, timeout: float = 20, program: str | None = None,
               environment: dict[str, str] | None = None, **more: Any
               ) -> subprocess.CompletedProcess[str]:
        """It ends in time, says nothing of the secret, and dies of nothing."""
        more.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run([program or self.program, *arguments], capture_output=True, text=True,
                              errors="replace", timeout=timeout, check=False,
                              env=self.environment(**(environment or {})),
                              **self.as_victim(), **more)
        said = done.stdout + done.stderr
        self.assertNotIn(SECRET, said)
        self.assertGreaterEqual(done.returncode, 0, said)
        self.assertNotIn("killed by signal", said)
        return done

    def refused(self, *arguments: str, **more: Any) -> str:
        done = self.run_it(*arguments, **more)
        self.assertNotIn(done.returncode, (0, 4), done.stdout + done.stderr)
        self.assertTrue(done.stderr.strip() or "not ok" in done.stdout)
        return done.stderr + done.stdout

    @contextlib.contextmanager
    def their_python(self, code: str, *words: str, inherit: Sequence[int] = ()
                     ) -> Iterator["subprocess.Popen[bytes]"]:
        """A process of theirs does @code, with `a` for the words and `on()` for what shows that it
        is about to: this one's Python may be nobody else's to start, so it is root that does."""
        text = ("import ctypes, fcntl, mmap, os, signal, sys, threading\nlibc = ctypes.CDLL(None)\n"
                f"os.setgroups([])\nos.setgid({USER})\nos.setuid({USER})\na = sys.argv[1:]\n"
                "libc.prctl(4, 1)\n"  # PR_SET_DUMPABLE
                "def on():\n    print('on', flush=True)\n" + code)
        with subprocess.Popen([sys.executable, "-c", text, *words], stdout=subprocess.PIPE,
                              start_new_session=True, cwd=self.theirs, pass_fds=inherit) as child:
            try:
                assert child.stdout
                self.assertEqual(child.stdout.readline(), b"on\n")
                yield child
                self.assertIsNone(child.poll())
            finally:
                os.killpg(child.pid, signal.SIGKILL)

    @contextlib.contextmanager
    def swapping(self, one: str, other: str) -> Iterator[None]:
        """Their process has now @one, now @other at the place of @one."""
        with self.their_python("on()\nwhile True:\n    libc.renameat2(-100, a[0].encode(), -100, "
                               "a[1].encode(), 2)\n", one, other):  # RENAME_EXCHANGE
            yield
