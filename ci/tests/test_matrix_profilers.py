# SPDX-License-Identifier: GPL-2.0-only
"""Tests external profilers in the matrix's guests: the initramfs, SKIPs, and how their cells are
judged, stored and shown. Needs neither a kernel nor QEMU."""

import argparse
import json
import os
import shutil
import stat
import sys
from typing import Any
import unittest

from ci.base import files, process
from ci.base.status import Missing
from ci.matrix.results import cmd_scores, scores
from ci.matrix.vm import cmd_run, initramfs, job, profilers, suites
from ci.matrix.vm.score_cell import ScoreCell
from ci.scoreboard import stored_page
from ci.tests.test_matrix import READY, Scripted
from harness.selftest.support.scratch import Folder, JITPROOF

GROUP = suites.Group("libbpf_profile", 1, ("libbpf_profile/anon_exec",), "libbpf_profile")
LOADER = next(path for path in initramfs.find_libraries(sys.executable) if "/ld-" in path)
SKIPPED = b"case score/anon_exec full : anon_exec : attach-by libbpf_profile\n"


def unpack(data: bytes, folder: str) -> dict[str, int]:
    """Unpacks an archive into @folder. Returns {path: mode} of all entries except devices."""
    modes, offset = dict[str, int](), 0
    while True:
        fields = [int(data[offset + 6 + 8 * number:offset + 14 + 8 * number], 16) for number
                  in range(13)]
        mode, size, length = fields[1], fields[6], fields[11]
        name = data[offset + 110:offset + 110 + length - 1].decode()
        body = offset + 110 + length + (-(110 + length) % 4)
        offset = body + size + (-size % 4)
        if name == "TRAILER!!!":
            return modes
        path = os.path.join(folder, name)
        if stat.S_ISCHR(mode):
            continue
        modes[name] = mode
        if stat.S_ISDIR(mode):
            os.mkdir(path)
        elif stat.S_ISLNK(mode):
            os.symlink(data[body:body + size].decode(), path)
        else:
            files.write_bytes(path, data[body:body + size])
            os.chmod(path, mode & 0o777)


class Shelf(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.shelf = self.place("shelf")

    def install(self) -> None:
        """Installs /bin/echo like a profiler of ci/peers that runs with its own loader."""
        root = self.place("shelf", "libbpf_profile", "root")
        os.makedirs(root + "/lib")
        for path in initramfs.find_libraries("/bin/echo"):
            shutil.copy(path, root + "/lib")
        shutil.copy("/bin/echo", root + "/profile")
        self.write('#!/bin/sh\nexec %s/lib/%s --library-path %s/lib %s/profile "$@"\n' % (
            root, os.path.basename(LOADER), root, root), "shelf", "bin", "profile-libbpf",
                   runs=True)

    def build(self, group: suites.Group) -> bytes:
        return job.build(JITPROOF, sys.executable, group, 7, False, self.shelf)


class Archive(Shelf):
    def test_adapter_runs_from_the_archive_alone(self) -> None:
        self.install()
        guest = self.place("guest")
        os.mkdir(guest)
        modes = unpack(self.build(GROUP), guest)
        self.assertEqual(modes["bin/python3"], initramfs.LINK)
        script = files.read(guest + "/bin/peers/bin/profile-libbpf")
        self.assertNotIn(self.home, script)
        self.assertFalse([name for name in modes if name.startswith(self.home.lstrip("/"))])
        self.assertEqual(files.read(guest + "/job").splitlines()[-1],
                         "run run.txt /bin/jitproof score --no-judge -o /out/scores --profiler "
                         "libbpf_profile --samples=100 --seconds=15 --seed 7 anon_exec")
        chroot = shutil.which("chroot")
        if os.geteuid() or not chroot:
            self.skipTest("needs chroot, and root")
        files.write(guest + "/dev/null", "")
        for words, output in (
                (["/bin/peers/bin/profile-libbpf", "profile 5"], r"profile 5\n"),
                # The adapter expects its version after the word `profile`; echo prints none.
                (["/bin/python3", "-B", "-I", "-S", "/bin/profiler/libbpf_profile.py", "version"],
                 r"skip profile-libbpf: prints no version: '.*--version' printed '.*', "
                 r"and '.*' was expected\n")):
            result = process.run([chroot, guest, *words], env={
                "PATH": "/bin", "JITPROOF_PEERS": "/bin/peers", "JITPROOF_ADAPTING":
                "/bin/profiler"})
            self.assertRegex(result.stdout, r"\A%s\Z" % output)
            self.assertEqual(result.stderr, "")

    def test_archive_is_reproducible(self) -> None:
        self.install()
        self.assertEqual(self.build(GROUP), self.build(GROUP))

    def test_missing_profiler(self) -> None:
        with self.assertRaisesRegex(Missing, "python3 ci/peers libbpf_profile"):
            self.build(GROUP)
        options = argparse.Namespace(guest=JITPROOF, init=sys.executable, peers=self.shelf,
                                     seed=1, no_facts=False)
        missing = dict[str, str]()
        initrds = cmd_run.build_initrds(options, [GROUP, suites.Group("one", 1, ("a/b",))], {},
                                     missing)
        self.assertEqual((list(initrds), list(missing)), (["one"], ["libbpf_profile"]))


class Suite(unittest.TestCase):
    CONFIG = {"suites": {"profilers": {"at_most": 9, "groups": [
        {"name": "a", "profiler": "perf", "smp": 1, "cases": ["anon_*"]},
        {"name": "b", "profiler": "otel", "smp": 1, "cases": ["anon_exec", "prefork"]}]}}}

    def test_scenes_by_profiler(self) -> None:
        names = suites.list_names(self.CONFIG, "profilers", JITPROOF)
        self.assertIn("otel/prefork", names)
        groups = suites.make_groups(self.CONFIG, names, "profilers", [])
        self.assertEqual([(group.profiler, group.scene_names) for group in groups],
                         [("perf", ["anon_exec"]), ("otel", ["anon_exec", "prefork"])])
        groups = suites.make_groups(self.CONFIG, names, "profilers", ["*/prefork"])
        self.assertEqual([group.cases for group in groups], [("otel/prefork",)])

    def test_committed_suites_name_known_peers(self) -> None:
        config = cmd_run.configuration.load(cmd_run.configuration.FILE)
        for suite in ("profilers", "profilers-full"):
            names = suites.list_names(config, suite, JITPROOF)
            for group in suites.make_groups(config, names, suite, []):
                self.assertIn(profilers.query_adapter(group.profiler)[1], profilers.known.PEERS)


def make_script(*scenes: str) -> str:
    """Returns a script that leaves the results of skipped scenes."""
    tree: dict[str, bytes | None] = {"/out/scores": None, "/out/scores/a": None,
                                     "/out/scores/a/runs": None,
                                     "/out/scores/a/runs/score": None}
    for scene in scenes:
        home = "/out/scores/a/runs/score/" + scene
        tree.update({home: None, home + "/case": SKIPPED.replace(b"anon_exec", scene.encode()),
                     home + "/outcome": b"SKIP nothing is here",
                     home + "/env.json": b'{"tools": {"libbpf_profile": "0.1"}}'})
    return READY + "leave({**%r, '/out/run.txt': b'x', '/out/kmsg': KMSG})\n" % tree + \
        'say("jitproof-vm: ran run.txt 0 at 12.5")\nsay("jitproof-vm: left 0")\n'


class Cells(Scripted):
    kind = ScoreCell
    profiler = "libbpf_profile"

    def test_host_judges_scenes(self) -> None:
        result = self.make_result(make_script("anon_exec"), cases=GROUP.cases)
        self.assertEqual(result["outcome"], "DONE", result)
        score = json.loads(self.read("6.12/scores.jsonl"))
        self.assertEqual((score["profiler"], score["version"]), ("libbpf_profile", "0.1"))
        row, = score["workloads"]
        self.assertEqual((row["workload"], row["outcome"], row["why"]),
                         ("anon_exec", "SKIP", "nothing is here"))

    def test_missing_scene_is_an_error(self) -> None:
        result = self.make_result(make_script("memfd_double"), cases=GROUP.cases)
        self.assertEqual(result["outcome"], "ERROR")
        self.assertIn("one: status 0, scenes memfd_double", result["reason"])


def make_row(scene: str, **more: Any) -> dict[str, Any]:
    """Returns a row of a score: half of the code is named, unless @more overrides it."""
    return {"workload": scene, "way": "attach", "outcome": "FAIL", "why": "",
            "seen": {"k": 50, "n": 50, "good": True}, "right": {"k": 20, "n": 40, "good": False},
            "exceptions": [{"metric": "names.unnamed", "cause": "moonlight", "count": 20,
                            "more": 1}],
            "skipped": {}, "watched_ns": 0, **more}


GOOD = {"right": {"k": 40, "n": 40, "good": True}, "exceptions": []}
BOARD = """measured ..., Linux 6.18.44, x86_64.
| asked | jitproof | otel | perf | hotspot |
|---|---|---|---|---|
| exec | ok | - | varies: right 0 %, wrong 3 / ok | ok |
| workload | jitproof | otel | perf | hotspot |
| storm | ok | ok | right 5 % | ok |
"""


class Kept(Folder):
    """Tests ci/matrix scores, which keeps scores of profilers."""

    def run_dir(self, label: str, *rows: dict[str, Any], outcome: str = "DONE",
                command: str = "again") -> str:
        self.write(json.dumps({"kernel": label, "version": label + ".1", "package": "linux",
                               "qemu": "10.0.2", "seed": 1, "command": command,
                               "outcome": outcome}), "run", label, "cell.json")
        self.write(json.dumps({"profiler": "otel", "version": "7", "workloads": rows}) + "\n",
                   "run", label, "scores.jsonl")
        return self.place("run")

    def count_scores(self, *words: str) -> int:
        parser = argparse.ArgumentParser()
        cmd_scores.add(parser.add_subparsers())
        options = parser.parse_args(["scores", *words, "--folder", self.place("kept"),
                                     "-o", self.place("page")])
        return int(options.run(options))

    def test_scores_are_stored_and_shown(self) -> None:
        self.run_dir("6.9", make_row("anon_exec"), make_row("prefork", **GOOD))
        self.assertEqual(self.count_scores(self.run_dir("6.12", make_row("anon_exec", **GOOD))), 0)
        page = self.read("page")
        self.assertRegex(page, r"(?m)^\| profiler \| workload \| 6\.9 \| 6\.12 \| PROFILERS \|$")
        self.assertRegex(page, r"(?m)^\| otel \| anon_exec \| right 50 % \| ok \|")
        self.assertRegex(page, r"(?m)^\| otel \| prefork \| ok \| - \|")
        # The verdict of each kernel, and the causes.
        self.assertRegex(page, r"\| otel \| anon_exec \| 6\.9: right; 6\.12: ok; PROFILERS: ")
        self.assertRegex(page, r"\| otel \| anon_exec \| names\.unnamed: moonlight \(20\) \|")
        self.assertNotIn("more", self.read("kept", "6.9.jsonl"))
        self.assertEqual(self.count_scores("--check"), 0)
        self.write(page + "x", "page")
        self.assertEqual(self.count_scores("--check"), 1)

    def test_later_run_replaces_scores_of_its_scenes(self) -> None:
        self.count_scores(self.run_dir("6.9", make_row("anon_exec"), make_row("prefork")))
        self.count_scores(self.run_dir("6.9", make_row("prefork", **GOOD), command="later"))
        kept = scores.load(self.place("kept", "6.9.jsonl"))
        self.assertEqual([(row["workload"], row["right"]["good"], row["command"])
                          for row in kept.rows],
                         [("anon_exec", False, "again"), ("prefork", True, "later")])

    def test_lost_run_is_not_stored(self) -> None:
        self.assertEqual(self.count_scores(self.run_dir("6.9", make_row("anon_exec"),
                                                        outcome="LOST")), 99)
        self.assertFalse(os.path.exists(self.place("kept", "6.9.jsonl")))

    def test_comparison_with_the_other_board(self) -> None:
        groups = stored_page.parse_cells(BOARD)
        self.assertEqual(groups["otel", "storm"], "ok")
        self.assertEqual(scores.parse_verdicts(groups["perf", "fork_exec"]),
                         {("right", "wrong"), ()})
        board = scores.Board("perf", [scores.Kernel({"kernel": "6.9"}, [
            {**make_row("fork_exec", **GOOD), "profiler": "perf", "version": "1"},
            {**make_row("storm", **GOOD), "profiler": "perf", "version": "1"}])])
        self.assertEqual([scores.needs_explanation(board, scene, groups["perf", scene])
                          for scene in ("fork_exec", "storm")], [False, True])

    def test_committed_page_is_up_to_date(self) -> None:
        result = process.run([sys.executable, os.path.join(profilers.ROOT, "ci", "matrix"),
                              "scores", "--check"])
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))
