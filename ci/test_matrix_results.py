#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix store, report and compare, with made runs; and that results/MATRIX.md is up to date."""

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from axis import cmd_compare, cmd_report, cmd_store, cmd_tools  # noqa: E402
from axis import differences, explained, stored  # noqa: E402

DEFINITION = "case one check : anon_exec : attach --synth=exec : samples=100\n\tbroken.chain =0\n"


def matrix(*arguments):
    """As `ci/matrix ARGUMENTS`, without a Python of its own for each."""
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    for command in (cmd_compare, cmd_report, cmd_store, cmd_tools):
        command.add(subparsers)
    options = parser.parse_args(arguments)
    with contextlib.redirect_stdout(io.StringIO()) as out, \
            contextlib.redirect_stderr(io.StringIO()) as errors:
        status = options.run(options)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), errors.getvalue())


def case(name, outcome="PASS", why="", k=0, n=1000, **more):
    """A line of results.jsonl."""
    return {"case": name, "study": name.split("/")[0], "control": False, "outcome": outcome,
            "why": why, "seconds": 1.5,
            "metrics": {"broken.chain": {"k": k, "n": n, "lo": 0, "hi": 0.1, "expect": [0, 0],
                                         "unit": "count"},
                        "judged.chain": {"k": n}, "distinct": {"k": 40}},
            "verdicts": {"chain": {"exact": n - k}}, "exceptions": [],
            "facts": {"policy": "exec"}, "lost": {"sideband": 0, "samples": 0}, **more}


FACTS = [{"fact": "merge.anon", "value": 2, "about": "pages of a record"},
         {"fact": "name.heap", "value": "//anon", "about": "of the heap"},
         {"fact": "sizes", "value": [112, 120], "about": "accepted"}]
CELL = {"kernel": "6.1", "package": "linux-image-6.1 6.1.190-1", "package_sha256": "cd" * 32,
        "version": "6.1.190-1", "sha256": "ab" * 32,
        "qemu": "10.0.2", "accelerator": "tcg", "seed": 1,
        "command": "ci/matrix run --kernel 6.1", "suite": "short", "outcome": "DONE",
        "groups": [{"name": "one", "smp": 1, "outcome": "DONE", "reason": ""}]}


class Made(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.store_dir = os.path.join(self.dir, "results", "matrix")

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_dir(self, name, cases=None, facts=None, label="6.1", definition=DEFINITION, cpus=1,
                **cell):
        """The folder of a run with one cell."""
        if cell.get("kind") == "tool":
            cell["label"] = label
        cases = [case("a/one"), case("a/two")] if cases is None else cases
        facts = FACTS if facts is None else facts
        folder = self.path(name, label)
        lines = {"results.jsonl": cases, "facts.jsonl": facts}
        for file, records in lines.items():
            self.write(os.path.join(folder, file),
                       "".join(json.dumps(record) + "\n" for record in records))
        self.write(os.path.join(folder, "ktap.txt"), "KTAP version 1\n1..%d\n" % len(cases))
        self.write(os.path.join(folder, "cell.json"), json.dumps(
            {**CELL, "kernel": label, "version": label + ".190-1", **cell}))
        for one in cases:
            own = os.path.join(folder, "cases", one["case"])
            self.write(os.path.join(own, "case"), definition)
            self.write(os.path.join(own, "env.json"), json.dumps({"cpus": cpus}))
        return self.path(name)

    def store(self, *dirs, to=None):
        done = matrix("store", "--to", to or self.store_dir, *dirs)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def refused(self, *dirs, says):
        done = matrix("store", "--to", self.store_dir, *dirs)
        self.assertEqual(done.returncode, 99, done.stdout)
        self.assertRegex(done.stderr, says)
        self.assertFalse(os.path.exists(self.store_dir) and os.listdir(self.store_dir))

    def stored(self, label="6.1", folder=None):
        return os.path.join(folder or self.store_dir, label + ".jsonl")

    def compare(self, one, other, status, *says, arguments=()):
        done = matrix("compare", one, other, "--folder", self.store_dir, *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for text in says:
            self.assertRegex(done.stdout, text)
        return done.stdout


class Store(Made):
    def test_format(self):
        self.store(self.run_dir("run"))
        with open(self.stored(), encoding="ascii") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["id"] for line in lines],
                         ["6.1", "6.1 case a/one", "6.1 case a/two", "6.1 fact merge.anon",
                          "6.1 fact name.heap", "6.1 fact sizes"])
        self.assertEqual(lines[1]["metrics"], {"broken.chain": [0, 1000]})
        self.assertEqual(lines[1]["expect"], {"broken.chain": [0, 0, "count"]})
        self.assertEqual((lines[1]["judged"], lines[1]["distinct"]), ({"chain": 1000}, 40))
        self.assertEqual(lines[1]["definition"], DEFINITION)
        self.assertEqual(lines[0]["package"], "linux-image-6.1 6.1.190-1")
        self.assertEqual(lines[0]["package_sha256"], "cd" * 32)
        self.assertTrue(lines[0]["exact"])

    def test_same_bytes(self):
        self.store(self.run_dir("run"))
        cases = [case("a/two"), case("a/one")]
        again = self.path("again")
        self.store(self.run_dir("other", cases, FACTS[::-1]), to=again)
        with open(self.stored(), "rb") as one, open(self.stored(folder=again), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_seeds_are_summed(self):
        first = self.run_dir("run", [case("a/one", k=1, n=100), case("a/two")], seed=3)
        other = self.run_dir("other", [case("a/one", "FAIL", "too many", k=2, n=50),
                                       case("a/two")], seed=1)
        self.store(first, other)
        made = stored.load(self.stored())
        self.assertEqual(made.header["seeds"], [1, 3])
        one = made.cases["a/one"]
        self.assertEqual(one["metrics"]["broken.chain"], [3, 150])
        self.assertEqual((one["outcome"], one["outcomes"]), ("FAIL", ["FAIL", "PASS"]))
        self.assertEqual((one["judged"], one["distinct"]), ({"chain": 150}, 40))
        self.assertEqual(one["why"], "too many")

    def test_seeds_that_do_not_fit(self):
        first = self.run_dir("run")
        self.refused(first, self.run_dir("same"), says="seed 1 is there twice")
        self.refused(first, self.run_dir("cpus", seed=2, cpus=2), says="a/one: 'smp' differs")
        self.refused(first, self.run_dir("less", [case("a/one")], seed=2),
                     says="a/two was not run with all seeds")
        self.refused(first, self.run_dir("fact", facts=[{**FACTS[0], "value": 4}, *FACTS[1:]],
                                         seed=2), says="merge.anon differs between seeds")

    def test_lost_and_partial(self):
        self.refused(self.run_dir("lost", outcome="LOST", reason="panic"), says="LOST: panic")
        folder = self.run_dir("short")
        self.write(os.path.join(folder, "6.1", "ktap.txt"), "KTAP version 1\n1..3\n")
        self.refused(folder, says="PARTIAL: .* announces 3 cases, results.jsonl has 2")
        folder = self.run_dir("cut")
        path = os.path.join(folder, "6.1", "results.jsonl")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 20)
        self.refused(folder, says=r"results.jsonl:2: the last line has no end")
        folder = self.run_dir("none")
        os.unlink(os.path.join(folder, "6.1", "facts.jsonl"))
        self.refused(folder, says="has no facts.jsonl")
        os.unlink(os.path.join(folder, "6.1", "cell.json"))
        self.refused(folder, says="no cell.json")
        folder = self.run_dir("going")
        os.rename(os.path.join(folder, "6.1"), os.path.join(folder, "6.1.partial"))
        self.refused(folder, says="6.1.partial: is still run")
        # One that is lost keeps the others out, too.
        self.refused(self.run_dir("run"), self.path("lost"), says="LOST")

    def test_no_path_of_the_machine(self):
        folder = self.path("run", "6.1")
        self.run_dir("run", [case("a/one", "ERROR", folder + "/a/one/truth: is torn")])
        self.store(self.path("run"))
        self.assertEqual(stored.load(self.stored()).cases["a/one"]["why"],
                         "DIR/a/one/truth: is torn")


class Compare(Made):
    def both(self, one=None, other=None):
        """Stores two runs, as files of two folders."""
        self.store(self.run_dir("one", **(one or {})))
        after = self.path("after")
        self.store(self.run_dir("other", **(other or {})), to=after)
        return self.stored(), self.stored(folder=after)

    def changed(self, status, *says, arguments=(), **other):
        return self.compare(*self.both(None, other), status, *says, arguments=arguments)

    def test_same(self):
        self.changed(0, "^1 compared, 0 differences, 0 figures, 0 regressions\n$")

    def test_altered_fact(self):
        self.changed(1, r"REGRESSION: changed facts \(1\):\n  6.1: merge.anon: 2 -> 4\n",
                     facts=[{**FACTS[0], "value": 4}, *FACTS[1:]])
        number, truth = ({"facts": [{"fact": "x", "value": value}]} for value in (1, True))
        self.compare(*self.both(number, truth), 1, "x: 1 -> true")
        self.changed(1, r"facts gone \(1\)", facts=FACTS[1:])
        self.changed(0, r"new facts \(1\)", facts=[*FACTS, {"fact": "new", "value": "x"}])

    def test_altered_expectation(self):
        altered = case("a/one")
        altered["metrics"]["broken.chain"]["expect"] = [0, 3]
        self.changed(1, r"changed expectations \(1\):\n.*broken.chain: 0..0 count -> 0..3 count",
                     cases=[altered, case("a/two")])
        self.changed(1, "definition: - broken.chain =0", r"definition: \+ broken.chain <=3",
                     definition=DEFINITION.replace("=0", "<=3"))

    def test_outcomes(self):
        for outcome in ("FAIL", "ERROR", "TIMEOUT", "CRASH", "XPASS"):
            self.changed(1, r"REGRESSION: new failures \(1\):\n  6.1: a/one: PASS -> %s: why"
                         % outcome, cases=[case("a/one", outcome, "why"), case("a/two")])
        self.changed(1, r"became SKIP \(1\)", cases=[case("a/one", "SKIP"), case("a/two")])
        self.changed(1, r"cases gone \(1\)", cases=[case("a/two")])
        self.changed(1, "PASS -> XFAIL", cases=[case("a/one", "XFAIL"), case("a/two")])
        self.changed(0, r"^new cases \(1\)", cases=[case("a/one"), case("a/two"), case("a/x")])
        self.changed(1, r"new failures \(1\)",
                     cases=[case("a/one"), case("a/two"), case("a/x", "FAIL")])

    def test_a_crash_is_not_a_failure(self):
        before = {"cases": [case("a/one", "FAIL")]}
        after = {"cases": [case("a/one", "CRASH", "perf inject: last", crashed="SIGSEGV")]}
        self.compare(*self.both(before, after), 1, "FAIL -> CRASH SIGSEGV: perf inject: last")

    def test_splat(self):
        splat = {"outcome": "SPLAT", "groups": [{"reason": "WARNING: at mm/mmap.c"}]}
        self.changed(1, r"has what it had not \(1\):\n  6.1: DONE -> WARNING: at mm", **splat)
        self.compare(*self.both(splat, splat), 0)
        self.compare(*self.both(splat), 0)

    def test_some_cases(self):
        one, other = self.both(None, {"cases": [case("a/one")], "facts": FACTS[1:]})
        self.compare(one, other, 1, "2 regressions")
        self.compare(one, other, 0, "0 regressions", arguments=["--case", "a/one"])
        self.compare(one, other, 1, "1 regressions", arguments=["--case", "a/*"])

    def test_fixed(self):
        self.compare(*self.both({"cases": [case("a/one", "FAIL")]}, {"cases": [case("a/one")]}),
                     0, r"^fixed \(1\):\n  6.1: a/one: FAIL -> PASS")

    def test_figures(self):
        cases = [case("a/one", k=1), case("a/two")]
        self.changed(0, r"^changed figures \(2\):\n  6.1: a/one: broken.chain: 0/1000 -> 1/1000",
                     cases=cases)
        self.changed(1, "2 regressions", arguments=["--exact"], cases=cases)
        # By the wall clock one of a thousand is chance, a hundred are not.
        clock = {"accelerator": "kvm"}
        self.compare(*self.both(clock, {**clock, "cases": cases}), 0, " 0 figures")
        cases = [case("a/one", k=100), case("a/two")]
        self.compare(*self.both(clock, {**clock, "cases": cases}), 0, " 1 figures")

    def test_folders_labels_and_runs(self):
        self.run_dir("one", label="6.12")
        self.store(self.run_dir("one"))
        lost = self.run_dir("other", label="6.12", outcome="LOST", reason="panic in boot")
        self.compare(self.store_dir, lost, 1, "6.1: there before, not any more",
                     "6.12: LOST: panic in boot")
        self.compare("6.12", lost, 1, "lost: no result at all")
        self.compare("6.1", os.path.join(self.path("one"), "6.1"), 0, "0 regressions")
        self.compare("6.1", "6.12", 0, "^1 compared, 0 differences")
        self.compare(self.store_dir, self.store_dir, 0, "^2 compared, 0 differences")


class Hostile(Made):
    def setUp(self):
        super().setUp()
        self.store(self.run_dir("run"))
        with open(self.stored(), encoding="ascii") as file:
            self.lines = file.readlines()

    def says(self, pattern, lines=None, data=None, name="6.1"):
        folder = self.path("bad")
        os.makedirs(folder, exist_ok=True)
        path = self.stored(name, folder)
        with open(path, "wb") as file:
            file.write("".join(lines).encode() if data is None else data)
        for command in (("compare", self.stored(), path), ("report", "--folder", folder)):
            done = matrix(*command)
            self.assertEqual(done.returncode, 99, done.stdout + done.stderr)
            self.assertRegex(done.stderr, re.escape(path) + pattern)
            self.assertNotIn("Traceback", done.stderr)
        os.unlink(path)

    def altered(self, number, **changes):
        """The lines with keys of one changed; None takes one away."""
        record = {**json.loads(self.lines[number - 1]), **changes}
        record = {key: value for key, value in record.items() if value is not None}
        return [*self.lines[:number - 1], json.dumps(record) + "\n", *self.lines[number:]]

    def test_no_json(self):
        self.says(": is empty", data=b"")
        self.says(":1: expected a JSON value", data=b"\xff\xfe\n")
        self.says(":1: expected a JSON value", data=b"[" * 100000 + b"\n")
        self.says(":1: expected a JSON value", data=b'{"id":' + b"9" * 10000 + b"}\n")
        self.says(":1: expected a JSON value: NaN", data=b'{"id":NaN}\n')
        self.says(":1: expected a JSON value: a key", data=b'{"id":1,"id":1}\n')
        self.says(":1: expected a JSON value: .*surrogates", data=b'{"id":"\\ud800"}\n')
        self.says(":1: expected an object", data=b"[]\n")

    def test_cut(self):
        self.says(":1: the header announces 2 cases, the file has 1",
                  [self.lines[0], self.lines[1], *self.lines[3:]])
        self.says(":1: the header announces 3 facts", self.lines[:-1])
        self.says(":6: the last line has no end", [*self.lines[:-1], self.lines[-1][:-9]])

    def test_wrong(self):
        self.says(":2: 'outcome' cannot be 'GOOD'", self.altered(2, outcome="GOOD"))
        self.says(":2: 'why' is missing", self.altered(2, why=None))
        self.says(":2: what is 'more'", self.altered(2, more=1))
        self.says(":2: 'metrics' cannot be", self.altered(2, metrics={"x": [3, 2]}))
        self.says(":2: 'metrics' cannot be", self.altered(2, metrics={"x": [True]}))
        self.says(":2: 'verdicts' cannot be", self.altered(2, verdicts={"chain": 3}))
        self.says(":2: 2 outcomes of 1 seeds", self.altered(2, outcomes=["PASS", "PASS"]))
        self.says(":2: 'id' is 'x'; expected '6.1 case a/one'", self.altered(2, id="x"))
        self.says(":3: '6.1 case a/one' stands in line 2 already",
                  [self.lines[0], self.lines[1], self.lines[1], *self.lines[3:]])
        self.says(":4: 'value' cannot be", self.altered(4, value={"a": 1}))
        self.says(":1: 'label' cannot be", self.altered(1, label="../../x"))
        self.says(":1: 'format' cannot be 2", self.altered(1, format=2))
        self.says(r":1: is '6.1'; expected 6.1.jsonl", self.lines, name="6.12")

    def test_no_symlink_is_followed(self):
        os.symlink(self.stored(), self.path("link.jsonl"))
        done = matrix("compare", self.stored(), self.path("link.jsonl"))
        self.assertEqual(done.returncode, 99)
        self.assertIn("link.jsonl: Too many levels of symbolic links", done.stderr)

    def test_run_folders(self):
        for file, text, says in (
                ("cell.json", "[]", "cell.json:1: expected an object"),
                ("cell.json", json.dumps({**CELL, "seed": -1}), "cell.json:1: 'seed' cannot be -1"),
                ("cell.json", json.dumps({**CELL, "kernel": "/x"}), "cell.json:1: 'id' cannot be"),
                ("results.jsonl", '{"case": "../../x"}\n', "results.jsonl:1: 'case' cannot be|"
                 "results.jsonl:1: "),
                ("results.jsonl", json.dumps(case("a/one", metrics=3)) + "\n",
                 "results.jsonl:1: 'metrics' cannot be 3"),
                ("facts.jsonl", '{"fact": "x"}\n', "facts.jsonl:1: 'value' is missing")):
            folder = self.run_dir("run")
            self.write(os.path.join(folder, "6.1", file), text)
            done = matrix("store", "--to", self.path("to"), folder)
            self.assertEqual(done.returncode, 99, done.stdout)
            self.assertRegex(done.stderr, says)
            self.assertNotIn("Traceback", done.stderr)


EXPLAINED = """
[[explained]]
fact = "merge.*"
from = "6.1"
to = "6.12"
why = '0123456789ab ("mm: merge | more") (in v6.7)'
source = "history"
"""


class Report(Made):
    def make(self, explanation=EXPLAINED):
        others = [{**FACTS[0], "value": 4}, {**FACTS[1], "value": "[heap] | `x` <b>"}, FACTS[2]]
        self.run_dir("run", label="5.10")
        self.run_dir("run", [case("a/one", "FAIL", "bad\nworse", k=500), case("a/b")], others,
                     label="6.12")
        self.store(self.run_dir("run"))
        tool = {"kind": "tool", "kernel": "6.18", "accelerator": "wall clock"}
        self.store(self.run_dir("tools", [case("a/one", "CRASH", "perf inject: gone",
                                               crashed="SIGSEGV")], [], label="perf-7.2", **tool))
        self.write(os.path.join(self.store_dir, explained.FILE), explanation)
        done = matrix("report", "--folder", self.store_dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("results", "MATRIX.md"), encoding="utf-8") as file:
            return file.read()

    def test_links_lead_to_their_records(self):
        text = self.make()
        links = re.findall(r"\[([^]]*)\]\(matrix/([^)#]+)#L(\d+)\)", text)
        self.assertGreater(len(links), 20)
        for said, file, line in links:
            with open(os.path.join(self.store_dir, file), encoding="ascii") as stored_file:
                record = json.loads(stored_file.readlines()[int(line) - 1])
            label = file.removesuffix(".jsonl")
            if said in ("PASS", "FAIL", "CRASH SIGSEGV"):
                outcome = "%s %s" % (record["outcome"], record.get("crashed", ""))
                self.assertEqual(outcome.strip(), said)
            self.assertTrue(record["id"] == label or record["id"].startswith(label + " "))

    def test_facts(self):
        text = self.make()
        rows = [line for line in text.splitlines() if line.startswith("| `merge.anon`")]
        self.assertEqual(len(rows), 1)
        self.assertIn("6.1 → 6.12: [0123456789ab](https://git.kernel.org/linus/0123456789ab) "
                      '("mm: merge \\| more") (in v6.7) *(history)*', rows[0])
        self.assertIn("[5.10](matrix/5.10.jsonl#L4) [6.1](matrix/6.1.jsonl#L4): `2`<br>"
                      "[6.12](matrix/6.12.jsonl#L4): `4`", rows[0])
        row = next(line for line in text.splitlines() if line.startswith("| `name.heap`"))
        self.assertIn("6.1 → 6.12: **unexplained**", row)
        self.assertIn("\\[heap\\] \\| \\`x\\` &lt;b&gt;", row)
        self.assertNotIn("unexplained", rows[0])
        self.assertIn("| `sizes` | `112, 120` |", text)

    def test_every_table_is_one(self):
        for block in re.findall(r"(?:^\|.*\n)+", self.make(), re.M):
            columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            self.assertEqual(len(columns), 1, block)

    def test_figures_and_reasons(self):
        text = self.make()
        self.assertIn("| `a/one` | `broken.chain` |", text)
        self.assertIn("50.0 % (500 of 1000)", text)
        self.assertIn("bad; worse", text)
        self.assertIn("[CRASH SIGSEGV](matrix/perf-7.2.jsonl#L2)", text)
        self.assertIn("| [SIGSEGV](matrix/perf-7.2.jsonl#L2) | perf inject: gone |", text)

    def test_check(self):
        self.make()
        check = ("report", "--check", "--folder", self.store_dir)
        self.assertEqual(matrix(*check).returncode, 0)
        self.write(self.path("results", "MATRIX.md"), "something else\n")
        done = matrix(*check)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not what the stored results give", done.stdout)
        self.make()
        self.store(self.run_dir("run", facts=FACTS[1:]))
        self.assertEqual(matrix(*check).returncode, 1)

    def test_bad_explanations(self):
        self.make()
        for text, says in (("[[explained]]\n[", "explained.toml: "),
                           ("[[explained]]\nfact = 1\n", "explanation 1: 'fact' cannot be 1"),
                           ("[[change]]\n", "expected nothing but [[explained]]"),
                           (EXPLAINED.replace('"6.1"', '"soon"'), "'from' cannot be 'soon'"),
                           (EXPLAINED.replace("6.12", "6.1"), "from 6.1 to 6.1 is no way")):
            self.write(os.path.join(self.store_dir, explained.FILE), text)
            done = matrix("report", "--folder", self.store_dir)
            self.assertEqual(done.returncode, 99)
            self.assertIn(says, done.stderr)


# Stands for jitproof: it says how it was called, and leaves $RUN as its run directory.
JITPROOF = """#!/bin/sh
echo "$JITPROOF_PERF $@" >>"$CALLS"
while [ "$1" != -o ]; do shift; done
[ -z "$RUN" ] || cp -r "$RUN" "$2"
echo "last words"
exit $STATUS
"""


class Tools(Made):
    def setUp(self):
        super().setUp()
        self.jitproof = self.write(self.path("jitproof"), JITPROOF)
        os.chmod(self.jitproof, 0o755)
        self.write(self.path("perf", "trixie", "fetched.json"), json.dumps(
            {"version": "6.12.107",
             "packages": ["libelf1_1_amd64", "linux-perf_6.12.107-1_amd64"]}))
        self.run_dir("made", [case("a/one", "CRASH", "words", crashed="SIGSEGV"), case("a/two")],
                     [], cpus=2)
        os.unlink(self.path("made", "6.1", "cell.json"))
        self.write(self.path("calls"), "")

    def tools(self, *arguments, run="made/6.1", status=0, perf="6.12"):
        more = {"CALLS": self.path("calls"), "RUN": self.path(run) if run else "",
                "STATUS": str(status)}
        before = {key: os.environ.get(key) for key in more}
        os.environ.update(more)
        try:
            return matrix("tools", "--jitproof", self.jitproof, "--perf-dir", self.path("perf"),
                          "-o", self.path("out"), "--perf", perf, *arguments)
        finally:
            for key, value in before.items():
                os.environ.pop(key)
                os.environ.update({key: value} if value is not None else {})

    def test_a_cell(self):
        done = self.tools("--case", "a/*", "--seed", "7", status=1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("perf-6.12 (perf 6.12.107): PASS:1 CRASH:1 (2 cases)", done.stdout)
        self.assertIn("CRASH SIGSEGV a/one: words", done.stdout)
        with open(self.path("calls"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "%s run --set=full --seed 7 -o %s a/*\n" % (
                self.path("perf", "trixie", "perf"), self.path("out", "perf-6.12.partial")))
        self.store(self.path("out"))
        made = stored.load(self.stored("perf-6.12"))
        self.assertEqual((made.header["version"], made.header["package"], made.header["exact"]),
                         ("6.12.107", "linux-perf_6.12.107-1_amd64", False))
        self.assertEqual(made.header["command"],
                         "ci/matrix tools --perf 6.12 --seed 7 --case 'a/*'")
        self.assertEqual((made.cases["a/one"]["crashed"], made.cases["a/one"]["smp"]),
                         ("SIGSEGV", 2))
        # What is there already is not run over.
        self.assertEqual(self.tools().returncode, 99)

    def test_seeds(self):
        self.assertEqual(self.tools("--seed", "1", "--seed", "2").returncode, 0)
        self.store(self.path("out"))
        made = stored.load(self.stored("perf-6.12"))
        self.assertEqual(made.header["seeds"], [1, 2])
        self.assertEqual(made.cases["a/two"]["judged"], {"chain": 2000})

    def test_lost(self):
        done = self.tools(run="", status=99)
        self.assertEqual(done.returncode, 1)
        self.assertIn("LOST: jitproof run ended with 99: last words", done.stdout)
        self.refused(self.path("out"), says="LOST: jitproof run ended with 99")

    def test_missing(self):
        # Nothing is downloaded for a version that no suite can have.
        with unittest.mock.patch("perf_tools.SUITES", ("trixie",)):
            done = self.tools(perf="6.1")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "perf 6.1: no suite has perf 6.1 now: trixie\n"))


class Versions(unittest.TestCase):
    def test_overlap(self):
        why = {"fact": "uprobe.*", "from": "6.1", "to": "6.12", "why": "", "source": ""}
        for before, after, wanted in (
                ("6.1", "6.12", True), ("6.1", "6.6", True), ("6.6", "6.12", True),
                ("5.10", "7.3", True), ("5.10", "6.1", False), ("6.12", "6.16", False)):
            self.assertEqual(bool(explained.explain([why], "uprobe.x", before, after)), wanted,
                             (before, after))
        self.assertFalse(explained.explain([why], "merge.x", "6.1", "6.12"))

    def test_order(self):
        labels = ["6.12", "perf-6.1", "6.9", "perf-5.10", "5.10"]
        made = [stored.Stored("", {"label": label, "kind": "tool" if "perf" in label else "kernel"},
                              {}, {}) for label in labels]
        self.assertEqual([one.label for one in sorted(made, key=lambda one: one.order)],
                         ["5.10", "6.9", "6.12", "perf-5.10", "perf-6.1"])

    def test_rates(self):
        self.assertFalse(stored.apart([0, 100], [1, 100]))
        self.assertTrue(stored.apart([0, 100], [50, 100]))
        self.assertTrue(stored.apart([1], [2]))

    def test_every_kind_has_a_place(self):
        self.assertIn("failure", differences.REGRESSIONS)
        self.assertNotIn("figure", differences.REGRESSIONS)


class Committed(unittest.TestCase):
    def test_matrix_is_up_to_date(self):
        done = subprocess.run([os.path.join(HERE, "matrix"), "report", "--check"], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
