# SPDX-License-Identifier: GPL-2.0-only
"""Tests samples that no kernel takes, which validators find without the truth."""

from typing import Any

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded


class Rules(Recorded):
    """jitproof's own capture, attached to a process with two threads."""

    fixture = "clock"

    def find_native_sample(self) -> Any:
        """Returns a sample in user mode whose dump holds its first return address."""
        return next(one for one in self.perf.samples() if one.misc & 7 == rd.USER and
                    len(one.chain) > one.user() + 3 and
                    one.word(one.regs[rd.X86_BP] + 8) == one.chain[one.user() + 1])

    def check_found(self, metric: str, cause: str, count: int = 1) -> None:
        self.assertRegex(self.judge()[1], self.match_count(count, metric, cause))

    def check_none(self, metric: str) -> None:
        self.assertNotIn("# %s: " % metric, self.judge()[1])

    def test_chain_that_contradicts_the_dump(self) -> None:
        sample = self.find_native_sample()
        begin, chain = sample.user(), list(sample.chain)
        for changed in (chain[:begin + 1], [*chain[:begin + 1], 0x1234, *chain[begin + 2:]],
                        chain[:begin], []):
            sample.chain = changed
            self.assertNotEqual(self.judge()[0], 0)
        sample.chain = chain[:begin + 1]
        self.check_found("chain.dump", "other-caller")
        # The chain has as many frames as the limit allows.
        self.facts["max_stack"] = str(len(sample.chain) - 1)
        self.check_none("chain.dump")
        self.facts["max_stack"] = "127"
        sample.chain, old = chain, bytes(sample.stack)
        sample.stack = bytearray(len(old))
        self.check_found("chain.dump", "other-caller")
        # The dump ends before the first frame, so nothing contradicts the chain.
        sample.stack = bytearray(old[:8])
        self.check_none("chain.dump")
