# SPDX-License-Identifier: GPL-2.0-only
"""As test_fixtures.py: what a run says of itself, and what it must hold."""

import os
import re
import shutil
import struct

from ci.base import files
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded, judge


class Evidence(Recorded):
    """What makes a run worthless is an ERROR: never a pass, never the kernel's fault."""

    def test_what_the_capture_says(self) -> None:
        for fact, value, said in (
                ("lost_sideband", "3", "3 sideband records .* were lost"),
                ("slack", "100001", "the clocks of truth and capture differ by 100001 ns"),
                ("settled", "no", "threads were started faster than they could be listed")):
            with self.subTest(fact):
                right, self.facts[fact] = self.facts[fact], value
                self.errs(said)
                self.facts[fact] = right

    def test_window_without_the_samples(self) -> None:
        """Times of no capture, of one before and of one after: nothing would be judged by them."""
        right = dict(self.facts)
        times = ("enabled", "sampling", "stopped")
        hour = 3600 * 10**9
        middle = sorted(sample.time for sample in self.perf.samples())[20]
        for changed, held in (({"enabled": 1, "sampling": 2, "stopped": 3}, 0),
                              ({key: int(right[key]) + hour for key in times}, 0),
                              ({key: int(right[key]) - hour for key in times}, 0),
                              ({"sampling": middle + 1, "stopped": middle + 2}, 0),
                              ({"stopped": middle - 1}, 20), ({"sampling": middle + 1}, 19)):
            with self.subTest(changed):
                self.facts = {**right, **{key: str(value) for key, value in changed.items()}}
                # A half of them is no figure that an honest capture is near: all have 95 %.
                said = f"the window that the capture states holds {held} of 40 samples"
                if held < 20:
                    self.errs(said)
                else:
                    self.assertNotIn("the window that", self.judge()[1])

    def test_lost_sideband_by_record(self) -> None:
        """Of the second event, and of the tenth."""
        for count in (2, 10):
            shutil.rmtree(self.dir)
            self.take(self.fixture)
            self.perf.attrs += [rd.Attr(self.perf.attrs[1].raw, [10000 + number])
                                for number in range(len(self.perf.attrs), count)]
            lost = struct.pack("<QQ", self.perf.attrs[count - 1].ids[0], 7)
            self.perf.insert(self.perf.side(rd.LOST, lost, int(self.facts["sampling"])))
            self.errs("7 sideband records .* were lost")

    def expect(self, line: str) -> None:
        with open(os.path.join(self.dir, "case"), "a", encoding="utf-8") as file:
            file.write(f"\t{line}\n")

    def test_lost_samples(self) -> None:
        """Whatever tells of them, and however many: an ERROR, unless the case bears so many."""
        identity = self.perf.attrs[0].ids[0]
        for count in (1, 1_000_000_000, 2**64 - 1):
            for kind, payload in ((rd.LOST, struct.pack("<QQ", identity, count)),
                                  (rd.LOST_SAMPLES, struct.pack("<Q", count))):
                with self.subTest(kind=kind, count=count):
                    record = self.sampling(kind, payload)
                    self.perf.insert(record)
                    self.errs(rf"lost.samples is .*\({count} of {min(count + 40, 2**64 - 1)}.*"
                              "states none")
                    self.perf.records.remove(record)
        self.facts["lost_samples"] = "7"
        self.errs(r"lost.samples is .*\(7 of 47.*states none")
        self.expect("lost.samples 0..7")
        self.passes()
        self.facts["lost_samples"] = "8"
        self.errs(r"lost.samples: 8 of 48; expected 0..7")

    def test_throttled(self) -> None:
        identity = self.perf.attrs[0].ids[0]
        stop, go = (self.sampling(kind, struct.pack("<QQQ", 1, identity, 0)) for kind in (5, 6))
        go.time += 1
        self.perf.insert(go)
        # It goes on, so it had stopped.
        self.errs("lost.throttled is 1, and the case states none")
        self.perf.insert(stop)
        self.errs("lost.throttled is 1, and the case states none")
        self.expect("lost.throttled <=1")
        self.passes()

    def test_behind_its_round(self) -> None:
        """A mapping that comes after what follows it was given out is in no order."""
        sample = self.perf.samples()[3]
        late = self.emitted_maps()[0]
        self.perf.sort()
        self.perf.records += [rd.Record(rd.FINISHED_ROUND, 0, b""), late.copy()]
        self.assertLess(late.time, sample.time)
        self.errs("1 records of perf.data are older than the end of a round before them")

    def test_unknown_id(self) -> None:
        """No event of the file gave it, though all are laid out alike."""
        self.perf.attrs[1].raw[:] = self.perf.attrs[0].raw
        lost = self.sampling(5, struct.pack("<QQQ", 1, 0, 0))
        for bit in (rd.ID, rd.IDENTIFIER):
            if bit in lost.tail():
                struct.pack_into("<Q", lost.body, lost.tail()[bit], 0x5eed)
        self.perf.attrs = self.perf.attrs[:1]
        self.perf.records = [lost]
        self.errs("1 records of perf.data have an id that no event of it has")

    def test_torn_and_unwritten_in_the_middle(self) -> None:
        middle = self.truth.slots[len(self.truth.slots) // 2]
        middle[40] ^= 1
        self.errs(r"the truth has \d+ gaps: torn records before whole ones")
        middle[:] = bytes(64)
        self.errs(r"the truth has \d+ gaps")

    def test_torn_at_the_end(self) -> None:
        """A writer that was killed: the last records may be half there, and nothing needs them."""
        self.truth.slots.append(bytearray(self.truth.slots[-1]))
        self.truth.slots[-1][20] ^= 1
        self.truth.next_slot += 1
        self.passes()

    def test_ids_that_nobody_gave_out(self) -> None:
        for next_id in (0, self.truth.next_id // 2):
            self.truth.next_id = next_id
            self.errs(rf"/truth: offset 40: the next id is {next_id}, but \d+ is in use")

    def test_record_of_a_later_version(self) -> None:
        one = self.truth.get(0)
        self.truth.append(rd.Truth.GONE, *one[1:])
        for version, gaps in ((3, 0), (2, 1), (1, 1)):
            self.truth.version = version
            self.assertEqual("the truth has 1 gaps" in self.judge()[1], bool(gaps), version)

    def test_machine_that_nobody_knows(self) -> None:
        struct.pack_into("<I", self.truth.header, 24, 9999)
        self.errs("/truth: machine 9999 is not known here")

    def test_full(self) -> None:
        self.truth.capacity = len(self.truth.slots)
        self.truth.next_slot = len(self.truth.slots) + 9
        self.errs("the truth is full: 9 records were lost")

    def test_path_without_its_function(self) -> None:
        """A whole record that speaks of one that is not there."""
        del self.truth.slots[self.truth.of(rd.Truth.CODE_LOAD)[-1]]
        self.truth.next_slot -= 1
        self.errs(r"the truth has \d+ gaps")

    def test_clocks_just_near_enough(self) -> None:
        self.facts["slack"] = "100000"
        status, text = self.judge()
        self.assertNotIn("clocks of truth and capture differ by 100000 ns; at most", text)
        self.assertIn(status, (0, 1))

    def test_no_samples_and_no_mappings(self) -> None:
        for gone, said in ((rd.Sample, "nothing was checked: no sample was judged"),
                           (rd.Map, "nothing was checked")):
            self.perf.records = [record for record in self.perf.records
                                 if not isinstance(record, gone)]
            self.errs(said)

    def test_too_few_samples(self) -> None:
        surplus = self.perf.samples()[29:]
        self.perf.records = [record for record in self.perf.records if record not in surplus]
        self.errs("too little evidence: judged.chain is 29, the case needs 30")

    def test_too_few_places(self) -> None:
        path = os.path.join(self.dir, "case")
        text = files.read(path)
        hit = int(re.search(r'"distinct":\s*\{"k":\s*(\d+)', self.results()).group(1))
        for needed, found in ((hit, self.passes), (hit + 1, lambda: self.errs(
                f"{hit} distinct .* pairs were hit, the case needs {hit + 1}\n"))):
            files.write(path, text.replace("samples=30", f"samples=30 distinct={needed}"))
            found()

    def test_missing_dumps_are_broken(self) -> None:
        for sample in self.perf.samples()[29:]:
            sample.asked, sample.stack = 0, bytearray()
        self.fails(self.exactly(len(self.perf.samples()) - 29, "broken.dump", "no-data"))

    def test_too_many_unjudged(self) -> None:
        """One of 40 is more than 2 %: its native frames changed while it was in its path."""
        sample = self.perf.samples()[20]
        index = min((index for index in self.truth.of(rd.Truth.LEAVE)
                     if self.truth.get(index)[3] == sample.tid
                     and self.truth.get(index)[5] > sample.time),
                    key=lambda index: self.truth.get(index)[5])
        fields = list(self.truth.get(index))
        fields[7] = 1
        self.truth.set(index, *fields)
        self.errs("too little evidence: unjudged is .*1 of 40.*, at most 2 % are usual")

    def test_empty_perf_data(self) -> None:
        self.perf.records = []
        self.errs()

    def test_missing_and_cut_files(self) -> None:
        for name in ("truth", "perf.data", "maps", "capture"):
            path = os.path.join(self.dir, name)
            whole = files.read_bytes(path)
            os.unlink(path)
            with self.subTest(name + " missing"):
                status, text = judge(self.dir)
                self.assertEqual(status, 1, text)
                self.assertRegex(text, rf"(?s)/{name}: .*ERROR:1 ")
            files.write_bytes(path, whole[:len(whole) * 2 // 3 - 1])
            with self.subTest(name + " cut"):
                status, text = judge(self.dir)
                if name in ("truth", "perf.data"):
                    self.assertEqual(status, 1, text)
                    self.assertRegex(text, rf"(?s)/{name}.*ERROR:1 ")
                self.assertIn(status, (0, 1))
            files.write_bytes(path, whole)

    def test_injected_data_that_cannot_be_read(self) -> None:
        """An ERROR; what does not wait for it is judged all the same, in the order of names."""
        self.take("growth")
        whole = set(re.findall(r'"([a-z.]+)": \{"k"', self.results()))
        path = os.path.join(self.dir, "injected.data")
        files.write_bytes(path, files.read_bytes(path)[:3000])
        self.errs(r"injected\.data")
        found = set(re.findall(r'"([a-z.]+)": \{"k"', self.results(2)))
        self.assertLessEqual({"coverage.area", "processes", "files", "broken.dump"}, found)
        self.assertIn("names.right", whole - found)

    def test_words_that_a_record_has_no_use_for(self) -> None:
        for kind, field in ((rd.Truth.COMM, 7), (rd.Truth.MAPS, 9), (rd.Truth.THREAD_START, 7),
                            (rd.Truth.UNMAP, 8), (rd.Truth.PROCESS_EXIT, 6)):
            with self.subTest(kind=kind):
                for index in self.truth.of(kind)[:1]:
                    right = list(self.truth.get(index))
                    self.truth.set(index, *right[:field], 1, *right[field + 1:])
                    self.errs("the truth has 1 gaps")
                    self.truth.set(index, *right)

    def test_records_of_nobody(self) -> None:
        """Every record is of a thread that began."""
        for field in (2, 3):
            with self.subTest(field=field):
                index = self.truth.of(rd.Truth.TEXT)[0]
                right = list(self.truth.get(index))
                self.truth.set(index, *right[:field], right[field] + 70_000, *right[field + 1:])
                self.errs("the truth has 1 records of threads that it never lets begin")
                self.truth.set(index, *right)

    def test_times_of_no_thread(self) -> None:
        """A thread does one thing after another: each record bounds those beside it."""
        self.take("clock")
        index = self.truth.of(rd.Truth.MAP)[0]
        right = list(self.truth.get(index))
        self.truth.set(index, *right[:5], right[5] + 10**12, *right[6:])
        self.errs(r"the truth has \d+ records whose times no thread can have written there")

    def test_code_that_outlives_its_memory(self) -> None:
        self.take("clock")
        del self.truth.slots[self.truth.of(rd.Truth.CODE_UNLOAD)[0]]
        self.truth.next_slot = len(self.truth.slots)
        self.errs("the truth has 1 gaps")

    def test_lives_without_an_end(self) -> None:
        self.take("clock")
        for kind in (rd.Truth.PROCESS_EXIT, rd.Truth.THREAD_EXIT):
            with self.subTest(kind=kind):
                index = self.truth.of(kind)[0]
                right = list(self.truth.get(index))
                self.truth.set(index, rd.Truth.TEXT, *right[1:])
                self.errs("the truth has 1 beginnings and ends of threads and processes")
                self.truth.set(index, *right)

    def test_foreign_ids_in_an_enter(self) -> None:
        index = self.truth.of(rd.Truth.ENTER)[0]
        slot = list(self.truth.get(index))
        slot[6] = 0xfffffff
        self.truth.set(index, *slot)
        self.errs(r"the truth has \d+ gaps")


class Stated(Recorded):
    """What `capture` states of ours is what the case asked for, and all that ours states."""

    fixture = "clock"

    def setUp(self) -> None:
        super().setUp()
        path = os.path.join(self.dir, "watched")
        seen = files.read(path)
        silent = re.sub(r"(?s).*^ended (\d+)\n.*", r"silent \1\n", seen, flags=re.M)
        files.write(path, seen + "cpus 2\ntask_clock 0\nsynth 2\n" + silent)

    def errs_of(self, key: str, value: str | None, said: str) -> None:
        right = dict(self.facts)
        with self.subTest(key=key, value=value):
            if value is None:
                del self.facts[key]
            else:
                self.facts[key] = value
            self.errs(said)
        self.facts = right

    def test_what_the_case_asked_for(self) -> None:
        self.passes()
        for key, value, said in (
                ("frequency_asked", "298", "states frequency_asked 298; the case asks for 299"),
                ("stack_dump", "264", "states stack_dump 264; the case asks for 256"),
                ("capture", "launch", "states capture launch; the case asks for attach"),
                ("order", "snapshot-first", "snapshot-first; the case asks for enable-first"),
                ("event", "task-clock", "states event task-clock; the case asks for cpu-clock"),
                ("kernel", "no", "states kernel no; event 0 of perf.data samples it")):
            self.errs_of(key, value, said)

    def test_modes_that_the_case_asked_for(self) -> None:
        path = os.path.join(self.dir, "case")
        case = files.read(path)
        for option, kernel in (("--user-only", "yes"), ("--kernel", "no")):
            files.write(path, case.replace("--stack", option + " --stack"))
            self.errs_of("kernel", kernel, "the kernel; the case asks for another")

    def test_key_that_ours_states(self) -> None:
        for key in ("samples", "counted", "frequency", "first_enabled", "cpus", "event"):
            self.errs_of(key, None, f"the capture states no {key}, as ours does")

    def test_machine_that_each_wrote_down(self) -> None:
        """The runner, in `watched` and env.json, and the capture, in perf.data's features."""
        features = dict(self.perf.features)
        self.perf.features[7] = struct.pack("<II", 1, 1)
        self.errs("the runner saw 2 CPUs, .* by perf.data the machine has 1")
        self.perf.features = {**features, 4: struct.pack("<I64s", 64, b"5.10.0-other")}
        files.write(os.path.join(self.dir, "env.json"), '{"kernel": "6.1.0"}')
        self.errs("env.json states kernel 6.1.0, perf.data 5.10.0-other")
        del self.perf.features[4], self.perf.features[7]
        self.passes()

    def test_names_that_nobody_published(self) -> None:
        for name in ("perf-77.map", "jit-77.dump"):
            path = os.path.join(self.dir, name)
            files.write(path, "")
            self.errs(f"{name} is there, and the case publishes nothing")
            os.unlink(path)

    def test_skip_of_a_whole_run(self) -> None:
        path = os.path.join(self.dir, "outcome")
        files.write(path, "SKIP because")
        self.errs("outcome: SKIP, and `watched` says that the capture ended")
        os.unlink(os.path.join(self.dir, "watched"))
        self.assertIn(" # SKIP", self.judge()[1])

    def test_others_state_what_they_like(self) -> None:
        path = os.path.join(self.dir, "case")
        files.write(path, files.read(path).replace(": attach ", ": attach-by perf "))
        for key in ("counted", "order", "event", "kernel", "first_enabled"):
            del self.facts[key]
        self.assertNotIn("the capture states", self.judge()[1])


class Slack(Recorded):
    """The clocks differ, so brackets are wider by as much: that, no more and no less."""

    fixture = "slack"

    def state(self, slack: int) -> None:
        self.facts["slack"] = str(slack)
        self.watched("slack", slack)

    def watched(self, key: str, value: int) -> None:
        path = os.path.join(self.dir, "watched")
        files.write(path, re.sub(rf"(?m)^{key} \d+$", f"{key} {value}", files.read(path)))

    def test_less_of_it(self) -> None:
        """Whoever forgets it finds stacks of no path, mappings and forks of no process."""
        self.state(0)
        text = self.fails()
        self.only(text, "wrong.chain", "mappings.invented", "mappings.extra", "coverage.stale",
                  "fork.records", "fork.missing", "acts.records", "records.acts")
        self.state(60_000)
        self.only(self.fails(), "wrong.chain", "mappings.invented", "acts.records")

    def test_as_much_and_more(self) -> None:
        for slack in (90_000, 100_000):
            self.state(slack)
            self.passes()

    def test_a_name_until_the_exec(self) -> None:
        """perf's child is perf-exec until then, and may seem to be by as much longer."""
        born = self.truth.get(self.truth.of(rd.Truth.PROCESS_START)[0])
        sample = self.perf.samples()[0]
        sample.pid = sample.tid = born[2]
        name = self.perf.comm(born[2], born[2], "perf-exec", born[4])
        self.perf.insert(name)
        for late, known in ((90_000, False), (90_001, True)):
            name.time, sample.time = born[5], born[5] + late
            self.perf.sort()
            self.assertEqual("thread %u/%u, sampled at" % (born[2], born[2]) in self.judge()[1],
                             known, late)

    def test_a_thread_before_it_begins(self) -> None:
        """Its first sample may seem to be older by as much, and by no more."""
        sample = self.perf.samples()[0]
        born = min(slot[4] for slot in map(self.truth.get, self.truth.of(
            rd.Truth.PROCESS_START) + self.truth.of(rd.Truth.THREAD_START))
            if sample.tid in (slot[3], slot[6]))
        for early, unknown in ((90_000, False), (90_001, True)):
            sample.time = born - early
            self.perf.sort()
            self.assertEqual("tasks.strangers: 1 " in self.judge()[1], unknown, early)

    def test_a_sample_after_the_capture(self) -> None:
        """As long as it may be before its end by the other clock."""
        seen = dict(line.split() for line in
                    files.read(os.path.join(self.dir, "watched")).splitlines())
        sample = self.perf.samples()[-1]
        for late, never in ((90_000, False), (90_001, True)):
            sample.time = int(seen["ended"]) + late
            self.perf.sort()
            self.assertEqual("or of after it ended" in self.judge()[1], never, late)

    def test_the_capture_states_another(self) -> None:
        self.facts["slack"] = "90001"
        self.errs("the capture states slack 90001; the runner saw 90000 to 90000")

    def test_what_the_runner_saw(self) -> None:
        """A window that is not the capture's own, though all samples lie in it."""
        for key, limit, step in (("enabled", "started", -1), ("sampling", "begun", 1),
                                 ("stopped", "ending", -1), ("stopped", "ended", 1)):
            with self.subTest(key + " beyond " + limit):
                right = dict(self.facts)
                seen = dict(line.split() for line in
                            files.read(os.path.join(self.dir, "watched")).splitlines())
                self.facts[key] = seen[limit]
                status, text = self.judge()
                self.assertNotIn("the runner saw", text)
                self.facts[key] = str(int(seen[limit]) + step)
                status, text = self.judge()
                self.assertEqual(status, 1, text)
                self.assertIn(f"the capture states {key} {self.facts[key]}; the runner saw", text)
                self.facts = right

    def test_nobody_watched(self) -> None:
        """A truth of version 3 has a runner that wrote down what it saw."""
        path = os.path.join(self.dir, "watched")
        whole = files.read(path)
        for text, said in ((None, "watched: No such file"), ("", 'watched:1: expected "started N'),
                           (whole + "more 1\n", 'watched:10: expected "cpus N'),
                           (whole + "cpus 2\ntask_clock 0\nsynth 2\nmore 1\n",
                            'watched:13: expected "silent N'),
                           (whole + "cpus 2\ntask_clock 0\nsynth 2\n" +
                            whole.splitlines()[2].replace("ending", "silent") + "\nmore 1\n",
                            'watched:14: expected "witness N'),
                           (whole.replace("begun", "began"), 'watched:2: expected "begun N'),
                           (re.sub(r"(?m)^begun .*$", "begun 1", whole),
                            "expected started <= begun <= ending <= ended")):
            with self.subTest(said):
                os.unlink(path)
                if text is not None:
                    files.write(path, text)
                self.errs(said)
                files.write(path, whole)

    def test_truth_that_looks_older(self) -> None:
        """Several validators judge nothing of an older one: whoever lowers it turns them off."""
        for version in (1, 2):
            self.truth.version = version
            self.errs(f"watched: a truth of version {version} has none, expected version 3")
            os.rename(os.path.join(self.dir, "watched"), self.place("watched"))
            self.errs(r"the truth has \d+ gaps")  # of records that no older one has
            os.rename(self.place("watched"), os.path.join(self.dir, "watched"))

    def test_window_that_begins_late(self) -> None:
        """The runner saw that the capture took its time to begin; not that it judges nothing."""
        times = sorted(sample.time for sample in self.perf.samples())
        path = os.path.join(self.dir, "watched")
        whole = files.read(path)
        for held, wrong in ((len(times) // 2 - 1, False), (1, False), (0, True)):
            self.facts["sampling"] = str(times[-held] - 1 if held else times[-1] + 100_000)
            files.write(path, re.sub("(?m)^begun .*$", "begun " + self.facts["sampling"], whole))
            said = f"the window that the capture states holds {held} of {len(times)} samples"
            (self.assertIn if wrong else self.assertNotIn)(said, self.judge()[1])

    def test_methods_that_were_asked_for(self) -> None:
        """No range names them, and the file cannot show what it does not hold."""
        case = os.path.join(self.dir, "case")
        files.write(case, files.read(case).replace(" methods=chain", ""))
        self.perf.attrs[0].flags |= 1 << 22
        for sample in self.perf.samples():
            del sample.chain[sample.user() - 1:]
        self.errs("event 0 of perf.data was not asked for callchains with the user's part")
