# SPDX-License-Identifier: GPL-2.0-only
"""Base of the tests in which one user attacks the jitproof of another: the users, the planted files
and the exchanged paths. The tests need root, which plays both users, and set fs.protected_* to 0
where permitted, so that they measure jitproof's own checks."""

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

USER = 12321  # the attacker: neither root nor 65534 (nobody)
ORDINARY = 12322  # an ordinary user as the victim
SECRET = "root-only-words"
PROTECTIONS = ["/proc/sys/fs/protected_" + name
               for name in ("symlinks", "hardlinks", "fifos", "regular")]
TERABYTE = 1 << 40
Make = Callable[[str], object]  # creates an object at a path


def prepare() -> None:
    """Turns the kernel's protections off until the module ends; called by setUpModule()."""
    if os.geteuid():
        raise unittest.SkipTest("two users need root")
    for path in PROTECTIONS:
        with contextlib.suppress(OSError):
            old = files.read(path)
            files.write(path, "0\n")
            unittest.addModuleCleanup(files.write, path, old)
    kept_folder = [path for path in PROTECTIONS
            if os.path.exists(path) and files.read(path).strip() != "0"]
    if kept_folder:
        print("# cannot be set to 0 here: " + ", ".join(kept_folder))


def make_dead_socket(path: str) -> None:
    """Leaves the socket file of a listener that has gone."""
    with socket.socket(socket.AF_UNIX) as result:
        result.bind(path)


def make_sparse(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(TERABYTE)


class OtherUsers(Folder):
    """A test with a folder of the victim, which holds a secret, and a folder of the attacker."""

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
        self.hand_over(self.theirs)
        self.program, self.fixtures = JITPROOF, FIXTURES
        if self.victim:
            self.make_ordinary()

    def make_ordinary(self) -> None:
        """Copies the program and the fixtures to a place that any user may read."""
        os.chmod(self.theirs, 0o777)
        self.program = self.place("bin", "jitproof")
        os.mkdir(self.place("bin"))
        shutil.copy(JITPROOF, self.program)
        shutil.copytree(os.path.join(os.path.dirname(JITPROOF), "profiler"),
                        self.place("bin", "profiler"))
        self.fixtures = self.place("fixtures")
        shutil.copytree(FIXTURES, self.fixtures)
        self.make_victim_folder("tmp", 0o700)

    def tearDown(self) -> None:
        self.assertEqual(files.read(self.secret), SECRET + "\n" + SECRET + "\n")

    def fixture_path(self, *names: str) -> str:
        return os.path.join(self.fixtures, *names)

    def list_options(self) -> list[str]:
        """Returns the options that name the expectations of the fixtures."""
        return ["--expected", self.fixture_path("expected")]

    @staticmethod
    def hand_over(path: str) -> str:
        """Makes @path and everything below it the property of the attacker."""
        os.lchown(path, USER, USER)
        for folder, folders, names in os.walk(path):
            for name in folders + names:
                os.lchown(os.path.join(folder, name), USER, USER)
        return path

    def attacker_path(self, *names: str) -> str:
        return os.path.join(self.theirs, *names)

    def make_victim_folder(self, name: str, mode: int = 0o700) -> str:
        os.mkdir(self.place(name), mode)
        os.chmod(self.place(name), mode)
        os.chown(self.place(name), self.victim, self.victim)
        return self.place(name)

    def plant_file(self, name: str, make: Make) -> str:
        """Replaces a file of the attacker by the object that @make creates."""
        path = name if name.startswith("/") else self.attacker_path(name)
        if os.path.lexists(path):
            os.unlink(path)
        make(path)
        if make != self.plant_hard_link:  # a hard link keeps its owner, the victim
            os.lchown(path, USER, USER)
        return path

    def plant_folder_link(self, name: str) -> None:
        """Replaces a file of the attacker by a link to `ours`, a new folder of the victim."""
        self.make_victim_folder("ours")
        self.plant_file(name, lambda path: os.symlink(self.place("ours"), path))

    def plant_link(self, path: str) -> None:
        os.symlink(self.secret, path)

    def plant_hard_link(self, path: str) -> None:
        os.link(self.secret, path)

    def victim_environment(self, **more: str) -> dict[str, str]:
        ordinary = {"TMPDIR": self.place("tmp"), "HOME": self.home} if self.victim else {}
        return {**os.environ, **ordinary, **more}

    def victim_arguments(self) -> dict[str, Any]:
        """Returns the arguments of subprocess that run a command as the victim."""
        return {"user": self.victim, "group": self.victim,
                "extra_groups": []} if self.victim else {}

    def run_it(self, *arguments: str, timeout: float = 240, program: str | None = None,
               environment: dict[str, str] | None = None, **more: Any
               ) -> subprocess.CompletedProcess[str]:
        """Runs jitproof, which must end in time by itself, and must not print the secret."""
        more.setdefault("stdin", subprocess.DEVNULL)
        result = subprocess.run([program or self.program, *arguments], capture_output=True,
                                text=True, errors="replace", timeout=timeout, check=False,
                                env=self.victim_environment(**(environment or {})),
                                **self.victim_arguments(), **more)
        output = result.stdout + result.stderr
        self.assertNotIn(SECRET, output)
        self.assertGreaterEqual(result.returncode, 0, output)
        self.assertNotIn("killed by signal", output)
        return result

    def expect_refusal(self, *arguments: str, **more: Any) -> str:
        result = self.run_it(*arguments, **more)
        self.assertNotIn(result.returncode, (0, 4), result.stdout + result.stderr)
        self.assertTrue(result.stderr.strip() or "not ok" in result.stdout)
        return result.stderr + result.stdout

    @contextlib.contextmanager
    def run_attacker(self, code: str, *words: str, inherit: Sequence[int] = ()
                     ) -> Iterator["subprocess.Popen[bytes]"]:
        """Runs @code as the attacker until the context ends. The code finds @words in `a` and calls
        `on()` when it is ready. Root starts it, as Python may be closed to other users."""
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
    def swap_paths(self, one: str, other: str) -> Iterator[None]:
        """Runs an attacker who exchanges the paths @one and @other all the time."""
        with self.run_attacker("on()\nwhile True:\n    libc.renameat2(-100, a[0].encode(), -100, "
                               "a[1].encode(), 2)\n", one, other):  # RENAME_EXCHANGE
            yield
