# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of a correct observation stream, in each form of a stream, and the score columns that
they must turn red. Each is far larger than an effect of chance or of a loaded machine."""

import collections
from typing import Any, Callable

Line = list[str]
Alteration = Callable[["Stream"], None]

HEADER = ("jitproof-observations", "declares", "period", "profiler", "unwinder")


class Stream:
    """A stream as lines of words; `header` has the header's lines, `things` the other lines."""

    def __init__(self, text: str, starts: dict[str, int] | None = None) -> None:
        """@starts: the start address of each emitted function."""
        self.starts = starts or {}
        lines = [line.split(" ") for line in text.splitlines()]
        self.header = [line for line in lines if line[0] in HEADER]
        self.things = [line for line in lines if line[0] not in HEADER]

    def join_text(self) -> str:
        return "".join(" ".join(line) + "\n" for line in self.header + self.things)

    def list_samples(self) -> list[Line]:
        return [line for line in self.things if line[0] == "sample"]

    def keep_samples(self, *declares: str) -> None:
        self.things = self.list_samples()
        self.header.append(["declares", *declares])

    def change_samples(self, change: Callable[[Line, int], list[Line]]) -> None:
        """Replaces each sample by the lines that @change returns for it and its number."""
        self.things = [line for line in self.things if line[0] != "sample"] + [
            new for number, line in enumerate(self.list_samples()) for new in change(line, number)]

    def change_frames(self, change: Callable[[list[str]], list[str]]) -> None:
        self.change_samples(lambda line, _: [line[:4] + change(line[4:])])

    def change_names(self, change: Callable[[str], str], first: int = 0) -> None:
        """Changes the names of emitted functions; an empty name removes it. @first: index of the
        first frame to change; 1 changes only callers."""
        def rename_frame(frame: str) -> str:
            address, has, name = frame.rpartition("=")
            if not has and (frame.startswith("0x") or frame == NATIVE):
                return frame
            return (address + has + change(name)).rstrip("=") or "?"

        self.change_frames(lambda frames: frames[:first] +
                           [rename_frame(frame) for frame in frames[first:]])

    def list_known_names(self) -> list[str]:
        """Returns the names of emitted functions."""
        frames = {frame for line in self.list_samples() for frame in line[4:]}
        return sorted({frame.rpartition("=")[2] for frame in frames
                       if "=" in frame or not (frame.startswith("0x") or frame == NATIVE)})

    def change_addresses(self, change: Callable[[int], int], first: int = 0,
                         last: int = 9999) -> None:
        def move_frame(frame: str) -> str:
            address, has, name = frame.partition("=")
            return "%#x" % change(int(address, 16)) + has + name

        self.change_frames(lambda frames: [move_frame(frame) if first <= at < last else frame
                                    for at, frame in enumerate(frames)])

    def change_times(self, change: Callable[[int], int]) -> None:
        self.change_samples(lambda line, _: [[line[0], str(change(int(line[1]))), *line[2:]]])

    def find_middle_time(self) -> str:
        times = sorted(int(line[1]) for line in self.list_samples())
        return str(times[len(times) // 2])

    def find_emitted_maps(self) -> list[Line]:
        return [line for line in self.things
                if line[0] == "map" and "x" in line[4] and not "".join(line[8:])]

    def multiply_period(self, factor: int) -> None:
        for line in self.header:
            if line[0] == "period":
                line[1] = str(int(line[1]) * factor)


# Forms: changes of a stream that leave it correct.

NATIVE = "[native]"


def keep_all(stream: Stream) -> None:
    pass


def keep_names(stream: Stream) -> None:
    stream.keep_samples("no-addresses", "no-mappings", "no-tasks")
    stream.change_frames(lambda frames: [frame.partition("=")[2] or NATIVE for frame in frames])


def sum_samples(stream: Stream) -> None:
    stream.keep_samples("no-time")
    counts = collections.Counter(tuple(line[2:]) for line in stream.things)
    stream.things = [["sample", str(count), *rest] for rest, count in counts.items()]


def sum_names(stream: Stream) -> None:
    keep_names(stream)
    stream.header.pop()
    stream.change_samples(lambda line, _: [line[:3] + ["-"] + line[4:]])
    sum_samples(stream)
    stream.header[-1] += ["no-addresses", "no-threads", "no-losses"]


def declare_no_protections(stream: Stream) -> None:
    """Declares that mappings are reported without their protection."""
    stream.header.append(["declares", "no-protections"])


FORMS: tuple[Alteration, ...] = (keep_all, keep_names, sum_samples, sum_names)


# Alterations: changes that make a stream wrong.

def drop_nine_of_ten(stream: Stream) -> None:
    stream.change_samples(lambda line, number: [line] if number % 10 == 0 else [])


def drop_weight(stream: Stream) -> None:
    stream.change_samples(lambda line, _: [[line[0], str(int(line[1]) // 10 or 1), *line[2:]]]
                  if int(line[1]) >= 10 else [])


def drop_all(stream: Stream) -> None:
    stream.change_samples(lambda line, _: [])


def repeat_later(stream: Stream) -> None:
    """Repeats each sample 7 ns later."""
    stream.change_samples(lambda line, _: [line, [line[0], str(int(line[1]) + 7), *line[2:]]])


def copy_previous(stream: Stream) -> None:
    """Replaces every second sample by a copy of the one before: the number of samples stays
    right."""
    stream.change_samples(lambda line, number: [] if number % 2 else [
        line, [line[0], str(int(line[1]) + 7), *line[2:]]])


def copy_previous_and_add(stream: Stream) -> None:
    """Does the same as copy_previous(), and adds samples of the main thread, which is in no
    path."""
    copy_previous(stream)
    stream.change_samples(lambda line, number: [line] if number % 6 else [
        line, [*line[:3], line[2], line[-1]]])


def add_native_flood(stream: Stream) -> None:
    """Adds more samples of the main thread in native code than the CPUs allow."""
    line = stream.list_samples()[0]
    tid = line[2] if line[3] != "-" else "-"
    if any("no-time" in words for words in stream.header):
        stream.things.append(["sample", "100000", line[2], tid, line[-1]])
        return
    stream.things += [["sample", str(int(line[1]) + 500 * number), line[2], tid, line[-1]]
                      for number in range(100_000)]


def repeat_samples(stream: Stream) -> None:
    stream.change_samples(lambda line, _: [line, line])


def multiply_weights(stream: Stream) -> None:
    stream.change_samples(lambda line, _: [[line[0], str(int(line[1]) * 50), *line[2:]]])


def use_one_stack(stream: Stream) -> None:
    """Replaces all samples by one stack, whose weight is 50 times that of all samples."""
    emitted = next(line for line in stream.list_samples()
                   if "=" in line[4] or not line[4].startswith(("0x", "[")))
    total = 50 * sum(int(line[1]) for line in stream.list_samples())
    stream.things = [["sample", str(total), *emitted[2:]]]


def use_one_process(stream: Stream) -> None:
    """Gives all weight to the process with the largest weight."""
    counts: collections.Counter[str] = collections.Counter()
    for line in stream.list_samples():
        counts[line[2]] += int(line[1])
    (most, its), = counts.most_common(1)
    stream.change_samples(lambda line, _: [] if line[2] != most else [
        [line[0], str(max(1, round(int(line[1]) * counts.total() / its))), *line[2:]]])


def drop_some_stacks(stream: Stream) -> None:
    stream.change_samples(lambda line, number: [line if number % 3 else line[:4]])


def drop_stacks(stream: Stream) -> None:
    stream.change_samples(lambda line, _: [line[:4]])


def drop_leaf(stream: Stream) -> None:
    stream.change_frames(lambda frames: frames[1:])


def reverse_frames(stream: Stream) -> None:
    stream.change_frames(lambda frames: frames[::-1])


def repeat_leaf(stream: Stream) -> None:
    stream.change_frames(lambda frames: frames[:1] + frames)


def shift_addresses(stream: Stream) -> None:
    stream.change_addresses(lambda address: address + (1 << 30))


def round_addresses(stream: Stream) -> None:
    stream.change_addresses(lambda address: address & ~15)


def use_function_starts(stream: Stream) -> None:
    """Reports the start of the function as the innermost address."""
    stream.change_frames(lambda frames: [
        "%#x=%s" % (stream.starts[name], name) if not at and name else frame
        for at, frame in enumerate(frames) for name in [frame.partition("=")[2]]])


def use_call_sites(stream: Stream) -> None:
    """Reports an address within the call instead of the return address."""
    stream.change_addresses(lambda address: address - 1, first=1)


def drop_root(stream: Stream) -> None:
    stream.change_frames(lambda frames: frames[:-1] if len(frames) > 1 else frames)


def add_kernel_frames(stream: Stream) -> None:
    """Prepends a kernel frame to each third sample."""
    stream.change_samples(lambda line, number: [
        line if number % 3 else
        line[:4] + [NATIVE if NATIVE in line else "0xffffffff81000010"] + line[4:]])


def mangle_names(stream: Stream) -> None:
    stream.change_names(lambda name: "_Z%d%s" % (len(name), name))


def use_unknown(stream: Stream) -> None:
    """Reports `[unknown]`, as most folded stacks do."""
    stream.change_names(lambda name: "[unknown]")


def drop_names(stream: Stream) -> None:
    stream.change_names(lambda name: "")


def exchange_names(stream: Stream) -> Callable[[str], str]:
    known = stream.list_known_names()
    return dict(zip(known, known[1:] + known[:1])).__getitem__


def swap_names(stream: Stream) -> None:
    stream.change_names(exchange_names(stream))


def swap_callers(stream: Stream) -> None:
    stream.change_names(exchange_names(stream), first=1)


def drop_caller_names(stream: Stream) -> None:
    stream.change_names(lambda name: "", first=1)


def cut_names(stream: Stream) -> None:
    stream.change_names(lambda name: name[:8])


def name_native_frames(stream: Stream) -> None:
    """Names unnamed frames after an emitted function."""
    known = stream.list_known_names()
    stream.change_frames(lambda frames: [frame if "=" in frame else frame + "=" + known[0]
                                  for frame in frames])


def change_threads(stream: Stream) -> None:
    stream.change_samples(lambda line, _: [line[:3] + [str(int(line[3]) + 1)] + line[4:]])


def add_strangers(stream: Stream) -> None:
    """Adds a sample of a process that does not exist for each tenth sample."""
    stream.change_samples(lambda line, number: [line] + (
        [line[:2] + ["999999", "999999" if line[3] != "-" else "-"] + line[4:]]
        if number % 10 == 0 else []))


def change_pids(stream: Stream) -> None:
    """Reports the pid of a process that does not exist; the tid is right."""
    stream.change_samples(lambda line, _: [line[:2] + ["999999"] + line[3:]])


def use_inner_pids(stream: Stream) -> None:
    """Reports pids as in a pid namespace."""
    stream.change_samples(lambda line,
                          _: [line[:2] + ["1", "1" if line[3] != "-" else "-"] + line[4:]])


def invent_thread(stream: Stream) -> None:
    pid = stream.list_samples()[0][2]
    stream.things.append(["fork", stream.find_middle_time(), pid, "999999", pid, pid])


def invent_exec(stream: Stream) -> None:
    """Adds an exec that did not happen."""
    stream.things.append(["exec", stream.find_middle_time(), stream.list_samples()[0][2], "other"])


def drop_execute(stream: Stream) -> None:
    """Reports that emitted code lost its execute permission."""
    for line in stream.find_emitted_maps():
        stream.things.append(["map", stream.find_middle_time(), *line[2:4], "rw-p", *line[5:]])


def extend_maps(stream: Stream) -> None:
    """Extends mappings of emitted code by an unmapped page."""
    for line in stream.find_emitted_maps():
        start, _, end = line[3].partition("-")
        line[3] = "%s-%x" % (start, int(end, 16) + 4096)


def change_offsets(stream: Stream) -> None:
    """Reports mappings of files with the offset of the next page."""
    for line in stream.things:
        if line[0] == "map" and line[-1].startswith("/"):
            line[5] = "%08x" % (int(line[5], 16) + 4096)


def invent_map(stream: Stream) -> None:
    """Adds a mapping where nothing was ever mapped."""
    line = stream.find_emitted_maps()[0]
    stream.things.append([*line[:3], "7e0000000000-7e0000001000", *line[4:]])


def report_lost_samples(stream: Stream) -> None:
    stream.things.append(["lost", "0", "samples", "7"])


def report_lost_records(stream: Stream) -> None:
    stream.things.append(["lost", "0", "records", "7"])


def lengthen_period(stream: Stream) -> None:
    stream.multiply_period(50)


def use_wall_clock(stream: Stream) -> None:
    stream.change_times(lambda time: time + 17 * 10**17)


def use_microseconds(stream: Stream) -> None:
    stream.change_times(lambda time: time // 1000)


def round_to_milliseconds(stream: Stream) -> None:
    stream.change_times(lambda time: time // 10**6 * 10**6)


def advance_times(stream: Stream) -> None:
    stream.change_times(lambda time: time - 20 * 10**6)


# An alteration, the columns that it must turn red, and the forms in which it does. None: the row
# is an ERROR that names the contradiction.
ROWS: tuple[tuple[Any, ...], ...] = (
    (drop_nine_of_ten, {"seen"}, keep_all, keep_names),
    (drop_weight, {"seen"}, sum_samples),
    (drop_all, {"seen"}, keep_all, keep_names, sum_names),
    (repeat_later, {"invented"}, keep_all, keep_names),
    (copy_previous, {"invented"}, keep_all, keep_names),
    (copy_previous_and_add, {"invented"}, keep_all, keep_names),
    (add_native_flood, {"invented"}, keep_all, keep_names, sum_samples, sum_names),
    (repeat_samples, {"invented"}, keep_all, keep_names),
    (multiply_weights, {"invented"}, sum_samples, sum_names),
    (use_one_stack, {"invented"}, sum_samples, sum_names),
    (drop_some_stacks, {"whole"}, keep_all, keep_names),
    (drop_stacks, {"whole"}, keep_names, sum_samples, sum_names),
    (drop_leaf, {"whole", "invented"}, keep_all),
    (drop_leaf, {"whole"}, sum_samples),
    (repeat_leaf, {"whole", "invented"}, keep_all),
    (reverse_frames, {"invented"}, keep_names, sum_samples, sum_names),
    (shift_addresses, {"seen", "wrong"}, sum_samples),
    (round_addresses, {"whole", "invented"}, keep_all, sum_samples),
    (use_function_starts, {"whole", "invented"}, keep_all, sum_samples),
    (use_call_sites, {"whole", "invented"}, keep_all, sum_samples),
    (drop_root, {"whole"}, keep_all, keep_names, sum_samples, sum_names),
    (add_kernel_frames, {"invented"}, keep_all, keep_names, sum_samples, sum_names),
    (mangle_names, {"right"}, keep_names, sum_names),
    (mangle_names, {"right", "wrong"}, sum_samples),
    (use_unknown, {"right"}, keep_names, sum_names),
    (drop_names, {"right"}, keep_names, sum_samples, sum_names),
    (swap_names, {"right", "wrong"}, sum_samples),
    (swap_callers, {"right", "wrong"}, keep_all, sum_samples),
    (swap_callers, {"whole", "invented"}, keep_names),
    (drop_caller_names, {"right"}, keep_all, keep_names, sum_samples),
    (cut_names, {"right", "wrong"}, keep_all, sum_samples),
    (cut_names, {"right"}, keep_names),
    (name_native_frames, {"wrong"}, keep_all, sum_samples),
    (change_threads, {"seen", "whole", "invented"}, keep_all),
    (change_threads, {"whole", "invented"}, sum_samples),
    (add_strangers, {"invented"}, keep_all, sum_samples, sum_names, keep_names),
    (change_pids, {"invented"}, keep_names),
    (use_inner_pids, {"seen", "invented"}, keep_names, keep_all, sum_samples, sum_names),
    (invent_thread, {"tasks"}, keep_all),
    (invent_exec, {"tasks", "mapped", "whole"}, keep_all),
    (drop_execute, {"mapped", "whole"}, keep_all),
    (extend_maps, {"mapped"}, keep_all),
    (invent_map, {"mapped"}, keep_all),
    (change_offsets, {"mapped"}, keep_all),
    (invent_map, set(), declare_no_protections),
    (report_lost_samples, {"lost"}, keep_all, keep_names, sum_samples),
    (report_lost_records, {"lost"}, keep_all),
    (lengthen_period, {"invented"}, keep_all),
    (use_wall_clock, None, keep_all),
    (use_microseconds, None, keep_names),
    (round_to_milliseconds, {"whole", "invented"}, keep_all),
    (advance_times, {"whole", "invented"}, keep_all),
)
ALTERATIONS: dict[tuple[Alteration, Alteration], set[str] | None] = {
    (form, alteration): columns for alteration, columns, *forms in ROWS for form in forms
}

# (form, alteration): columns that must be red for a workload with code in a library without
# symbols.
BESIDE_FILES: dict[tuple[Alteration, Alteration], set[str]] = {
    (sum_samples, swap_names): {"right", "wrong"},
    (sum_samples, drop_names): {"right"},
    (sum_samples, drop_caller_names): {"right"},
    (sum_samples, name_native_frames): {"wrong"},
    (sum_samples, add_kernel_frames): {"invented"},
}
