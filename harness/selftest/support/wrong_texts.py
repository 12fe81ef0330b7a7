# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the text of a stream of observations, by name."""

import re
from typing import Callable

Change = Callable[[list[str], int], list[str] | None]  # maps words and number to new words


def change_samples(stream: str, change: Change) -> str:
    lines = []
    for number, line in enumerate(stream.splitlines()):
        words: list[str] | None = line.split(" ")
        assert words
        if words[0] == "sample":
            words = change(words, number)
        if words:
            lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def repeat_samples(stream: str) -> str:
    """Repeats each sample of the thread with the most samples."""
    tids = re.findall(r"(?m)^sample \d+ \d+ (\d+)", stream)
    most = max(set(tids), key=tids.count)
    return change_samples(stream, lambda words, _: [
        " ".join(words) + "\n" + " ".join(words)] if words[3] == most else words)


def keep_first_names(stream: str) -> str:
    """Reports at each address the name of the first function there, also for later functions."""
    first: dict[str, str] = {}
    return re.sub(r"(0x[0-9a-f]+)=(\S+)",
                  lambda result: result[1] + "=" + first.setdefault(result[1], result[2]), stream)


def remove_records(*kinds: str) -> Callable[[str], str]:
    return lambda stream: re.sub(r"(?m)^(%s) .*\n" % "|".join(kinds), "", stream)


def credit_parents(stream: str) -> str:
    """Reports samples of a child as samples of its parent."""
    parents = dict(re.findall(r"(?m)^fork \d+ (\d+) \d+ (\d+ \d+)$", stream))
    return change_samples(stream, lambda words, _: [
        *words[:2], parents.get(words[2], " ".join(words[2:4])), *words[4:]])


def drop_first_half(stream: str) -> str:
    """Drops the samples of the first half of the window."""
    times = [int(time) for time in re.findall(r"(?m)^sample (\d+)", stream)]
    middle = (min(times) + max(times)) // 2
    return change_samples(stream, lambda words, _: words if int(words[1]) > middle else None)


ALTERATIONS: dict[str, Callable[[str], str]] = {
    "window": drop_first_half,
    "fork": remove_records("fork"),
    "exit": remove_records("exit"),
    "exec": remove_records("exec"),
    "comm": lambda stream: re.sub(r"(?m)^(comm .*) \S+$", r"\1 other", stream),
    "strays": lambda stream: re.sub(r"(?m)^(fork \d+) (\d+) (\d+) (\d+) (\d+)$",
                                    r"\1 \2 \3 1 1", stream),
    "parent": credit_parents,
    "double": repeat_samples,
    "stale": keep_first_names,
    "truncate": lambda stream: change_samples(stream, lambda words, _: words[:4 + 16]),
    "libraries": lambda stream: re.sub(r"=object_\S+", "", stream),  # still correct
}
