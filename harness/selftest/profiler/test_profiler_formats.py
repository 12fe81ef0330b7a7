# SPDX-License-Identifier: GPL-2.0-only
"""Tests adapters on recorded output of profilers."""

import argparse
import gzip
import io
import json
import os
import struct
import subprocess
import sys
import unittest
from typing import Any
from unittest import mock

sys.path[:0] = [os.path.abspath(__file__ + "/../../../profiler"),
                os.path.abspath(__file__ + "/../../../profiler/runtimes")]
import async_profiler
import austin
import otel
import py_spy
import samply
import samply_import
from adapting import family, gecko, native
from adapting.protocol import Adapter, Failed, Published
from ci.base import files
from harness.selftest.support.scratch import HERE, Folder

GOLDEN = os.path.join(HERE, "golden")
# jit_b is called by jit_a, which a native function calls; frame 3 is the kernel's.
TABLES: dict[str, Any] = {
    "stringArray": ["0x1234", "jit_a", "jit_b", "do_syscall_64"],
    "funcTable": {"name": [0, 1, 2, 3], "resource": [0, None, -1, -1]},
    "resourceTable": {"lib": [0]},
    "frameTable": {"func": [0, 1, 2, 3], "category": [0, 0, 0, 1],
                   "address": [4660, -1, -1, -1]},
    "stackTable": {"frame": [0, 1, 2, 3], "prefix": [None, 0, 1, 2]},
}
META = {"categories": [{"name": "User"}, {"name": "Kernel"}], "preprocessedProfileVersion": 49}
SAMPLES: dict[str, list[Any]] = {
    "stack": [2, 3, None, 1], "time": [1.000001, 2.5, 3, 4], "weight": [1, 1, 1, 0]}


def make_profile(thread: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"meta": META, "threads": [{"pid": "7.1", "tid": "8", "samples": SAMPLES, **thread}],
            "libs": [{"codeId": None, "path": "//anon"}], **more}


class Gecko(Folder):
    expected = [(1.000001, 7, 8, ["jit_b", "jit_a", "?"]), (2.5, 7, 8, ["jit_b", "jit_a", "?"]),
                (3, 7, 8, [])]

    def test_samples(self) -> None:
        self.assertEqual(list(gecko.parse_samples(make_profile(TABLES))), self.expected)

    def test_shared_tables_and_deltas(self) -> None:
        samples = {"stack": SAMPLES["stack"][:3], "timeDeltas": [1, 1.5, 0.5]}
        result = list(gecko.parse_samples(make_profile({"samples": samples}, shared=TABLES)))
        self.assertEqual([time for time, _, _, _ in result], [1, 2.5, 3])
        self.assertEqual([sample[1:] for sample in result],
                         [sample[1:] for sample in self.expected])

    def test_other_layout(self) -> None:
        with self.assertRaisesRegex(Failed, "version 49: KeyError"):
            list(gecko.parse_samples(make_profile({})))

    def test_what_samply_wrote(self) -> None:
        """Three samples of a profile of samply 0.13.1, with and without its symbol file."""
        with open(os.path.join(GOLDEN, "samply-0.13.1.json"), encoding="utf-8") as file:
            stored = json.load(file)
        codes = [["program0_fp_4_00000024"],
                 ["program0_long_19_00000024", "program0_fp_6_00000024",
                  "program0_large_21_00000024", "program0_fp_4_00000024"],
                 ["program0_large_21_00000024", "program0_no_fp_12_00000024"]]
        root = ["jp_arch_enter", "jp_path_run", "run_paths", "live", "start_thread", "_clone3"]
        above = [root, root, root[1:]]
        names = gecko.load_symbols(self.write(json.dumps(stored["symbols"]), "symbols"))
        for symbols in (None, names):
            with mock.patch.object(native, "is_program", return_value=False):
                result = list(gecko.parse_samples(stored["profile"], symbols))
            self.assertEqual([sample[:3] for sample in result], [
                (time, 31258, 31282) for time in (49165155.503895, 49165158.727391,
                                                  49165165.667167)])
            self.assertEqual([sample[3] for sample in result], [
                code + (names if symbols else ["?"] * len(names))
                for code, names in zip(codes, above)])
        with self.assertRaises(Failed):
            gecko.load_symbols(self.write("{}", "none") + ".syms.json")

    def test_symbol_server(self) -> None:
        """The names of a symbol server equal those of the symbol file."""
        with open(os.path.join(GOLDEN, "samply-0.13.1.json"), encoding="utf-8") as file:
            stored = json.load(file)
        names = gecko.load_symbols(self.write(json.dumps(stored["symbols"]), "symbols"))
        libraries = stored["profile"]["libs"]

        def answer(url: str, question: bytes) -> io.BytesIO:
            self.assertEqual(url, "http://server/symbolicate/v5")
            asked = json.loads(question)
            self.assertEqual(len(asked["memoryMap"]), len(libraries))
            result = [names.get((libraries[library]["codeId"], address))
                     for library, address in asked["stacks"][0]]
            return io.BytesIO(json.dumps({"results": [{"stacks": [
                [{"function": name} if name else {} for name in result]]}]}).encode())

        with mock.patch("urllib.request.urlopen", answer):
            result = gecko.ask_symbols(stored["profile"], "http://server")
        self.assertGreater(len(result), 3)
        self.assertLessEqual(result.items(), names.items())

    def test_time_of_the_first_sample(self) -> None:
        """samply counts from the first sample's time in the header, if the file has this."""
        head = b"PERFILE2" + struct.pack("<7Q", 104, 16, 0, 0, 104, 8, 0) + bytes(8)
        remainder = bytes(24) + bytes(8) + struct.pack("<4Q", 0, 0, 144, 16) + struct.pack("<2Q",
                                                                                           77, 99)
        for bits, first in ((1 << 21 | 1 << 3, 77), (1 << 3, 0)):
            path = os.path.join(self.home, "a")
            with open(path, "wb") as file:
                file.write(head + struct.pack("<Q", bits) + remainder)
            self.assertEqual(samply_import.find_reference(path), first)

    def test_libraries(self) -> None:
        """A frame without a name is native in a program's file, but may be emitted code in a
        memfd."""
        program = os.path.realpath(sys.executable)
        for path, name in ((program, "[%s]" % os.path.basename(program)), ("[vdso]", "[vdso]"),
                           (os.path.join(GOLDEN, "samply-0.13.1.json"), "?"), ("/dev/zero", "?"),
                           ("/memfd:code (deleted)", "?"), ("", "?")):
            adapter = {**make_profile(TABLES), "libs": [{"codeId": None, "path": path}]}
            self.assertEqual(list(gecko.parse_samples(adapter))[0][3][-1], name)

    def test_samply(self) -> None:
        with gzip.open(os.path.join(self.home, "profile.json.gz"), "wt") as file:
            json.dump(make_profile(TABLES), file)
        self.write("Lost 4 events.\n", "profiler.txt")
        # The third sample came after the stop.
        stream = write_stream(samply.Samply, self.home, 1000001, 2600000)
        self.assertEqual(stream.splitlines()[1:], [
            "profiler samply 1", "declares no-addresses no-mappings no-tasks",
            "unwinder cfi-or-frame-pointers", "period 1000000",
            "sample 1000001 7 8 jit_b jit_a ?", "sample 2500000 7 8 jit_b jit_a ?",
            "lost 2600000 samples 4"])


def write_stream(kind: type[Adapter], home: str, enabled: int, stopped: int) -> str:
    """Returns the stream that an adapter writes for the files in @home."""
    with mock.patch.object(kind, "version", return_value="1"):
        adapter = kind(argparse.Namespace(dir=home, freq=1000))
        adapter.enabled, adapter.stopped, adapter.pid = enabled, stopped, 7
        file = io.StringIO()
        adapter.write(file)
    return file.getvalue()


class Descendants(unittest.TestCase):
    def test_descendants_are_no_strangers(self) -> None:
        """Descendants of a process, created by any of its threads, are not strangers."""
        script = "import os; pid = os.fork(); os.write(1, b'%d ' % pid); " \
                 "os.read(0, 1)"
        with subprocess.Popen([sys.executable, "-S", "-c", script], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            assert process.stdin and process.stdout
            output = b""
            while output.count(b" ") < 2:
                output += os.read(process.stdout.fileno(), 100)
            child = max(map(int, output.split()))
            self.assertLessEqual({process.pid, child}, {process.pid,
                                                        *family.list_threads(process.pid)})
            list_other_processes = family.list_other_processes(process.pid)
            self.assertFalse({process.pid, child} & list_other_processes)
            self.assertIn(os.getpid(), list_other_processes)
            self.assertNotIn(os.getpid(), family.list_other_processes(os.getpid()))
            process.stdin.close()


class Maps(Folder):
    def test_links_to_published_maps(self) -> None:
        """Links to maps in /tmp are created and removed; a foreign map there is an error."""
        name = "perf-%d.map" % (2 ** 22 + os.getpid())  # a pid that no process can have
        link = os.path.join("/tmp", name)
        self.write("1 1 a\n", name)
        self.write("1 1 a\n", "notes.map")
        os.symlink(self.place("gone"), link)  # the killed run left a dangling link
        published = Published(self.home)
        published.link_maps()
        published.link_maps()
        self.assertEqual(os.readlink(link), self.place(name))
        with self.assertRaisesRegex(Failed, "%s is there already" % name):
            Published(self.home).link_maps()
        published.remove()
        self.assertFalse(os.path.lexists(link))

    def test_map_of_an_earlier_process(self) -> None:
        """Our own old map of the same pid is back after the capture."""
        name = "perf-%d.map" % (2 ** 22 + os.getpid())
        link = os.path.join("/tmp", name)
        self.addCleanup(os.unlink, link)
        files.write(link, "old")
        self.write("1 1 a\n", name)
        published = Published(self.home)
        published.link_maps()
        self.assertEqual(files.read(link), "1 1 a\n")
        published.remove()
        self.assertEqual(files.read(link), "old")


class Formats(Folder):
    def read_samples(self, kind: type[Adapter], name: str, text: str) -> list[str]:
        self.write(text, name)
        return [line for line in write_stream(kind, self.home, 0, 1 << 62).splitlines()
                if line.startswith("sample")]

    def test_otel(self) -> None:
        self.assertEqual(self.read_samples(otel.Otel, "profiler.txt", "level=INFO msg=\"1 2 3\"\n"
                                           "100 7 8 a%20b ? !\n101 7 8\n102 7 8 ! ? !\n103 7"), [
                 "sample 100 7 8 a%20b ?", "sample 101 7 8", "sample 102 7 8 ? ?"])

    def test_otel_and_tracefs(self) -> None:
        """Without a mounted tracefs the profiler gets its own mount."""
        with mock.patch.object(os, "listdir", return_value=[]):
            self.assertIn("mount -t tracefs", " ".join(otel.make_tracefs_wrapper()))
        with mock.patch.object(os, "listdir", return_value=["events"]):
            self.assertEqual(otel.make_tracefs_wrapper(), ())

    def test_py_spy(self) -> None:
        self.assertEqual(self.read_samples(py_spy.PySpy, "profile.txt",
                                           "<module> (a b.py:1);main (c:2) "
                                           "12\nprocess 3:\"x y\";f (g) 2\n"), [
                 "sample 12 7 - main <module>", "sample 2 7 - f process%203:\"x%20y\""])

    def test_austin(self) -> None:
        self.assertEqual(self.read_samples(austin.Austin, "profile.txt", "# austin: 3.7.0\n\n"
                                           "P7;T0:8 70\nP7;T0:8;/a b.py:<module>:1;/c.py:main:10 "
                                           "1200\n"), [
                 "sample 70 7 -", "sample 1200 7 - main <module>"])

    def test_async_profiler(self) -> None:
        self.assertEqual(self.read_samples(async_profiler.AsyncProfiler, "profile.txt",
                                           "Shares.main;Shares.hot 3\n[unknown] 1\n"), [
                 "sample 3 7 - Shares.hot Shares.main", "sample 1 7 - [unknown]"])
