# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of a correct observation stream, in each form of a stream, and the score columns that
they must turn red. Each is far larger than an effect of chance or of a loaded machine."""

import collections
from typing import Callable

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
            address, separator, name = frame.rpartition("=")
            if not separator and (frame.startswith("0x") or frame == NATIVE):
                return frame
            return (address + separator + change(name)).rstrip("=") or "?"

        self.change_frames(lambda frames: frames[:first] +
                           [rename_frame(frame) for frame in frames[first:]])

    def list_known_names(self) -> list[str]:
        """Returns the names of emitted functions."""
        frames = {frame for line in self.list_samples() for frame in line[4:]}
        return sorted({frame.rpartition("=")[2] for frame in frames
                       if "=" in frame or not (frame.startswith("0x") or frame == NATIVE)})

    def change_addresses(self, change: Callable[[int], int], first: int = 0) -> None:
        def move_frame(frame: str) -> str:
            address, separator, name = frame.partition("=")
            return "%#x" % change(int(address, 16)) + separator + name

        self.change_frames(lambda frames: frames[:first] + [*map(move_frame, frames[first:])])

    def change_times(self, change: Callable[[int], int]) -> None:
        self.change_samples(lambda line, _: [[line[0], str(change(int(line[1]))), *line[2:]]])

    def find_middle_time(self) -> str:
        times = sorted(int(line[1]) for line in self.list_samples())
        return str(times[len(times) // 2])

    def find_emitted_maps(self) -> list[Line]:
        return [line for line in self.things
                if line[0] == "map" and "x" in line[4] and not "".join(line[8:])]


NATIVE = "[native]"


def keep_names(stream: Stream) -> None:
    stream.keep_samples("no-addresses", "no-mappings", "no-tasks")
    stream.change_frames(lambda frames: [frame.partition("=")[2] or NATIVE for frame in frames])


def sum_samples(stream: Stream) -> None:
    stream.keep_samples("no-time")
    counts = collections.Counter(tuple(line[2:]) for line in stream.things)
    stream.things = [["sample", str(count), *remainder] for remainder, count in counts.items()]


def sum_names(stream: Stream) -> None:
    keep_names(stream)
    stream.header.pop()
    stream.change_samples(lambda line, _: [line[:3] + ["-"] + line[4:]])
    sum_samples(stream)
    stream.header[-1] += ["no-addresses", "no-threads", "no-losses"]


def declare_no_protections(stream: Stream) -> None:
    """Declares that mappings are reported without their protection."""
    stream.header.append(["declares", "no-protections"])


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


def use_function_starts(stream: Stream) -> None:
    """Reports the start of the function as the innermost address."""
    stream.change_frames(lambda frames: [
        "%#x=%s" % (stream.starts[name], name) if not offset and name else frame
        for offset, frame in enumerate(frames) for name in [frame.partition("=")[2]]])


def name_native_frames(stream: Stream) -> None:
    """Names unnamed frames after an emitted function."""
    known = stream.list_known_names()
    stream.change_frames(lambda frames: [frame if "=" in frame else frame + "=" + known[0]
                                         for frame in frames])


def invent_thread(stream: Stream) -> None:
    pid = stream.list_samples()[0][2]
    stream.things.append(["fork", stream.find_middle_time(), pid, "999999", pid, pid])


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


def exchange_names(stream: Stream) -> Callable[[str], str]:
    known = stream.list_known_names()
    return dict(zip(known, known[1:] + known[:1])).__getitem__


def lengthen_period(stream: Stream) -> None:
    for line in stream.header:
        if line[0] == "period":
            line[1] = str(int(line[1]) * 50)


def alter_samples(change: Callable[[Line, int], list[Line]]) -> Alteration:
    return lambda stream: stream.change_samples(change)


def alter_frames(change: Callable[[list[str]], list[str]]) -> Alteration:
    return lambda stream: stream.change_frames(change)


def alter_names(change: Callable[[str], str], first: int = 0) -> Alteration:
    return lambda stream: stream.change_names(change, first)


def alter_addresses(change: Callable[[int], int], first: int = 0) -> Alteration:
    return lambda stream: stream.change_addresses(change, first)


def alter_times(change: Callable[[int], int]) -> Alteration:
    return lambda stream: stream.change_times(change)


def add_thing(*words: str) -> Alteration:
    return lambda stream: stream.things.append([*words])


FORMS: dict[str, Alteration] = {
    "keep_all": lambda stream: None, "keep_names": keep_names, "sum_samples": sum_samples,
    "sum_names": sum_names}
# {name: (alteration, {forms: columns that it must turn red in these})}. None: the row is an ERROR
# that names the contradiction.
ROWS: dict[str, tuple[Alteration, dict[str, set[str] | None]]] = {
    "drop_nine_of_ten": (alter_samples(lambda line, number: [line] if number % 10 == 0 else []),
                         {"keep_all keep_names": {"seen"}}),
    "drop_weight": (alter_samples(lambda line, _: [
        [line[0], str(int(line[1]) // 10 or 1), *line[2:]]] if int(line[1]) >= 10 else []),
                    {"sum_samples": {"seen"}}),
    "drop_all": (alter_samples(lambda line, _: []), {"keep_all keep_names sum_names": {"seen"}}),
    # Moves each time by 7 ns.
    "repeat_later": (alter_samples(lambda line, _: [
        line, [line[0], str(int(line[1]) + 7), *line[2:]]]),
                     {"keep_all keep_names": {"invented"}}),
    "copy_previous": (copy_previous, {"keep_all keep_names": {"invented"}}),
    "copy_previous_and_add": (copy_previous_and_add, {"keep_all keep_names": {"invented"}}),
    "add_native_flood": (add_native_flood, {
        "keep_all keep_names sum_samples sum_names": {"invented"}}),
    "repeat_samples": (alter_samples(lambda line, _: [line, line]),
                       {"keep_all keep_names": {"invented"}}),
    "multiply_weights": (alter_samples(lambda line, _: [
        [line[0], str(int(line[1]) * 50), *line[2:]]]), {"sum_samples sum_names": {"invented"}}),
    "use_one_stack": (use_one_stack, {"sum_samples sum_names": {"invented"}}),
    "use_one_process": (use_one_process, {}),
    "drop_some_stacks": (alter_samples(lambda line, number: [line if number % 3 else line[:4]]),
                         {"keep_all keep_names": {"whole"}}),
    "drop_stacks": (alter_samples(lambda line, _: [line[:4]]),
                    {"keep_names sum_samples sum_names": {"whole"}}),
    "drop_leaf": (alter_frames(lambda frames: frames[1:]),
                  {"keep_all": {"whole", "invented"}, "sum_samples": {"whole"}}),
    "repeat_leaf": (alter_frames(lambda frames: frames[:1] + frames),
                    {"keep_all": {"whole", "invented"}}),
    "reverse_frames": (alter_frames(lambda frames: frames[::-1]),
                       {"keep_names sum_samples sum_names": {"invented"}}),
    "shift_addresses": (alter_addresses(lambda address: address + (1 << 30)),
                        {"sum_samples": {"seen", "wrong"}}),
    "round_addresses": (alter_addresses(lambda address: address & ~15),
                        {"keep_all sum_samples": {"whole", "invented"}}),
    "use_function_starts": (use_function_starts, {
        "keep_all sum_samples": {"whole", "invented"}}),
    # Reports an address within the call instead of the return address.
    "use_call_sites": (alter_addresses(lambda address: address - 1, first=1),
                       {"keep_all sum_samples": {"whole", "invented"}}),
    "drop_root": (alter_frames(lambda frames: frames[:-1] if len(frames) > 1 else frames),
                  {"keep_all keep_names sum_samples sum_names": {"whole"}}),
    "add_kernel_frames": (alter_samples(lambda line, number: [line if number % 3 else line[:4] + [
        NATIVE if NATIVE in line else "0xffffffff81000010"] + line[4:]]),
                          {"keep_all keep_names sum_samples sum_names": {"invented"}}),
    "mangle_names": (alter_names(lambda name: "_Z%d%s" % (len(name), name)), {
        "keep_names sum_names": {"right"}, "sum_samples": {"right", "wrong"}}),
    # Most folded stacks call unnamed frames so.
    "use_unknown": (alter_names(lambda name: "[unknown]"), {"keep_names sum_names": {"right"}}),
    "drop_names": (alter_names(lambda name: ""), {"keep_names sum_samples sum_names": {"right"}}),
    "swap_names": (lambda stream: stream.change_names(exchange_names(stream)),
                   {"sum_samples": {"right", "wrong"}}),
    "swap_callers": (lambda stream: stream.change_names(exchange_names(stream), first=1), {
        "keep_all sum_samples": {"right", "wrong"}, "keep_names": {"whole", "invented"}}),
    "drop_caller_names": (alter_names(lambda name: "", first=1),
                          {"keep_all keep_names sum_samples": {"right"}}),
    "cut_names": (alter_names(lambda name: name[:8]), {
        "keep_all sum_samples": {"right", "wrong"}, "keep_names": {"right"}}),
    "name_native_frames": (name_native_frames, {"keep_all sum_samples": {"wrong"}}),
    "change_threads": (alter_samples(lambda line, _: [
        line[:3] + [str(int(line[3]) + 1)] + line[4:]]), {
            "keep_all": {"seen", "whole", "invented"}, "sum_samples": {"whole", "invented"}}),
    # Reports a process that does not exist.
    "add_strangers": (alter_samples(lambda line, number: [line] + (
        [line[:2] + ["999999", "999999" if line[3] != "-" else "-"] + line[4:]]
        if number % 10 == 0 else [])), {
            "keep_all sum_samples sum_names keep_names": {"invented"}}),
    "change_pids": (alter_samples(lambda line, _: [line[:2] + ["999999"] + line[3:]]),
                    {"keep_names": {"invented"}}),
    # Changes pids as a pid namespace does.
    "use_inner_pids": (alter_samples(lambda line, _: [
        line[:2] + ["1", "1" if line[3] != "-" else "-"] + line[4:]]), {
            "keep_names keep_all sum_samples sum_names": {"seen", "invented"}}),
    "invent_thread": (invent_thread, {"keep_all": {"tasks"}}),
    "invent_exec": (lambda stream: stream.things.append(
        ["exec", stream.find_middle_time(), stream.list_samples()[0][2], "other"]),
                    {"keep_all": {"tasks", "mapped", "whole"}}),
    "drop_execute": (drop_execute, {"keep_all": {"mapped", "whole"}}),
    "extend_maps": (extend_maps, {"keep_all": {"mapped"}}),
    "invent_map": (invent_map, {"keep_all": {"mapped"}, "declare_no_protections": set()}),
    "change_offsets": (change_offsets, {"keep_all": {"mapped"}}),
    "report_lost_samples": (add_thing("lost", "0", "samples", "7"),
                            {"keep_all keep_names sum_samples": {"lost"}}),
    "report_lost_records": (add_thing("lost", "0", "records", "7"), {"keep_all": {"lost"}}),
    "lengthen_period": (lengthen_period, {"keep_all": {"invented"}}),
    "use_wall_clock": (alter_times(lambda time: time + 17 * 10**17), {"keep_all": None}),
    "use_microseconds": (alter_times(lambda time: time // 1000), {"keep_names": None}),
    "round_to_milliseconds": (alter_times(lambda time: time // 10**6 * 10**6),
                              {"keep_all": {"whole", "invented"}}),
    "advance_times": (alter_times(lambda time: time - 20 * 10**6),
                      {"keep_all": {"whole", "invented"}}),
}
CHANGES: dict[str, Alteration] = {
    **FORMS, "declare_no_protections": declare_no_protections,
    **{name: alteration for name, (alteration, _) in ROWS.items()}}
# {(form, alteration): columns}
EXPECTED: dict[tuple[str, str], set[str] | None] = {
    (form, name): columns for name, (_, red) in ROWS.items() for forms, columns in red.items()
    for form in forms.split()}

# Columns that must be red for a workload with code in a library without symbols.
BESIDE_FILES: dict[tuple[str, str], set[str]] = {
    ("sum_samples", "swap_names"): {"right", "wrong"},
    ("sum_samples", "drop_names"): {"right"},
    ("sum_samples", "drop_caller_names"): {"right"},
    ("sum_samples", "name_native_frames"): {"wrong"},
    ("sum_samples", "add_kernel_frames"): {"invented"},
}
