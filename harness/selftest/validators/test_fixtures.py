# SPDX-License-Identifier: GPL-2.0-only
"""Tests recorded runs: they pass as recorded; each alteration of the capture must fail with the
right metric, cause and place. Here: all fixtures, sums of samples, the clock, modes, and that
judging reads nothing but the run directory. Other parts: test_fixtures_*.py."""

import copy
import json
import os
import re
import shutil
import struct
from typing import Any
import unittest

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import ALL_FIXTURES, Recorded, judge
from harness.selftest.support.scratch import FIXTURES, JITPROOF, needs_namespaces


class AsRecorded(unittest.TestCase):
    def test_each_fixture_passes(self) -> None:
        for name in ALL_FIXTURES:
            status, text = judge(os.path.join(FIXTURES, name))
            self.assertEqual(status, 0, text)
            self.assertIn(f"ok 1 fixture/{name}\n", text)
            if name == "pathless":
                self.assertRegex(text, r"# caught: \d+ exceptions, all of cause pathless")

    def test_rewriting_changes_nothing(self) -> None:
        for name in ALL_FIXTURES:
            path = os.path.join(FIXTURES, name, "perf.data")
            self.assertEqual(rd.PerfData.load(path).pack(), files.read_bytes(path))
            truth = rd.Truth(os.path.join(FIXTURES, name, "truth"))
            self.assertEqual(truth.torn(), [])

    def test_no_facts_about_the_machine(self) -> None:
        for folder, folders, names in os.walk(FIXTURES):
            # Files of conformance are written by a program, not recorded.
            folders[:] = set(folders) - {"conformance"}
            for name in set(names) - {"README.md", "fixture", "ktap.txt"}:
                raw = files.read_bytes(os.path.join(folder, name))
                if name == "truth":  # texts are split into parts
                    truth = rd.Truth(os.path.join(folder, name))
                    raw = b"".join(truth.slots[at][40:] for at in truth.find(rd.Truth.TEXT))
                for path in set(re.findall(rb"/[a-z]+/[\w./-]+", raw)):
                    self.assertRegex(
                        path, rb"^/tmp/jitproof/|^/bin/jitproof$|^(/usr)?/lib/|^/dev/|"
                        rb"^/out/cases/fixture/|/jit-\d+\.dump$", name)


class Accounting(Recorded):
    """Each sample and record is in exactly one class of `books`."""

    def judge_classes(self, book: str) -> dict[str, int]:
        self.judge()
        found: dict[str, int] = json.loads(self.read_results())["books"][book]
        os.remove(self.place("results1"))
        return found

    def test_classes_add_up(self) -> None:
        self.perf.records.append(rd.Record(2000, 0, bytes(16)))
        records = self.judge_classes("records")
        self.assertEqual(sum(records.values()), len(self.perf.records))
        self.assertEqual(records["unknown"], 1)
        self.assertEqual(records["mmap2.watched"] + records.get("mmap2.other", 0) +
                         records.get("mmap2.kernel", 0), len(self.perf.maps()))
        self.assertEqual(self.judge_classes("samples"), {"code": len(self.perf.samples())})
        self.assertEqual(sum(self.judge_classes("stacks.dump").values()), len(self.perf.samples()))


class Switching(Recorded):
    """Samples outside of the window, while events are being enabled and disabled."""

    fixture = "clock"

    def move_to_libc(self, samples: list[rd.Sample]) -> None:
        """Moves samples to an address in native code."""
        address = next(one.start for one in self.perf.maps() if "/libc.so" in one.name) + 16
        for sample in samples:
            sample.ip = sample.regs[rd.X86_IP] = sample.chain[sample.user()] = address

    def stop_before(self, sample: rd.Sample) -> None:
        """States that the capture stopped just before @sample."""
        self.facts["stopped"] = str(sample.time - 1)
        self.add_watched_cpus()
        self.substitute("watched", "^ending .*$", "ending " + self.facts["stopped"])

    def test_opening_takes_its_time(self) -> None:
        """Samples before `sampling` are excused from `first_enabled` on."""
        samples = self.perf.samples()
        early, first = 40, samples[0].time
        self.move_to_libc(samples[:early])
        self.facts["sampling"] = str(samples[early].time - 1)
        self.substitute("watched", "^begun .*$", "begun " + self.facts["sampling"])
        self.add_watched_cpus()
        self.facts["enabled"] = self.facts["sampling"]
        for on, excused in ((samples[early].time - 1, False), (first - 1, True),
                            (first + 1_000_000, False)):
            self.facts["first_enabled"] = str(on)
            if excused:
                self.expect_pass()
            else:
                self.expect_error("samples were taken before the capture began or after it ended")
        # A profiler does not state when it enabled its first event.
        del self.facts["first_enabled"]
        self.expect_pass()

    def test_single_late_sample(self) -> None:
        """One of 351 samples comes after `stopped`, and the events were off by then."""
        last = self.perf.samples()[-1]
        self.move_to_libc([last])
        self.stop_before(last)
        self.expect_only(self.expect_fail(self.match_count(1, "samples", "outside")), "samples")
        self.put_text("watched", self.read_text("watched") + "silent %d\n" % last.time)
        self.expect_pass()

    def test_stopping_takes_its_time(self) -> None:
        """Samples after `stopped` are excused until `silent`, when the last event is off."""
        samples = self.perf.samples()
        late, last = 40, samples[-1].time
        self.move_to_libc(samples[-late:])
        self.stop_before(samples[-late])
        path, text = self.get_path("watched"), self.read_text("watched")
        self.expect_only(self.expect_fail(self.match_count(late, "samples", "outside")), "samples")
        files.write(path, text + "silent %d\n" % last)
        self.expect_pass()
        files.write(path, text + "silent %d\n" % (last - 1_000_000))
        self.expect_error("samples were taken before the capture began or after it ended")
        files.write(path, text + "silent %d\n" % (int(self.facts["stopped"]) - 1))
        self.expect_error("expected ending <= silent <= ended")
        files.write(path, re.sub("(?m)^cpus .*$", "cpus 0", text) + "silent %d\n" % last)
        self.expect_only(self.expect_fail(self.match_count(late, "samples", "outside")), "samples")


class Witnessed(Recorded):
    """Samples compared with those of the witness, and with the counts of the events."""

    fixture = "witness"

    def leave_out(self, gone: list[Any]) -> None:
        left = {id(sample) for sample in gone}
        self.perf.records = [record for record in self.perf.records if id(record) not in left]

    def expect_too_few(self) -> str:
        return self.expect_fail(r"(?m)^# cpu.samples: \d+ with cause too-few, which nothing "
                                r"allows$", r"samples; the witness expects ")

    def test_pause_of_the_host(self) -> None:
        """A pause of the host, which the witness shows as well, is not a fault of the capture."""
        times = [sample.time for sample in self.perf.samples()]
        begin, end = (min(times) + (max(times) - min(times)) * part // 5 for part in (2, 3))
        self.leave_out([one for one in self.perf.samples() if begin <= one.time < end])
        path = self.get_path("witness")
        witness = rd.PerfData.load(path)
        witness.records = [one for one in witness.records if not isinstance(one, rd.Sample) or
                           not begin <= one.time < end]
        witness.save(path)
        self.substitute("watched", r"^witness \d+$", "witness %d" % len(witness.samples()))
        self.assertNotIn("cpu.samples: ", self.judge()[1])

    def test_lost_samples(self) -> None:
        """Lost samples are an ERROR unless the case states them."""
        gone = self.perf.samples()[100:104]
        self.leave_out(gone)
        self.facts["lost_samples"] = str(len(gone))
        self.expect_error(rf"lost.samples is .*\({len(gone)} of .*does not allow any")
        self.put_text("case", self.read_text("case") + "\tlost.samples <=4\n")
        self.expect_pass()
        self.facts["lost_samples"] = "0"
        self.expect_too_few()

    def test_written_twice(self) -> None:
        """One record is in the file twice; a variant has the second one in the next
        FINISHED_ROUND."""
        sample = self.perf.samples()[9]
        again = copy.deepcopy(sample)
        at = self.perf.records.index(sample)
        while self.perf.records[at].kind != rd.FINISHED_ROUND:
            at += 1
        self.perf.records.insert(at + 1, again)
        text = self.judge()[1]
        self.assertIn("# samples: 1 with cause written-twice, which nothing allows", text)
        again.cpu += 1
        self.assertIn("# samples: 1 with cause double, which nothing allows", self.judge()[1])

    def test_counted_in_the_kernel_alone(self) -> None:
        """An event that excludes the kernel counts time in it, without samples."""
        period = self.perf.samples()[0].one[rd.PERIOD]
        self.facts["counted"] = str(10 * len(self.perf.samples()) * period)
        self.assertNotIn("# event.samples: ", self.judge()[1])


class Modes(Recorded):
    """Mode, address, registers and callchain of a sample agree."""

    KERNEL_IP = 0xffffffff81000000

    def move_to_kernel(self, sample: rd.Sample) -> None:
        """Makes @sample a sample of the kernel."""
        sample.misc, sample.ip = rd.KERNEL, self.KERNEL_IP
        sample.chain[:0] = [rd.CONTEXT_KERNEL, self.KERNEL_IP]

    def test_unwatched_32_bit_process(self) -> None:
        """A capture of all CPUs has samples of 32-bit processes."""
        sample = self.perf.samples()[5]
        sample.abi, sample.pid, sample.tid = 1, 1, 1
        text = self.judge()[1]
        self.assertIn(" + 1 unwatched = 40", text)
        self.assertNotIn("modes.bad", text)

    def test_in_the_kernel(self) -> None:
        """The user part of a sample in the kernel is judged, and counted apart."""
        sample = self.perf.samples()[11]
        self.move_to_kernel(sample)
        before = self.read_results()
        self.assertNotIn("modes.bad", self.expect_pass())
        after = self.read_results(2)
        verdicts = [json.loads(text)["verdicts_in_kernel"] for text in (before, after)]
        for method in ("chain", "dump"):
            self.assertEqual([sum(one[method].values()) for one in verdicts], [1, 2])
        plain = copy.deepcopy(sample)
        for cause, change in (
                ("other-kernel-chain", lambda: sample.chain.__setitem__(1, self.KERNEL_IP + 8)),
                ("other-part", lambda: sample.chain.__delitem__(slice(0, 2))),
                ("other-chain", lambda: sample.chain.__setitem__(3, sample.chain[3] + 1)),
                ("no-registers", lambda: setattr(sample, "abi", 0)),
                ("user-address", lambda: setattr(sample, "ip", 0x1234))):
            with self.subTest(cause):
                change()
                self.expect_fail(self.match_count(1, "modes.bad", cause))
                sample.chain, sample.abi, sample.ip = list(plain.chain), plain.abi, plain.ip

    def test_after_the_end(self) -> None:
        """A thread may lack user registers after its EXIT record."""
        sample = self.perf.samples()[11]
        self.move_to_kernel(sample)
        sample.abi = 0
        self.assertIn("modes.bad: 1 with cause no-registers", self.judge()[1])
        pid, tid, time = sample.pid, sample.tid, sample.time - 1
        self.perf.insert(self.perf.side(rd.EXIT, struct.pack("<4IQ", pid, pid, tid, tid, time),
                                        time, pid=pid, tid=tid))
        self.assertNotIn("modes.bad", self.judge()[1])

    def test_excluded_mode(self) -> None:
        """A sample in a mode that the event's attr excludes."""
        self.move_to_kernel(self.perf.samples()[11])
        self.perf.attrs[0].flags |= 1 << 5  # exclude_kernel
        self.expect_fail(self.match_count(2, "modes.bad", "not-asked"))

    def clear_attr_bits(self, at: int, clear: int, request: str) -> None:
        """Clears the bits @clear of the word at @at in the sampling event's attr, and judges."""
        attr = self.perf.attrs[0]
        with self.subTest(request):
            whole = bytes(attr.raw)
            word = struct.unpack_from("<Q", attr.raw, at)[0]
            struct.pack_into("<Q", attr.raw, at, word & ~clear)
            status, text = self.judge()
            attr.raw[:] = whole
            # Without registers no sample has a place, which is a FAIL in itself.
            self.assertEqual(status, 1, text)
            self.assertIn(f"event 0 of perf.data was not asked for {request}\n", text)

    def test_what_the_event_requests(self) -> None:
        self.substitute("case", "samples=30", "samples=30 methods=chain,dump")
        self.clear_attr_bits(24, rd.CALLCHAIN, "callchains with the user's part")
        self.clear_attr_bits(24, rd.REGS_USER, "user registers")
        self.clear_attr_bits(40, 1 << 25, "times by CLOCK_MONOTONIC in all its records")
        self.clear_attr_bits(24, rd.STACK_USER, "the stack dump that the capture states")
        self.perf.attrs[0].flags |= 1 << 22
        self.expect_error("not asked for callchains with the user's part")


class Pure(Recorded):
    """Judging reads nothing but the run directory."""

    def judge_in_empty_root(self, directory: str, *arguments: str) -> str:
        """Judges @directory as /case in a root without other files: the output is the same."""
        if os.environ.get("NEEDS_PROC"):
            self.skipTest("this build looks for leaks, through /proc")
        needs_namespaces(self)
        root = self.place("root")
        needed = {JITPROOF: "/jitproof", directory: "/case"}
        needed.update((path, path) for path in
                      re.findall(r"(/\S+)", process.run_or_raise(["ldd", JITPROOF])))
        script = [f"mount -t tmpfs none '{root}'"]
        for source, target in needed.items():
            place = root + target
            if os.path.isdir(source):
                script.append(f"mkdir -p '{place}'")
            else:
                script.append(f"mkdir -p '{os.path.dirname(place)}' && : > '{place}'")
            script.append(f"mount --rbind '{os.path.realpath(source)}' '{place}'")
            script.append(f"mount -o remount,bind,ro '{place}'")
        script.append(f'exec chroot "{root}" /jitproof "$@"')
        os.makedirs(root, exist_ok=True)
        inside = process.run(["unshare", "-Urm", "sh", "-ec", "\n".join(script), "sh", *arguments,
                              "/case"])
        outside = process.run([JITPROOF, *arguments, directory])
        self.assertEqual(inside.stderr, "")
        self.assertEqual(inside.returncode, outside.returncode)
        self.assertEqual(inside.stdout, outside.stdout.replace(directory, "/case"))
        return inside.stdout

    def test_in_an_empty_root(self) -> None:
        self.assertIn("ok 1 fixture/", self.judge_in_empty_root(self.dir, "judge"))

    def test_run_directory_in_an_empty_root(self) -> None:
        run = self.place("run")
        for name in ("anon", "memfd", "pathless"):
            shutil.copytree(os.path.join(FIXTURES, name), os.path.join(run, "fixture", name))
        self.assertIn("\nok 3 fixture/pathless", self.judge_in_empty_root(run, "judge"))

    def test_file_in_an_empty_root(self) -> None:
        output = self.judge_in_empty_root(self.get_path("perf.data"), "judge", "--json")
        self.assertIn('"samples"', output)

    def test_failing_in_an_empty_root(self) -> None:
        """Also checks the text of failures, which names mappings, functions and files."""
        for record in self.find_emitted_maps():
            self.perf.records.remove(record)
        self.perf.save(self.get_path("perf.data"))
        self.assertIn("not ok 1 fixture/", self.judge_in_empty_root(self.dir, "judge"))
