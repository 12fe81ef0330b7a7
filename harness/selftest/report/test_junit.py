# SPDX-License-Identifier: GPL-2.0-only
"""Tests junit.xml of runs that end in every way, with a parser from elsewhere."""

import subprocess
from typing import Sequence
import xml.etree.ElementTree as ElementTree

from harness.selftest.support.scratch import DENY, Folder, run_binary


class Junit(Folder):
    """The reason of an expectation contains characters that XML cannot represent."""

    def run_cases(self, text: str, before: Sequence[str] = ()) \
            -> tuple[ElementTree.Element, subprocess.CompletedProcess[str]]:
        self.write(text, "expected", "s")
        result = run_binary("run", "-o", self.place("run"), "--expected", self.place("expected"),
                            before=before, stderr=subprocess.STDOUT)
        root = ElementTree.parse(self.place("run", "junit.xml")).getroot()
        for level in (root, *root):
            cases = list(level.iter("testcase"))
            for name, element in (("failures", "failure"), ("errors", "error"),
                                  ("skipped", "skipped")):
                self.assertEqual(int(level.get(name)),
                                 len([case for case in cases if case.find(element) is not None]))
            self.assertEqual(int(level.get("tests")), len(cases))
        return root, result

    def test_outcomes(self) -> None:
        root, result = self.run_cases(
            "case crash check : bad crash : attach --stack=1024 : seconds=5\n"
            "case good check : anon_exec : attach --stack=8192 --freq=1999 : samples=100\n"
            "case known check : anon_exec : attach --stack=8192 --freq=1999 : samples=100\n"
            "\tbroken.dump >=95%\n\txfail\t# <it> \"is\" & known\n"
            "case gone check : anon_exec : attach --stack=8192 --freq=1999 : samples=100\n"
            "\txfail\t# it was\n"
            "case quit check : bad silent : attach --stack=1024 : seconds=1\n"
            "case skip check : bad skip : attach --stack=1024 : seconds=5\n"
            "case wrong check : anon_exec : attach --stack=8192 --freq=1999 : samples=100\n"
            "\tbroken.dump >=95%\t# <&\"'>]]> \x01\x1b\x7f \udcff\udcc3 \u00e9\ufffe\n")
        if result.returncode == 4:
            self.skipTest("perf is denied here")
        self.assertEqual([suite.get("name") for suite in root], ["s"])
        cases = {case.get("name"): case for case in root.iter("testcase")}
        self.assertEqual({name: [(part.tag, part.get("type")) for part in case]
                          for name, case in cases.items()},
                         {"crash": [("error", "ERROR")], "good": [],
                          "known": [("skipped", "XFAIL")], "gone": [("failure", "XPASS")],
                          "quit": [("error", "TIMEOUT")], "skip": [("skipped", "SKIP")],
                          "wrong": [("failure", "FAIL")]})
        self.assertEqual(cases["known"][0].get("message"), "<it> \"is\" & known")
        self.assertEqual(cases["skip"][0].get("message"), "what no machine has")
        self.assertIn("<&\"'>]]> \ufffd\ufffd\ufffd \ufffd\ufffd \u00e9\ufffd",
                      cases["wrong"][0].text)
        for case in cases.values():
            self.assertEqual(case.get("classname"), "s")
            self.assertGreater(float(case.get("time")), 0)

    def test_skipped(self) -> None:
        root, result = self.run_cases("case a check : bad crash : attach\n",
                                      before=[*DENY, "EPERM"])
        self.assertEqual(result.returncode, 4)
        self.assertIn("EPERM", root.find(".//skipped").get("message"))
