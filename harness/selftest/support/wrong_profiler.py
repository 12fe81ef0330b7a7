#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A profiler that reports a correct recording in the form, or with the alteration,
$JITPROOF_ALTERATION."""

import os
import sys
from typing import Callable

sys.path[:0] = [os.environ["JITPROOF_ADAPTING"], os.environ["JITPROOF_TREE"]]
import perf
from harness.selftest.support import observed, run_directory as rd, wrong_texts

ALTERATIONS: dict[str, Callable[[str], str]] = {
    "none": str,
    "lost": lambda stream: stream + "lost 0 samples 7\n",
    "sums": str,
    "weights": lambda stream: wrong_texts.change_samples(
        stream, lambda words, _: [words[0], str(max(1, int(words[1]) // 2)), *words[2:]]),
}
SUMS = ("sums", "weights")  # without times


class WrongProfiler(perf.Recording):
    def finish(self) -> None:
        super().finish()
        folder = self.options.dir
        recorded = rd.PerfData.load(self.file.path)
        alteration = os.environ["JITPROOF_ALTERATION"]
        declares = ["no-time", "no-mappings"] if alteration in SUMS else []
        stream = observed.convert(recorded, declares, observed.Names(folder).name_at,
                                  10**9 // self.options.freq)
        if alteration == "lost":
            self.file.count.lost_samples += 7
        with open(os.path.join(folder, "observations"), "x", encoding="utf-8",
                  errors="surrogateescape") as file:
            file.write(ALTERATIONS[alteration](stream))
        os.unlink(self.file.path)


perf.main(WrongProfiler)
