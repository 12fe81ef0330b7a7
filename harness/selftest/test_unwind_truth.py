#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The unwinder against the truth at every instruction: a breakpoint stops at each instruction of
each shape, and unwinding its stack dump must give exactly the frames that were there."""

import json
import os
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JITPROOF = os.path.abspath(os.environ.get("JITPROOF", os.path.join(TOP, "build/jitproof")))

# No large frame: the dump must hold the whole stack.
CASE = """# SPDX-License-Identifier: GPL-2.0-only
case {name} check : {workload} --depth=7 --shapes=fp,no_fp,long,realign,leaf : \
breakpoint --stack=4096 --limit=2000 : samples=100
\tpredicted.dump any, predicted.chain any, insn.hit any
"""


class EachInstruction(unittest.TestCase):
    def judge(self, name, workload):
        with tempfile.TemporaryDirectory(prefix="jitproof-") as home:
            os.mkdir(os.path.join(home, "cases"))
            with open(os.path.join(home, "cases/truth"), "w", encoding="utf-8") as file:
                file.write(CASE.format(name=name, workload=workload))
            done = subprocess.run([JITPROOF, "run", "--expected", os.path.join(home, "cases"),
                                   "-o", os.path.join(home, "run")], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
            with open(os.path.join(home, "run/results.jsonl"), encoding="utf-8") as file:
                result = json.loads(file.readline())
        if result["outcome"] == "SKIP":
            self.skipTest(result["why"])
        self.assertEqual((done.returncode, result["outcome"]), (0, "PASS"), done.stdout)
        for metric in ("predicted.dump", "predicted.chain", "insn.hit"):
            counted = result["metrics"][metric]
            self.assertGreater(counted["n"], 50, metric)
            self.assertEqual(counted["k"], counted["n"], metric + "\n" + done.stdout)
        self.assertEqual(result["metrics"]["broken.dump"]["k"], 0)

    def test_anonymous(self):
        self.judge("anon", "anon_exec --protect=rwx")

    def test_memfd(self):
        self.judge("memfd", "memfd_double")


if __name__ == "__main__":
    unittest.main()
