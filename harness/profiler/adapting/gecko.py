# SPDX-License-Identifier: GPL-2.0-only
"""Reads Firefox's processed profiles (profile.json), which samply and others write."""

import gzip
import json
import urllib.request
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


# Names of addresses in libraries, by the library's code id and the address relative to it.
Symbols = dict[tuple[str, int], str]


def load_symbols(path: str) -> Symbols:
    """Reads the file that samply writes next to the profile with --unstable-presymbolicate."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        return {(library["code_id"], address): stored["string_table"][
            library["symbol_table"][symbol]["symbol"]] for library in stored.get("data", ())
                for address, symbol in library["known_addresses"]}
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise Failed("%s: %r" % (path, error)) from error


def ask_symbols(profile: dict[str, Any], server: str) -> Symbols:
    """Asks a symbol server for the names of all addresses in libraries, as the profile's page
    does."""
    libraries = profile["libs"]
    places = sorted({place for thread in profile["threads"]
                     for place in Tables(profile, thread, None).list_places()})
    question = {"memoryMap": [[library["debugName"], library["breakpadId"]]
                              for library in libraries], "stacks": [places]}
    with urllib.request.urlopen(server + "/symbolicate/v5",
                                json.dumps(question).encode()) as answer:
        frames = json.load(answer)["results"][0]["stacks"][0]
    return {(libraries[library]["codeId"], address): frame["function"]
            for (library, address), frame in zip(places, frames) if "function" in frame}


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
        self.kernel = {index for index, category in enumerate(profile["meta"]["categories"])
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
        return (self.symbols or {}).get((library["codeId"], table["address"][frame])) or \
            name_in(library.get("path", ""))

    def list_places(self) -> Iterator[tuple[int, int]]:
        """Yields index of the library and relative address of each frame in a library."""
        table, functions = self.tables["frameTable"], self.tables["funcTable"]
        for function, address in zip(table["func"], table["address"]):
            resource = functions["resource"][function]
            if resource is not None and resource >= 0:
                yield self.tables["resourceTable"]["lib"][resource], address

    def stack(self, index: int | None) -> list[Frame]:
        """Returns the user frames of stack @index, innermost first."""
        table = self.tables["stackTable"]
        frames: list[Frame] = []
        while index is not None and index >= 0:
            frame = table["frame"][index]
            if self.tables["frameTable"]["category"][frame] not in self.kernel:
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
