# SPDX-License-Identifier: GPL-2.0-only
"""Runs a cell of profilers: the scenes of each profiler on one kernel. The host judges.

Instead of cases it has scores/GROUP/, as `jitproof score -o` makes it, and scores.jsonl: a line for
each profiler, the output of `jitproof score --again --json` and the profiler's version.
"""

import json
import os
import pathlib
from typing import Any

from ci.base import files, process
from ci.matrix.vm import suites
from ci.matrix.vm.cell import Cell

SCORES = "scores.jsonl"


def read_version(folder: str, profiler: str) -> str:
    """Reads the version of the profiler, which the guest's adapter recorded."""
    for path in sorted(pathlib.Path(folder).glob("**/env.json")):
        version = json.loads(files.read(str(path)))["tools"].get(profiler)
        if version:
            return str(version)
    return ""


class ScoreCell(Cell):
    def merge_results(self, out: str, group: suites.Group) -> None:
        os.makedirs(os.path.join(self.folder, "scores"), exist_ok=True)
        if os.path.exists(out + "/scores"):
            os.rename(out + "/scores", self.score_path(group))

    def score_path(self, group: suites.Group) -> str:
        return os.path.join(self.folder, "scores", group.name)

    def judge(self, cell: dict[str, Any]) -> None:
        """Makes scores.jsonl from the folders of scores."""
        lines = []
        for group in self.plan.groups:
            # A relative path, since reasons may contain it.
            result = process.run([os.path.abspath(self.plan.jitproof), "score", "--again",
                                  os.path.relpath(self.score_path(group), self.folder), "--json"],
                               cwd=self.folder)
            try:
                score = json.loads(result.stdout)
                scenes = [row["workload"] for row in score["workloads"]]
            except (ValueError, KeyError, TypeError):
                scenes = []
            if sorted(scenes) != sorted(group.scene_names):
                cell["outcome"] = "ERROR"
                cell["reason"] = "%s: status %d, scenes %s: %s" % (
                    group.name, result.returncode, " ".join(scenes) or "none",
                    result.stderr.strip()[-500:])
                continue
            lines.append(json.dumps({**score, "version": read_version(
                self.score_path(group), group.profiler)}) + "\n")
        self.write(SCORES, "".join(lines))
