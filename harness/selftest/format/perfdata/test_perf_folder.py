# SPDX-License-Identifier: GPL-2.0-only
"""A perf.data that is a folder, as perf record --threads and --kcore write it."""

import json
import os
from typing import Any

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import Folder, JITPROOF

FIXTURE = "validators/fixtures/anon/perf.data"


class PerfFolder(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.perf = rd.PerfData.load(FIXTURE)
        os.mkdir(self.place("perf.data"))

    def part_path(self, name: str) -> str:
        return self.place("perf.data", name)

    def split_records(self, count: int) -> None:
        """Distributes the records over @count files; the first two are in `data`."""
        records = [record for record in self.perf.records if record.kind != rd.FINISHED_ROUND]
        rounds = rd.Record(rd.FINISHED_ROUND, 0, b"")
        head = rd.PerfData(self.perf.attrs, records[:2] + [rounds, rounds], self.perf.features)
        head.save(self.part_path("data"))
        for i in range(count):
            files.write_bytes(self.part_path(f"data.{i}"),
                              b"".join(record.pack() for record in records[2 + i::count]))

    def judge(self, path: str, command: str = "judge", status: int = 0) -> Any:
        result = process.run([JITPROOF, command, "--json", path])
        self.assertEqual(result.returncode, status, result.stderr)
        if status == 99:
            return result.stderr
        figures = json.loads(result.stdout)
        del figures["file"]
        return figures

    def test_the_same_as_one_file(self) -> None:
        """Times determine the order, in whatever file a record is; an empty file is allowed."""
        for count in (1, 2, 7):
            with self.subTest(count):
                self.split_records(count)
                files.write_bytes(self.part_path(f"data.{count}"), b"")
                files.write_bytes(self.part_path(f"data.{count + 1}"),
                                  rd.Record(rd.FINISHED_ROUND, 0, b"").pack())
                found, expected = self.judge(self.place("perf.data")), self.judge(FIXTURE)
                self.assertEqual(found["samples"], 40)
                del found["records"], expected["records"]
                self.assertEqual(found, expected)
                causes = [[(cause["id"], cause["samples"]) for cause in
                           self.judge(path, "explain", 1)["causes"]]
                          for path in (self.place("perf.data"), FIXTURE)]
                self.assertEqual(causes[0], causes[1])

    def test_kcore(self) -> None:
        """A kcore folder of perf is read; a folder of another program is not."""
        self.perf.save(self.part_path("data"))
        os.mkdir(self.part_path("kcore_dir"))
        self.assertEqual(self.judge(self.place("perf.data")), self.judge(FIXTURE))

    def test_no_such_folder(self) -> None:
        self.assertIn('a file "data"', self.judge(self.place("perf.data"), status=99))

    def test_cut_short(self) -> None:
        self.split_records(2)
        raw = files.read_bytes(self.part_path("data.1"))
        files.write_bytes(self.part_path("data.1"), raw[:-4])
        self.assertIn("data.1: cut short", self.judge(self.place("perf.data"), status=99))
        result = process.run([JITPROOF, "judge", "--json", "--partial", self.place("perf.data")])
        self.assertEqual(json.loads(result.stdout)["samples"], 39)

    def test_bad_record(self) -> None:
        """A record with bad content is found after all files were opened, so the message names the
        folder."""
        self.split_records(1)
        bad_record = self.perf.map(1, 0x1000, 0x1000, "/some/program", 10**9)
        bad_record.body[64:80] = b"x" * 16  # the name does not end
        files.write_bytes(self.part_path("data.1"), bad_record.pack())
        output = self.judge(self.place("perf.data"), status=99)
        self.assertIn(self.place("perf.data") + ": offset 0: expected a mapping record", output)

    def test_no_record(self) -> None:
        """A record of size 0 is found when its file is opened, so the message names that file."""
        self.split_records(2)
        files.write_bytes(self.part_path("data.1"), bytes(8))
        output = self.judge(self.place("perf.data"), status=99)
        self.assertIn("data.1: offset 0: expected a record of at least 8 bytes", output)

    def test_what_is_no_file(self) -> None:
        """Another user may have written the folder: jitproof follows no link in it and waits for no
        FIFO."""
        self.split_records(1)
        os.rename(self.part_path("data.0"), self.place("elsewhere"))
        os.symlink(self.place("elsewhere"), self.part_path("data.0"))
        self.assertIn("symbolic link", self.judge(self.place("perf.data"), status=99))
        os.remove(self.part_path("data.0"))
        os.mkfifo(self.part_path("data.0"))
        self.assertIn("a FIFO", self.judge(self.place("perf.data"), status=99))
