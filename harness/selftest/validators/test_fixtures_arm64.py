# SPDX-License-Identifier: GPL-2.0-only
"""A recorded run of arm64 with signed return addresses, judged on any machine: as recorded, with
signatures that a kernel left in callchains, and with layouts that err by one instruction."""

import os
import struct
from typing import Callable
import unittest

from ci.base import files
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import judge, Recorded
from harness.selftest.support.scratch import FIXTURES

SIGNATURE = 0x7f << 48  # user addresses have 48 bits; Linux ignores the top byte
CALLER, OWN, SIGNED, FLAGS = 0, 1, 0x10, 0xf0  # enum jp_bp, JP_INSN_*


class AsRecorded(unittest.TestCase):
    def test_text(self) -> None:
        """Judging prints the stored text on each machine."""
        folder = os.path.join(FIXTURES, "arm64")
        self.assertEqual(judge(folder), (0, files.read(os.path.join(folder, "ktap.txt"))))


class Chains(Recorded):
    fixture = "arm64"

    def list_signed(self, sample: rd.Sample) -> dict[int, int]:
        """Returns the signed return addresses of the dump, by their address without signature."""
        words = (word for word, in struct.iter_unpack("<Q", bytes(sample.stack)))
        return {word & ~SIGNATURE: word for word in words
                if word & SIGNATURE and self.is_emitted(word & ~SIGNATURE)}

    def test_chain_keeps_signatures(self) -> None:
        """A kernel that does not remove signatures gives addresses that nothing contains."""
        altered = 0
        for sample in self.perf.samples():
            signed, at = self.list_signed(sample), sample.user() + 1
            chain = sample.chain[:at] + [signed.get(one, one) for one in sample.chain[at:]]
            altered += chain != sample.chain
            sample.chain = chain
        self.assertGreater(altered, 30)
        self.expect_only(self.expect_fail(self.match_count(altered, "wrong.chain", "wrong-frame")),
                         "wrong.chain")


class Layouts(Recorded):
    """Layouts that err."""

    fixture = "arm64"

    def change_layouts(self, change: Callable[[int, int], int]) -> dict[int, int]:
        """Replaces `bp` of each instruction of layouts by change(layout, bp). Returns {id of a
        changed layout: offset of its first changed instruction}."""
        changed: dict[int, int] = {}
        for index in sorted(self.truth.find(rd.Truth.LAYOUT),
                            key=lambda index: self.truth.get(index)[1]):
            slot = self.truth.slots[index]
            layout = struct.unpack_from("<I", slot, 32)[0]
            for at in (40, 52):  # two instructions of 12 bytes
                offset, bp = struct.unpack_from("<HB", slot, at)
                slot[at + 2] = change(layout, bp)
                if slot[at + 2] != bp:
                    changed.setdefault(layout, offset)
            self.truth.seal(index)
        return changed

    def test_late_frame_record(self) -> None:
        """The layouts state the frame record an instruction too late."""
        delayed: set[int] = set()

        def delay(layout: int, bp: int) -> int:
            if bp & ~FLAGS != OWN or layout in delayed:
                return bp
            delayed.add(layout)
            return bp & FLAGS | CALLER

        late = self.change_layouts(delay)
        loads = map(self.truth.get, self.truth.find(rd.Truth.CODE_LOAD))
        addresses = {load[6] + late[load[8] & 0xffffffff] for load in loads
                     if load[8] & 0xffffffff in late}
        count = len(self.perf.samples())
        hit = sum(one.user_ip in addresses for one in self.perf.samples())
        self.assertGreater(hit, 2)
        self.expect_only(self.expect_fail(
            self.match_count(hit, "registers.fp", "other-frame"),
            r"(?m)^# predicted.chain: .*\(%d of %d, .*; expected =100%%" % (count - hit, count)))

    def test_missing_signature(self) -> None:
        """The layouts hide that a function signs its return address."""
        self.change_layouts(lambda layout, bp: bp & ~SIGNED)
        self.expect_only(self.expect_fail(
            r"(?m)^# dump.words: \d{2,} with cause other-word, which nothing allows$"))
