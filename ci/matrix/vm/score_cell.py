# SPDX-License-Identifier: GPL-2.0-only
"""A cell of profilers: one kernel, and what each made of its scenes, judged here.

Instead of cases it has scores/GROUP/, as `jitproof score -o` makes it, and scores.jsonl: a line for
each profiler, as `jitproof score --again --json` says it, with the profiler's version.
"""

import json
import os
import pathlib
from typing import Any

from ci.base import files, process
from ci.matrix.vm import suites
from ci.matrix.vm.cell import Cell

SCORES = "scores.jsonl"


def version_of(folder: str, profiler: str) -> str:
    """As the guest's adapter said it."""
    for path in sorted(pathlib.Path(folder).glob("**/env.json")):
        version = json.loads(files.read(str(path)))["tools"].get(profiler)
        if version:
            return str(version)
    return ""


class ScoreCell(Cell):
    def merge(self, out: str, group: suites.Group) -> None:
        os.makedirs(os.path.join(self.folder, "scores"), exist_ok=True)
        if os.path.exists(out + "/scores"):
            os.rename(out + "/scores", self.scores(group))

    def scores(self, group: suites.Group) -> str:
        return os.path.join(self.folder, "scores", group.name)

    def judge(self, cell: dict[str, Any]) -> None:
        """scores.jsonl, of the kept runs alone."""
        lines = []
        for group in self.plan.groups:
            # By a path that is no machine's: it may stand in what is said.
            done = process.run([os.path.abspath(self.plan.jitproof), "score", "--again",
                                os.path.relpath(self.scores(group), self.folder), "--json"],
                               cwd=self.folder)
            try:
                score = json.loads(done.stdout)
                scenes = [row["workload"] for row in score["workloads"]]
            except (ValueError, KeyError, TypeError):
                scenes = []
            if sorted(scenes) != sorted(group.scenes):
                cell["outcome"] = "ERROR"
                cell["reason"] = "%s: status %d, scenes %s: %s" % (
                    group.name, done.returncode, " ".join(scenes) or "none",
                    done.stderr.strip()[-500:])
                continue
            lines.append(json.dumps({**score, "version": version_of(
                self.scores(group), group.profiler)}) + "\n")
        self.write(SCORES, "".join(lines))
