# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof repro`: the contents of archives, which depend on the run directory alone;
judging an archive on a machine with only a shell; and hostile run directories."""

import os
import re
import shutil
import signal
import struct
import subprocess
import tarfile
import time
from typing import Any, Callable

from ci.base import files, process
from harness.selftest.support import run_directory
from harness.selftest.support.scratch import (BINARY, DENY, FIXTURES, Folder, HERE, PROGRAMS,
                                              run_binary)

CASES = os.path.join(HERE, "cases")
SECRET = "hunter2-correct-horse"
HOST = "sesame.example.org"
COREUTILS = ("ls", "cat", "mkdir", "env", "head")


def get_verdict_lines(text: str) -> list[str]:
    """Returns the lines of KTAP that are about cases."""
    of_none = r"# (seed|run directory:|class|.* by class:|Totals|The clocks|A host took)|#$|$"
    return [line for line in text.splitlines() if not re.match(of_none, line)]


def get_block(readme: str, title: str) -> list[str]:
    """Returns the indented lines below a heading."""
    part = readme.split("\n## %s\n" % title)[1].split("\n## ")[0]
    return [line[4:] for line in part.splitlines() if line.startswith("    ")]


def get_seen_lines(readme: str) -> list[str]:
    return get_verdict_lines("\n".join(get_block(readme, "Seen")))


class Packing(Folder):
    def copy_fixture(self, name: str = "anon") -> str:
        """Copies a fixture as a run directory with one case."""
        target = self.place("run", "fixture", name)
        shutil.copytree(os.path.join(FIXTURES, name), target)
        return target

    def pack(self, case: str = "fixture/anon", output: str = "x.tar", *options: str,
             **more: Any) -> subprocess.CompletedProcess[str]:
        return run_binary("repro", case, "-o", self.place(output), "--from", self.place("run"),
                          *options, **more)

    def run_repro(self, *arguments: str, **more: Any) -> str:
        done = self.pack(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def list_packed(self, output: str = "x.tar") -> bytes:
        return files.read_bytes(self.place(output))

    def unpack_archive(self, output: str = "x.tar", into: str = "there") -> str:
        with tarfile.open(self.place(output), "r:") as tar:
            tar.extractall(self.place(into))
            return self.place(into, tar.getnames()[0])

    def read_readme(self, folder: str) -> str:
        return files.read(os.path.join(folder, "README"))


class Archive(Packing):
    def test_members_of_the_archive(self) -> None:
        """A plain ustar without owner and time of packing."""
        self.copy_fixture()
        self.run_repro()
        with tarfile.open(self.place("x.tar"), "r:") as tar:
            members = tar.getmembers()
        for member in members:
            self.assertEqual((member.uid, member.gid, member.mtime, member.uname, member.gname),
                             (0, 0, 0, "", ""), member.name)
            self.assertTrue(member.isfile() or member.isdir(), member.name)
            self.assertRegex(member.name, r"^fixture-anon(/|$)")
            self.assertNotIn("..", member.name.split("/"))
        names = [member.name.split("/", 1)[1] for member in members if "/" in member.name]
        self.assertEqual(len(names), len(set(names)))
        for name in ("README", "reproduce", "jitproof", "loader", "expected/fixture",
                     "case/case", "case/truth", "case/perf.data", "case/maps", "case/capture",
                     "case/env.json", "case/elf/index", "libraries/libc.so.6", "profiler/perf.py"):
            self.assertIn(name, names)
        self.assertEqual(len(self.list_packed()) % 512, 0)
        self.assertEqual(self.list_packed()[-1024:], bytes(1024))

    def test_same_bytes(self) -> None:
        """The bytes do not depend on user, place and time of packing."""
        self.copy_fixture("growth")
        case = "fixture/growth"
        self.run_repro(case)
        shutil.copytree(self.place("run"), self.place("moved", "elsewhere"))
        os.mkdir(self.place("tmp"))
        for number, source in enumerate((("run",), ("moved", "elsewhere"),
                                         ("run", "fixture", "growth"))):
            # The copies differ in order and times of their entries. Also change permissions.
            os.chmod(self.place(*source), 0o700)
            result = run_binary("repro", case, "-o", self.place(f"{number}.tar"),
                                "--from", os.path.relpath(self.place(*source), self.place("tmp")),
                                cwd=self.place("tmp"),
                                env={"TMPDIR": self.place("tmp"), "HOME": "/",
                                     "NUMBER": str(number)})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.list_packed(f"{number}.tar"), self.list_packed(), source)
        self.assertEqual(os.listdir(self.place("tmp")), [])

    def test_packed_again(self) -> None:
        """The program of an archive can pack the archive's own content."""
        self.copy_fixture()
        self.run_repro()
        folder = self.unpack_archive()
        result = process.run(["./jitproof", "repro", "fixture/anon", "-o", self.place("y.tar"),
                              "--from", "case"], cwd=folder, stderr=subprocess.STDOUT, timeout=240,
                           env={"JITPROOF_PROFILERS": os.path.join(folder, "profiler")})
        self.assertEqual(result.returncode, 0, result.stdout)
        repacked = self.unpack_archive("y.tar", "again")
        with open(os.path.join(repacked, "jitproof"), "rb") as first_file, \
                open(os.path.join(folder, "jitproof"), "rb") as other:
            self.assertEqual(first_file.read(), other.read())
        result = process.run([os.path.join(repacked, "reproduce")], timeout=240)
        self.assertIn("ok 1 fixture/anon", result.stdout)

    def test_definition(self) -> None:
        """The archive contains the definition by which it was judged last."""
        self.copy_fixture()
        text = files.read(os.path.join(FIXTURES, "anon", "case")).replace("case fixture/", "case ")
        self.write(text.rstrip("\n") + "\n\tbroken.dump >=95%\t# it is healthy\n",
                   "expected", "fixture")
        self.assertIn("FAIL", self.run_repro("fixture/anon", "x.tar", "--expected",
                                             self.place("expected")))
        folder = self.unpack_archive()
        for source in ("case/case", "expected/fixture"):
            self.assertIn("broken.dump >=95%\t# it is healthy",
                          files.read(os.path.join(folder, source)))
        result = process.run([os.path.join(folder, "reproduce")], timeout=240)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(get_verdict_lines(result.stdout), get_seen_lines(self.read_readme(folder)))
        self.assertIn("not ok 1 fixture/anon", result.stdout)
        self.assertIn("it is healthy", self.read_readme(folder))
        self.assertIn("run --expected expected 'fixture/anon'`", self.read_readme(folder))


class Machine(Packing):
    """Tests that an archive contains no private data of the machine."""

    def add_private_data(self, folder: str) -> None:
        """Adds the private data of other people's captures: the environment in a stack, and who
        recorded it."""
        path = os.path.join(folder, "perf.data")
        data = run_directory.PerfData.load(path)
        text = b"\0\0SECRET=%s\0http_proxy=http://me:%s@proxy/\0" % ((SECRET.encode(),) * 2)
        for sample in data.samples()[:3]:
            sample.stack[-len(text):] = text
        # The dump's end truncates the variable.
        data.samples()[5].stack[-16:] = b"\0\0CUT=" + SECRET.encode()[:10]
        data.features[3] = HOST.encode() + b"\0"
        data.save(path)

    def test_environment_and_host(self) -> None:
        folder = self.copy_fixture()
        self.add_private_data(folder)
        for secret in (SECRET, HOST, SECRET[:10]):
            self.assertIn(secret.encode(), files.read_bytes(os.path.join(folder, "perf.data")))
        self.run_repro()
        for secret in (SECRET, HOST, SECRET[:10]):
            self.assertNotIn(secret.encode(), self.list_packed())
        unpacked = self.unpack_archive()
        readme = self.read_readme(unpacked)
        for name in ("SECRET", "http_proxy", "CUT"):
            self.assertRegex(readme, r"(?m)^      %s$" % name)
        data = run_directory.PerfData.load(os.path.join(unpacked, "case", "perf.data"))
        self.assertEqual(sorted(data.features), [6, 7, 12, 21, 23])
        original = run_directory.PerfData.load(os.path.join(FIXTURES, "anon", "perf.data"))
        self.assertEqual(data.features, original.features)
        self.assertEqual(len(data.records), len(original.records))

    def test_words_like_addresses_stay(self) -> None:
        """A word that looks like a short text may be an address, and is left alone."""
        folder = self.copy_fixture()
        path = os.path.join(folder, "perf.data")
        data = run_directory.PerfData.load(path)
        addresses = (b"As=BB~\0\0", b"|s=\x81\x48\x7f\0\0", b"ab=def\0\0", b"ABCD=V\0\0")
        for address, sample in zip(addresses, data.samples()):
            sample.stack[-16:] = bytes(8) + address
        long = b"\0LATIN=caf\xe9 \xe9t \xe9t\xe9\0"
        data.samples()[4].stack[-len(long):] = long
        data.save(path)
        self.run_repro()
        packed = run_directory.PerfData.load(os.path.join(self.unpack_archive(), "case",
                                                          "perf.data"))
        for address, sample in zip(addresses, packed.samples()):
            self.assertEqual(sample.stack[-8:], address)
        self.assertEqual(packed.samples()[4].stack[-len(long):],
                         b"\0LATIN=" + b"x" * (len(long) - 8) + b"\0")

    def test_paths_are_listed(self) -> None:
        folder = self.copy_fixture()
        self.run_repro()
        readme = self.read_readme(self.unpack_archive())
        data = run_directory.PerfData.load(os.path.join(folder, "perf.data"))
        for mapping in data.maps():
            self.assertIn("      %s\n" % mapping.name, readme)

    def test_what_cannot_be_read(self) -> None:
        """Damaged files are packed unchanged, with a note, as they may be the point of a report."""
        folder = self.copy_fixture()
        with open(os.path.join(folder, "perf.data"), "r+b") as file:
            file.truncate(20000)
        output = self.run_repro()
        self.assertIn("packed as it is: perf.data", output)
        tree = self.unpack_archive()
        self.assertIn("* ALL that was recorded as `case/perf.data`", self.read_readme(tree))
        result = process.run([os.path.join(tree, "reproduce")], timeout=240)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"# \./case/perf\.data: .*")
        self.assertEqual(get_verdict_lines(result.stdout),
                         get_block(self.read_readme(tree), "Seen"))

    def test_workloads_environment(self) -> None:
        """A variable that the workload does not have cannot be recorded."""
        self.write("case a check : bad silent : attach : seconds=60\n", "expected", "s")
        with subprocess.Popen([BINARY, "run", "-o", self.place("run"), "--expected",
                               self.place("expected")], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "MY_TOKEN": SECRET, "TMPDIR": self.home,
                                   "PATH": "/usr/bin:/bin"}) as run:
            files_found: dict[str, Any] = {}
            end = time.monotonic() + 240
            while not files_found and run.poll() is None and time.monotonic() < end:
                files_found = self.read_environments(self.place("run", "s", "a", "truth"))
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            output = run.communicate()[0]
        if "# SKIP" in output:
            self.skipTest("perf is denied here")
        self.assertEqual(len(files_found), 1, output)
        for text in files_found.values():
            self.assertNotIn(b"MY_TOKEN", text)
            self.assertIn(b"\0TMPDIR=%s\0" % self.home.encode(), b"\0" + text)
            self.assertIn(b"\0PATH=/usr/bin:/bin\0", b"\0" + text)

    def read_environments(self, truth: str) -> dict[str, bytes]:
        """Returns the environment of each workload that writes this truth, by pid."""
        environments = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as command, \
                        open(f"/proc/{pid}/environ", "rb") as environment:
                    words = command.read().split(b"\0")
                    # Between fork and exec the process is still the runner.
                    if truth.encode() in words and b"workload" in words:
                        environments[pid] = environment.read()
            except OSError:
                pass
        return environments


class Place(Packing):
    """Tests the archive's path: an older file stays until a complete archive replaces it."""

    def test_cut_short(self) -> None:
        self.copy_fixture()
        old_archive = self.write("an older one\n", "x.tar")
        done = self.pack(before=("prlimit", "--fsize=1000000"))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.read("x.tar"), "an older one\n")
        self.run_repro()
        self.assertGreater(os.path.getsize(old_archive), 1000000)
        self.assertFalse(os.path.exists(old_archive + ".part"))

    def test_no_file(self) -> None:
        self.copy_fixture()
        os.mkfifo(self.place("fifo"))
        for path in (self.place("fifo"), "/dev/null", self.home):
            done = self.pack(output=path)
            self.assertEqual(done.returncode, 99, done.stdout)
            self.assertIn("expected a regular file, or nothing, to write to", done.stderr)


class Hostile(Packing):
    """A run directory from another user that tries to get files of ours into the archive."""

    def setUp(self) -> None:
        super().setUp()
        self.dir = self.copy_fixture()
        files.write(self.place("mine"), SECRET)

    def expect_refusal(self, message: str) -> None:
        done = self.pack()
        self.assertEqual(done.returncode, 99, done.stdout)
        self.assertRegex(done.stderr, message)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.place("x.tar")))

    def replace_file(self, name: str, make: Callable[..., Any], *arguments: str) -> None:
        path = os.path.join(self.dir, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
        make(*arguments, path)

    def test_links(self) -> None:
        for name in ("perf.data", "truth", "maps", "env.json", "jit-1.dump", "elf/index",
                     "elf/0123"):
            with self.subTest(name):
                self.replace_file(name, os.symlink, self.place("mine"))
                self.expect_refusal(re.escape(name) + ": a symbolic link")
                shutil.rmtree(self.place("run"))
                self.copy_fixture()

    def test_link_to_a_folder(self) -> None:
        os.mkdir(self.place("ours"))
        shutil.copy(self.place("mine"), self.place("ours", "index"))
        self.replace_file("elf", os.symlink, self.place("ours"))
        self.expect_refusal("elf: a folder was expected, and no link")

    def test_link_as_study(self) -> None:
        os.rename(self.place("run", "fixture"), self.place("ours"))
        os.symlink(self.place("ours"), self.place("run", "fixture"))
        self.expect_refusal("does not contain the case 'fixture/anon'")

    def test_other_kinds_of_files(self) -> None:
        """A hard link, a FIFO and a folder in place of a file."""
        self.replace_file("maps", os.link, self.place("mine"))
        self.expect_refusal("maps: has 2 hard links")
        for make in (os.mkfifo, os.mkdir):
            self.replace_file("maps", make)
            self.expect_refusal("maps: not a regular file")

    def test_huge_file(self) -> None:
        with open(os.path.join(self.dir, "perf.data"), "r+b") as file:
            file.truncate(1 << 40)
        self.expect_refusal(r"perf\.data: 1099511627776 bytes; at most 1 GiB")

    def test_truth_of_any_size(self) -> None:
        """The unused part of the truth is left out; the size in its header is not trusted."""
        with open(os.path.join(self.dir, "truth"), "r+b") as file:
            file.truncate(300 << 20)
        self.run_repro()
        self.assertLess(len(self.list_packed()), 30 << 20)
        os.unlink(self.place("x.tar"))
        with open(os.path.join(self.dir, "truth"), "r+b") as file:
            for field in (16, 32):  # the words capacity and next_slot
                file.seek(field)
                file.write(b"\xff" * 8)
            file.truncate(2 << 30)
        self.expect_refusal(r"truth: 2147483648 bytes; at most 1 GiB")

    def test_damaged_captures(self) -> None:
        """Wrong sizes, offsets and counts in a capture are reported or survived."""
        binary = os.path.join(PROGRAMS[-1], "jitproof")
        if not os.path.exists(binary):
            self.skipTest("there is no sanitized jitproof: make sanitized")
        path = os.path.join(self.dir, "perf.data")
        capture = files.read_bytes(path)
        data_at, data_size = struct.unpack_from("<QQ", capture, 40)
        table = data_at + data_size
        for at, value in ((40, 2**63), (48, 2**63), (48, 8), (72, 2**64 - 1), (16, 0),
                          (table, 2**64 - 8), (table + 8, 2**62), (table + 16, 0), (table, 104),
                          (len(capture), 0), (len(capture) - 20, 2**40), (table + 4, 2**32)):
            with self.subTest(at=at, value=value):
                damaged = bytearray(capture)
                damaged[at:at + 8] = struct.pack("<Q", value)
                files.write_bytes(path, damaged)
                result = process.run([binary, "repro", "fixture/anon", "-o", self.place("x.tar"),
                                      "--from", self.dir], stderr=subprocess.STDOUT, timeout=240)
                self.assertIn(result.returncode, (0, 99), result.stdout)
                self.assertNotRegex(result.stdout, "runtime error|Sanitizer")
                self.assertEqual(os.path.exists(self.place("x.tar")), result.returncode == 0)

    def test_names(self) -> None:
        """Names that no run makes are left out, and listed without control characters."""
        for name in ("new\nline", "\x1b[2Jx", "id_rsa", ".hidden", "elf/new\nline", "-o"):
            files.write(os.path.join(self.dir, name), SECRET)
        os.symlink(self.place("mine"), os.path.join(self.dir, "link"))
        os.mkdir(os.path.join(self.dir, "deep"))
        output = self.run_repro()
        self.assertEqual(output.count("# left out"), 8, output)
        self.assertNotRegex(output, "[\x00-\x09\x0b-\x1f]")
        self.assertNotIn(SECRET.encode(), self.list_packed())

    def test_unsafe_outputs(self) -> None:
        """Writes neither through a link nor into anything but a regular file."""
        os.symlink(self.place("mine"), self.place("x.tar"))
        os.mkfifo(self.place("fifo"))
        for output in ("x.tar", "fifo", "no/x.tar"):
            self.assertEqual(self.pack(output=output).returncode, 99, output)
        self.assertEqual(files.read(self.place("mine")), SECRET)

    def test_command_line(self) -> None:
        for arguments, message in ((["fixture/anon"], "expected -o FILE"),
                                   (["-o", "x"], "expected CASE"),
                                   (["a/b", "c/d", "-o", "x"], "one operand too many"),
                                   (["no/such", "-o", "x"], "no case 'no/such'"),
                                   (["a/b", "--seed", "x", "-o", "x"], "expected a number")):
            result = run_binary("repro", *arguments, cwd=self.home)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(message, result.stderr)
        result = run_binary("repro", "fixture/other", "-o", self.place("x"), "--from", self.dir)
        self.assertEqual(result.returncode, 99)
        self.assertIn("holds the case 'fixture/anon'; expected 'fixture/other'", result.stderr)
        self.assertEqual(sorted(os.listdir(self.home)), ["mine", "run"])


class Elsewhere(Packing):
    """Tests an archive on a machine that has only a shell and coreutils."""

    def make_root(self) -> str:
        root = self.place("root")
        for program in ("sh", *COREUTILS):
            path = shutil.which(program)
            libraries = re.findall(r"(?:=> |^\t)(/\S+) \(", process.run(["ldd", path]).stdout, re.M)
            for file, target in [(path, f"/bin/{program}"), *zip(libraries, libraries)]:
                os.makedirs(os.path.dirname(root + target), exist_ok=True)
                shutil.copy(os.path.realpath(file), root + target)
        # If these libraries were there, an archive without them would pass the test.
        for folder, _, names in os.walk(root):
            for name in names:
                self.assertNotRegex(name, r"^lib(dw|elf|z|zstd|lzma|bz2|gcc_s|m)\.so", folder)
        return root

    def run_inside(self, root: str, *command: str) -> subprocess.CompletedProcess[str]:
        chroot = ["chroot", root] if os.geteuid() == 0 else ["unshare", "-r", "chroot", root]
        return process.run([*chroot, "/bin/sh", "-c", " ".join(command)], timeout=240,
                           env={"PATH": "/bin:/usr/bin:/sbin:/usr/sbin"})

    def make_empty_root(self) -> str:
        root = self.make_root()
        result = self.run_inside(root, "ls /")
        if result.returncode:
            self.skipTest("no root of one's own here: " + result.stderr.strip())
        self.assertLessEqual(set(result.stdout.split()), {"bin", "lib", "lib64", "usr"})
        return root

    def judge_in_root(self, root: str, archive: str, status: int) -> str:
        folder = self.unpack_archive(archive, "root/" + archive.split(".")[0])
        result = self.run_inside(root, "/%s/reproduce" % os.path.relpath(folder, root))
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, status, result.stdout)
        self.assertEqual(get_verdict_lines(result.stdout), get_seen_lines(self.read_readme(folder)))
        # Run it in its folder with sh; from another folder; and judge it with this machine's
        # program.
        for command in (f"cd /{os.path.relpath(folder, root)} && sh reproduce",
                        f"cd /{os.path.relpath(folder, root)}/case && ../reproduce"):
            self.assertEqual(self.run_inside(root, command).stdout, result.stdout)
        judged = run_binary("judge", "./case", cwd=folder)
        self.assertEqual(judged.returncode, status)
        self.assertEqual(get_verdict_lines(judged.stdout), get_verdict_lines(result.stdout))
        return folder

    def test_judge_a_passing_case_elsewhere(self) -> None:
        root = self.make_empty_root()
        self.copy_fixture()
        self.run_repro(output="good.tar")
        self.judge_in_root(root, "good.tar", 0)
        self.copy_fixture("growth")
        self.run_repro("fixture/growth", "names.tar")
        self.judge_in_root(root, "names.tar", 0)

    def test_failing_case(self) -> None:
        """Run by repro itself here; our variables are not in the archive."""
        root = self.make_empty_root()
        tmp = self.place("tmp")
        os.mkdir(tmp)
        result = run_binary("repro", "bad/wrong.expectation", "--expected", CASES, "-o",
                            self.place("bad.tar"), "--seed", "1",
                            env={**os.environ, "MY_TOKEN": SECRET, "TMPDIR": tmp})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(tmp), [])
        if "SKIP" in result.stdout:
            self.skipTest("perf is denied here")
        self.assertNotIn(SECRET.encode(), self.list_packed("bad.tar"))
        self.assertNotIn(b"MY_TOKEN", self.list_packed("bad.tar"))
        folder = self.judge_in_root(root, "bad.tar", 1)
        readme = self.read_readme(folder)
        self.assertIn("# bad/wrong.expectation: FAIL", readme)
        self.assertRegex(readme, r"broken\.dump: expected >=95%, seen \d")
        # Run the whole case with the archive's own program.
        result = process.run(["./%s/reproduce" % os.path.relpath(folder, self.home), "--run",
                              "again"], cwd=self.home, timeout=240)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("not ok 1 bad/wrong.expectation\n", result.stdout)
        index = files.read(self.place("again", "bad", "wrong.expectation", "elf", "index"))
        for name in ("jitproof", "loader", "libraries/libc.so.6"):
            self.assertIn(os.path.join(folder, name) + "\n", index)

    def test_skipped_case_is_not_packed(self) -> None:
        result = run_binary("repro", "bad/wrong.expectation", "--expected", CASES, "-o",
                            self.place("x.tar"), before=[*DENY, "EPERM"])
        self.assertEqual(result.returncode, 0, result.stderr)
        folder = self.unpack_archive()
        result = process.run([os.path.join(folder, "reproduce")], timeout=240)
        self.assertEqual(result.returncode, 4)
        self.assertRegex(result.stdout, "ok 1 bad/wrong.expectation # SKIP .*EPERM")
