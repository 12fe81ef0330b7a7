# SPDX-License-Identifier: GPL-2.0-only
"""Reads Firefox's processed profiles (profile.json), which samply and others write."""

import gzip
import json
from typing import Any, Iterator, Sequence

from adapting.native import name_in
from adapting.observations import Frame
from adapting.protocol import Failed

# The profile lacks these: its addresses are relative to libraries, and it has no mappings.
DECLARES = ("no-addresses", "no-mappings", "no-tasks")

Sample = tuple[float, int, int, list[Frame]]


def parse_id(name: str) -> int:
    """Returns a pid or tid without the suffix that marks a reuse or an exec."""
    return int(str(name).split(".", 1)[0])


class Symbols:
    """Names of addresses in libraries, from the file that samply writes next to the profile with
    --unstable-presymbolicate."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self.names = {(library["code_id"], address): stored["string_table"][
            library["symbol_table"][symbol]["symbol"]] for library in stored.get("data", ())
            for address, symbol in library["known_addresses"]}

    @classmethod
    def load(cls, path: str) -> "Symbols":
        try:
            with open(path, encoding="utf-8") as file:
                return cls(json.load(file))
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise Failed("%s: %r" % (path, error)) from error


class Tables:
    """The tables to which the stacks of a thread refer. In newer versions of the format all threads
    share some of them."""

    def __init__(self, profile: dict[str, Any], thread: dict[str, Any],
                 symbols: Symbols | None) -> None:
        self.libraries = profile.get("libs", ())
        self.symbols = symbols
        self.tables = {**profile, **profile.get("shared", {}), **thread}
        self.strings: Sequence[str] = self.tables["stringArray"]
        self.names: dict[int, list[Frame]] = {}
        self.kernel = {at for at, category in enumerate(profile["meta"]["categories"])
                       if category["name"] == "Kernel"}

    def name(self, frame: int) -> str:
        table = self.tables["frameTable"]
        function = table["func"][frame]
        name = self.strings[self.tables["funcTable"]["name"][function]]
        if not name.startswith("0x"):
            return name
        # The name is an address, relative to a library or outside of all libraries.
        resource = self.tables["funcTable"]["resource"][function]
        if resource is None or resource < 0:
            return "?"
        library = self.libraries[self.tables["resourceTable"]["lib"][resource]]
        known = self.symbols.names if self.symbols else {}
        return known.get((library["codeId"], table["address"][frame])) or \
            name_in(library.get("path", ""))

    def is_user(self, frame: int) -> bool:
        return self.tables["frameTable"]["category"][frame] not in self.kernel

    def stack(self, index: int | None) -> list[Frame]:
        """Returns the user frames of stack @index, innermost first."""
        table = self.tables["stackTable"]
        frames: list[Frame] = []
        while index is not None and index >= 0:
            frame = table["frame"][index]
            if self.is_user(frame):
                frames.append(self.name(frame))
            index = table["prefix"][index]
        return frames


def list_sample_times(samples: dict[str, Any]) -> Iterator[float]:
    """Yields the time of each sample in ms of the profile's clock."""
    if "time" in samples:
        yield from samples["time"]
        return
    now = 0.0
    for delta in samples["timeDeltas"]:
        now += delta
        yield now


def parse_samples(profile: dict[str, Any], symbols: Symbols | None = None) -> Iterator[Sample]:
    """Yields (time in ms, pid, tid, frames) of each sample that took CPU time."""
    try:
        for thread in profile["threads"]:
            tables, samples = Tables(profile, thread, symbols), thread["samples"]
            pid, tid = parse_id(thread["pid"]), parse_id(thread["tid"])
            weights = samples.get("weight") or [1] * len(samples["stack"])
            for time, stack, weight in zip(list_sample_times(samples), samples["stack"], weights):
                if weight > 0:
                    yield time, pid, tid, tables.stack(stack)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Failed("profile of version %s: %r" % (
            profile.get("meta", {}).get("preprocessedProfileVersion"), error)) from error


def load(path: str) -> dict[str, Any]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, EOFError, ValueError) as error:
        raise Failed("%s: %s" % (path, error)) from error
