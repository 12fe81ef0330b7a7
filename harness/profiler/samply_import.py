#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for `samply import` on a recording of perf.py. See samply.py."""

import os
import re
import struct
import subprocess
import sys
import urllib.parse
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
import samply
from adapting import gecko
from adapting.observations import Sample
from adapting.protocol import Failed
from adapting.reading import Reader


SERVER = re.compile(r"symbolServer=(\S+)")
SAMPLE_TIME = 21  # bit of the header's feature with the first and the last sample's time


def find_reference(path: str) -> int:
    """Returns the time, in ns, that samply calls 0: the first sample's of the feature SAMPLE_TIME,
    or 0 without this feature."""
    with open(path, "rb") as file:
        head = file.read(80)
        if head[:8] != b"PERFILE2" or len(head) < 80:
            return 0
        start, size = struct.unpack_from("<QQ", head, 40)
        bits, = struct.unpack_from("<Q", head, 72)
        if not bits >> SAMPLE_TIME & 1:
            return 0
        file.seek(start + size + 16 * (bits & (1 << SAMPLE_TIME) - 1).bit_count())
        file.seek(struct.unpack("<QQ", file.read(16))[0])
        return struct.unpack("<Q", file.read(8))[0]


def find_symbols(profile: str) -> gecko.Symbols:
    """Returns the symbols that `samply load` serves to the profile's page."""
    with subprocess.Popen((samply.Samply.program(), "load", "--no-open", profile),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as load:
        assert load.stdout
        try:
            server = next((match[1] for match in map(SERVER.search, load.stdout) if match), None)
            if not server:
                raise Failed("samply load names no symbol server")
            return gecko.ask_symbols(gecko.load(profile), urllib.parse.unquote(server))
        except OSError as error:
            raise Failed("samply load: %s" % error) from error
        finally:
            load.terminate()


class Import(Reader):
    name = "samply import"
    reader = "samply_import"
    declares = gecko.DECLARES

    @classmethod
    def reader_version(cls) -> str:
        return samply.Samply.version()

    @classmethod
    def parse(cls, path: str, folder: str) -> Iterator[Sample]:
        profile = os.path.join(folder, "profile.json.gz")
        cls.output_of(samply.Samply.program(), "import", "--save-only", "--no-open", "-o", profile,
                      path)
        first = find_reference(path)
        for time, pid, tid, frames in samply.parse_samples(profile, find_symbols(profile)):
            yield first + time, pid, tid, frames
        os.unlink(profile)


if __name__ == "__main__":
    perf.main(Import)
