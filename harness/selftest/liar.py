#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A profiler that knows the truth, by perf's recording, and breaks one rule: $JITPROOF_LIE."""

import os
import re
import sys
from typing import Callable

sys.path[:0] = [os.environ["JITPROOF_ADAPTING"], os.environ["JITPROOF_TREE"]]
import perf
from harness.selftest import observed, run_directory as rd

Change = Callable[[list[str], int], list[str] | None]  # of a sample's words, and its number


def samples(stream: str, change: Change) -> str:
    lines = []
    for number, line in enumerate(stream.splitlines()):
        words: list[str] | None = line.split(" ")
        assert words
        if words[0] == "sample":
            words = change(words, number)
        if words:
            lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def swap_names(stream: str) -> str:
    names = sorted(set(re.findall(r"=(\S+)", stream)))
    other = dict(zip(names, names[1:] + names[:1]))
    return re.sub(r"=(\S+)", lambda found: "=" + other[found[1]], stream)


def without(*kinds: str) -> Callable[[str], str]:
    return lambda stream: re.sub(r"(?m)^(%s) .*\n" % "|".join(kinds), "", stream)


def later(stream: str) -> str:
    """Says nothing of the first half of its window."""
    times = [int(time) for time in re.findall(r"(?m)^sample (\d+)", stream)]
    middle = (min(times) + max(times)) // 2
    return samples(stream, lambda words, _: words if int(words[1]) > middle else None)


LIES: dict[str, Callable[[str], str]] = {
    "none": lambda stream: stream,
    "drop": lambda stream: samples(stream, lambda words, at: words if at % 2 else None),
    "window": later,
    "caller": lambda stream: samples(stream, lambda words, _: words[:5] + words[6:]),
    "leaf": lambda stream: samples(stream, lambda words, _: words[:5]),
    "invent": lambda stream: samples(stream, lambda words, _: words[:6] + words[5:]),
    "order": lambda stream: samples(stream, lambda words, _: words[:5] + words[:4:-1]),
    "swap": swap_names,
    "nameless": lambda stream: re.sub(r"=\S+", "", stream),
    "maps": lambda stream: re.sub(r"(?m)^map \d+ \d+ \S+ \S*x\S* 0+ 00:00 0 ?\n", "", stream),
    "fork": without("fork"),
    "exit": without("exit"),
    "exec": without("exec"),
    "comm": lambda stream: re.sub(r"(?m)^(comm .*) \S+$", r"\1 other", stream),
    "strays": lambda stream: re.sub(r"(?m)^(fork \d+) (\d+) (\d+) (\d+) (\d+)$",
                                    r"\1 \2 \3 1 1", stream),
    "lost": lambda stream: stream + "lost 0 samples 7\n",
}


class Liar(perf.Recording):
    def finish(self) -> None:
        super().finish()
        folder = self.options.dir
        recorded = rd.PerfData.load(self.file.path)
        stream = observed.convert(recorded, [], observed.Names(folder).at,
                                  10**9 // self.options.freq)
        lie = os.environ["JITPROOF_LIE"]
        if lie == "lost":
            self.file.count.lost_samples += 7
        with open(os.path.join(folder, "observations"), "x", encoding="utf-8",
                  errors="surrogateescape") as file:
            file.write(LIES[lie](stream))
        os.unlink(self.file.path)


perf.main(Liar)
