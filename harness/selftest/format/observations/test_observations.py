# SPDX-License-Identifier: GPL-2.0-only
"""Tests observation streams: a recorded run as a stream is judged like its perf.data, each wrong
stream gives its own exceptions, and errors name the bad line."""

from functools import partial
import json
import os
import re
import shutil
import sys
from typing import Any, Callable

sys.path.insert(0, os.path.abspath(__file__ + "/../../../../profiler"))
from adapting.observations import escape
from ci.base import files, process
from harness.selftest.support import observed, run_directory as rd, wrong_streams as wrong
from harness.selftest.support.recorded import describe_cases
from harness.selftest.support.scratch import FIXTURES, HERE, Folder, JITPROOF

Change = Callable[[list[str]], str | None]


def replace_leaf(leaf: str, words: list[str]) -> str:
    return " ".join(words[:4] + [leaf] + words[5:])


def list_causes(result: dict[str, Any]) -> set[tuple[str, str]]:
    return {(exception["metric"], exception["cause"]) for exception in result["exceptions"]}


class Observed(Folder):
    def make_stream(self, fixture: str, *declares: str, names: bool = False) -> None:
        """Copies @fixture into self.dir with a stream, with or without names, for its perf.data."""
        self.dir = self.place(fixture)
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.copytree(os.path.join(FIXTURES, fixture), self.dir)
        perf = rd.PerfData.load(os.path.join(self.dir, "perf.data"))
        os.unlink(os.path.join(self.dir, "perf.data"))
        code = rd.Truth(os.path.join(self.dir, "truth")).code()
        perf.records = [record for record in perf.records if not isinstance(record, rd.Sample) or
                        any(record.regs.get(rd.X86_IP, 0) in emitted for emitted in code)]
        case = files.read(os.path.join(self.dir, "case")).splitlines()[0].replace(" inject=cut", "")
        case = re.sub(r": attach ", ": attach-by other ", case)
        if names and "publish=" not in case:
            case += " publish=map"
        self.write(case + "\n" + ("\tnames.right =100%\n" if names else ""), fixture, "case")
        # Keys of `capture` that only jitproof's own captures state.
        facts = rd.read_facts(self.dir)
        rd.write_facts(self.dir, {key: value for key, value in facts.items()
                                  if key not in ("first_enabled", "order", "counted")})
        self.stream = observed.convert(perf, declares,
                                       observed.Names(self.dir).name_at if names else None,
                                       int(1e9 / 299) if fixture == "witness" else 0)

    def judge(self) -> dict[str, Any]:
        self.write(self.stream, os.path.basename(self.dir), "observations")
        out = self.place("results.jsonl")
        if os.path.exists(out):
            os.unlink(out)
        result = process.run([JITPROOF, "judge", "--results", out, self.dir], timeout=240)
        self.assertEqual(result.stderr, "")
        return json.loads(files.read(out))

    def change_samples(self, change: Change, step: int = 1) -> None:
        """Changes each @step-th sample. @change returns its new line, or None to drop it."""
        lines, count = [], 0
        for line in self.stream.splitlines():
            if line.startswith("sample "):
                count += 1
                if count % step == 0:
                    changed = change(line.split(" "))
                    if changed is None:
                        continue
                    line = changed
            lines.append(line)
        self.stream = "\n".join(lines) + "\n"

    def expect_pass(self) -> dict[str, Any]:
        result = self.judge()
        self.assertEqual(result["outcome"], "PASS", result["why"])
        return result

    def expect_exceptions(self, *expected: tuple[str, str]) -> dict[str, Any]:
        """Expects a FAIL with exactly these exceptions, each (metric, cause)."""
        result = self.judge()
        self.assertEqual(result["outcome"], "FAIL", result["why"])
        self.assertEqual(list_causes(result), set(expected), result["why"])
        return result


class Healthy(Observed):
    def test_addresses(self) -> None:
        """Each verdict has as many samples as with the perf.data, whose samples have registers."""
        for fixture in ("anon", "memfd", "mappings", "witness", "slack"):
            with self.subTest(fixture):
                out = self.place(fixture + ".jsonl")
                process.run([JITPROOF, "judge", "--results", out,
                             os.path.join(FIXTURES, fixture)], timeout=240)
                before = json.loads(files.read(out))
                self.make_stream(fixture)
                result = self.expect_pass()
                self.assertEqual(result["verdicts"]["chain"], before["verdicts"]["chain"])
                self.assertEqual(result["skipped"]["modes"], "no-records")
                self.assertNotIn("broken_stacks", result["skipped"])

    def test_names(self) -> None:
        for fixture in ("reuse", "growth", "anon"):
            with self.subTest(fixture):
                self.make_stream(fixture, names=True)
                result = self.expect_pass()
                self.assertEqual(result["metrics"]["names.right"]["k"], 40)
                if fixture == "anon":
                    self.assertGreater(result["metrics"]["callers.right"]["k"], 20)

    def test_names_alone(self) -> None:
        for fixture, count, callers in (("reuse", 40, 0), ("growth", 40, 0), ("memfd", 40, 40),
                                        ("witness", 475, 344)):
            with self.subTest(fixture):
                self.make_stream(fixture, "no-addresses", "no-mappings", names=True)
                result = self.expect_pass()
                self.assertEqual(result["metrics"]["judged.chain"]["k"], count)
                self.assertEqual(result["skipped"]["broken_stacks"], "no-addresses")
                # Names of emitted functions in frames that are not innermost.
                self.assertEqual(sum(word != "?" for line in self.stream.splitlines()
                                     if line.startswith("sample ")
                                     for word in line.split(" ")[5:]), callers)
                rate = result["metrics"]["callers.right"]
                self.assertEqual((rate["k"], rate["n"]), (callers, callers))

    def test_names_of_leaves(self) -> None:
        """An innermost frame without a name counts as unnamed. A native function's name is allowed
        where a path ends, but not for a fifth of all samples: those have lost their names."""
        for leaf, each, unnamed in (("?", 5, 8), ("memcpy", 5, 8), ("memcpy", 40, 0)):
            self.make_stream("growth", "no-addresses", "no-mappings", names=True)
            self.change_samples(partial(replace_leaf, leaf), each)
            metrics = self.judge()["metrics"]
            self.assertEqual(metrics["names.unnamed"]["k"], unnamed)
            self.assertEqual(metrics["names.right"]["n"], 40 - 40 // each + unnamed)

    def test_sums(self) -> None:
        """Streams that sum samples by addresses or by names, with or without threads, have equally
        many complete stacks."""
        for declares in (("no-time",), ("no-time", "no-threads"),
                         ("no-time", "no-threads", "no-addresses")):
            for fixture in ("anon", "memfd", "reuse", "witness"):
                with self.subTest(fixture + " ".join(declares)):
                    self.make_stream(fixture, *declares, names="no-addresses" in declares)
                    result = self.expect_pass()
                    self.assertEqual(result["metrics"]["judged.chain"]["k"],
                                     475 if fixture == "witness" else 40)
                    self.assertEqual(result["skipped"]["broken_stacks"], "no-time")

    def test_of_a_file(self) -> None:
        """judge counts each sample of a stream without a run directory as a sample of user code."""
        self.make_stream("anon")
        result = process.run([JITPROOF, "judge", "--json", self.write(self.stream, "observations")])
        self.assertEqual(result.stderr, "")
        self.assertEqual([exception["names"]["samples"] for exception
                          in json.loads(result.stdout)["processes"]
                          if exception["samples"]], [40])

    def test_skips_by_name(self) -> None:
        self.make_stream("anon", "no-mappings", "no-tasks")
        result = self.expect_pass()
        self.assertEqual(result["skipped"]["mapping_coverage"], "no-mappings")
        self.assertEqual(result["skipped"]["tasks"], "no-tasks")

    def test_samples_of_other_processes(self) -> None:
        """Samples of processes that were not watched are a fault, unless the stream declares
        system-wide."""
        for declares in ((), ("system-wide",)):
            self.make_stream("witness", *declares)
            self.change_samples(lambda words: "\n".join(
                (" ".join(words), " ".join([*words[:2], "1", "1", *words[4:]]))), 9)
            if declares:
                self.expect_pass()
            else:
                self.expect_exceptions(("samples", "unwatched"),
                                       ("tasks.strangers", "other-process"))

    def test_any_order(self) -> None:
        self.make_stream("anon")
        lines = self.stream.splitlines(keepends=True)
        index = next(i for i, line in enumerate(lines) if line.startswith("comm "))
        self.stream = "".join(lines[:index] + lines[:index - 1:-1])
        self.expect_pass()


class Wrong(Observed):
    """Tests streams that break a rule."""

    def make_case(self, starts: dict[str, int], form: str, alteration: str) -> None:
        """Writes run/FIXTURE/FORM.ALTERATION, if the form has something for the alteration."""
        stream = wrong.Stream(self.stream, starts)
        try:
            wrong.CHANGES[form](stream)
            wrong.CHANGES[alteration](stream)
        except (LookupError, StopIteration, ValueError):
            return
        name = "%s/%s.%s" % (os.path.basename(self.dir), form, alteration)
        shutil.copytree(self.dir, self.place("run", name))
        self.write(stream.join_text(), "run", name, "observations")
        self.write(self.read(self.dir, "case").replace("fixture/" + os.path.basename(self.dir),
                                                       name), "run", name, "case")

    def test_each_alteration(self) -> None:
        """Outcome and exceptions of each form and alteration are those of golden/streams. UPDATE=1
        writes it anew: the first stream with each set of exceptions."""
        golden = os.path.join(HERE, "golden", "streams")
        expected_lines = files.read(golden).splitlines()
        for fixture in ("anon", "growth", "reuse", "witness"):
            self.make_stream(fixture, names=True)
            starts = {name: start for _, _, start, _, name in observed.Names(self.dir).places}
            for form in wrong.FORMS:
                for alteration, (_, red) in wrong.ROWS.items():
                    text = "%s/%s.%s: " % (fixture, form, alteration)
                    if red and (os.environ.get("UPDATE") or
                                any(exception.startswith(text) for exception in expected_lines)):
                        self.make_case(starts, form, alteration)
        lines = describe_cases(self.home)
        if os.environ.get("UPDATE"):
            first = {re.sub(r"\d+", "", text): name for name, text in reversed(lines.items())}
            files.write(golden, "".join("%s: %s\n" % (name, lines[name])
                                        for name in lines if name in first.values()))
        else:
            self.assertEqual(["%s: %s" % exception for exception in lines.items()], expected_lines)

    def test_wrong_window(self) -> None:
        """The capture states the middle of the window as its start."""
        self.make_stream("witness")
        facts = rd.read_facts(self.dir)
        facts["sampling"] = str((int(facts["sampling"]) + int(facts["stopped"])) // 2)
        rd.write_facts(self.dir, facts)
        result = self.judge()
        self.assertEqual(result["outcome"], "ERROR")
        self.assertRegex(result["why"], "states sampling|the window that the capture states")

    def test_ignores_exec(self) -> None:
        self.make_stream("slack")
        self.stream = re.sub(r"(?m)^exec .*\n", "", self.stream)
        exceptions = {exception["metric"] for exception in self.judge()["exceptions"]}
        self.assertEqual(exceptions,
                         {"processes.nameless"} | exceptions & {"comm.missing", "comm.records"})

    def test_forgets_forks(self) -> None:
        self.make_stream("slack")
        self.stream = re.sub(r"(?m)^fork .*\n", "", self.stream)
        exceptions = {exception["metric"] for exception in self.judge()["exceptions"]}
        self.assertEqual(exceptions & {"fork.missing", "broken.chain"}, {"fork.missing"})

    def test_stale_names(self) -> None:
        """The profiler continues to use the name of the first function at an address."""
        self.make_stream("reuse", names=True)
        first: dict[str, str] = {}
        self.stream = re.sub(
            r"0x([0-9a-f]+)=(\S+)",
            lambda match: f"0x{match[1]}={first.setdefault(match[1][:-2], match[2])}", self.stream)
        match = self.judge()
        self.assertLess(match["metrics"]["names.right"]["k"], 40)
        self.assertIn(("names.wrong", "stale"), list_causes(match))

    def test_one_sum_loses_the_root(self) -> None:
        self.make_stream("witness", "no-time", "no-threads")
        self.change_samples(lambda words: " ".join(words[:-1]),
                            self.stream.count("\nsample "))
        exception, = self.expect_exceptions(("broken.chain", "short"))["exceptions"]
        weight = exception["count"]
        self.assertRegex(exception["first"], rf"^{weight} samples of pid \d+ in [0-9a-f]+: (\d+) "
                         r"frames seen, \d+ must be, equal up to frame \1; then comes nothing$")

    def test_names_alone_unjudged(self) -> None:
        """One sample is not judged, because native frames changed while its thread was in a
        path."""
        self.make_stream("reuse", "no-addresses", "no-mappings", names=True)
        words = re.findall(r"(?m)^sample .*", self.stream)[20].split()
        truth = rd.Truth(os.path.join(self.dir, "truth"))
        truth.change(truth.find_leave(int(words[3]), int(words[1])), {7: 1})
        truth.save(os.path.join(self.dir, "truth"))
        result = self.judge()
        self.assertEqual(result["verdicts"]["chain"]["unjudged"], 1)
        self.assertEqual(sum(result["verdicts"]["chain"].values()), 40)

    def make_sums_of_names(self) -> None:
        """Makes a stream whose period matches its number of samples and the CPU time."""
        self.make_stream("witness", "no-addresses", "no-time", "no-threads", names=True)

    def test_sums_unnamed_innermost(self) -> None:
        """A frame without a name may be emitted code, so it does not count as native."""
        self.make_sums_of_names()
        self.change_samples(partial(replace_leaf, "?"), 2)
        result = self.judge()
        self.assertEqual(result["exceptions"], [])
        self.assertEqual(result["metrics"]["samples.impossible"]["k"], 0)

    def test_sums_native_innermost(self) -> None:
        self.make_sums_of_names()
        self.change_samples(partial(replace_leaf, "do_syscall_64"), 2)
        below = sum(map(int, re.findall(r"(?m)^sample (\d+) \d+ - do_syscall_64 program",
                                        self.stream)))
        result = self.judge()
        self.assertIn(("samples", "below"), list_causes(result))
        self.assertEqual(result["metrics"]["samples.impossible"]["k"], below)

    def test_sums_misnamed(self) -> None:
        """The exception shows an expected name and the found innermost name."""
        self.make_sums_of_names()
        self.change_samples(
            lambda words: " ".join(words[:4] + [word + "_[j]" for word in words[4:]]))
        weight, pid, name = max(((int(words[1]), words[2], words[4])
                                 for words in map(str.split, self.stream.splitlines())
                                 if words[0] == "sample"), key=lambda exception: exception[0])
        # A sample without frames has no innermost name.
        self.stream += f"sample {weight + 1} {pid} -\n"
        first, = (exception["first"] for exception in self.judge()["exceptions"]
                  if exception["cause"] == "misnamed")
        self.assertRegex(first, r"^at least \d+ samples were in emitted code, and no frame has the "
                         r"name of an emitted function, such as \w+; the largest sum has "
                         rf"{re.escape(name)} innermost$")

    def test_sums_misnamed_in_part(self) -> None:
        """If some names are right, the profiler does not change all names, so the cause is not
        misnamed."""
        self.make_sums_of_names()
        self.change_samples(
            lambda words: " ".join(words[:4] + [word + "_[j]" for word in words[4:]]), 2)
        result = self.judge()
        self.assertNotIn("misnamed", {exception["cause"] for exception in result["exceptions"]})
        # Samples in other code count as missing, as far as the CPU time proves that they exist.
        right = sum(int(words[1]) for words in map(str.split, self.stream.splitlines())
                    if words[0] == "sample" and "_[j]" not in words[4])
        exceptions = result["metrics"]["names.right"]
        self.assertEqual(exceptions["k"], right)
        self.assertGreater(exceptions["n"], right)

    def test_sums_half_of_which_cannot_be(self) -> None:
        """Names are judged if half of the samples have right names and the other half impossible
        stacks; one more impossible stack prevents it."""
        self.make_sums_of_names()
        right = sum(map(int, re.findall(r"(?m)^sample (\d+)", self.stream)))
        self.change_samples(lambda words: " ".join(words) + "\n" + " ".join(
            words).replace("?", "native") + " native native")
        for nr_more, named in ((0, {"k": right, "n": right}), (1, None)):
            result = self.judge()
            self.assertEqual(result["verdicts"]["chain"].get("extra"), right + nr_more)
            found = result["metrics"].get("names.right")
            self.assertEqual(found and {key: found[key] for key in ("k", "n")}, named)
            self.stream += re.sub(r"^sample \d+", "sample 1",
                                  self.stream.splitlines()[-1]) + "\n"

    def test_sums_of_another_process(self) -> None:
        """Samples in a function that their process emitted but never ran."""
        self.make_sums_of_names()
        pid = re.findall(r"(?m)^sample \d+ (\d+)", self.stream)[0]
        idle = min(name for *_, name in observed.Names(self.dir).places
                   if name not in self.stream)
        self.stream += f"sample 1 {pid} - {idle} ? ? ?\n"
        exception, = self.expect_exceptions(("wrong.chain", "no-depth"))["exceptions"]
        self.assertEqual(exception["first"], f"1 samples of pid {pid} in {idle}: 4 frames "
                         "seen; no activation of this process runs that function; the stack may "
                         "belong to another process")


HEADER = "jitproof-observations 1\n"


class Lines(Folder):
    def judge_line(self, text: str) -> str:
        path = self.write(text, "observations")
        result = process.run([JITPROOF, "judge", path], timeout=240)
        self.assertIn(result.returncode, (0, 99), result.stderr)
        return result.stderr

    def test_messages_of_bad_lines(self) -> None:
        """Errors of a stream; test_line.c has those within a line."""
        for text, message in (
                ("jitproof-observations 2\n", 'line 1: expected "jitproof-observations 1"'),
                (HEADER + "declares no-sense\n", "line 2: expected no-registers, "),
                (HEADER + "declares no-names no-addresses\n", "frames with addresses, with names"),
                (HEADER + "unwinder magic\n", "line 2: expected frame-pointers, cfi or"),
                (HEADER + "period -1\n", "line 2: expected a period in ns"),
                (HEADER + "# hello\n\nsample x 1 1 0x1\n", "line 4: expected a word and a time"),
                (HEADER + "sample 1 1 1 0x1", "line 2: expected a newline at its end"),
                (HEADER + "declares no-addresses\nsample 1 1 1 0x1\n", "expected only names"),
                (HEADER + "declares no-names\nsample 1 1 1 0x1=a\n", "only addresses"),
                (HEADER + "sample 1 1 1 0x11111111111111111\n", "a frame such as"),
                (HEADER + "declares no-mappings\nmap 1 1 1-2 r-xp 0 0:0 0\n", "no line map"),
                (HEADER + "declares no-tasks\nfork 1 1 1 1 1\n", "expected none of comm, exec"),
                (HEADER + "sample %s 1 1 0x1\n" % "7".zfill(24), "a word and a time in ns"),
                (HEADER + "declares no-losses\nlost 1 samples 4\n", "expected no line lost"),
                (HEADER + "sample 2 1 1 0x1\nperiod 5\n", "line 3: expected sample, map, fork"),
                (HEADER + "sample 1 1 1 0x1\0\n", "line 2: expected text without NUL"),
                (HEADER + "declares no-threads\nsample 1 1 1 0x1\n", "expected - as the tid"),
                (HEADER + "declares no-time\nsample 0 1 1 0x1\n", "a count of samples above 0"),
                (HEADER + "declares no-time\n" + 2 * "sample 9223372036854775800 1 1 0x1\n",
                 "line 4: expected counts of samples that are below 2^63"),
                # Unprintable characters of a message are replaced.
                (HEADER + "sample 1.5 1\x1b 1\n", 'there is "sample 1.5 1? 1"'),
                (HEADER + "sample 1 1 1 " + "x" * 99 + "\n", 'x..."')):
            with self.subTest(text[:60]):
                self.assertIn(message, self.judge_line(text))

    def test_good_lines(self) -> None:
        for text in (HEADER, HEADER + "sample 0 1 1\n",
                     HEADER + "declares no-addresses\nsample 1 1 1 a%20b ? %30x1\n",
                     HEADER + "declares no-time\nsample 7 1 1 0x1\n",
                     HEADER + "declares no-threads system-wide\nsample 7 1 - 0x1\n",
                     HEADER + "lost 1 samples 3\nexit 1 2 3\nexec 1 2 a%20b\ncomm 1 2 3 a b\n"):
            self.assertEqual(self.judge_line(text), "")

    def test_links_and_pipes(self) -> None:
        """A link or a FIFO named `observations` in a case's folder is refused."""
        self.dir = self.place("anon")
        shutil.copytree(os.path.join(FIXTURES, "anon"), self.dir)
        os.symlink("perf.data", os.path.join(self.dir, "observations"))
        result = process.run([JITPROOF, "judge", self.dir], timeout=240)
        self.assertIn("regular file was expected", result.stdout)
        os.unlink(os.path.join(self.dir, "observations"))
        os.mkfifo(os.path.join(self.dir, "observations"))
        result = process.run([JITPROOF, "judge", self.dir], timeout=240)
        self.assertIn("regular file was expected", result.stdout)

    def test_names_come_back(self) -> None:
        self.assertEqual(escape("a b%c=\n"), "a%20b%25c%3d%0a")
        self.assertEqual(escape("0xname"), "%30xname")
        self.assertEqual(escape(""), "?")
