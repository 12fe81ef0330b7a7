# SPDX-License-Identifier: GPL-2.0-only
"""Compares the unwinder with the truth at every instruction: a breakpoint stops at each instruction
of each shape, and unwinding its stack dump must give exactly the frames that were there."""

import json
import os
from typing import Any

from ci.base import process
from harness.selftest.support.scratch import Folder, JITPROOF

# No large frame: the dump must contain the whole stack.
SHAPES = " --depth=7 --shapes=fp,no_fp,long,realign,leaf"
METHODS = ("chain", "dump", "dump_fp", "dump_cfi")
CASE = """# SPDX-License-Identifier: GPL-2.0-only
case {name} check : {workload} : breakpoint --stack=16384 --limit=2000 : \
samples=100 methods=chain,dump,dump_fp,dump_cfi
\tinsn.hit any, predicted.chain =100%, predicted.dump =100%
\tpredicted.dump_fp =100%, predicted.dump_cfi =100%
"""
# Native functions on the paths: the errors of each method are predicted, and must occur.
MISLED = [f"{metric}.{method} allow {cause} predicted\t# foreseen" for metric, cause in (
    ("broken", "no-cfi"), ("broken", "no-elf"), ("broken", "complete"), ("broken", "bad-frame"),
    ("broken", "max-stack"), ("broken", "hole"), ("broken", "dump-short"),
    ("broken", "bad-cfi"), ("wrong", "wrong-frame"),
    ("extra", "extra-frame")) for method in METHODS]


class EachInstruction(Folder):
    def judge(self, name: str, workload: str, misled: bool = False) -> dict[str, Any]:
        allowed = MISLED if misled else ["broken.dump_cfi allow no-cfi predicted\t# none is known"]
        folder = str(len(os.listdir(self.home)))  # one folder for each judgement
        self.write(CASE.format(name=name, workload=workload)
                   + "".join(f"\t{line}\n" for line in allowed), folder, "cases", "truth")
        ended = process.run([JITPROOF, "run", "--expected", self.place(folder, "cases"), "-o",
                             self.place(folder, "run")], timeout=240)
        result = json.loads(self.read(folder, "run", "results.jsonl").splitlines()[0])
        if result["outcome"] == "SKIP":
            self.skipTest(result["why"])
        self.assertEqual((ended.returncode, result["outcome"]), (0, "PASS"),
                         ended.stdout + ended.stderr)
        for metric in ("insn.hit", *(f"predicted.{method}" for method in METHODS)):
            counted = result["metrics"][metric]
            self.assertGreater(counted["n"], 50, metric)
            self.assertEqual(counted["k"], counted["n"], metric + "\n" + ended.stdout)
        return result

    def test_anonymous(self) -> None:
        result = self.judge("anon", "anon_exec --protect=rwx" + SHAPES)
        self.assertEqual(result["metrics"]["broken.dump"]["k"], 0)

    def test_memfd(self) -> None:
        result = self.judge("memfd", "memfd_double" + SHAPES)
        self.assertEqual(result["metrics"]["broken.dump"]["k"], 0)

    def test_native_frames(self) -> None:
        for frames in ("right", "partly", "none", "wrong --word=zero", "wrong --word=data",
                       "wrong --word=stale"):
            with self.subTest(frames):
                self.judge("native", "native_holes --cfi=" + frames, misled=True)

    def test_leaving_and_coming_back(self) -> None:
        for workload in ("tail_calls", "plt_vdso", "syscalls", "signals", "coroutines"):
            with self.subTest(workload):
                self.judge("native", workload)

    def test_other_stacks(self) -> None:
        for workload in ("signals --stack=own", "coroutines --managed"):
            with self.subTest(workload):
                self.judge("stacks", workload, misled=True)

    def test_other_bp(self) -> None:
        result = self.judge("bp", "bad_chain", misled=True)
        self.assertGreater(result["verdicts"]["chain"]["wrong"], 0)
