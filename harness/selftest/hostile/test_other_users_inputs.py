# SPDX-License-Identifier: GPL-2.0-only
"""Tests hostile input of another user: links, FIFOs, sockets, devices; endless, exchanged and
leased files; false names and terminal escapes; archives. (Victims: test_other_users.py.)"""

import json
import os
import re
import shutil
import subprocess
import tarfile

from ci.base import files
from harness.selftest.support import other_users
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES

ESCAPE = "\033]0;taken\007"
# Control characters beyond ASCII, and line separators of some readers.
CONTROLS = "\u202e\u2066\u009b31m\u2028ok 9 - forged"
OBEYED = "[\033\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
setUpModule = other_users.prepare


class Inputs(other_users.OtherUsers):
    def copy_fixture(self, name: str = "anon") -> str:
        """Copies a fixture into the attacker's folder."""
        path = self.attacker_path(name)
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.fixture_path(name), path)
        return self.hand_over(path)

    def judge(self, folder: str) -> str:
        return self.run_it("judge", *self.list_options(), folder).stdout


class Cases(Inputs):
    """Tests run directories, and single files."""

    def test_files_of_a_case(self) -> None:
        """Each file is a link or hard link to the secret, a FIFO, a device, or endless."""
        kinds: dict[str, other_users.Make] = {
            "link": self.plant_link, "hard": self.plant_hard_link, "fifo": os.mkfifo,
            "device": lambda path: os.symlink("/dev/zero", path),
            "sparse": other_users.make_sparse}
        if self.victim:  # an ordinary victim may read its own file
            del kinds["hard"]
        for name in ("case", "truth", "perf.data", "injected.data", "maps", "capture", "outcome",
                     "crash", "env.json", "ktap.txt", "watched", "intervals", "elf/index",
                     "jit-12329.dump"):
            folder = self.copy_fixture("growth")
            for what, make in kinds.items():
                with self.subTest(name=name, what=what):
                    path = os.path.join(folder, name)
                    kept_folder = files.read_bytes(path) if os.path.isfile(path) else b""
                    self.plant_file(path, make)
                    self.judge(folder)
                    os.unlink(path)
                    if kept_folder:
                        files.write_bytes(path, kept_folder)

    def test_hostile_elf_index(self) -> None:
        """The index of elf/ contains names outside of that folder, or its files are replaced."""
        folder = self.copy_fixture()
        index = os.path.join(folder, "elf", "index")
        ident = re.match(r"[0-9a-f]+", files.read(index))
        assert ident
        for line in ("../../../secret", "/" + self.secret, "..", ident.group().upper()):
            files.write(index, re.sub(r"(?m)^[0-9a-f]+", line, files.read(index), count=1))
            self.judge(folder)
        folder = self.copy_fixture()
        kinds: tuple[other_users.Make, ...] = (self.plant_link, self.plant_hard_link, os.mkfifo)
        for make in kinds:
            path = self.plant_file(os.path.join(folder, "elf", ident.group()), make)
            self.judge(folder)
            os.unlink(path)

    def test_swapped_files(self) -> None:
        """A case's file and folder are exchanged for links to the victim's."""
        folder = self.copy_fixture()
        self.plant_file("other", self.plant_link)
        with self.swap_paths(os.path.join(folder, "case"), self.attacker_path("other")):
            for _ in range(20):
                self.judge(folder)
        self.make_victim_folder("ours")
        shutil.copy(self.secret, self.place("ours", "case"))
        folder = self.copy_fixture()
        self.plant_file("dir", lambda path: os.symlink(self.place("ours"), path))
        with self.swap_paths(folder, self.attacker_path("dir")):
            for _ in range(20):
                self.judge(folder)

    def test_jitdumps(self) -> None:
        """A jitdump is a link, a hard link, a FIFO, another user's file, or endless."""
        growth = self.fixture_path("growth")
        kinds: dict[str, other_users.Make] = {
            "link": self.plant_link, "hard": self.plant_hard_link, "fifo": os.mkfifo,
            "another's": lambda path: shutil.copy(growth + "/jit-12329.dump", path),
            "sparse": other_users.make_sparse}
        for what, make in kinds.items():
            with self.subTest(what):
                self.plant_file("jit-12329.dump", make)
                result = self.run_it("inject", "--jitdump-dir", self.theirs, "-i",
                                     growth + "/perf.data", "-o", self.place("out"))
                if not result.returncode:
                    self.assertIn(" 0 loads", result.stdout)

    def test_sparse_files(self) -> None:
        path = self.plant_file("huge.data", other_users.make_sparse)
        for command in (["judge"], ["inject", "-o", self.place("out"), "-i"], ["lint"]):
            with self.subTest(command):
                self.expect_refusal(*command, path)
        result = self.run_it("explain", path)
        self.assertEqual((result.returncode, "(failed-inject)" in result.stdout), (1, True), result)

    def test_sockets(self) -> None:
        path = self.plant_file("socket", other_users.make_dead_socket)
        for command in (["judge"], ["explain"], ["inject", "-o", self.place("out"), "-i"],
                        ["lint"], ["judge", "--truth", path], ["judge", "--elf", path]):
            with self.subTest(command):
                self.expect_refusal(*command, path)

    def test_planted_results(self) -> None:
        """Results in a run directory are neither believed nor overwritten."""
        folder = self.copy_fixture("growth")
        line = '{"case": "fixture/forged", "outcome": "PASS"}\n'
        for name in ("results.jsonl", "ktap.txt", "report.html", "junit.xml", "notes"):
            self.plant_file(os.path.join(folder, name), lambda path: files.write(path, line))
            self.plant_file(self.attacker_path(name),
                            lambda path: files.write(path, "ok 1 fixture/forged\n"))
        self.plant_file(os.path.join(folder, "outcome"), lambda path: files.write(path, "PASS\n"))
        result = self.run_it("judge", *self.list_options(), self.theirs)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertNotIn("forged", result.stdout + result.stderr)
        self.assertNotRegex(result.stdout, "(?m)^ok ")
        self.assertEqual(files.read(os.path.join(folder, "results.jsonl")), line)

    def test_fifos(self) -> None:
        """No command opens another user's FIFO, by its own name or by a link."""
        anon, memfd = self.fixture_path("anon"), self.fixture_path("memfd")
        capture, truth = memfd + "/perf.data", memfd + "/truth"
        for owner in (other_users.USER, 65534):
            fifo, link = self.plant_file("fifo", os.mkfifo), self.attacker_path("link")
            self.plant_file("link", lambda path: os.symlink(fifo, path))
            os.makedirs(self.attacker_path("cases"), exist_ok=True)
            self.plant_file("cases/s", os.mkfifo)
            for path in (fifo, self.attacker_path("cases/s")):
                os.chown(path, owner, owner)
            cases = ["--expected", self.attacker_path("cases")]
            for command in (["run", *cases], ["judge", *cases, anon],
                            ["repro", "fixture/anon", *cases, "--from", anon, "-o",
                             self.place("x.tar")],
                            *([name, "--truth", truth, "--injected", path, capture]
                              for name in ("judge", "explain") for path in (fifo, link)),
                            ["judge", "--truth", fifo, capture], ["judge", "--truth", truth, fifo],
                            ["score", "--profiler=jitproof", "--scenes", fifo],
                            ["score", "--list", "--scenes", link]):
                with self.subTest(command=command, owner=owner):
                    self.assertIn("FIFO", self.expect_refusal(*command, timeout=240))

    def test_own_pipes(self) -> None:
        """The user's own pipes work, with and without a name."""
        os.mkfifo(self.place("mine"))
        os.chown(self.place("mine"), self.victim, self.victim)
        line = "case mine full : anon_exec : attach"
        for script in (f"echo '{line}' >mine & exec \"$@\" --scenes mine",
                       f"exec \"$@\" --scenes <(echo '{line}')",
                       f"echo '{line}' | \"$@\" --scenes /dev/stdin"):
            result = self.run_it("-c", script, "-", self.program, "score", "--list", program="bash",
                                 cwd=self.home)
            self.assertIn("mine\n", result.stdout, result.stderr)

    def test_hostile_folders(self) -> None:
        """Folders of a run directory are circular, very deep, links, or have odd names."""
        folder = self.copy_fixture()
        ours = self.make_victim_folder("ours")
        shutil.copytree(self.fixture_path("growth"), os.path.join(ours, "case"))
        for name, to in (("round", "."), ("up", ".."), ("ours", ours), ("root", "/"),
                         ("self", "/proc/self/cwd")):
            os.symlink(to, self.attacker_path(name))
        deep = self.theirs
        for _ in range(200):
            deep = os.path.join(deep, "d" * 10)
            os.mkdir(deep)
        os.rename(folder, self.attacker_path("od\n" + ESCAPE.replace("/", "") + "ok 9 - forged"))
        self.hand_over(self.theirs)
        result = self.run_it("judge", *self.list_options(), self.theirs)
        self.assertNotRegex(result.stdout + result.stderr, OBEYED)
        self.assertNotRegex(result.stdout, r"(?m)^ok 9")
        self.assertNotIn("fixture/growth", result.stdout)


class Archives(Inputs):
    def test_repro(self) -> None:
        """An archive contains no targets of links."""
        kinds: tuple[tuple[str, other_users.Make], ...] = (
            ("perf.data", self.plant_link), ("truth", self.plant_hard_link), ("maps", os.mkfifo),
            ("elf/..x", self.plant_link), ("capture", self.plant_link))
        for name, make in kinds:
            folder = self.copy_fixture()
            with self.subTest(name):
                self.plant_file(os.path.join(folder, name), make)
                archive = self.place("case.tar")
                self.run_it("repro", "fixture/anon", *self.list_options(), "--from", folder, "-o",
                            archive)
                if os.path.exists(archive):
                    self.assertNotIn(other_users.SECRET.encode(), files.read_bytes(archive))
                    os.unlink(archive)

    def test_archive(self) -> None:
        """An unpacked archive with absolute names, links to other places and FIFOs."""
        tar = self.place("evil.tar")
        with tarfile.open(tar, "w") as archive:
            archive.add(self.fixture_path("anon"), "run/fixture/anon")
            for name, kind, to in (
                    ("run/fixture/anon/elf", tarfile.SYMTYPE, "/"),
                    ("run/fixture/link", tarfile.SYMTYPE, self.home),
                    ("run/fixture/two/case", tarfile.SYMTYPE, self.secret),
                    ("run/fixture/two/perf.data", tarfile.LNKTYPE, "../../secret"),
                    ("run/fixture/two/truth", tarfile.FIFOTYPE, ""),
                    ("run/fixture/two/maps", tarfile.SYMTYPE, "../../../secret"),
                    ("run/../../secret", tarfile.REGTYPE, ""),
                    (self.secret, tarfile.REGTYPE, "")):
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, to
                info.uid = info.gid = other_users.USER
                archive.addfile(info)
        self.make_victim_folder("unpacked", 0o755)
        subprocess.run(["tar", "-xpf", tar, "-C", self.place("unpacked")], check=False,
                       stderr=subprocess.DEVNULL, **self.victim_arguments())
        self.assertTrue(os.path.isdir(self.place("unpacked", "run")))
        for command in (["judge", self.place("unpacked", "run")],
                        ["judge", self.place("unpacked", "run", "fixture", "two")],
                        ["repro", "fixture/anon", *self.list_options(), "--from",
                         self.place("unpacked", "run"), "-o", self.place("out.tar")]):
            with self.subTest(command):
                self.run_it(*command)
        if os.path.exists(self.place("out.tar")):
            self.assertNotIn(other_users.SECRET.encode(), files.read_bytes(self.place("out.tar")))

    def test_what_is_packed(self) -> None:
        """An archive of jitproof has only files and folders below one folder, without owners."""
        archive = self.place("case.tar")
        self.run_it("repro", "fixture/anon", *self.list_options(), "--from", self.copy_fixture(),
                    "-o", archive)
        with tarfile.open(archive) as packed:
            members = packed.getmembers()
        self.assertGreater(len(members), 5)
        tops = {member.name.split("/")[0] for member in members}
        self.assertEqual(len(tops), 1, tops)
        for member in members:
            self.assertTrue(member.isfile() or member.isdir(), member.name)
            self.assertNotIn("..", member.name.split("/"))
            self.assertFalse(member.name.startswith("/"))
            self.assertEqual((member.uid, member.gid, member.mode & 0o7022), (0, 0, 0))


class Named(Inputs):
    """Tests files that a capture names."""

    def make_capture(self, *names: str, owner: int) -> str:
        """Creates a perf.data whose mappings and threads have @names."""
        data = rd.PerfData.load(self.fixture_path("memfd", "perf.data"))
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
        """Only regular files are opened, and files of root are not read."""
        fifo = self.plant_file("fifo", os.mkfifo)
        link = self.plant_file("link", self.plant_link)
        device = self.place("device")
        os.mknod(device, 0o20666, os.makedev(1, 5))  # major and minor number of /dev/zero
        for owner in (self.victim, other_users.USER):
            path = self.make_capture(fifo, link, device, self.secret, "/etc/shadow",
                                     "/dev/watchdog", "/dev/st0", self.theirs, "/" + "a" * 4000,
                                     owner=owner)
            for command in (["judge", "--unwind"], ["judge", "--json", "--stacks",
                                                    self.place("stacks")], ["explain"],
                            ["explain", "--json"]):
                with self.subTest(owner=owner, command=command):
                    self.run_it(*command, path)
        self.assertNotIn(other_users.SECRET, self.read("stacks"))

    def test_no_device_is_opened(self) -> None:
        """strace shows that no named device is opened."""
        if not shutil.which("strace"):
            self.skipTest("no strace")
        log = self.place("strace")
        path = self.make_capture("/dev/watchdog", "/dev/st0", self.secret, owner=self.victim)
        result = subprocess.run(["strace", "-f", "-qq", "-y", "-e", "trace=openat", "-o", log,
                                 self.program, "judge", "--unwind", path], capture_output=True,
                              check=False)
        if result.returncode == 1 and b"ptrace" in result.stderr:
            self.skipTest("strace may not trace here")
        opened = [line for line in self.read("strace").splitlines()
                  if re.search(r'"/dev/(watchdog|st0)"', line) and "O_PATH" not in line]
        self.assertEqual(opened, [])
        # Reading /proc/kmsg would consume the kernel's log.
        path = self.make_sampled("/proc/kmsg", self.victim)
        for command in (["judge", "--unwind"], ["explain"]):
            subprocess.run(["strace", "-f", "-qq", "-y", "-e", "trace=openat", "-o", log,
                            self.program, *command, path], capture_output=True, check=False)
            opens = [line for line in self.read("strace").splitlines() if "</proc/kmsg>" in line]
            self.assertTrue(opens)
            self.assertEqual([line for line in opens if "O_PATH" not in line], [])

    def test_control_characters_in_names(self) -> None:
        """Control characters in names, words and paths are not printed."""
        path = self.make_capture("/tmp/" + ESCAPE, ESCAPE + "\nok 1 - forged", CONTROLS,
                                 "/tmp/" + CONTROLS, owner=other_users.USER)
        names = self.plant_file("perf-1.map", lambda to: files.write(
            to, f"10 5 {CONTROLS}\n10 x {CONTROLS}"))
        evil = self.plant_file(ESCAPE + ".data", lambda to: shutil.copy(path, to))
        empty = self.plant_file(ESCAPE + CONTROLS, os.mkdir)
        output = self.place(ESCAPE + CONTROLS)
        for command in (["judge", empty], ["score", "--again", empty],
                        ["judge", "--fail-if", "samples>0", evil],
                        ["inject", "-i", path, "-o", output + ".data"],
                        ["record", "-o", output + ".record", "--", "true"],
                        ["repro", "fixture/anon", *self.list_options(), "--from",
                         self.copy_fixture(),
                         "-o", output + ".tar"],
                        ["judge", path], ["judge", "--json", path], ["explain", path],
                        ["explain", "--json", path], ["judge", evil], ["judge", evil + "none"],
                        ["inject", "-i", path, "-o", self.place("out")],
                        ["lint", evil], ["judge", self.attacker_path("none" + ESCAPE)],
                        ["lint", "--all", names], ["lint", "--json", "--all", names],
                        ["judge", self.attacker_path("none" + CONTROLS)],
                        ["explain", evil + CONTROLS]):
            with self.subTest(command):
                result = self.run_it(*command)
                self.assertNotRegex(result.stdout + result.stderr, OBEYED)
                self.assertNotRegex(result.stdout, r"(?m)^ok 1 - forged")
        folder = self.copy_fixture()
        for name, text in (("outcome", "ERROR " + ESCAPE + "\nok 7 - forged\n"),
                           ("outcome", "SKIP " + CONTROLS), ("crash", "record SIGSEGV " + CONTROLS),
                           ("crash", "record SIGSEGV " + ESCAPE + "\nok 7 - forged\n")):
            files.write(os.path.join(folder, name), text)
            output = self.judge(folder)
            self.assertNotRegex(output, OBEYED)
            self.assertNotRegex(output, r"(?m)^ok 7")
            os.unlink(os.path.join(folder, name))

    def make_sampled(self, path: str, owner: int) -> str:
        """Creates a capture whose samples lie in the file @path."""
        data = rd.PerfData.load(os.path.join(FIXTURES, "memfd", "perf.data"))
        data.features.pop(2, None)  # build ids
        for record in data.maps():
            if "/memfd:" in record.name:
                record.name, record.ino = path, 0
        sampled = self.place("sampled.data")
        data.save(sampled)
        os.chown(sampled, owner, owner)
        return sampled

    def count_reasons(self, *arguments: str) -> dict[str, int]:
        """Returns the counts of reasons for missing names."""
        result = self.run_it("judge", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        reason: dict[str, int] = json.loads(result.stdout)["names"]["why"]
        return reason

    def make_private_program(self) -> str:
        """Creates a program in a private folder of the victim."""
        program = os.path.join(self.make_victim_folder("private", 0o700), "program")
        shutil.copy("/bin/true", program)
        os.chmod(program, 0o700)
        os.chown(program, self.victim, self.victim)
        return program

    def test_root_folder(self) -> None:
        """Links below --root point outside of it: absolute, relative, through /proc."""
        program = self.make_private_program()
        folder = os.path.dirname(program)
        root = self.make_victim_folder("root", 0o755)
        os.mkdir(os.path.join(root, "up"))
        os.mkdir(os.path.join(root, "locked"), 0o700)  # only root can enter the folder
        relative = os.path.relpath(folder, os.path.join(root, "up"))
        for name, to in (("straight", folder), ("up/opt", relative), ("locked/opt", folder),
                         ("proc", "/proc/self/root" + folder),
                         ("file", program)):
            os.symlink(to, os.path.join(root, name))
            path = "/" + name + ("" if name == "file" else "/program")
            with self.subTest(name):
                reason = self.count_reasons("--root", root, self.make_sampled(path, self.victim))
                self.assertEqual((reason["stripped"], reason["no-symbol"]), (0, 0))
                self.assertGreater(reason["missing-file"] + reason["bad-file"], 0)
        # A file below the root is found.
        shutil.copy(program, os.path.join(root, "program"))
        os.chmod(os.path.join(root, "program"), 0o755)
        reason = self.count_reasons("--root", root, self.make_sampled("/program", self.victim))
        self.assertGreater(reason["stripped"] + reason["no-symbol"], 0)

    def test_odd_elf_folder(self) -> None:
        """--elf with FIFOs, devices, sockets, links, cycles and an endless ELF file."""
        folder = self.attacker_path("elf")
        os.mkdir(folder)
        makes: dict[str, other_users.Make] = {
            "fifo": os.mkfifo, "socket": other_users.make_dead_socket, "link": self.plant_link,
            "hard": self.plant_hard_link, "round": lambda path: os.symlink(".", path),
            "all": lambda path: os.symlink("/", path), "sparse": other_users.make_sparse,
            "device": lambda path: os.mknod(path, 0o20666, os.makedev(1, 5)),
            "elf": lambda path: shutil.copy("/bin/true", path), ESCAPE.replace("/", ""): os.mkfifo}
        for name, make in makes.items():
            self.plant_file(os.path.join(folder, name), make)
        os.truncate(os.path.join(folder, "elf"), other_users.TERABYTE)
        deep = folder
        for _ in range(100):
            deep = os.path.join(deep, "d")
            os.mkdir(deep)
        self.hand_over(folder)
        for name in (*makes, "nothing"):
            path = self.make_sampled("/usr/lib/" + name, self.victim)
            for command in (["judge", "--unwind"], ["explain"]):
                with self.subTest(name=name, command=command):
                    self.run_it(*command, "--elf", folder, path)

    def test_full_elf_folder(self) -> None:
        """A folder of 20,000 files, none wanted."""
        os.mkdir(self.attacker_path("elf"))
        for nth in range(20000):
            os.symlink("/bin/true", self.attacker_path("elf", str(nth)))
        self.hand_over(self.theirs)
        self.run_it("judge", "--unwind", "--elf", self.attacker_path("elf"),
                    self.make_sampled("/usr/lib/none", self.victim), timeout=240)

    def test_leased_files(self) -> None:
        """A lease on a file delays each open by 45 s."""
        path = self.plant_file("leased", lambda to: shutil.copy("/bin/true", to))
        code = "signal.signal(signal.SIGIO, signal.SIG_IGN)\nfile = open(a[0], 'r+b')\n" \
            "fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\non()\nsignal.pause()\n"
        with self.run_attacker(code, path):
            self.assertIn("holds a lease", self.expect_refusal("judge", path))
            self.run_it("judge", "--unwind", self.make_sampled(path, self.victim), timeout=240)
            self.run_it("judge", "--unwind", "--elf", self.theirs,
                        self.make_sampled("/x/leased", self.victim), timeout=240)
