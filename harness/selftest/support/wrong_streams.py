# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of a correct observation stream, in each form of a stream, and the score columns that
they must turn red. Each is far larger than an effect of chance or of a loaded machine."""

import collections
from typing import Callable

Line = list[str]
Alteration = Callable[["Stream"], None]

HEADER = ("jitproof-observations", "declares", "period", "profiler", "unwinder")


class Stream:
    """A stream as lines of words; `header` holds the header's lines, `things` the others."""

    def __init__(self, text: str, starts: dict[str, int] | None = None) -> None:
        """@starts: the start address of each emitted function."""
        self.starts = starts or {}
        lines = [line.split(" ") for line in text.splitlines()]
        self.header = [line for line in lines if line[0] in HEADER]
        self.things = [line for line in lines if line[0] not in HEADER]

    def text(self) -> str:
        return "".join(" ".join(line) + "\n" for line in self.header + self.things)

    def samples(self) -> list[Line]:
        return [line for line in self.things if line[0] == "sample"]

    def only_samples(self, *declares: str) -> None:
        self.things = self.samples()
        self.header.append(["declares", *declares])

    def change(self, change: Callable[[Line, int], list[Line]]) -> None:
        """Replaces each sample by the lines that @change returns for it and its number."""
        self.things = [line for line in self.things if line[0] != "sample"] + [
            new for number, line in enumerate(self.samples()) for new in change(line, number)]

    def frames(self, change: Callable[[list[str]], list[str]]) -> None:
        self.change(lambda line, _: [line[:4] + change(line[4:])])

    def names(self, change: Callable[[str], str], first: int = 0) -> None:
        """Changes the names of emitted functions; an empty name removes it. @first: the first frame
        to change, 1 for callers alone."""
        def renamed(frame: str) -> str:
            address, has, name = frame.rpartition("=")
            if not has and (frame.startswith("0x") or frame == NATIVE):
                return frame
            return (address + has + change(name)).rstrip("=") or "?"

        self.frames(lambda frames: frames[:first] + [renamed(frame) for frame in frames[first:]])

    def known(self) -> list[str]:
        """Returns the names of emitted functions."""
        frames = {frame for line in self.samples() for frame in line[4:]}
        return sorted({frame.rpartition("=")[2] for frame in frames
                       if "=" in frame or not (frame.startswith("0x") or frame == NATIVE)})

    def addresses(self, change: Callable[[int], int], first: int = 0, last: int = 9999) -> None:
        def moved(frame: str) -> str:
            address, has, name = frame.partition("=")
            return "%#x" % change(int(address, 16)) + has + name

        self.frames(lambda frames: [moved(frame) if first <= at < last else frame
                                    for at, frame in enumerate(frames)])

    def times(self, change: Callable[[int], int]) -> None:
        self.change(lambda line, _: [[line[0], str(change(int(line[1]))), *line[2:]]])

    def middle(self) -> str:
        times = sorted(int(line[1]) for line in self.samples())
        return str(times[len(times) // 2])

    def emitted_maps(self) -> list[Line]:
        return [line for line in self.things
                if line[0] == "map" and "x" in line[4] and not "".join(line[8:])]

    def period(self, factor: int) -> None:
        for line in self.header:
            if line[0] == "period":
                line[1] = str(int(line[1]) * factor)


# Forms of a stream; each leaves it correct.

NATIVE = "[native]"


def full(stream: Stream) -> None:
    pass


def names(stream: Stream) -> None:
    stream.only_samples("no-addresses", "no-mappings", "no-tasks")
    stream.frames(lambda frames: [frame.partition("=")[2] or NATIVE for frame in frames])


def sums(stream: Stream) -> None:
    stream.only_samples("no-time")
    counts = collections.Counter(tuple(line[2:]) for line in stream.things)
    stream.things = [["sample", str(count), *rest] for rest, count in counts.items()]


def sums_of_names(stream: Stream) -> None:
    names(stream)
    stream.header.pop()
    stream.change(lambda line, _: [line[:3] + ["-"] + line[4:]])
    sums(stream)
    stream.header[-1] += ["no-addresses", "no-threads", "no-losses"]


def unprotected(stream: Stream) -> None:
    """Declares that mappings are reported without their protection."""
    stream.header.append(["declares", "no-protections"])


FORMS: tuple[Alteration, ...] = (full, names, sums, sums_of_names)


# Alterations.

def drop(stream: Stream) -> None:
    stream.change(lambda line, number: [line] if number % 10 == 0 else [])


def drop_weight(stream: Stream) -> None:
    stream.change(lambda line, _: [[line[0], str(int(line[1]) // 10 or 1), *line[2:]]]
                  if int(line[1]) >= 10 else [])


def silent(stream: Stream) -> None:
    stream.change(lambda line, _: [])


def repeat(stream: Stream) -> None:
    """Repeats each sample 7 ns later."""
    stream.change(lambda line, _: [line, [line[0], str(int(line[1]) + 7), *line[2:]]])


def pairs(stream: Stream) -> None:
    """Replaces each second sample by a copy of the one before: the number stays right."""
    stream.change(lambda line, number: [] if number % 2 else [
        line, [line[0], str(int(line[1]) + 7), *line[2:]]])


def pairs_beside(stream: Stream) -> None:
    """Does the same, and adds samples of the main thread, which is in no path."""
    pairs(stream)
    stream.change(lambda line, number: [line] if number % 6 else [
        line, [*line[:3], line[2], line[-1]]])


def flood(stream: Stream) -> None:
    """Adds more samples of the main thread in native code than the CPUs allow."""
    line = stream.samples()[0]
    tid = line[2] if line[3] != "-" else "-"
    if any("no-time" in words for words in stream.header):
        stream.things.append(["sample", "100000", line[2], tid, line[-1]])
        return
    stream.things += [["sample", str(int(line[1]) + 500 * number), line[2], tid, line[-1]]
                      for number in range(100_000)]


def twice(stream: Stream) -> None:
    stream.change(lambda line, _: [line, line])


def heavy(stream: Stream) -> None:
    stream.change(lambda line, _: [[line[0], str(int(line[1]) * 50), *line[2:]]])


def one_stack(stream: Stream) -> None:
    """Replaces all samples by one stack, 50 times as heavy as all of them."""
    emitted = next(line for line in stream.samples()
                   if "=" in line[4] or not line[4].startswith(("0x", "[")))
    total = 50 * sum(int(line[1]) for line in stream.samples())
    stream.things = [["sample", str(total), *emitted[2:]]]


def one_process(stream: Stream) -> None:
    """Gives all weight to the process that has most of it."""
    counts: collections.Counter[str] = collections.Counter()
    for line in stream.samples():
        counts[line[2]] += int(line[1])
    (most, its), = counts.most_common(1)
    stream.change(lambda line, _: [] if line[2] != most else [
        [line[0], str(max(1, round(int(line[1]) * counts.total() / its))), *line[2:]]])


def stackless(stream: Stream) -> None:
    stream.change(lambda line, number: [line if number % 3 else line[:4]])


def empty(stream: Stream) -> None:
    stream.change(lambda line, _: [line[:4]])


def leafless(stream: Stream) -> None:
    stream.frames(lambda frames: frames[1:])


def reverse(stream: Stream) -> None:
    stream.frames(lambda frames: frames[::-1])


def leaf_twice(stream: Stream) -> None:
    stream.frames(lambda frames: frames[:1] + frames)


def page_off(stream: Stream) -> None:
    stream.addresses(lambda address: address + (1 << 30))


def rounded_down(stream: Stream) -> None:
    stream.addresses(lambda address: address & ~15)


def begins(stream: Stream) -> None:
    """Reports the start of the function as the innermost address."""
    stream.frames(lambda frames: [
        "%#x=%s" % (stream.starts[name], name) if not at and name else frame
        for at, frame in enumerate(frames) for name in [frame.partition("=")[2]]])


def call_sites(stream: Stream) -> None:
    """Reports an address within the call instead of the return address."""
    stream.addresses(lambda address: address - 1, first=1)


def rootless(stream: Stream) -> None:
    stream.frames(lambda frames: frames[:-1] if len(frames) > 1 else frames)


def kernel(stream: Stream) -> None:
    """Prepends a kernel frame to each third sample."""
    stream.change(lambda line, number: [
        line if number % 3 else
        line[:4] + [NATIVE if NATIVE in line else "0xffffffff81000010"] + line[4:]])


def mangled(stream: Stream) -> None:
    stream.names(lambda name: "_Z%d%s" % (len(name), name))


def unknown(stream: Stream) -> None:
    """Reports `[unknown]`, as most folded stacks do."""
    stream.names(lambda name: "[unknown]")


def nameless(stream: Stream) -> None:
    stream.names(lambda name: "")


def other_names(stream: Stream) -> Callable[[str], str]:
    known = stream.known()
    return dict(zip(known, known[1:] + known[:1])).__getitem__


def swapped(stream: Stream) -> None:
    stream.names(other_names(stream))


def callers_swapped(stream: Stream) -> None:
    stream.names(other_names(stream), first=1)


def callers_nameless(stream: Stream) -> None:
    stream.names(lambda name: "", first=1)


def cut_names(stream: Stream) -> None:
    stream.names(lambda name: name[:8])


def native_named(stream: Stream) -> None:
    """Names unnamed frames after an emitted function."""
    known = stream.known()
    stream.frames(lambda frames: [frame if "=" in frame else frame + "=" + known[0]
                                  for frame in frames])


def other_thread(stream: Stream) -> None:
    stream.change(lambda line, _: [line[:3] + [str(int(line[3]) + 1)] + line[4:]])


def stranger(stream: Stream) -> None:
    """Adds a sample of a process that does not exist for each tenth sample."""
    stream.change(lambda line, number: [line] + (
        [line[:2] + ["999999", "999999" if line[3] != "-" else "-"] + line[4:]]
        if number % 10 == 0 else []))


def wrong_pid(stream: Stream) -> None:
    """Reports the pid of a process that does not exist; the tid is right."""
    stream.change(lambda line, _: [line[:2] + ["999999"] + line[3:]])


def inner_pids(stream: Stream) -> None:
    """Reports pids as in a pid namespace."""
    stream.change(lambda line, _: [line[:2] + ["1", "1" if line[3] != "-" else "-"] + line[4:]])


def phantom_thread(stream: Stream) -> None:
    pid = stream.samples()[0][2]
    stream.things.append(["fork", stream.middle(), pid, "999999", pid, pid])


def image_lost(stream: Stream) -> None:
    """Adds an exec that did not happen."""
    stream.things.append(["exec", stream.middle(), stream.samples()[0][2], "other"])


def unmapped(stream: Stream) -> None:
    """Reports that emitted code lost its execute permission."""
    for line in stream.emitted_maps():
        stream.things.append(["map", stream.middle(), *line[2:4], "rw-p", *line[5:]])


def longer(stream: Stream) -> None:
    """Extends mappings of emitted code by an unmapped page."""
    for line in stream.emitted_maps():
        start, _, end = line[3].partition("-")
        line[3] = "%s-%x" % (start, int(end, 16) + 4096)


def other_part(stream: Stream) -> None:
    """Reports mappings of files with the offset of the next page."""
    for line in stream.things:
        if line[0] == "map" and line[-1].startswith("/"):
            line[5] = "%08x" % (int(line[5], 16) + 4096)


def elsewhere(stream: Stream) -> None:
    """Adds a mapping where nothing was ever mapped."""
    line = stream.emitted_maps()[0]
    stream.things.append([*line[:3], "7e0000000000-7e0000001000", *line[4:]])


def lost_samples(stream: Stream) -> None:
    stream.things.append(["lost", "0", "samples", "7"])


def lost_records(stream: Stream) -> None:
    stream.things.append(["lost", "0", "records", "7"])


def long_period(stream: Stream) -> None:
    stream.period(50)


def wall_clock(stream: Stream) -> None:
    stream.times(lambda time: time + 17 * 10**17)


def microseconds(stream: Stream) -> None:
    stream.times(lambda time: time // 1000)


def milliseconds(stream: Stream) -> None:
    """Rounds times to milliseconds."""
    stream.times(lambda time: time // 10**6 * 10**6)


def early(stream: Stream) -> None:
    stream.times(lambda time: time - 20 * 10**6)


# (form, alteration): the red columns. None: the row is an ERROR that names the contradiction.
ALTERATIONS: dict[tuple[Alteration, Alteration], set[str] | None] = {
    (full, drop): {"seen"},
    (names, drop): {"seen"},
    (sums, drop_weight): {"seen"},
    (full, silent): {"seen"},
    (names, silent): {"seen"},
    (sums_of_names, silent): {"seen"},
    (full, repeat): {"invented"},
    (names, repeat): {"invented"},
    (full, pairs): {"invented"},
    (names, pairs): {"invented"},
    (full, pairs_beside): {"invented"},
    (names, pairs_beside): {"invented"},
    (full, flood): {"invented"},
    (names, flood): {"invented"},
    (sums, flood): {"invented"},
    (sums_of_names, flood): {"invented"},
    (full, twice): {"invented"},
    (names, twice): {"invented"},
    (sums, heavy): {"invented"},
    (sums_of_names, heavy): {"invented"},
    (sums, one_stack): {"invented"},
    (sums_of_names, one_stack): {"invented"},
    (full, stackless): {"whole"},
    (names, stackless): {"whole"},
    (names, empty): {"whole"},
    (sums, empty): {"whole"},
    (sums_of_names, empty): {"whole"},
    (full, leafless): {"whole", "invented"},
    (sums, leafless): {"whole"},
    (full, leaf_twice): {"whole", "invented"},
    (names, reverse): {"invented"},
    (sums, reverse): {"invented"},
    (sums_of_names, reverse): {"invented"},
    (sums, page_off): {"seen", "wrong"},
    (full, rounded_down): {"whole", "invented"},
    (sums, rounded_down): {"whole", "invented"},
    (full, begins): {"whole", "invented"},
    (sums, begins): {"whole", "invented"},
    (full, call_sites): {"whole", "invented"},
    (sums, call_sites): {"whole", "invented"},
    (full, rootless): {"whole"},
    (names, rootless): {"whole"},
    (sums, rootless): {"whole"},
    (sums_of_names, rootless): {"whole"},
    (full, kernel): {"invented"},
    (names, kernel): {"invented"},
    (sums, kernel): {"invented"},
    (sums_of_names, kernel): {"invented"},
    (names, mangled): {"right"},
    (sums, mangled): {"right", "wrong"},
    (sums_of_names, mangled): {"right"},
    (names, unknown): {"right"},
    (sums_of_names, unknown): {"right"},
    (names, nameless): {"right"},
    (sums, nameless): {"right"},
    (sums_of_names, nameless): {"right"},
    (sums, swapped): {"right", "wrong"},
    (full, callers_swapped): {"right", "wrong"},
    (names, callers_swapped): {"whole", "invented"},
    (sums, callers_swapped): {"right", "wrong"},
    (full, callers_nameless): {"right"},
    (names, callers_nameless): {"right"},
    (sums, callers_nameless): {"right"},
    (full, cut_names): {"right", "wrong"},
    (names, cut_names): {"right"},
    (sums, cut_names): {"right", "wrong"},
    (full, native_named): {"wrong"},
    (sums, native_named): {"wrong"},
    (full, other_thread): {"seen", "whole", "invented"},
    (sums, other_thread): {"whole", "invented"},
    (full, stranger): {"invented"},
    (sums, stranger): {"invented"},
    (sums_of_names, stranger): {"invented"},
    (names, stranger): {"invented"},
    (names, wrong_pid): {"invented"},
    (names, inner_pids): {"seen", "invented"},
    (full, inner_pids): {"seen", "invented"},
    (sums, inner_pids): {"seen", "invented"},
    (sums_of_names, inner_pids): {"seen", "invented"},
    (full, phantom_thread): {"tasks"},
    (full, image_lost): {"tasks", "mapped", "whole"},
    (full, unmapped): {"mapped", "whole"},
    (full, longer): {"mapped"},
    (full, elsewhere): {"mapped"},
    (full, other_part): {"mapped"},
    (unprotected, elsewhere): set(),
    (full, lost_samples): {"lost"},
    (names, lost_samples): {"lost"},
    (sums, lost_samples): {"lost"},
    (full, lost_records): {"lost"},
    (full, long_period): {"invented"},
    (full, wall_clock): None,
    (names, microseconds): None,
    (full, milliseconds): {"whole", "invented"},
    (full, early): {"whole", "invented"},
}

# The same for a workload with code in a library without symbols.
BESIDE_FILES: dict[tuple[Alteration, Alteration], set[str]] = {
    (sums, swapped): {"right", "wrong"},
    (sums, nameless): {"right"},
    (sums, callers_nameless): {"right"},
    (sums, native_named): {"wrong"},
    (sums, kernel): {"invented"},
}
