# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof hunt`: pairs, impossible combinations, reduction, clusters, known findings,
relations and resuming."""

import argparse
import collections
import contextlib
import io
import itertools
import os
import tempfile
import threading
import unittest
from typing import Any, Callable, Iterator

from ci.base import files, jsonl, process
from ci.hunt import known, line, probing, relations, report, state
from ci.hunt.__main__ import Hunt
from ci.hunt.clusters import MAX_CLUSTERS, Clusters, Reduction
from ci.hunt.cover import PATIENCE, Cover, has_few_values
from ci.hunt.space import (AT, CAPTURE, INJECT, INSIDE, METHODS, PERF, PUBLISH, READER, WORKLOAD,
                           Crossing, Request, Space, iterate_pairs)
from ci.hunt.trial import (ACCEPTED, LATE, REJECTED, Runner, Signature, Trial, find_signatures,
                           make_trial)
from harness.selftest.support.scratch import JITPROOF, Folder


def make_option(name: str, *values: str, switch: bool = False) -> dict[str, Any]:
    return {"name": name, "switch": switch, "values": list(values)}


def make_case(workload: str, capture: str, **more: Any) -> dict[str, Any]:
    return {"name": "a/b", "control": False, "workload": workload.split(),
            "capture": capture.split(), "publish": None, "inject": None, "inject_with": [],
            "inside": 0, "seconds": 30, "methods": [], "boundary": None, "step": None, **more}


def make_capture(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "external": False, "gated": False, "boundaries": [], **more}


# A registry with two workloads that have different options, and words of cases.
LISTED = {
    "workloads": [{"name": "anon_exec", "options": [make_option("--how", "x", "y"),
                                                    make_option("--size"),
                                                    make_option("--gate", switch=True)]},
                  {"name": "other", "options": [make_option("--deep", switch=True)]}],
    "publishing": [make_option("--publish", "none", "map", "map:late"),
                   make_option("--publish-children", "none", "map:late")],
    "captures": [make_capture("launch"), make_capture("gated", boundaries=["before-open"]),
                 make_capture("launch-by", external=True)],
    "capture_options": [make_option("--user-only", switch=True), make_option("--stack")],
    "cases": [make_case("anon_exec --size=2", "launch --stack=8"),
              make_case("anon_exec --size=9", "launch --stack=8", inject="cut"),
              make_case("anon_exec --size=5", "gated --gate=open", inside=1,
                        methods=["chain", "dump_fp"]),
              make_case("anon_exec", "launch", boundary="before-open", step="map 9"),
              make_case("anon_exec", "launch --stack=7", control=True),
              make_case("anon_exec --size=99", "launch", seconds=31),
              make_case("other", "launch-by perf -z", inject="perf", inject_with=["-b"])]}


def run_by(judge: Callable[[Crossing], Trial]) -> Callable[..., Iterator[Trial]]:
    return lambda crossings, expected=None: map(judge, crossings)


def fail_for(*needed: tuple[str, str]) -> Callable[[Crossing], Trial]:
    """Returns a function that judges a crossing: a failure if it has all items of @needed."""
    def judge(crossing: Crossing) -> Trial:
        findings = {Signature("m", "c")} if {*needed} <= {*crossing.items()} else set()
        return Trial(crossing, "FAIL" if findings else "PASS", "m: 1 with cause c",
                     frozenset(findings))
    return judge


class Spaces(unittest.TestCase):
    space = Space(LISTED)

    def test_values(self) -> None:
        """The space has the registry's values, the values that cases use, and extreme numbers; it
        has no controls, no values of long cases, and no tools that the caller did not request."""
        values = self.space.values
        self.assertEqual(values["workload --how"], ("x", "y"))
        self.assertEqual(values["workload --size"], ("2", "9"))
        self.assertEqual(values["workload --deep"], ("",))
        self.assertEqual(values["workload --publish-children"], ("none",))
        self.assertEqual(values["capture --stack"], ("8",))
        self.assertEqual(values["capture --gate"], ("open",))
        self.assertEqual(values[INJECT], ("cut",))
        self.assertEqual(values[CAPTURE], ("gated", "launch"))
        self.assertEqual([values[name] for name in (INSIDE, METHODS, AT)],
                         [("1",), ("chain,dump_fp",), ("before-open:map=9",)])

    def test_pairs_of_values(self) -> None:
        pairs = {frozenset(pair) for pair in self.space.list_pairs()}
        how, deep = ("workload --how", "x"), ("workload --deep", "")
        self.assertNotIn(frozenset({how, deep}), pairs)  # options of two different workloads
        self.assertNotIn(frozenset({how, (WORKLOAD, "other")}), pairs)
        self.assertNotIn(frozenset({("capture --gate", "open"), (CAPTURE, "launch")}), pairs)
        self.assertIn(frozenset({how, ("capture --gate", "open")}), pairs)

    def test_values_that_need_others(self) -> None:
        """A gated policy needs a workload that announces intervals, a step a policy with its
        boundary."""
        space = Space({**LISTED, "captures": [
            make_capture("launch", boundaries=["before-open"]), make_capture("gated", gated=True)]})
        pairs = {frozenset(pair) for pair in space.list_pairs()}
        gated, other, gate = (CAPTURE, "gated"), (WORKLOAD, "other"), ("capture --gate", "open")
        for crossing, two in ((gated, other), (gate, other), (gated, (AT, "before-open:map=9"))):
            self.assertNotIn(frozenset({crossing, two}), pairs)
        self.assertIn(frozenset({gated, (WORKLOAD, "anon_exec")}), pairs)
        self.assertIn(frozenset({(CAPTURE, "launch"), (AT, "before-open:map=9")}), pairs)
        self.assertTrue(space.is_possible(gated, {WORKLOAD: "anon_exec"}))
        self.assertFalse(space.is_possible(gated, dict([other])))
        self.assertEqual(line.make_crossing(space, [gated, other, gate]),
                         {**line.PLAIN, **dict([other])})
        cover = Cover(space, 1)
        cover.open = {(gated, gate)}
        for _ in range(50):
            self.assertEqual(cover.choose()[WORKLOAD], "anon_exec")
        cover.open.clear()
        for _ in range(50):
            self.assertIn(CAPTURE, cover.choose())

    def test_case_line_of_a_crossing(self) -> None:
        crossing = {WORKLOAD: "anon_exec", "workload --how": "x", CAPTURE: "launch",
                    "capture --user-only": "", PUBLISH: "map:late", INJECT: "cut",
                    METHODS: "chain,dump_fp", AT: "before-open:map=9"}
        self.assertEqual(
            line.format_line(crossing),
            "case hunt full : anon_exec --how=x : launch --freq=1999 --user-only : "
            "samples=100 seconds=20 publish=map:late methods=chain,dump_fp at=before-open:map=9 "
            "inject=cut")

    def test_reader(self) -> None:
        """Each perf can read a crossing, also one that no perf recorded."""
        space = Space(LISTED, Request(("6.1", "7.3")))
        self.assertEqual(space.values[READER], ("6.1", "7.3"))
        crossings: list[tuple[Crossing, str]] = [
            ({}, "none"), ({READER: "6.1"}, "perf-6.1"), ({PERF: "6.1"}, "none")]
        for crossing, expected in crossings:
            self.assertEqual(line.name_reader(crossing), expected)
            self.assertNotIn("6.1", line.format_line({**line.PLAIN, **crossing}))

    def test_the_program(self) -> None:
        """The real registry gives a space of all workloads."""
        listing = process.run_or_raise([JITPROOF, "list", "--json"])
        space = Space(jsonl.parse("list", 1, listing.encode()))
        self.assertGreater(len(space.values[WORKLOAD]), 20)
        self.assertIn("jitdump:cut", space.values[PUBLISH])
        self.assertIn("memfd", space.values["workload --backing"])


class Covers(unittest.TestCase):
    def test_all_pairs(self) -> None:
        """Coverage grows to all pairs that are not excluded; no crossing contains an excluded
        pair."""
        space = Space(LISTED)
        cover = Cover(space, 1)
        cover.exclude({PUBLISH: "none", "capture --user-only": ""})
        excluded = tuple(sorted([("capture --user-only", ""), (PUBLISH, "none")]))
        for _ in range(400):
            crossing = cover.choose()
            self.assertTrue(all(space.is_possible(item, crossing) for item in crossing.items()))
            self.assertNotIn(excluded, set(iterate_pairs(crossing)))
            cover.add(crossing)
        self.assertEqual(cover.open, set())
        self.assertEqual(len(cover.covered), len(list(space.list_pairs())) - 1)

    def test_version_of_perf(self) -> None:
        """A crossing names the version of perf if it uses perf."""
        cover = Cover(Space(LISTED, Request(("6.1", "6.12"))), 1)
        for _ in range(60):
            crossing = cover.choose()
            cover.add(crossing)
            self.assertEqual(PERF in crossing, crossing[CAPTURE] == "launch-by perf" or
                             crossing.get(INJECT) == "perf", crossing)

    def test_option_that_no_version_takes(self) -> None:
        """An option that each version of perf refuses is in no further crossing."""
        cover = Cover(Space(LISTED, Request(("6.1", "6.12"))), 1)
        for version, possible in (("6.1", True), ("6.12", False)):
            cover.exclude({"capture -z": "", PERF: version})
            self.assertEqual(any(("capture -z", "") in pair for pair in cover.open), possible)

    def test_pairs_without_verdict(self) -> None:
        """Pairs that got no verdict in some crossings are not drawn again."""
        cover = Cover(Space(LISTED), 1)
        crossing = {WORKLOAD: "other", "workload --deep": "", CAPTURE: "launch"}
        pairs = set(iterate_pairs(crossing))
        cover.open &= pairs
        for _ in range(PATIENCE):
            self.assertLessEqual(crossing.items(), cover.choose().items())
            cover.add_unjudged(crossing)
        for _ in range(99):
            self.assertTrue(pairs.isdisjoint(iterate_pairs(cover.choose())))
        self.assertEqual(cover.open, pairs)

    def test_few_values(self) -> None:
        """Once most pairs are covered, crossings of few values cover those with a part again. They
        publish, most of those with an inject a jitdump."""
        publishers = {"publishing": [make_option("--publish", "map", "jitdump")]}
        cover = Cover(Space({**LISTED, **publishers}), 1)
        while not cover.wants_few:
            cover.add(cover.choose())
        many = len(cover.hidden)
        self.assertGreater(many, 0)
        published = collections.Counter[str]()
        for _ in range(200):
            crossing = cover.choose()
            self.assertEqual(has_few_values(crossing), cover.wants_few, crossing)
            self.assertTrue(PUBLISH in crossing or not cover.wants_few)
            if INJECT in crossing and cover.wants_few:
                published[crossing[PUBLISH]] += 1
            cover.add(crossing)
            if not cover.hidden:
                break
        self.assertEqual(cover.hidden, set())
        self.assertGreater(published["jitdump"], published["map"])
        self.assertGreater(published["map"], 0)

    def test_pairs_that_rarely_have_a_verdict(self) -> None:
        """Values whose crossings rarely had a verdict together are drawn apart."""
        space = Space(LISTED)
        together = {WORKLOAD: "other", PUBLISH: "map"}
        cover, plain = Cover(space, 1), Cover(space, 1)
        cover.add(together)
        for _ in range(30):
            cover.add_unjudged(together)
        counts = []
        for part in (cover, plain):
            part.covered |= part.open
            part.open.clear()
            counts.append(sum(together.items() <= part.choose().items() for _ in range(99)))
        self.assertLess(3 * counts[0], counts[1])

    def test_explained(self) -> None:
        """A crossing that lacks an item is explained, one with that item is not."""
        cover = Cover(Space(LISTED), 1)
        cover.add_lacking({"capture --user-only": ""}, PUBLISH)
        plain = {**line.PLAIN, "capture --user-only": ""}
        self.assertTrue(cover.is_explained(plain))
        self.assertFalse(cover.is_explained({**plain, PUBLISH: "map"}))
        self.assertFalse(cover.is_explained(line.PLAIN))
        self.assertFalse(cover.is_impossible(plain))
        for _ in range(99):
            self.assertFalse(cover.is_explained(cover.choose()))


class Refusing(Runner):
    """Stands for a machine that can run no crossing with all items of @lacking."""

    def __init__(self, lacking: Crossing) -> None:
        super().__init__(JITPROOF, "", {})
        self.lacking, self.refused = lacking, 0
        self.runs = 0

    def check(self, crossing: Crossing) -> Trial:
        return Trial(crossing, ACCEPTED, "", frozenset())

    def run(self, crossing: Crossing, seed: int) -> Trial:
        self.runs += 1
        refused = self.lacking.items() <= crossing.items()
        self.refused += refused
        return Trial(crossing, "SKIP" if refused else "PASS",
                     "no 9 in perf " + self.lacking.get(PERF, "at all"), frozenset())


def make_hunt(runner: Runner, folder: str = "", versions: tuple[str, ...] = ()) -> Hunt:
    return Hunt(argparse.Namespace(minutes=9, crossings=0, seed=1, jobs=1, folder=folder),
                Space(LISTED, Request(versions)), runner)


class Learning(unittest.TestCase):
    def test_likeness(self) -> None:
        """The first refusal that names an option makes hunt suspect it."""
        crossing = {**line.PLAIN, "capture --callchain": "deferred", "workload --size": "9"}
        cover = Cover(Space(LISTED), 1)
        cover.add({**crossing, "capture --no-chain": ""})  # which makes the value ineffective
        self.assertEqual(cover.find_suspect(crossing, "attr.defer_callchain: EINVAL"),
                         {"capture --callchain": "deferred"})
        self.assertNotEqual(cover.find_suspect(crossing, "attr.defer_callchain: EINVAL"),
                            {"capture --callchain": "deferred"})

    def test_refused_values(self) -> None:
        """A hunt learns from few refused crossings which values are the cause. A refusal holds for
        all versions of perf, unless it names the version."""
        for lacking in ({PUBLISH: "map:late"}, {CAPTURE: "gated", PUBLISH: "map"},
                        {"workload --how": "x"}, {"capture -z": ""},
                        {"capture -z": "", PERF: "6.1"}):
            with self.subTest(lacking), tempfile.TemporaryDirectory() as folder:
                runner = Refusing(lacking)
                hunt = make_hunt(runner, folder, ("6.1", "6.12") if "capture -z" in lacking else ())
                with contextlib.redirect_stdout(io.StringIO()):
                    for _ in range(60):
                        hunt.step()
                self.assertEqual(hunt.cover.impossible, [frozenset(lacking.items())])
                self.assertLess(runner.refused, 9)

    def test_refusals_of_each_version(self) -> None:
        """What hunt has learned with a version of perf, it excludes for the next at once."""
        findings: list[Crossing] = [{"capture -z": "", PERF: version} for version
                                    in ("6.1", "6.12")]
        crossings = [{**line.PLAIN, CAPTURE: "launch-by perf", **trial} for trial in findings]
        hunt = make_hunt(Refusing({}), versions=("6.1", "6.12"))
        hunt.suspects[frozenset(crossings[0].items())] = {"capture -z": ""}
        with contextlib.redirect_stdout(io.StringIO()):
            for crossing in crossings:
                hunt.learn(Trial(crossing, "SKIP", "perf %s: no -z" % crossing[PERF], frozenset()))
        self.assertEqual(hunt.cover.impossible,
                         [frozenset(trial.items()) for trial in [*findings, {"capture -z": ""}]])

    def test_lack_of_evidence(self) -> None:
        """Hunt reduces no ERROR whose reason is a lack of samples."""
        for outcome, reason, found in (
                ("ERROR", "too little evidence: judged.dump is 9", 0),
                ("TIMEOUT", "the workload did not answer in time in step 'unmap'", 0),
                ("ERROR", "perf inject ended", 1)):
            with tempfile.TemporaryDirectory() as folder:
                hunt = make_hunt(Refusing({"no": "such"}), folder, ("6.1", "6.12"))
                with contextlib.redirect_stdout(io.StringIO()):
                    hunt.handle(Trial({**line.PLAIN, PERF: "6.1"}, outcome, reason,
                                      frozenset({Signature(outcome, reason)})))
                self.assertEqual(len(hunt.clusters.found), found)

    def test_needed_runs(self) -> None:
        """A reduction runs twins only for the signature of a relation."""
        for cause, runs in (("no-map", 1), ("without inside", 2)):
            runner = Refusing({"no": "such"})
            make_hunt(runner).run_one({**line.PLAIN, "inside": "1"},
                                      Signature("names.right", cause))
            self.assertEqual(runner.runs, runs)


class Waiting(Runner):
    """The first crossing fails. A run of its reduction waits until other crossings have ended."""

    def __init__(self) -> None:
        super().__init__(JITPROOF, "", {})
        self.others = threading.Semaphore(0)

    def check(self, crossing: Crossing) -> Trial:
        return Trial(crossing, ACCEPTED, "", frozenset())

    def run(self, crossing: Crossing, seed: int) -> Trial:
        if threading.current_thread().name.startswith("reduction"):
            assert self.others.acquire(timeout=60)
        else:
            self.others.release()
        return Trial(crossing, "FAIL", "", frozenset({Signature("names.unnamed", "no-map")}))


class Beside(unittest.TestCase):
    def test_crossings_beside_a_reduction(self) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            hunt = Hunt(argparse.Namespace(minutes=9, crossings=15, seed=1, jobs=2,
                                           folder=folder), Space(LISTED), Waiting())
            while hunt.running or hunt.reductions or hunt.wants_more():
                hunt.step()
        self.assertEqual([crossing.crossing for crossing in hunt.clusters.found],
                         [line.PLAIN])
        self.assertEqual(hunt.progress.tried, 15)


class Reductions(unittest.TestCase):
    space = Space(LISTED)
    crossing = {WORKLOAD: "anon_exec", "workload --how": "x", "workload --size": "9",
                CAPTURE: "gated", "capture --gate": "open", "capture --user-only": "",
                PUBLISH: "map:late", INJECT: "cut", "inside": "1"}

    def reduce(self, *needed: tuple[str, str]) -> Crossing:
        judge = fail_for(*needed)
        return Reduction(self.space, lambda trial: bool(trial.signatures),
                         run_by(judge)).reduce(judge(self.crossing)).crossing

    def test_each_pair(self) -> None:
        """The reduced crossing has the two items that the failure needs, and otherwise the plain
        workload and capture."""
        for needed in itertools.combinations(self.crossing.items(), 2):
            with self.subTest(needed):
                expected = {**line.PLAIN, **dict(needed)}
                if "capture --gate" in expected:
                    expected[CAPTURE] = "gated"
                self.assertEqual(self.reduce(*needed), expected)

    def test_nothing_needed(self) -> None:
        self.assertEqual(self.reduce(), line.PLAIN)


class Probing(unittest.TestCase):
    space = Space(LISTED)
    missing = ""

    def find(self, refuses: Callable[[Crossing], bool], crossing: Crossing) -> Crossing | None:
        def judge(trial: Crossing) -> Trial:
            return Trial(trial, REJECTED if refuses(trial) else "PASS", "", frozenset())
        _, items, missing = probing.find_impossible(self.space, judge(crossing), run_by(judge))
        if missing:
            self.missing = missing
        return None if missing else items

    def test_one_value(self) -> None:
        """A value that is refused with every workload and capture is impossible alone."""
        self.assertEqual(self.find(lambda crossing: crossing.get(PUBLISH) == "map:late",
                                   {**Reductions.crossing}), {PUBLISH: "map:late"})

    def test_plain_workload(self) -> None:
        """If a capture is refused only with the plain workload, only the two together are
        impossible."""
        self.assertEqual(self.find(lambda crossing: crossing[CAPTURE] == "gated" and
                                   crossing[WORKLOAD] == "anon_exec", {**Reductions.crossing}),
                         {CAPTURE: "gated", WORKLOAD: "anon_exec"})

    def test_own_workload(self) -> None:
        """The reduction tries the plain workload, but the pair with the refused workload is
        excluded."""
        third = {**LISTED, "workloads": [*LISTED["workloads"], {"name": "third", "options": []}]}
        self.space = Space(third)
        self.assertEqual(self.find(lambda crossing: crossing[CAPTURE] == "gated" and
                                   crossing[WORKLOAD] != "third",
                                   {WORKLOAD: "other", CAPTURE: "gated", PUBLISH: "map"}),
                         {WORKLOAD: "other", CAPTURE: "gated"})

    def test_other_reason(self) -> None:
        """Reducing a crossing does not end at a part that is refused for another reason."""
        def judge(one: Crossing) -> Trial:
            reason = "" if PUBLISH not in one else "no map" if "inside" in one else "nothing inside"
            return Trial(one, REJECTED if reason else "PASS", reason, frozenset())
        crossing = {**line.PLAIN, PUBLISH: "map", "inside": "1", "capture --user-only": ""}
        self.assertEqual(probing.find_impossible(self.space, judge(crossing), run_by(judge))[1:],
                         ({PUBLISH: "map", "inside": "1"}, ""))

    def test_absent_value(self) -> None:
        """Items that are refused because an option is missing are not impossible."""
        self.assertIsNone(self.find(lambda crossing: "capture --user-only" in crossing and
                                    "capture --stack" not in crossing, {**Reductions.crossing}))
        self.assertEqual(self.missing, "capture --stack")


class Clustering(unittest.TestCase):
    def test_same_signature(self) -> None:
        judge = fail_for((PUBLISH, "map"))
        clusters = Clusters(Space(LISTED), run_by(judge))
        crossing = {**line.PLAIN, PUBLISH: "map", "inside": "1"}
        new_clusters = clusters.add(judge(crossing))
        clusters.reduce(judge(crossing), new_clusters)
        self.assertEqual([trial.crossing for trial in new_clusters],
                         [{**line.PLAIN, PUBLISH: "map"}])
        self.assertEqual(clusters.add(judge(crossing)), [])
        self.assertEqual([trial.count for trial in clusters.found], [2])

    def test_other_values(self) -> None:
        """A failure of few values without those of its signature's cluster is a further cluster,
        which is joined with one that has a part of its values; a failure of many values is not."""
        clusters = Clusters(Space(LISTED), run_by(fail_for()))
        failure = frozenset({Signature("m", "c")})

        def add(values: Crossing) -> list[Crossing]:
            trial = Trial({**line.PLAIN, **values}, "FAIL", "", failure)
            return [one.crossing for one in clusters.add(trial)]
        many = {name: "1" for name in ("inside", "methods", "at", "capture --freq")}
        self.assertEqual(add({PUBLISH: "map"}), [{**line.PLAIN, PUBLISH: "map"}])
        self.assertEqual(add({PUBLISH: "map", "inside": "1"}), [])
        self.assertEqual(add({PUBLISH: "none", **many}), [])
        self.assertEqual(len(add({PUBLISH: "none", "inside": "1"})), 1)
        self.assertEqual([one.count for one in clusters.found], [3, 1])
        self.assertEqual(len(add({"inside": "2"})), 1)
        clusters.found[1].crossing = {**line.PLAIN, PUBLISH: "map", "at": "1"}
        clusters.join()
        self.assertEqual([one.count for one in clusters.found], [4, 1])
        for value in range(2 * MAX_CLUSTERS):
            add({"methods": str(value)})
        self.assertEqual(len(clusters.found), MAX_CLUSTERS)

    def test_two_signatures(self) -> None:
        """A failure that the reduced crossing shows as well is not reduced again."""
        both = frozenset({Signature("m", "c"), Signature("n", "c")})
        runs = []

        def judge(crossing: Crossing) -> Trial:
            runs.append(crossing)
            return Trial(crossing, "FAIL", "", both if PUBLISH in crossing else frozenset())
        crossing = {**line.PLAIN, PUBLISH: "map", "inside": "1"}
        clusters = Clusters(Space(LISTED), run_by(judge))
        trial = Trial(crossing, "FAIL", "", both)
        new_clusters = clusters.add(trial)
        clusters.reduce(trial, new_clusters)
        self.assertEqual([one.crossing for one in new_clusters],
                         [{**line.PLAIN, PUBLISH: "map"}] * 2)
        self.assertEqual(len(runs), 2)

    def test_finding(self) -> None:
        """A failure whose cause is the id of a finding is not reduced."""
        crossing = {**line.PLAIN, PUBLISH: "map", "inside": "1"}
        found = frozenset({Signature("shown.frames", "perf.unwind-no-elf", "perf 7.3.4")})
        trial, clusters = Trial(crossing, "FAIL", "", found), Clusters(Space(LISTED),
                                                                       run_by(fail_for()))
        new_clusters = clusters.add(trial)
        clusters.reduce(trial, new_clusters)
        self.assertEqual([one.crossing for one in new_clusters], [crossing])

    def test_signatures(self) -> None:
        reason = ("broken.chain: 3 with cause depth-limit (max-stack), which nothing allows\n"
               "mappings.extra: 1 with cause munmap, which nothing allows\n  2 of a line before\n"
               "names.unnamed: 9 of 30 with cause no-map; allowed <=0 (a limit)\n"
               "order.bad: 2 with cause cut; allowed at most the 1 dumps (a fault)")
        self.assertEqual(find_signatures("FAIL", reason, ""), {
            Signature("broken.chain", "depth-limit (max-stack)"),
            Signature("names.unnamed", "no-map"), Signature("order.bad", "cut"),
            Signature("mappings.extra", "munmap")})
        one, other = (find_signatures("ERROR", "/tmp/%d/perf.data: %d bytes at 0x%x" % (n, n, n),
                                      "") for n in (3, 44))
        self.assertEqual(one, other)
        self.assertEqual(find_signatures(
            "ERROR", "/tmp/perf.data: cut short (results/FINDINGS.md, perf.tail)", "perf 7.3.4"),
                         {Signature("ERROR", "perf.tail", "perf 7.3.4")})
        for outcome in ("PASS", "XFAIL"):
            self.assertEqual(find_signatures(outcome, "it refused", ""), frozenset())
        unreadable = find_signatures(
            "ERROR", "perf inject ended with 0 and wrote a file whose records do not follow each "
            "other", "perf 5.10.262")
        found = known.read_results(os.path.join(os.path.dirname(__file__), "../../results"))
        self.assertEqual([found.find_id(one, {**line.PLAIN, INJECT: "perf"}) for one in unreadable],
                         ["perf.inject-offset"])
        crash, = find_signatures("CRASH", "perf inject was killed by signal 11 (Segmentation "
                                 "fault): without a word", "perf 7.3.4")
        for crossing, expected in (({"workload": "code_move"}, "perf.inject-move"),
                                   ({"at": "before-snapshot:remap"}, "perf.inject-move"),
                                   ({"workload": "anon_exec"}, "")):
            self.assertEqual(found.find_id(crash, {
                "inject": "perf", "capture": "launch-by perf", **crossing}), expected)
        for signatures, judged in ((unreadable, True), (one, False)):
            self.assertEqual(Trial({}, "ERROR", "", signatures).is_judged, judged)

    def test_late_workloads(self) -> None:
        """A workload that ends before it is ready refuses its options. If it only needs more time,
        the crossing is possible."""
        for outcome, reason, expected in (
                ("ERROR", "the workload exited with status 2 before it was ready", REJECTED),
                ("TIMEOUT", "the workload did not answer in time before it was ready", LATE)):
            trial = make_trial({}, {"outcome": outcome, "why": reason, "metrics": {}})
            self.assertEqual((trial.outcome, trial.signatures), (expected, frozenset()))
            self.assertEqual(trial.is_refused, expected == REJECTED)

    def test_excused_finding(self) -> None:
        """An exception whose excuse names a finding is known if the crossing has its options,
        though it passes."""
        result = {"outcome": "PASS", "why": "", "metrics": {}, "exceptions": [
            {"metric": "names.unnamed", "cause": "hidden", "reason": "hidden (perf.inject-child)"},
            {"metric": "load.unnamed", "cause": "hidden", "reason": "it hides"},
            {"metric": "coverage.stale", "cause": "munmap"}]}
        for inject, count in (("perf", 1), ("cut", 0)):
            with tempfile.TemporaryDirectory() as folder:
                hunt = make_hunt(Refusing({}), folder)
                with contextlib.redirect_stdout(io.StringIO()):
                    hunt.handle(make_trial({**line.PLAIN, INJECT: inject}, result))
            self.assertEqual(len(hunt.clusters.found), count)
    def test_readers(self) -> None:
        """If a reader shows wrong samples, the failure names that reader, not the recorder."""
        accounts = {"shown perf 6.1.1 perf.data": {"equal": 9, "no-name": 1},
                    "shown perf 7.3.4 perf.data": {"equal": 10},
                    "shown perf 7.2.1 injected.data": {"cut": 2}}
        result = {"books": accounts, "readers": [
            {"reader": "perf %s" % version, "answer": answer} for version, answer in
            (("6.1.1", "differs"), ("7.3.4", "agrees"), ("7.2.1", "differs"))]}
        reason = "shown.names: 1 with cause no-name, which nothing allows"
        self.assertEqual(find_signatures("FAIL", reason, "perf 7.3.4", result),
                         {Signature("shown.names", "no-name", "perf 6.1.1")})
        absent = reason.replace("names", "samples").replace("no-name", "process")
        self.assertEqual(find_signatures("FAIL", absent, "", result),
                         {Signature("shown.samples", "process", "perf 6.1.1"),
                          Signature("shown.samples", "process", "perf 7.2.1")})


class Recognition(unittest.TestCase):
    lines = known.read_lines([
        "\twhen perf ..6.12: names.wrong allow hidden =3\t# the old one (perf.old-bug)",
        "\twhen perf 7.2..: a.b allow x <=1, c.d allow y <=2\t# two (perf.two)",
        "\twhen perf 7.2..: broken.chain allow z <=1\t# two (perf.two)",
        "\tnames.unnamed allow no-map =1\t# no finding",
        "case a full : w : launch"])

    def test_versions(self) -> None:
        findings = known.Findings(self.lines, known.read_titles(
            "(perf.old-bug, perf.two, perf.some-bug)"))
        for metric, cause, tools, expected in (
                ("names.wrong", "hidden", "perf 6.1.187", "perf.old-bug"),
                ("names.wrong", "hidden", "perf 6.12.117", "perf.old-bug"),
                ("names.wrong", "jitdump-hidden (hidden)", "perf 6.12.117", "perf.old-bug"),
                ("names.wrong", "half-hidden", "perf 6.12.117", ""),
                ("names.wrong", "hidden", "perf 7.2.13", ""),
                ("names.wrong", "hidden", "", ""),
                ("c.d", "y", "perf 7.3.4", "perf.two"),
                ("c.d", "x", "perf 7.3.4", ""),
                ("broken.dump", "z", "perf 7.3.4", "perf.two"),
                ("wrong.dump", "z", "perf 7.3.4", ""),
                ("shown.frames", "perf.some-bug", "perf 7.3.4", "perf.some-bug"),
                ("names.unnamed", "no-map", "perf 7.3.4", "")):
            self.assertEqual(findings.find_id(Signature(metric, cause, tools), {}), expected)

    def test_crossings(self) -> None:
        """A crossing without the command or the options that a finding's title names is another
        defect."""
        titles = known.read_titles(
            "# A\n### `inject --jit` with `-b` or `-s` injects nothing - defect\n(`perf.old-bug`)\n"
            "### `record -p` - defect\n`python3 ci/findings perf.some-bug`\n")
        findings = known.Findings(self.lines, titles)
        old = Signature("names.wrong", "hidden", "perf 6.1.187")
        reading = Signature("shown.frames", "perf.some-bug", "perf 7.3.4")
        for signature, crossing, expected in (
                (old, {"inject": "perf", "inject -b": ""}, "perf.old-bug"),
                (old, {"inject": "perf", "inject --aslr": ""}, ""),
                (old, {"inject": "cut", "capture -s": ""}, ""),
                (reading, {"capture": "attach-by perf"}, "perf.some-bug"),
                (reading, {"capture": "attach"}, "")):
            self.assertEqual(findings.find_id(signature, crossing), expected)

    def test_crashes(self) -> None:
        """FINDINGS.md states crashes with the versions that have them, and a failed assertion."""
        text = ("### `inject --jit` after `-a` - defect, 7.2 and 7.3\nNULL: SIGSEGV\n(perf.null)\n"
                "### Long ids - defect, 6.1 to 6.12, gone in 7.2\nperf (`util/id.c`; \"assertion "
                "failed\") in `record`. Seen: signal 6\n(perf.long)\n")
        findings = known.Findings(known.read_crashes(text), known.read_titles(text))
        null, failed, other = (
            "perf inject was killed by signal 11 (Segmentation fault): without a word",
            "perf record was killed by signal 6 (Aborted): 3 writes | assertion failed at "
            "util/id.c:954 | *** stack smashing", "perf record was killed by signal 6 (Aborted): "
            "assertion failed at util/map.c:7")
        crossing = {CAPTURE: "launch-by perf", "capture -a": "", INJECT: "perf"}
        for why, version, expected in ((null, "7.3.4", "perf.null"), (null, "6.12.118", ""),
                                       (failed, "6.12.118", "perf.long"), (failed, "7.2.1", ""),
                                       (failed, "6.1.1", "perf.long"), (other, "6.1.1", "")):
            signature, = find_signatures("CRASH", why, "perf " + version)
            self.assertEqual(findings.find_id(signature, crossing), expected)
        signature, = find_signatures("CRASH", null, "perf 7.3.4")
        self.assertEqual(findings.find_id(signature, {INJECT: "perf"}), "")

    def test_relations(self) -> None:
        """A difference from a twin is known if a finding's title names the option that the twin
        lacks; one from our inject, if it names an option of the crossing."""
        findings = known.Findings(self.lines, known.read_titles(
            "### `inject --jit` does nothing for `record -z` - defect\n(perf.old-bug)\n"
            "### `inject --jit` of two - defect\n(perf.two)\n"))
        crossing = {"inject": "perf", "capture": "launch-by perf", "capture -z": ""}
        for metric, cause, tools, crossing, expected in (
                ("names.elf", "without -z", "perf 6.1.187", crossing, "perf.old-bug"),
                ("names.elf", "against our inject", "perf 6.1.187", crossing, "perf.old-bug"),
                ("names.elf", "against our inject", "perf 7.2.1", crossing, ""),
                ("names.elf", "without -b", "perf 6.1.187", crossing, ""),
                ("broken.chain", "without -z", "perf 6.1.187", crossing, ""),
                ("a.c", "against our inject", "perf 7.2.1", crossing, ""),
                ("names.elf", "without -z", "perf 6.1.187", {**crossing, "inject": "cut"}, "")):
            self.assertEqual(findings.find_id(Signature(metric, cause, tools), crossing), expected)

    def test_the_results(self) -> None:
        """The files of this tree name findings, and the findings have titles."""
        findings = known.read_results(os.path.join(os.path.dirname(__file__), "../../results"))
        self.assertIn("perf.memfd-map", {failure.finding for failure in findings.failures})
        self.assertEqual({crossing.finding for crossing in findings.failures} - {*findings.titles},
                         set())
        compressed = {"inject": "perf", "capture": "launch-by perf", "capture -z": ""}
        for metric, cause in (("names.unnamed", "hidden"), ("load.unnamed", "not-injected")):
            self.assertEqual(findings.find_id(Signature(metric, cause, "perf 7.3.4"), compressed),
                             "perf.inject-compressed")
        for published, known_id in (("jitdump:long-header", "perf.inject-long-header"),
                                    ("jitdump", "")):
            self.assertEqual(findings.find_id(
                Signature("names.right", relations.AGAINST, "perf 7.3.4"),
                {**line.PLAIN, "inject": "perf", "publish": published}), known_id)


class Running(Folder):
    def test_checked_lines(self) -> None:
        """A case line is checked without a run."""
        runner = Runner(JITPROOF, self.home, {})
        plain = {**line.PLAIN}
        self.assertEqual(runner.check(plain), Trial(plain, ACCEPTED, "", frozenset()))
        wrong = {**plain, "capture --kernel": "", "capture --user-only": ""}
        self.assertEqual(runner.check(wrong), Trial(
            wrong, REJECTED, "--kernel contradicts --user-only", frozenset()))
        self.assertEqual(os.listdir(self.home), [])

    def test_kept_folders(self) -> None:
        """The folder of a failure is kept, and that of a refused crossing is not."""
        kept = self.place("kept")
        for status, outcome in ((1, "BROKEN"), (2, REJECTED)):
            script = self.write("#!/bin/sh\nexit %d\n" % status, "exit-%d" % status, runs=True)
            trial = Runner(script, self.home, {}, kept).run({**line.PLAIN}, 1)
            self.assertEqual(trial.outcome, outcome)
            self.assertEqual(trial.kept and os.listdir(trial.kept),
                             ["expected"] if outcome == "BROKEN" else "")


    def test_file_of_another_crossing(self) -> None:
        """perf record -a sees the jitdumps of crossings that run at the same time."""
        for name, lacks in (("tmpother", True), ("$(basename $(dirname $out))", False)):
            script = self.write("""#!/bin/sh
while [ "$1" != -o ]; do shift; done
out=$2
mkdir $out
echo '{"outcome": "ERROR", "why": "no {home}/'{name}'/jit-1.dump", "metrics": {}}' \\
	> $out/results.jsonl
""".replace("{home}", self.home).replace("{name}", name), "jitproof-" + str(lacks), runs=True)
            trial = Runner(script, self.home, {}).run({**line.PLAIN}, 1)
            self.assertEqual((trial.outcome, trial.lacks_evidence), ("ERROR", lacks))


class Planted(Runner):
    """Stands for a tool that drops names if an option is set. @changes: numbers of loads and of
    mprotect() calls that a workload makes more with the option."""

    def __init__(self, wrong: Crossing, varies: bool = False,
                 changes: tuple[int, int] = (0, 0)) -> None:
        super().__init__(JITPROOF, "", {})
        self.wrong, self.varies, self.runs, self.changes = wrong, varies, 0, changes

    def run(self, crossing: Crossing, seed: int) -> Trial:
        self.runs += self.varies
        is_wrong = self.wrong.items() <= crossing.items()
        k, low = 50 - 9 * self.runs if is_wrong else 99 - 9 * self.runs, 0.2 if is_wrong else 0.8
        return Trial(crossing, "PASS", "", frozenset(),
                     {"load.right": {"k": 104, "n": 104 + is_wrong * self.changes[0], "lo": 0,
                                     "hi": 1},
                      "acts.mprotect": {"k": is_wrong * self.changes[1]},
                      "broken.dump": {"k": k, "n": 100, "lo": low, "hi": low + 0.1},
                      "names.right": {"k": k, "n": 100, "lo": k / 100 - 0.05, "hi": k / 100 + 0.05},
                      "names.map": {"k": low * 100, "n": 100, "lo": low, "hi": low + 0.1},
                      "cpu.samples": {"k": k}, "names.few": {"k": k, "n": 3, "lo": 0, "hi": 0.1}})


class Relating(unittest.TestCase):
    crossing = {WORKLOAD: "anon_exec", CAPTURE: "launch-by perf", "capture -z": "", "perf": "6.1"}

    def check(self, wrong: Crossing, varies: bool = False,
              changes: tuple[int, int] = (0, 0)) -> Trial:
        runner = Planted(wrong, varies, changes)
        return relations.Relations(runner).check(runner.run(self.crossing, 0))

    def test_planted_tool(self) -> None:
        """A tool that is worse with an option that must not matter is found, though it passes."""
        self.assertEqual(self.check({"capture -z": ""}).signatures, {
            Signature(name, "without -z", "perf 6.1")
            for name in ("broken.dump", "names.right", "names.map")})

    def test_number_of_changes(self) -> None:
        """Where one recording ends before the workload's next step, and the other one behind it,
        names are not compared."""
        for changes in ((104, 0), (0, 1)):
            self.assertEqual(self.check({"capture -z": ""}, changes=changes).signatures, {
                Signature("broken.dump", "without -z", "perf 6.1")})

    def test_one_twin(self) -> None:
        """Of several options that must not matter, a crossing leaves out that which was left out
        least, or that of the wanted relation."""
        runner = Planted({"no": "such"})
        checks = relations.Relations(runner)
        crossing = {**self.crossing, "inside": "1", "capture --threads": ""}
        names = ["without --threads", "without -z", "without inside"]
        for _ in names:
            checks.check(runner.run(crossing, 0))
        self.assertEqual(checks.checked, dict.fromkeys(names, 1))
        checks.check(runner.run(crossing, 0), names[1])
        self.assertEqual(checks.checked[names[1]], 2)
        for _ in range(3 * relations.ENOUGH + 36):
            checks.check(runner.run(crossing, 0))
        self.assertEqual(checks.checked.total(), 3 * relations.ENOUGH + 10)

    def test_varying_kind(self) -> None:
        """If one share of the samples varies between runs, the others are not compared."""
        trial = self.check({"capture -z": ""}, varies=True)
        self.assertEqual((trial.signatures, trial.incomparable),
                         (frozenset({Signature("broken.dump", "without -z", "perf 6.1")}),
                          {"names.right", "names.map"}))

    def test_breakpoints(self) -> None:
        self.assertEqual(list(relations.list_twins({**self.crossing, CAPTURE: "breakpoint"})), [])

    def test_build_ids(self) -> None:
        """With -B, perf ignores -b or -B, whichever comes first."""
        crossing = {**self.crossing, "inject -b": ""}
        for other, expected in (("-s", ["without -z", "without -b"]), ("-B", ["without -z"])):
            self.assertEqual([name for name, _ in relations.list_twins(
                {**crossing, "inject " + other: ""})], expected)

    def test_right_tool(self) -> None:
        self.assertEqual(self.check({"capture -z": "", "inside": "1"}).signatures, frozenset())

    def test_inject(self) -> None:
        """Two injects of one recording must agree in each name, however few samples there are,
        unless an excuse names a finding about perf's inject."""
        ours = {"names.right": {"k": 3., "n": 4.}, "broken.dump": {"k": 1., "n": 4.}}
        inject = "perf.inject-child"
        for name, excused, finding, differs in (
                ("names.right", "load.unnamed", inject, True),
                ("names.right", "names.unnamed", "perf.attach-window", True),
                ("names.right", "names.unnamed", inject, False),
                ("broken.dump", "load.unnamed", inject, False)):
            trial = Trial({**self.crossing, INJECT: "perf"}, "PASS", "", frozenset(), ours,
                          {**ours, name: {"k": 2., "n": 4.}},
                          excused=frozenset({Signature(excused, finding)}))
            findings = relations.Relations(Planted({"no": "such"})).check(trial).signatures
            self.assertEqual(findings, frozenset({Signature(name, "against our inject", "perf 6.1")}
                                              if differs else ()))


class Resuming(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def make(self) -> tuple[Cover, Clusters]:
        space = Space(LISTED)
        return Cover(space, 5), Clusters(space, run_by(fail_for((PUBLISH, "map"))))

    def test_resumed_hunt_repeats_nothing(self) -> None:
        cover, clusters = self.make()
        cover.exclude({PUBLISH: "none"})
        crossing = {**line.PLAIN, PUBLISH: "map", "inside": "1"}
        cover.add(crossing)
        cover.add_unjudged({**crossing, "inside": "2"})
        cover.add_lacking({"capture --user-only": ""}, PUBLISH)
        clusters.add(fail_for((PUBLISH, "map"))(crossing))
        state.save(self.folder, state.Progress(5, 7, {"FAIL": 1}), cover, clusters)
        new, findings = self.make()
        stored = state.read(self.folder)
        progress = state.restore(self.folder, stored, new, findings, 6)
        self.assertEqual(progress, state.Progress(6, 7, {"FAIL": 1}))
        for name in ("covered", "open", "hidden", "judged", "unjudged", "impossible", "lacking"):
            self.assertEqual(getattr(new, name), getattr(cover, name))
        self.assertEqual(findings.found, clusters.found)

    def test_log(self) -> None:
        """The log has a line for each crossing."""
        for outcome, reason in (("PASS", ""), ("FAIL", "m: 1\n  n: 2\n")):
            state.log(self.folder, Trial({**line.PLAIN}, outcome, reason, frozenset()))
        self.assertEqual(
            [part.split("\t") for part in files.read(
                os.path.join(self.folder, state.LOG)).splitlines()],
            [[outcome, line.format_line(line.PLAIN), reason, ""] for outcome, reason in (
                ("PASS", ""), ("FAIL", "m: 1 |   n: 2"))])


class Reports(unittest.TestCase):
    def test_status(self) -> None:
        """1 with a new finding, 0 without, 4 if nothing was judged."""
        space = Space(LISTED)
        for outcomes, publish, status in (({"PASS": 1}, "none", 0), ({"FAIL": 1}, "map", 1),
                                          ({"SKIP": 1}, "none", 4)):
            judge = fail_for((PUBLISH, "map"))
            clusters = Clusters(space, run_by(judge))
            trial = judge({**line.PLAIN, PUBLISH: publish})
            clusters.reduce(trial, clusters.add(trial))
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(report.print_all(state.Progress(1, 1, outcomes), Cover(space, 1),
                                                  clusters, known.Findings([], {})), status)
            self.assertEqual("case NAME full : anon_exec" in out.getvalue(), status == 1)
