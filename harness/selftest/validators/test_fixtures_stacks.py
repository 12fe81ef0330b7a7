# SPDX-License-Identifier: GPL-2.0-only
"""Recorded runs with altered stack dumps (see test_fixtures.py)."""

import json
import struct
from typing import Callable

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded

FORK = 1  # how a process started, in the truth
Frames = list[int]
Expected = tuple[str, str, str]  # metric, cause, verdict
DUMP_WRONG = ("wrong.dump", "wrong-frame", "wrong")
DUMP_BAD = ("broken.dump", "bad-frame|dump-end", "short")


def swap_return_addresses(sample: rd.Sample, frames: Frames) -> None:
    one, other = (sample.word(frame + 8) for frame in frames)
    sample.put(frames[0] + 8, other)
    sample.put(frames[1] + 8, one)


def invent_frame(sample: rd.Sample, frames: Frames) -> None:
    """Builds a frame in words of local variables."""
    frame, caller = frames[0], sample.word(frames[0])
    assert frame + 16 < caller - 8, "no space between two frames"
    sample.put(frame + 16, caller)
    sample.put(frame + 24, sample.word(frame + 8) + 1)
    sample.put(frame, frame + 16)


# (name, exception, alteration of a sample with its two innermost frames by bp)
DUMPS: tuple[tuple[str, Expected, Callable[[rd.Sample, Frames], None]], ...] = (
    ("return address wrong", DUMP_WRONG,
     lambda sample, frames: sample.put(frames[0] + 8, sample.word(frames[0] + 8) + 1)),
    ("return address nowhere", DUMP_WRONG,
     lambda sample, frames: sample.put(frames[1] + 8, 0x1000)),
    ("return addresses swapped", DUMP_WRONG, swap_return_addresses),
    # The first frame links to the third, so the walk skips the second caller.
    ("frame skipped", ("broken.dump", "hole", "hole"),
     lambda sample, frames: sample.put(frames[0], sample.word(sample.word(frames[0])))),
    ("frame invented", ("extra.dump", "extra-frame", "extra"), invent_frame),
    # A walk by frame pointers ends regularly at a frame pointer of zero.
    ("frame pointer 0", ("broken.dump", "complete", "short"),
     lambda sample, frames: sample.put(frames[0], 0)),
    ("frame pointer 1", DUMP_BAD, lambda sample, frames: sample.put(frames[0], 1)),
    ("frame pointer below the stack", DUMP_BAD,
     lambda sample, frames: sample.put(frames[0], sample.regs[rd.X86_SP] - 64)),
    ("frame pointer -8", DUMP_BAD, lambda sample, frames: sample.put(frames[0], 2**64 - 8)),
    ("dump cut", ("broken.dump", "dump-short", "short"),
     lambda sample, frames: setattr(sample, "stack",
                                    sample.stack[:frames[1] - sample.regs[rd.X86_SP]])),
    ("dump empty", ("broken.dump", "dump-short", "single"),
     lambda sample, frames: setattr(sample, "stack", bytearray())),
    ("base pointer wrong", ("broken.dump", "complete", "single"),
     lambda sample, frames: sample.regs.update({rd.X86_BP: 0})),
)


class Dumps(Recorded):
    """broken_stacks by unwinding altered dumps; the chains stay right."""

    def test_each_change(self) -> None:
        sample = self.find_deep_sample(linked=True)
        frames, stack, regs = self.follow_frames(sample, 2), bytes(sample.stack), dict(sample.regs)
        for name, expected, change in DUMPS:
            with self.subTest(name):
                sample.stack, sample.regs = bytearray(stack), dict(regs)
                change(sample, frames)
                self.expect_one_exception(*expected, sample)

    def test_first_use_of_a_stack_page(self) -> None:
        """An empty dump is excused only while the thread runs the path for the first time."""
        sample = self.find_deep_sample(linked=True)
        sample.stack = bytearray()
        self.expect_one_exception("broken.dump", "dump-short", "single", sample)
        earlier = [index for kind in (rd.Truth.ENTER, rd.Truth.LEAVE)
                   for index in self.truth.find(kind) if self.truth.get(index)[3] == sample.tid
                   and self.truth.get(index)[5] < sample.time]
        entered = max(earlier, key=lambda index: self.truth.get(index)[5])
        self.assertEqual(self.truth.get(entered)[0], rd.Truth.ENTER)
        self.truth.slots = [slot for index, slot in enumerate(self.truth.slots)
                            if index == entered or index not in earlier]
        self.truth.next_slot = len(self.truth.slots)
        self.perf.records = [one for one in self.perf.records if not isinstance(one, rd.Sample)
                             or one.tid != sample.tid or one.time >= sample.time]
        self.expect_excused(1, "broken.dump", "untouched")

    def test_copied_stack_page(self) -> None:
        """An empty dump of a sample in the kernel is excused if the process forked since the thread
        last ran the path: the kernel may be copying the page."""
        sample = next(sample for sample in self.perf.samples() if sample.misc & 7 == 1 and
                      self.is_emitted(sample.regs[rd.X86_IP]))
        sample.stack = bytearray()
        self.expect_fail(self.match_count(1, "broken.dump", "dump-short"))
        entered = max(slot[4] for slot in map(self.truth.get, self.truth.find(rd.Truth.ENTER))
                      if slot[3] == sample.tid and slot[5] < sample.time)
        child = sample.pid + 1
        self.truth.append(rd.Truth.PROCESS_START, 0, child, child, entered - 2, entered - 1,
                          sample.pid, FORK, 0, 0)
        self.assertRegex(self.judge()[1], r"broken\.dump: 1 with cause empty-dump \(copied\)")
        sample.misc += 1  # in user space nothing is copied
        self.assertNotIn("copied", self.judge()[1])

    def test_cut_by_the_end_of_the_dump(self) -> None:
        """A walk that stops at the end of the dump is flagged as incomplete."""
        sample = self.find_deep_sample(linked=True)
        sample.put(self.follow_frames(sample, 1)[0], sample.regs[rd.X86_SP] + len(sample.stack))
        self.judge()
        flagged = json.loads(self.read_results())["metrics"]["flagged.dump"]
        self.assertEqual((flagged["k"], flagged["n"]), (1, 1))


class Words(Recorded):
    """stack_words: words of a dump that are the same in each activation."""

    def test_frame_pointer_that_no_method_follows(self) -> None:
        self.copy_fixture("mappings")
        self.expect_pass()
        self.find_deep_sample(0).regs[rd.X86_BP] += 16
        self.expect_only(self.expect_fail(self.match_count(1, "registers.fp", "other-frame")))

    def test_no_frame_pointer_and_yet_callers(self) -> None:
        """A function may use bp for other data, but a bp of 0 yields no callers."""
        sample = self.find_deep_sample()
        load = next(slot for slot in map(self.truth.get, self.truth.find(rd.Truth.CODE_LOAD))
                    if slot[6] <= sample.ip < slot[6] + slot[7])
        for index in self.truth.find(rd.Truth.LAYOUT):
            raw = self.truth.slots[index]
            for at in (40, 52):
                offset, bp = struct.unpack_from("<HB", raw, at)
                if struct.unpack_from("<I", raw, 32)[0] == load[8] & 0xffffffff and \
                        offset == sample.ip - load[6]:
                    raw[at + 2] = bp & ~3 | 2
                    self.truth.seal(index)
        for self.facts["first_enabled"], sample.regs[rd.X86_BP], wrong in (
                ("1", 8, False), ("1", 0, True), ("0", 0, False)):
            output = self.judge()[1]
            self.assertEqual("registers.fp: 1 with" in output, wrong, output)
