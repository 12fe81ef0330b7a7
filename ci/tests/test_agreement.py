# SPDX-License-Identifier: GPL-2.0-only
"""Tests agreement.py: each class accepts its differences, and no class accepts wrong stacks."""

import tempfile
from typing import Any, Sequence
import unittest

from ci.perf import agreement

PID, FILE, CODE, SP = 10, 0x400000, 0x7f1000000000, 0x7ffd00000000
END = SP + 0x1000


class Compared(unittest.TestCase):
    def setUp(self) -> None:
        self.mappings = agreement.Mappings()
        self.mappings.add(PID, FILE, 0x10000, 0, True, "/usr/bin/made")
        self.mappings.add(PID, CODE, 0x10000, 0, True, "//anon")

    def make_pair(self, ours: list[int], theirs: list[int], stop: str = "root",
                  outside: Sequence[tuple[int, int, int]] = (), libdw: bool = False,
                  dump: int = 4096) -> agreement.Pair:
        """Pairs two stacks of one sample. @ours, @theirs: return addresses, innermost first. perf
        prints each but the first minus 1, so @theirs is converted."""
        pair = agreement.Unwound([(address - (position > 0), "") for position, address
                                  in enumerate(theirs)],
                                  list(outside), libdw, 0)
        return agreement.pair_stacks(
            {"pid": PID, "tid": PID, "time": 1, "chain": [], "frames": [hex(our) for our in ours],
             "stop": stop, "dump": dump}, pair, self.mappings)

    def classify(self, *args: Any, **more: Any) -> str:
        comparison = agreement.Comparison()
        comparison.add(self.make_pair(*args, **more), self.mappings)
        if comparison.same:
            return "same"
        return next(iter(comparison.classes), "unexplained")


class Classes(Compared):
    def test_equal_stacks(self) -> None:
        self.assertEqual(self.classify([FILE, FILE + 9], [FILE, FILE + 9]), "same")

    def test_wrong_stacks_have_no_class(self) -> None:
        for theirs in ([FILE, FILE + 8], [FILE], [FILE, FILE + 9, FILE + 20], [], [FILE + 1],
                       [FILE, agreement.INVENTED]):
            self.assertEqual(self.classify([FILE, FILE + 9], theirs), "unexplained", theirs)

    def test_no_mapping_record(self) -> None:
        self.assertEqual(self.classify([7], [], "unmapped"), "perf has no mapping record yet")

    def test_empty_dump(self) -> None:
        self.assertEqual(self.classify([FILE], [], "dump-end", dump=0), "the dump is empty")

    def test_code_without_file(self) -> None:
        self.assertEqual(self.classify([CODE, CODE + 9, FILE], [CODE]),
                         "perf stops in code without a file")
        self.assertEqual(self.classify([FILE, CODE + 9, FILE], [FILE]), "unexplained")
        self.assertEqual(self.classify([FILE, CODE + 9, FILE], [FILE], libdw=True),
                         "perf stops in code without a file")

    def test_perf_guesses(self) -> None:
        self.assertEqual(self.classify([FILE], [FILE, FILE + 9], "no-cfi"),
                         "perf follows rbp where we stop without CFI")
        self.assertEqual(self.classify([FILE], [FILE, FILE + 9], "bad-frame"), "unexplained")

    def test_reads_outside_the_dump(self) -> None:
        for address, frames, name in (
                (END - 8, [FILE], "perf cannot read the dump's last word"),
                (END + 8, [FILE, agreement.INVENTED],
                 "perf invents ffffffffffffffff where the dump ends"),
                (SP - 8, [FILE], "perf reads a register that is popped already"),
                (SP + 8, [FILE], "unexplained")):
            ours = [FILE] if name.startswith("perf invents") else [FILE, FILE + 9]
            self.assertEqual(self.classify(ours, frames, outside=[(address, SP, END)]), name)

    def test_both_unwinders_guess(self) -> None:
        for began, name in ((1, "both guessed by rbp; perf knows no register since"),
                            (2, "both guessed by rbp; perf knows no register since"),
                            (3, "unexplained")):
            comparison = agreement.Comparison()
            pair = self.make_pair([FILE, FILE + 9, FILE + 20], [FILE, FILE + 9, FILE + 30])
            pair.ours["guessed"] = began
            comparison.add(pair, self.mappings)
            self.assertEqual(next(iter(comparison.classes), "unexplained"), name)

    def test_file_mapped_twice(self) -> None:
        self.mappings.add(PID, 0x7f2000000000, 0x1000, 0x1000, True, "/usr/bin/made")
        for libdw, name in ((True, "perf (libdw) has the file at only one of its two addresses"),
                            (False, "unexplained")):
            self.assertEqual(self.classify([FILE, FILE + 9], [FILE], libdw=libdw), name)

    def test_mapping_before_exec(self) -> None:
        self.mappings.fork(11, PID)
        self.mappings.spaces[PID].execute()
        self.mappings.add(PID, FILE + 0x100000, 0x1000, 0, True, "/usr/bin/made")
        position = FILE + 0x100000
        self.assertEqual(self.classify([position, position + 9], [position]),
                         "perf reads a file's tables where it lay before an exec")
        self.assertEqual(self.mappings.name(11, FILE), "/usr/bin/made")
        self.assertEqual(self.mappings.name(PID, FILE), "")


class Signals(Compared):
    def test_frames_interrupted_by_signals(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\x90" * 16 + agreement.SIGRETURN + b"\x90" * 16)
            file.flush()
            self.mappings.add(PID, 0x7f3000000000, 0x1000, 0, True, file.name)
            back = 0x7f3000000010
            ours = {"pid": PID,
                    "frames": [hex(frame) for frame in (FILE, back, FILE + 5, FILE + 9)]}
            for libdw, printed in ((False, back - 1), (True, back)):
                theirs = agreement.Unwound([(FILE, ""), (printed, ""), (FILE + 5, ""),
                                            (FILE + 8, "")], [], libdw, 0)
                pair = agreement.pair_stacks(ours, theirs, self.mappings)
                self.assertEqual((pair.a, pair.common), (pair.b, 4))
            for position, name in ((9, "sampled after sigreturn, which has no CFI"),
                                   (10, "unexplained")):
                self.assertEqual(self.classify([back + position, FILE], [back + position]), name)


class Lines(unittest.TestCase):
    def test_parse_unwind_lines(self) -> None:
        unwound = agreement.Unwound([], [], False, 0)
        for line in ("unwind: reg 16, val 7f3a", "unwind: no map for 8",
                     "unwind: main.cold:ip = 0x5587bf432601 (0x4601)",
                     "unwind: access_mem addr 0x7ffd646b62b8 val 5587bf432602, offset 8",
                     "unwind: access_mem 0x8 not inside range 0x10-0x20"):
            agreement.parse_unwind_line(line, unwound)
        self.assertEqual((unwound.frames, unwound.outside, unwound.libdw),
                         ([(0x5587bf432601, "main.cold")], [(8, 0x10, 0x20)], False))
        agreement.parse_unwind_line("unwind: access_mem addr 0x7ffd64, val 7f3a, offset 136",
                                    unwound)
        self.assertTrue(unwound.libdw)

    def test_apply_records(self) -> None:
        mappings = agreement.Mappings()
        before = "  7/7 1.000000001: "
        agreement.apply_record(before + "PERF_RECORD_MMAP2 7/7: [0x400000(0x1000) @ 0x2000 fe:00 1 "
                               "2]: r-xp /a b", mappings)
        agreement.apply_record(before + "PERF_RECORD_FORK(8:8):(7:7)", mappings)
        agreement.apply_record(before + "PERF_RECORD_COMM exec: a b:7/7", mappings)
        self.assertEqual(mappings.find(8, 0x400800), (0x400000, 0x401000, 0x2000, True, "/a b"))
        self.assertEqual(mappings.name(7, 0x400800), "")
        self.assertEqual(mappings.spaces[7].before, {"/a b": 0x400000})
