# SPDX-License-Identifier: GPL-2.0-only
"""Tests attacks of another user: planted and exchanged outputs, planted code, and the rights of
reading processes. jitproof neither discloses nor writes files of the victim, runs no planted code
and does not hang. The victim is root; in test_other_users_ordinary.py it is an ordinary user."""

import fcntl
import os
import re
import select
import shutil
import stat
import subprocess
import sys
import time
import unittest.mock
from typing import Any, Iterator

from ci.base import files
from harness.selftest.support import other_users

MAPPED = r"PROT_READ, .*/perf\.data"
setUpModule = other_users.prepare


def fill(arguments: list[str], path: str) -> list[str]:
    """Returns @arguments with @path in place of PATH."""
    return [path if word == "PATH" else word for word in arguments]


class Outputs(other_users.OtherUsers):
    def make_shared_folder(self, name: str) -> str:
        """Creates a folder of the attacker in which an ordinary victim may write."""
        os.mkdir(self.attacker_path(name))
        os.chmod(self.attacker_path(name), 0o777 if self.victim else 0o755)
        return self.hand_over(self.attacker_path(name))

    def test_run_directory(self) -> None:
        """jitproof refuses as run directory: the attacker's empty folder, a link to it, and a new
        folder below a folder of the attacker."""
        os.mkdir(self.attacker_path("empty"))
        self.hand_over(self.attacker_path("empty"))
        self.plant_file("link", lambda path: os.symlink(self.attacker_path("empty"), path))
        for name in ("empty", "link", "new", "empty/new"):
            with self.subTest(name):
                self.assertIn("not trusted",
                              self.expect_refusal("run", "-o", self.attacker_path(name),
                                                  "exact/anon").replace(
                           "expected a new or an empty directory", "not trusted"))
        self.assertEqual(os.listdir(self.attacker_path("empty")), [])

    def test_run_directory_swapped(self) -> None:
        self.make_shared_folder("dir")
        self.plant_folder_link("other")
        with self.swap_paths(self.attacker_path("dir"), self.attacker_path("other")):
            for _ in range(8):
                self.expect_refusal("run", "-o", self.attacker_path("dir"), "exact/anon")
        self.assertEqual(os.listdir(self.place("ours")), [])

    def list_writers(self) -> Iterator[tuple[str, list[str]]]:
        """Yields (name, arguments) of commands that write to the file PATH."""
        memfd, growth = self.fixture_path("memfd"), self.fixture_path("growth")
        yield "stacks", ["judge", "--elf", memfd + "/elf", "--stacks", "PATH", memfd + "/perf.data"]
        yield "results", ["judge", *self.list_options(), "--results", "PATH",
                          self.fixture_path("anon")]
        yield "inject", ["inject", "--jitdump-dir", growth, "-i", growth + "/perf.data", "-o",
                         "PATH"]
        yield "repro", ["repro", "fixture/anon", *self.list_options(), "--from",
                        self.fixture_path("anon"),
                        "-o", "PATH"]
        yield "record", ["record", "-o", "PATH", "--", "true"]

    def test_planted_outputs(self) -> None:
        """The attacker planted at an output's path: a link to the victim's file, a dangling link, a
        FIFO, a hard link, or a file that he keeps open."""
        makes: dict[str, other_users.Make] = {
            "link": self.plant_link, "hard": self.plant_hard_link, "fifo": os.mkfifo,
            "dangling": lambda path: os.symlink(self.place("made"), path),
            "open": lambda path: files.write(path, "theirs")}
        for name, arguments in self.list_writers():
            for what, make in makes.items():
                with self.subTest(output=name, what=what):
                    path = self.plant_file(f"{name}.{what}", make)
                    if what == "open":
                        os.chmod(path, 0o666)
                    with open(path if what == "open" else os.devnull, "rb") as held:
                        self.run_it(*fill(arguments, path))
                        if what == "open":
                            self.assertEqual(held.read(), b"theirs")
                    if what == "open" and os.stat(path).st_size != 6:
                        self.assertEqual(os.stat(path).st_uid, self.victim)
                    self.assertFalse(os.path.lexists(self.place("made")))

    def test_folder_swapped(self) -> None:
        """Output into the attacker's folder does not reach the target of a link in its place."""
        self.make_shared_folder("dir")
        self.plant_folder_link("other")
        with self.swap_paths(self.attacker_path("dir"), self.attacker_path("other")):
            for _, arguments in self.list_writers():
                for _ in range(4):
                    self.run_it(*fill(arguments, self.attacker_path("dir/out")))
                    self.assertEqual(os.listdir(self.place("ours")), [])

    def test_names_of_temporary_files(self) -> None:
        """Temporary files of outputs have no predictable names."""
        for name, arguments in self.list_writers():
            for end in (".part", ".tmp", ".00000000"):
                self.plant_file(name + end, lambda path: files.write(path, "theirs"))
            self.run_it(*fill(arguments, self.attacker_path(name)))
            for end in (".part", ".tmp", ".00000000"):
                self.assertEqual(files.read(self.attacker_path(name + end)), "theirs")

    def test_jit_folder(self) -> None:
        """OUT.jit belongs to the attacker, is a link, or is writable by all."""
        growth = self.fixture_path("growth")
        command = ["inject", "--jitdump-dir", growth, "-i", growth + "/perf.data", "-o"]
        os.mkdir(self.attacker_path("a.jit"), 0o777)
        self.hand_over(self.attacker_path("a.jit"))
        self.plant_folder_link("b.jit")
        os.mkdir(self.attacker_path("c.jit"))
        os.chmod(self.attacker_path("c.jit"), 0o777)
        for name in "abc":
            with self.subTest(name):
                self.expect_refusal(*command, self.attacker_path(name))
                self.assertFalse(os.path.exists(self.attacker_path(name)))
        self.assertEqual(os.listdir(self.place("ours")), [])

    def test_sockets(self) -> None:
        """A socket at the path of an output is not replaced."""
        for name, arguments in self.list_writers():
            with self.subTest(name):
                path = self.plant_file(name, other_users.make_dead_socket)
                self.expect_refusal(*fill(arguments, path))
                self.assertTrue(stat.S_ISSOCK(os.lstat(path).st_mode))


class Folders(other_users.OtherUsers):
    """Commands that create a folder."""

    def list_folder_makers(self) -> Iterator[list[str]]:
        memfd = self.fixture_path("memfd")
        yield ["run", "-o", "PATH", "exact/anon"]
        yield ["score", "--profiler=jitproof", "--samples=5", "--seconds=1", "-o", "PATH",
               "anon_exec"]
        yield ["judge", "--truth", memfd + "/truth", "-o", "PATH", memfd + "/perf.data"]

    def check_refused(self, path: str) -> None:
        """Runs each command with @path, which must be refused; the victim's folder stays empty."""
        for arguments in self.list_folder_makers():
            with self.subTest(arguments):
                self.assertIn("not trusted", self.expect_refusal(*fill(arguments, path)))
                self.assertEqual(os.listdir(self.place("ours")), [])

    def test_below_a_link(self) -> None:
        """The attacker's link points to a private folder of the victim."""
        self.plant_folder_link("link")
        self.check_refused(self.attacker_path("link", "new"))

    def test_up_from_a_link(self) -> None:
        """".." after such a link is the parent of its target."""
        self.plant_folder_link("link")
        self.check_refused(self.attacker_path("link", "..", "ours", "new"))

    def test_workload_below_a_link(self) -> None:
        """A workload's truth and published files below a link."""
        self.make_victim_folder("truths")
        self.plant_folder_link("link")
        link = self.attacker_path("link")
        for words in (["--truth", link + "/truth"],
                      ["--truth", self.place("truths", "a"), "--publish=map", "--publish-dir",
                       link],
                      ["--truth", self.place("truths", "b"), "--publish=jitdump", "--publish-dir",
                       link]):
            with self.subTest(words):
                self.assertIn("symbolic links",
                              self.expect_refusal("workload", "anon_exec", *words))
                self.assertEqual(os.listdir(self.place("ours")), [])

    def test_fifos_of_a_gate(self) -> None:
        """The FIFOs of a gate are the attacker's links to a file or to a FIFO, or no FIFOs."""
        os.mkfifo(self.place("fifo"))
        os.chown(self.place("fifo"), self.victim, self.victim)
        self.plant_file("folder", lambda path: os.symlink(self.home, path))
        makes: dict[str, other_users.Make] = {
            "link": self.plant_link, "hard": self.plant_hard_link,
            "fifo": lambda path: os.symlink(self.place("fifo"), path)}
        for name, make in makes.items():
            for end in (".ctl", ".ack"):
                self.plant_file(name + end, make)
        for end in (".ctl", ".ack"):
            os.symlink("secret", self.place("gate" + end))
        for prefix in (*makes, "folder/fifo", "folder/gate"):
            with self.subTest(prefix):
                self.assertIn("gate:", self.expect_refusal(
                    "workload", "fork_exec", "--tasks=1", "--truth",
                    self.place("truth-of-" + prefix.replace("/", "-")),
                    environment={"JITPROOF_GATE": self.attacker_path(prefix)}))

    def check_temporary(self, folder: str) -> None:
        """Runs commands with TMPDIR=@folder, in which they must create nothing."""
        memfd = self.fixture_path("memfd")
        for arguments in (["run", "exact/anon"], ["run", "--keep", "exact/anon"],
                          ["score", "--profiler=jitproof", "--samples=5", "--seconds=1",
                           "anon_exec"],
                          ["judge", "--truth", memfd + "/truth", memfd + "/perf.data"],
                          ["explain", "--truth", memfd + "/truth", memfd + "/perf.data"],
                          ["repro", "fixture/anon", *self.list_options(), "--from",
                           self.fixture_path("anon"), "-o", self.place("tar")]):
            with self.subTest(arguments):
                output = self.expect_refusal(*arguments, environment={"TMPDIR": folder})
                self.assertIn("not trusted", output)
                self.assertEqual(os.listdir(folder), [])

    def test_temporary_folder(self) -> None:
        """The attacker owns TMPDIR and could replace files there by links."""
        os.mkdir(self.attacker_path("tmp"))
        self.hand_over(self.attacker_path("tmp"))
        os.chmod(self.attacker_path("tmp"), 0o777)
        self.check_temporary(self.attacker_path("tmp"))

    def test_temporary_link(self) -> None:
        """TMPDIR is the attacker's link to a folder of the victim."""
        self.plant_folder_link("link")
        self.check_temporary(self.attacker_path("link"))


class Planting(other_users.OtherUsers):
    def plant_program(self, *names: str, text: str = "#!/bin/sh\n: > %s\n") -> str:
        """Creates a program of the attacker; returns the file that exists once it has run."""
        path = self.attacker_path(*names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.write(path, text % self.place("ran"))
        os.chmod(path, 0o755)
        self.hand_over(self.theirs)
        return self.place("ran")


class Code(Planting):
    def test_adapters(self) -> None:
        """A jitproof below the attacker's folder loads no adapter from there."""
        os.makedirs(self.attacker_path("bin"))
        os.makedirs(self.attacker_path("share", "jitproof", "profiler"))
        shutil.copy(self.program, self.attacker_path("bin", "jitproof"))
        plant_program = self.place("ran")
        files.write(self.attacker_path("share", "jitproof", "profiler", "perf.py"),
                    f"open({plant_program!r}, 'w')\n")
        self.hand_over(self.theirs)
        os.chown(self.attacker_path("bin", "jitproof"), 0, 0)
        for case in ("exact/anon", "process-tree/fork_exec.perf"):
            self.run_it("run", "-o", self.place(case.replace("/", "-")), case, timeout=240,
                        program=self.attacker_path("bin", "jitproof"))
        self.assertFalse(os.path.exists(plant_program))

    def check_adapter(self, ran: str, *arguments: str, **more: Any) -> str:
        """Starts an adapter; no program of the attacker may run."""
        result = self.run_it(*(arguments or ("adapter", "check", "perf")), timeout=240, **more)
        self.assertFalse(os.path.exists(ran))
        return result.stdout + result.stderr

    def test_python_variables(self) -> None:
        """Variables name modules of the attacker that Python would run before the adapter."""
        for name in ("sitecustomize.py", "usercustomize.py", "json.py", "start.py", "os.py"):
            ran = self.plant_program(name, text="open('%s', 'w')\n")
        for variables in ({"PYTHONPATH": self.theirs, "PYTHONUSERBASE": self.theirs,
                           "PYTHONSTARTUP": self.attacker_path("start.py"),
                           "PYTHONINSPECT": "1", "PYTHONPYCACHEPREFIX": self.theirs},
                          {"PYTHONHOME": self.theirs, "PYTHONPLATLIBDIR": "."}):
            self.check_adapter(ran, "adapter", "check", "samply", environment=variables)

    def test_working_folder(self) -> None:
        """Modules and programs of the attacker in the working directory do not run."""
        for name in ("sitecustomize.py", "json.py", "profiler/perf.py", "harness/__init__.py"):
            self.plant_program(name, text="open('%s', 'w')\n")
        for name in ("python3", "perf", "jitproof", "sh"):
            ran = self.plant_program(name)
        files.write(self.attacker_path(".perfconfig"),
                    f"[core]\n\tpager = {self.attacker_path('sh')}\n")
        self.check_adapter(ran, cwd=self.theirs)
        self.check_adapter(ran, "list", cwd=self.theirs)

    def test_foreign_home(self) -> None:
        """HOME belongs to the attacker, as sudo may keep it, and contains settings of perf."""
        ran = self.plant_program("pager")
        files.write(self.attacker_path(".perfconfig"),
                    f"[core]\n\tpager = {self.attacker_path('pager')}\n"
                    f"[annotate]\n\tobjdump = {self.attacker_path('pager')}\n")
        self.check_adapter(ran, environment={"HOME": self.theirs})

    def copy_adapters(self, folder: str) -> None:
        """Copies jitproof's adapters into @folder."""
        os.makedirs(folder, exist_ok=True)
        shutil.copytree(os.path.join(os.path.dirname(self.program), "profiler"), folder,
                        dirs_exist_ok=True)

    def test_folder_of_adapters(self) -> None:
        """JITPROOF_PROFILERS is the attacker's folder, or a link to a folder of the victim."""
        ran = self.plant_program("profiler", "perf.py", text="open('%s', 'w')\n")
        output = self.check_adapter(
            ran, environment={"JITPROOF_PROFILERS": self.attacker_path("profiler")})
        self.assertIn("not trusted", output)
        self.copy_adapters(self.make_victim_folder("own", 0o755))
        self.plant_file("link", lambda path: os.symlink(self.place("own"), path))
        output = self.check_adapter(ran,
                                    environment={"JITPROOF_PROFILERS": self.attacker_path("link")})
        self.assertIn("not trusted", output)

    def test_adapter_for_anyone(self) -> None:
        """An adapter of the victim that is writable by all."""
        self.copy_adapters(self.make_victim_folder("own", 0o755))
        os.chmod(self.place("own", "perf.py"), 0o666)
        output = self.check_adapter(self.place("ran"),
                                    environment={"JITPROOF_PROFILERS": self.place("own")})
        self.assertIn("not trusted", output)

    def test_sticky_folder_of_adapters(self) -> None:
        """The victim's adapters are in a folder in which anyone may create modules."""
        self.copy_adapters(self.make_victim_folder("own"))
        os.chmod(self.place("own"), 0o1777)
        for name in sys.stdlib_module_names:
            self.plant_file(self.place("own", name + ".py"),
                            lambda to: files.write(to, f"open({self.place('ran')!r}, 'w')\n"))
        output = self.check_adapter(self.place("ran"),
                                    environment={"JITPROOF_PROFILERS": self.place("own")})
        self.assertIn("not trusted", output)

    def test_files_of_workloads(self) -> None:
        """A workload creates and runs files beside its truth in the attacker's folder: the attacker
        could replace these."""
        os.mkdir(self.attacker_path("truths"))
        os.chmod(self.hand_over(self.attacker_path("truths")), 0o777)
        for words in (["dlopen_twice"], ["odd_paths"], ["replaced_binary"],
                      ["fork_exec", "--replace=/bin/true"]):
            truth = self.attacker_path("truths", words[0])
            with self.subTest(words):
                self.assertIn("not trusted",
                              self.expect_refusal("workload", *words, "--truth", truth))
                self.assertEqual(os.listdir(self.attacker_path("truths")), [words[0]])
                os.unlink(truth)

    def copy_program(self) -> str:
        """Copies jitproof, as a file of root, into a folder of the attacker."""
        copy = shutil.copy(self.program, self.attacker_path("bin", "jitproof"))
        os.chown(copy, 0, 0)
        return copy

    def test_static_program(self) -> None:
        """jitproof does not run a program of the attacker in place of the static workload
        program."""
        ran = self.plant_program("bin", "jitproof-static")
        output = self.check_adapter(ran, "workload", "static_binary", "--truth",
                                    self.place("truth"),
                                    program=self.copy_program())
        self.assertIn("not trusted", output)

    def make_importing_adapter(self) -> str:
        """Creates a folder of the victim with an adapter that imports modules of jitproof."""
        files.write(os.path.join(self.make_victim_folder("own", 0o755), "mine.py"),
                    "import os, sys\nsys.path.insert(0, os.environ['JITPROOF_ADAPTING'])\n"
                    "from adapting import protocol\n")
        return self.place("own")

    def test_modules_of_adapters(self) -> None:
        """The modules are in a folder of the attacker, by JITPROOF_ADAPTING or by the program."""
        text = "open('%s', 'w')\n"
        ran = self.plant_program("bin", "profiler", "adapting", "protocol.py", text=text)
        modules = {"JITPROOF_PROFILERS": self.make_importing_adapter()}
        self.check_adapter(ran, "adapter", "check", "mine", environment={
            **modules, "JITPROOF_ADAPTING": self.attacker_path("bin", "profiler")})
        output = self.check_adapter(ran, "adapter", "check", "mine", environment=modules,
                                    program=self.copy_program())
        self.assertIn("not trusted", output)

    def test_foreign_peers_folder(self) -> None:
        """The attacker's programs at the place where ci/peers installs profilers."""
        ran = self.plant_program("bin", "peers", "bin", "samply")
        self.copy_adapters(self.make_victim_folder("own", 0o755))
        output = self.check_adapter(ran, "adapter", "check", "samply",
                                    program=self.copy_program(),
                                    environment={"JITPROOF_PROFILERS": self.place("own")})
        self.assertIn("not trusted", output)


class Root(Planting):
    """Tests attacks that are possible only against root."""

    def make_search_path(self) -> str:
        """Creates a folder with Python, and without perf, so that an adapter does not record."""
        own = self.make_victim_folder("own", 0o755)
        os.symlink(sys.executable, os.path.join(own, "python3"))
        return own

    def test_temporary_folder_of_adapters(self) -> None:
        """TMPDIR is the attacker's; the adapter would use it, jitproof itself does not."""
        os.mkdir(self.attacker_path("tmp"))
        self.hand_over(self.attacker_path("tmp"))
        result = self.run_it("run", "-o", self.place("run"), "process-tree/fork_exec.perf",
                             timeout=240, environment={"TMPDIR": self.attacker_path("tmp")})
        self.assertIn("is left out", result.stderr)
        self.assertEqual(os.listdir(self.attacker_path("tmp")), [])

    def test_programs_by_variables(self) -> None:
        """Variables that sudo may keep name a program or a folder of the attacker."""
        for names in (("perf",), ("peers", "bin", "perf")):
            ran = self.plant_program(*names)
        own = self.make_search_path()
        for name, path in (("JITPROOF_PERF", "perf"), ("JITPROOF_SAMPLY", "perf"),
                           ("JITPROOF_SAMPLY", "./perf")):
            adapter = name.partition("_")[2].lower()
            with self.subTest(name):
                result = self.run_it("adapter", "check", adapter, timeout=240, cwd=self.theirs,
                                     environment={"PATH": own, name: path if "/" in path else
                                                  self.attacker_path(path)})
                self.assertFalse(os.path.exists(ran))
                self.assertIn("is left out", result.stderr)
        os.rename(self.attacker_path("peers", "bin", "perf"),
                  self.attacker_path("peers", "bin", "samply"))
        os.mkdir(self.place("peers"))
        shutil.copytree(self.attacker_path("peers", "bin"), self.place("peers", "bin"))
        self.hand_over(self.place("peers", "bin"))
        for peers in (self.attacker_path("peers"), self.place("peers")):
            with self.subTest(peers):
                result = self.run_it("adapter", "check", "samply", timeout=240,
                                     environment={"PATH": own, "JITPROOF_PEERS": peers})
                self.assertFalse(os.path.exists(ran))
                self.assertIn("is left out", result.stderr)

    def test_search_path(self) -> None:
        """PATH begins with the attacker's folder, the working directory, or a shared folder."""
        for name in ("python3", "perf"):
            ran = self.plant_program(name)
        os.mkdir(self.place("anyone's"))
        os.chmod(self.place("anyone's"), 0o1777)
        own = self.make_search_path()
        for folder in (self.theirs, "", ".", self.place("anyone's")):
            for name in ("python3", "perf"):
                shutil.copy(self.attacker_path(name), self.place("anyone's", name))
            result = self.run_it("adapter", "check", "perf", timeout=240, cwd=self.theirs,
                                 environment={"PATH": f"{folder}:{own}"})
            self.assertFalse(os.path.exists(ran))
            self.assertIn("of PATH is left out", result.stderr)


class Confined(other_users.OtherUsers):
    """Tests that root's jitproof reads with the rights of nobody."""

    def test_confined(self) -> None:
        """The reading process runs as nobody, and other processes of nobody cannot trace it."""
        with subprocess.Popen([self.program, "judge", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
            children = f"/proc/{parent.pid}/task/{parent.pid}/children"
            end = time.monotonic() + 240
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
            self.assertEqual(parent.wait(timeout=240), 99)

    def test_signals(self) -> None:
        """The owner of read files cannot signal the process that reads with his rights."""
        for number in range(40):
            shutil.copytree(self.fixture_path("growth"), self.attacker_path("growth%d" % number))
        self.hand_over(self.theirs)
        ours, full = os.pipe()
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
        with subprocess.Popen([self.program, "judge", self.theirs], stdout=full) as parent, \
                open(ours, "rb", buffering=0) as out:
            os.close(full)
            answer, part, output = "", b" ", b""
            # Each case has a child of its own. The parent waits while the pipe is full, so a busy
            # machine does not judge all cases between two attempts.
            while answer in ("", "No such process") and part:
                child, status = self.read_confined_status(parent)
                if f"\t{other_users.USER}\t" in status:
                    answer = self.signal_as_owner(child)
                if select.select([out], [], [], 0)[0]:
                    part = out.read(4096)
                    output += part
            output += out.read()
            parent.wait(timeout=240)
        self.assertRegex(status, rf"Uid:\t65534\t{other_users.USER}\t65534\t{other_users.USER}")
        self.assertEqual(answer, "Operation not permitted")
        self.assertIn(b"# Totals:", output)

    @staticmethod
    def read_confined_status(parent: "subprocess.Popen[bytes]") -> tuple[str, str]:
        """Returns the pid and /proc/PID/status of the only child, or empty texts."""
        child = files.read(f"/proc/{parent.pid}/task/{parent.pid}/children").strip()
        try:
            return child, files.read(f"/proc/{child}/status") if child else ""
        except (FileNotFoundError, ProcessLookupError):
            return child, ""

    @staticmethod
    def signal_as_owner(pid: str) -> str:
        """Sends SIGSTOP to @pid as the owner of the files; returns the answer of kill()."""
        result = subprocess.run(["kill", "-STOP", pid], user=other_users.USER, extra_groups=[],
                                group=other_users.USER, capture_output=True, text=True, check=False)
        return result.stderr.rpartition(": ")[2].strip()

    def check_readers(self, file: str, *arguments: str) -> None:
        """Asserts that only processes without root's rights read files that match @file."""
        log = self.place("strace")
        subprocess.run(["strace", "-f", "-qq", "-y", "-e", "trace=mmap,read,pread64,setresuid",
                        "-o", log, self.program, *arguments], capture_output=True, check=False,
                       timeout=240)
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
        growth = self.fixture_path("growth")
        # A reader that shows nothing: jitproof still lists the mapped files that are gone.
        self.write("#!/bin/sh\n[ $1 != --version ] || echo perf version 99.0\n", "perfs", "99",
                   "perf", runs=True)
        self.enterContext(unittest.mock.patch.dict(
            os.environ, {"JITPROOF_PERFS": self.place("perfs")}))
        for file, arguments in (
                (MAPPED, ["judge", growth + "/perf.data"]),
                (MAPPED, ["judge", growth]),
                (MAPPED, ["explain", growth + "/perf.data"]),
                (MAPPED, ["inject", "--jitdump-dir", growth, "-i", growth + "/perf.data",
                          "-o", self.place("out")]),
                (r"read.*\.dump", ["lint", growth + "/jit-12329.dump"]),
                (MAPPED, ["repro", "fixture/anon", *self.list_options(), "--from",
                          self.fixture_path("anon"), "-o", self.place("tar")]),
                (MAPPED, ["run", "-o", self.place("run"),
                          "growth/anon.down.mmap.jitdump.keep"]),
                (MAPPED, ["run", "-o", self.place("shown"), "--readers=perf-99", "--no-judge",
                          "growth/anon.down.mmap.jitdump.keep"]),
                (MAPPED, ["score", "--profiler=jitproof", "--samples=20", "--seconds=2",
                          "anon_exec"])):
            with self.subTest(arguments):
                self.check_readers(file, *arguments)
