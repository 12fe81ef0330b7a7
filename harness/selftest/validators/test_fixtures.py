# SPDX-License-Identifier: GPL-2.0-only
"""Recorded runs: as recorded they pass; each change that makes the capture say something else than
the truth must fail, with the right metric, cause and place in the output. Here: all fixtures, sums
of samples, the clock, modes; and that judging is pure."""

import copy
import json
import os
import re
import shutil
import struct
from typing import Any, Callable
import unittest

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded, judge
from harness.selftest.support.scratch import FIXTURES, JITPROOF, needs_namespaces


class AsRecorded(unittest.TestCase):
    def test_each_fixture_passes(self) -> None:
        for name in ("anon", "clock", "gated", "growth", "mappings", "memfd", "pathless", "reuse",
                     "slack", "witness"):
            status, text = judge(os.path.join(FIXTURES, name))
            self.assertEqual(status, 0, text)
            self.assertIn(f"ok 1 fixture/{name}\n", text)
            if name == "pathless":
                self.assertRegex(text, r"# caught: \d+ exceptions, all pathless")

    def test_rewriting_changes_nothing(self) -> None:
        for name in ("anon", "clock", "gated", "growth", "mappings", "memfd", "pathless", "reuse",
                     "slack", "witness"):
            path = os.path.join(FIXTURES, name, "perf.data")
            self.assertEqual(rd.PerfData.load(path).pack(), files.read_bytes(path))
            truth = rd.Truth(os.path.join(FIXTURES, name, "truth"))
            self.assertEqual(truth.torn(), [])

    def test_says_nothing_of_the_machine(self) -> None:
        for folder, folders, names in os.walk(FIXTURES):
            # Written, not recorded.
            folders[:] = set(folders) - {"conformance"}
            for name in set(names) - {"README.md", "fixture"}:
                raw = files.read_bytes(os.path.join(folder, name))
                if name == "truth":  # its texts lie in parts
                    truth = rd.Truth(os.path.join(folder, name))
                    raw = b"".join(truth.slots[at][40:] for at in truth.of(rd.Truth.TEXT))
                for path in set(re.findall(rb"/[a-z]+/[\w./-]+", raw)):
                    self.assertRegex(
                        path, rb"^/tmp/jitproof/|^/usr/lib/|^/dev/|/jit-\d+\.dump$", name)


class Books(Recorded):
    """Every sample is somewhere, and not just anywhere."""

    def classes(self, book: str) -> dict[str, int]:
        self.judge()
        results = self.place("results.jsonl")
        process.run([JITPROOF, "judge", "--results", results, self.dir], timeout=60)
        found: dict[str, int] = json.loads(files.read(results))["books"][book]
        os.remove(results)
        return found

    def test_sums(self) -> None:
        self.perf.records.append(rd.Record(2000, 0, bytes(16)))
        records = self.classes("records")
        self.assertEqual(sum(records.values()), len(self.perf.records))
        self.assertEqual(records["unknown"], 1)
        self.assertEqual(records["mmap2.watched"] + records.get("mmap2.other", 0) +
                         records.get("mmap2.kernel", 0), len(self.perf.maps()))
        self.assertEqual(self.classes("samples"), {"code": len(self.perf.samples())})
        self.assertEqual(sum(self.classes("stacks.dump").values()), len(self.perf.samples()))

    def deep_within(self, count: int) -> list[rd.Sample]:
        """@count samples whose caller is emitted code too."""
        found = [sample for sample in self.perf.samples()
                 if self.emitted(sample.chain[sample.user() + 1])]
        return found[:count]

    def test_astray(self) -> None:
        """Nowhere, and in the C library: the thread was in neither."""
        libc = next(record for record in self.perf.maps() if "libc" in record.name)
        astray = self.deep_within(4)
        for where in (0x1234, libc.start + 0x100):
            for sample in astray:
                sample.ip = sample.regs[rd.X86_IP] = where
            self.only(self.fails(self.exactly(4, "samples", "astray")), "samples")

    def test_another_process(self) -> None:
        for sample in self.deep_within(4):
            sample.pid = 1
        self.only(self.fails(self.exactly(4, "samples", "astray")), "samples")

    def test_another_thread_and_process(self) -> None:
        for sample in self.deep_within(4):
            sample.pid = sample.tid = 1
        self.only(self.fails(self.exactly(4, "samples", "unwatched")), "samples")

    def test_nothing_of_the_user(self) -> None:
        for sample in self.deep_within(4):
            sample.misc, sample.abi, sample.ip = rd.KERNEL, 0, 2**64 - 2**31
            sample.chain = []
        self.only(self.fails(self.exactly(4, "samples", "kernel")), "samples")

    def test_outside(self) -> None:
        """In native code, before samples were taken."""
        for early, sample in enumerate(self.deep_within(4), 1):
            sample.time = int(self.facts["sampling"]) - early * 10_000_000
            sample.ip = sample.regs[rd.X86_IP] = 0x1234
        self.perf.sort()
        self.only(self.fails(self.exactly(4, "samples", "outside")), "samples")


class Switching(Recorded):
    """Samples while events are turned on and off, outside of the window."""

    fixture = "clock"

    def libc(self) -> int:
        """Somewhere in native code."""
        return next(one.start for one in self.perf.maps() if "/libc.so" in one.name) + 16

    def test_opening_takes_its_time(self) -> None:
        """From the first event that is on to the last, each CPU has its samples."""
        samples = self.perf.samples()
        early, first = 40, samples[0].time
        for sample in samples[:early]:
            sample.ip = sample.regs[rd.X86_IP] = sample.chain[sample.user()] = self.libc()
        self.facts["sampling"] = str(samples[early].time - 1)
        path = os.path.join(self.dir, "watched")
        files.write(path, re.sub("(?m)^begun .*$", "begun " + self.facts["sampling"],
                                 files.read(path)))
        self.state_cpus()
        self.facts["enabled"] = self.facts["sampling"]
        for on, excused in ((samples[early].time - 1, False), (first - 1, True),
                            (first + 1_000_000, False)):
            self.facts["first_enabled"] = str(on)
            if excused:
                self.passes()
            else:
                self.errs("samples are of before the capture began, or of after it ended")

    def test_stopping_takes_its_time(self) -> None:
        """Until the capture says that its events are off, each CPU goes on with its samples."""
        samples = self.perf.samples()
        late, last = 40, samples[-1].time
        for sample in samples[-late:]:
            sample.ip = sample.regs[rd.X86_IP] = sample.chain[sample.user()] = self.libc()
        self.facts["stopped"] = str(samples[-late].time - 1)
        path = os.path.join(self.dir, "watched")
        self.state_cpus()
        text = re.sub("(?m)^ending .*$", "ending " + self.facts["stopped"], files.read(path))
        files.write(path, text)
        self.only(self.fails(self.exactly(late, "samples", "outside")), "samples")
        files.write(path, text + "silent %d\n" % last)
        self.passes()
        files.write(path, text + "silent %d\n" % (last - 1_000_000))
        self.errs("samples are of before the capture began, or of after it ended")
        files.write(path, text + "silent %d\n" % (int(self.facts["stopped"]) - 1))
        self.errs("expected ending <= silent <= ended")
        files.write(path, re.sub("(?m)^cpus .*$", "cpus 0", text) + "silent %d\n" % last)
        self.only(self.fails(self.exactly(late, "samples", "outside")), "samples")


class Witnessed(Recorded):
    """Samples against those of the witness, and against what the events counted."""

    fixture = "witness"

    def leave_out(self, gone: list[Any]) -> None:
        left = {id(sample) for sample in gone}
        self.perf.records = [record for record in self.perf.records if id(record) not in left]

    def too_few(self) -> str:
        return self.fails(r"(?m)^# cpu.samples: \d+ with cause too-few, which nothing allows$",
                          r"samples; the witness expects ")

    def test_every_fifth_is_gone(self) -> None:
        self.leave_out(self.perf.samples()[::5])
        self.only(self.too_few(), "cpu.samples")

    def test_three_in_a_row_are_gone(self) -> None:
        samples = self.perf.samples()
        mine = [one for one in samples if one.tid == samples[-9].tid]
        self.leave_out(mine[100:103])
        self.only(self.too_few(), "cpu.samples")

    def test_a_fifth_of_the_time_is_gone(self) -> None:
        times = [sample.time for sample in self.perf.samples()]
        begin, end = (min(times) + (max(times) - min(times)) * part // 5 for part in (2, 3))
        self.leave_out([one for one in self.perf.samples() if begin <= one.time < end])
        self.too_few()

    def test_a_thread_is_gone(self) -> None:
        tid = self.perf.samples()[-9].tid
        self.leave_out([one for one in self.perf.samples() if one.tid == tid])
        self.assertRegex(self.too_few(), rf"thread {tid}: 0 samples; the witness expects ")

    def test_all_are_gone(self) -> None:
        self.leave_out(self.perf.samples())
        self.errs()

    def test_both_clocks_stood_still(self) -> None:
        """What the host took from both is no fault of the capture."""
        times = [sample.time for sample in self.perf.samples()]
        begin, end = (min(times) + (max(times) - min(times)) * part // 5 for part in (2, 3))
        self.leave_out([one for one in self.perf.samples() if begin <= one.time < end])
        path = os.path.join(self.dir, "witness")
        witness = rd.PerfData.load(path)
        witness.records = [one for one in witness.records if not isinstance(one, rd.Sample) or
                           not begin <= one.time < end]
        witness.save(path)
        watched = os.path.join(self.dir, "watched")
        files.write(watched, re.sub(r"(?m)^witness \d+$", "witness %d" % len(witness.samples()),
                                    files.read(watched)))
        self.assertNotIn("cpu.samples: ", self.judge()[1])

    def test_lost_samples(self) -> None:
        """A case has no losses but those that it states."""
        gone = self.perf.samples()[100:104]
        self.leave_out(gone)
        self.facts["lost_samples"] = str(len(gone))
        self.errs(rf"lost.samples is .*\({len(gone)} of .*states none")
        path = os.path.join(self.dir, "case")
        files.write(path, files.read(path) + "\tlost.samples <=4\n")
        self.passes()
        self.facts["lost_samples"] = "0"
        self.too_few()

    def test_throttled_while_the_witness_is_not(self) -> None:
        """The witness is faster, so the kernel throttles it first: the record explains nothing."""
        samples = self.perf.samples()
        self.leave_out(samples[::5])
        self.perf.records += [self.sampling(kind, struct.pack("<QQQ", 1, samples[0].id, 0), time)
                              for kind, time in ((5, samples[0].time), (6, samples[-1].time))]
        self.perf.sort()
        self.too_few()

    def test_each_twice(self) -> None:
        text = self.invent(0)
        self.assertRegex(text, r"(?m)^# samples: \d+ with cause double, which nothing allows$")

    def test_written_twice(self) -> None:
        """One record, again in the next round."""
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

    def test_invented(self) -> None:
        """Each once more, a little later: the witness shows it, and so do the events' counts."""
        text = self.invent(1000)
        self.only(text, "event.samples", "cpu.samples")
        self.assertRegex(text, r"(?m)^# cpu.samples: \d+ with cause too-many, which nothing allows")

    def test_each_tenth_twice(self) -> None:
        for sample in self.perf.samples()[::10]:
            double = copy.deepcopy(sample)
            double.time += 1000
            self.perf.records.append(double)
        self.perf.sort()
        self.fails(r"(?m)^# cpu.samples: \d+ with cause too-many, which nothing allows$")

    def test_counted_in_the_kernel_alone(self) -> None:
        """An event that leaves out the kernel counts its time, and has no samples there."""
        period = self.perf.samples()[0].one[rd.PERIOD]
        self.facts["counted"] = str(10 * len(self.perf.samples()) * period)
        self.assertNotIn("# event.samples: ", self.judge()[1])

    def invent(self, later: int) -> str:
        """Each sample once more, later by so much."""
        for sample in self.perf.samples():
            double = copy.deepcopy(sample)
            double.time = sample.time + later
            self.perf.records.append(double)
        self.perf.sort()
        return self.fails(r"(?m)^# event.samples: 1 with cause too-many, which nothing allows$")


class Modes(Recorded):
    """Mode, address, registers and callchain of a sample are one story."""

    KERNEL_IP = 0xffffffff81000000

    def bad(self, cause: str, change: Callable[[rd.Sample], None]) -> None:
        with self.subTest(cause):
            samples = self.perf.samples()
            sample = samples[11]
            self.assertEqual(sample.misc & 7, rd.USER)
            self.perf.records[self.perf.records.index(sample)] = changed = copy.deepcopy(sample)
            change(changed)
            self.fails(self.exactly(1, "modes.bad", cause),
                       rf"(?m)^#   at {sample.time}, {sample.pid}/{sample.tid}: mode ")
            self.perf.records[self.perf.records.index(changed)] = sample

    @staticmethod
    def put(name: str, value: int) -> Callable[[rd.Sample], None]:
        return lambda sample: setattr(sample, name, value)

    def in_kernel(self, sample: rd.Sample) -> None:
        """As the kernel writes a sample of its own."""
        sample.misc, sample.ip = rd.KERNEL, self.KERNEL_IP
        sample.chain[:0] = [rd.CONTEXT_KERNEL, self.KERNEL_IP]

    def test_each_rule(self) -> None:
        for mode in (0, 3, 4, 5):
            self.bad("other-mode", self.put("misc", mode))
        self.bad("kernel-address", self.put("ip", self.KERNEL_IP))
        self.bad("user-address", self.put("misc", rd.KERNEL))
        self.bad("other-ip", self.put("ip", 0x1234))
        self.bad("no-registers", self.put("abi", 0))
        self.bad("32-bit", self.put("abi", 1))
        self.bad("kernel-registers",
                 lambda sample: sample.regs.update({rd.X86_IP: self.KERNEL_IP}))
        self.bad("kernel-registers",
                 lambda sample: sample.regs.update({rd.X86_SP: self.KERNEL_IP}))
        self.bad("other-part", lambda sample: sample.chain.insert(0, rd.CONTEXT_KERNEL))

        def other_chain(sample: rd.Sample) -> None:
            sample.chain[sample.user()] += 1
        self.bad("other-chain", other_chain)
        self.bad("other-period", lambda sample: sample.one.update({rd.PERIOD: 1000}))

    def test_strangers_of_32_bits(self) -> None:
        """Who watches all CPUs meets them."""
        sample = self.perf.samples()[5]
        sample.abi, sample.pid, sample.tid = 1, 1, 1
        text = self.judge()[1]
        self.assertIn(" + 1 unwatched = 40", text)
        self.assertNotIn("modes.bad", text)

    def test_in_the_kernel(self) -> None:
        """Its user part is judged as any, and counted apart; it has rules of its own."""
        sample = self.perf.samples()[11]
        self.in_kernel(sample)
        before = self.results()
        self.assertNotIn("modes.bad", self.passes())
        after = self.results(2)
        told = [json.loads(text)["verdicts_in_kernel"] for text in (before, after)]
        for method in ("chain", "dump"):
            self.assertEqual([sum(one[method].values()) for one in told], [1, 2])
        plain = copy.deepcopy(sample)
        for cause, change in (
                ("other-kernel-chain", lambda: sample.chain.__setitem__(1, self.KERNEL_IP + 8)),
                ("other-part", lambda: sample.chain.__delitem__(slice(0, 2))),
                ("other-chain", lambda: sample.chain.__setitem__(3, sample.chain[3] + 1)),
                ("no-registers", lambda: setattr(sample, "abi", 0)),
                ("user-address", lambda: setattr(sample, "ip", 0x1234))):
            with self.subTest(cause):
                change()
                self.fails(self.exactly(1, "modes.bad", cause))
                sample.chain, sample.abi, sample.ip = list(plain.chain), plain.abi, plain.ip

    def test_not_asked(self) -> None:
        """A mode that the event's attr leaves out."""
        self.in_kernel(self.perf.samples()[11])
        self.perf.attrs[0].flags |= 1 << 5  # exclude_kernel
        self.fails(self.exactly(2, "modes.bad", "not-asked"))

    def attr(self, at: int, clear: int, said: str) -> None:
        """Of the sampling event's attr, the bits @clear of the word at @at go."""
        attr = self.perf.attrs[0]
        with self.subTest(said):
            whole = bytes(attr.raw)
            word = struct.unpack_from("<Q", attr.raw, at)[0]
            struct.pack_into("<Q", attr.raw, at, word & ~clear)
            status, text = self.judge()
            attr.raw[:] = whole
            # Without registers no sample is anywhere: that is a FAIL by itself.
            self.assertEqual(status, 1, text)
            self.assertIn(f"event 0 of perf.data was not asked for {said}\n", text)

    def test_what_the_event_was_asked_for(self) -> None:
        case = os.path.join(self.dir, "case")
        files.write(case, files.read(case).replace("samples=30", "samples=30 methods=chain,dump"))
        self.attr(24, rd.CALLCHAIN, "callchains with the user's part")
        self.attr(24, rd.REGS_USER, "user registers")
        self.attr(40, 1 << 25, "times by CLOCK_MONOTONIC in all its records")
        self.attr(24, rd.STACK_USER, "the stack dump that the capture states")
        self.perf.attrs[0].flags |= 1 << 22
        self.errs("not asked for callchains with the user's part")


class Pure(Recorded):
    """Judging reads the run directory and nothing else of the machine."""

    def same_in_an_empty_root(self, directory: str, *arguments: str) -> str:
        """What jitproof says of @directory, as /case, where nothing else is: the same bytes."""
        if os.environ.get("NEEDS_PROC"):
            self.skipTest("this build looks for leaks, through /proc")
        needs_namespaces(self)
        root = self.place("root")
        needed = {JITPROOF: "/jitproof", directory: "/case"}
        needed.update((path, path) for path in
                      re.findall(r"(/\S+)", process.must(["ldd", JITPROOF])))
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
        self.assertIn("ok 1 fixture/", self.same_in_an_empty_root(self.dir, "judge"))

    def test_run_directory_in_an_empty_root(self) -> None:
        run = self.place("run")
        for name in ("anon", "memfd", "pathless"):
            shutil.copytree(os.path.join(FIXTURES, name), os.path.join(run, "fixture", name))
        self.assertIn("\nok 3 fixture/pathless", self.same_in_an_empty_root(run, "judge"))

    def test_file_in_an_empty_root(self) -> None:
        said = self.same_in_an_empty_root(os.path.join(self.dir, "perf.data"), "judge", "--json")
        self.assertIn('"samples"', said)

    def test_failing_in_an_empty_root(self) -> None:
        """The text of failures too: it names mappings, functions and files."""
        for record in self.emitted_maps():
            self.perf.records.remove(record)
        self.perf.save(os.path.join(self.dir, "perf.data"))
        self.assertIn("not ok 1 fixture/", self.same_in_an_empty_root(self.dir, "judge"))
