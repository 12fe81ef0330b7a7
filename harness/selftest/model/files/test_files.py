# SPDX-License-Identifier: GPL-2.0-only
"""`judge --unwind` finds ELF files in folders of any layout and below a copied root, and reports
missing files."""

import json
import os
import shutil
import struct
import subprocess
from typing import Any

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import Folder, JITPROOF

FIXTURE = "validators/fixtures/anon"
PROGRAM = "/tmp/jitproof/jitproof"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def build_ids() -> dict[str, str]:
    lines = files.read(os.path.join(FIXTURE, "elf", "index")).splitlines()
    return {line.split(" ", 3)[3]: line.split(" ")[0] for line in lines}


IDS = build_ids()


class Finding(Folder):
    """The fixture's stacks need the program, then libc; without both, no stack is complete."""

    def setUp(self) -> None:
        super().setUp()
        self.perf = rd.PerfData.load(os.path.join(FIXTURE, "perf.data"))

    def add_build_ids(self, ids: dict[str, str] | None = None) -> None:
        """Adds the feature BUILD_ID."""
        raw = b""
        for path, build_id in (ids or IDS).items():
            name = path.encode() + b"\0"
            name += bytes(-len(name) % 64)
            raw += struct.pack("<IHHi", 67, 1 << 15 | rd.USER, 36 + len(name), -1)
            raw += bytes.fromhex(build_id) + struct.pack("<BBH", 20, 0, 0) + name
        self.perf.features[2] = raw

    def copy_elf(self, path: str, build_id: str) -> str:
        """Copies a file of the fixture to @path below a folder, which is returned."""
        place = self.place("given", *path.strip("/").split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(os.path.join(FIXTURE, "elf", build_id), place)
        return self.place("given")

    def run_judge(self, *options: str) -> subprocess.CompletedProcess[str]:
        self.perf.save(self.place("perf.data"))
        return process.run([JITPROOF, "judge", "--unwind", *options, self.place("perf.data")],
                           env={**os.environ, "HOME": self.place("home")})

    def judge_unwind(self, *options: str) -> dict[str, Any]:
        result = self.run_judge("--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["unwind"]

    def expect_whole_stacks(self, *options: str) -> None:
        figures = self.judge_unwind(*options)
        self.assertEqual((figures["stops"]["root"], figures["missing_files"]), (40, []))

    def expect_missing_files(self, *options: str) -> list[dict[str, Any]]:
        figures = self.judge_unwind(*options)
        self.assertEqual(figures["stops"]["no-elf"], 40)
        self.assertEqual(sum(missing_file["stacks"] for missing_file in figures["missing_files"]),
                         40)
        return figures["missing_files"]


class Folders(Finding):
    def test_of_a_run(self) -> None:
        self.expect_whole_stacks("--elf", os.path.join(FIXTURE, "elf"))
        self.expect_whole_stacks("--elf", FIXTURE)

    def test_heap_of_files(self) -> None:
        """With build ids, file names do not matter."""
        self.add_build_ids()
        for number, path in enumerate(IDS):
            folder = self.copy_elf(f"deep/er/{number}", IDS[path])
        self.expect_whole_stacks("--elf", folder)

    def test_debug_cache(self) -> None:
        self.add_build_ids()
        for path, build_id in IDS.items():
            folder = self.copy_elf(f".debug{path}/{build_id}/elf", build_id)
            link = self.place("given", ".debug", ".build-id", build_id[:2], build_id[2:])
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(f"../..{path}/{build_id}", link)
        self.expect_whole_stacks("--elf", os.path.join(folder, ".debug"))
        os.rename(folder, self.place("home"))
        self.expect_whole_stacks()

    def test_copied_root(self) -> None:
        """ELF files of a copied root are found with and without build ids, though inodes differ."""
        for path, build_id in IDS.items():
            folder = self.copy_elf(path, build_id)
        self.expect_whole_stacks("--elf", folder)
        self.expect_whole_stacks("--root", folder)
        self.add_build_ids()
        self.expect_whole_stacks("--elf", folder)
        self.expect_whole_stacks("--root", folder)

    def test_private_files(self) -> None:
        """jitproof reads private files of the capture's owner. If root runs it, it reads them
        without root's rights."""
        for path, build_id in IDS.items():
            folder = self.copy_elf(path, build_id)
            os.chmod(os.path.join(folder, path.strip("/")), 0o600)
        os.chmod(os.path.join(folder, "tmp"), 0o700)
        for option in ("--elf", "--root"):
            self.expect_whole_stacks(option, folder)
            self.expect_whole_stacks(option, folder + "/")

    def test_perf_map_of_a_copied_root(self) -> None:
        """The perf map is found by the recorded pid."""
        folder = self.place("given")
        os.makedirs(os.path.join(folder, "tmp"))
        anon = [mapping for mapping in self.perf.maps() if mapping.name == "//anon"]
        text = "".join(f"{mapping.start:x} {mapping.size:x} emitted\n" for mapping in anon)
        self.write(text, "given", "tmp", f"perf-{anon[0].pid}.map")
        self.perf.save(self.place("perf.data"))
        for options, named in (((), 0), (("--root", folder), 39)):
            result = process.run([JITPROOF, "judge", "--json", *options, self.place("perf.data")])
            self.assertEqual(json.loads(result.stdout)["names"]["by"]["map"], named)

    def test_by_name_alone(self) -> None:
        for path, build_id in IDS.items():
            given = self.copy_elf("all/" + os.path.basename(path), build_id)
        self.expect_whole_stacks("--elf", given)
        self.copy_elf("others/jitproof", IDS[PROGRAM])
        self.expect_whole_stacks("--elf", given)
        self.copy_elf("others/jitproof", IDS[LIBC])
        reason = self.expect_missing_files("--elf", given)[0]["why"]
        self.assertIn("more than one file is called jitproof", reason)

    def test_another_build_id(self) -> None:
        """The file at the recorded path has another build id."""
        self.add_build_ids()
        self.copy_elf(LIBC, IDS[LIBC])
        folder = self.copy_elf(PROGRAM, IDS[LIBC])
        for option in ("--elf", "--root"):
            missing = self.expect_missing_files(option, folder)
            self.assertEqual([(mapping["path"], mapping["build_id"]) for mapping in missing],
                             [(PROGRAM, IDS[PROGRAM])])
        self.assertIn(f"expected {IDS[PROGRAM]}", missing[0]["why"])

    def test_removed_file(self) -> None:
        """A name with the suffix ` (deleted)` and an equal build id."""
        for mapping in self.perf.maps():
            if mapping.name == PROGRAM:
                mapping.name = PROGRAM + " (deleted)"
        self.add_build_ids({PROGRAM + " (deleted)": IDS[PROGRAM], LIBC: IDS[LIBC]})
        self.copy_elf(LIBC, IDS[LIBC])
        self.expect_whole_stacks("--root", self.copy_elf(PROGRAM, IDS[PROGRAM]))

    def test_symbols_beside(self) -> None:
        """A file of the same build id without call frame information does not hide a file with
        it."""
        self.add_build_ids()
        self.copy_elf(LIBC, IDS[LIBC])
        folder = self.copy_elf("b/real", IDS[PROGRAM])
        raw = bytearray(files.read_bytes(self.place("given", "b", "real")))
        raw = raw.replace(b".eh_frame\0", b".xh_frame\0").replace(b".eh_frame_hdr\0",
                                                                  b".xh_frame_hdr\0")
        at, count = struct.unpack_from("<Q", raw, 32)[0], struct.unpack_from("<H", raw, 56)[0]
        for header in range(at, at + 56 * count, 56):
            if struct.unpack_from("<I", raw, header)[0] == 0x6474e550:
                struct.pack_into("<I", raw, header, 0)
        files.write_bytes(os.path.join(folder, "a.debug"), bytes(raw))
        self.expect_whole_stacks("--elf", folder)


class Hostile(Finding):
    def test_no_folder(self) -> None:
        for option in ("--elf", "--root"):
            for path in (self.place("none"), os.path.abspath(__file__)):
                result = self.run_judge(option, path)
                self.assertEqual(result.returncode, 99)
                self.assertIn("expected", result.stderr)

    def test_links_stay_inside(self) -> None:
        """Absolute links are resolved below the root; a link as last component is not followed."""
        self.copy_elf("/real/jitproof", IDS[PROGRAM])
        folder = self.copy_elf(LIBC, IDS[LIBC])
        os.mkdir(os.path.join(folder, "tmp"))
        os.symlink("/real", os.path.join(folder, "tmp", "jitproof"))
        self.expect_whole_stacks("--root", folder)
        os.remove(os.path.join(folder, "tmp", "jitproof"))
        outside = self.place("outside")
        os.mkdir(outside)
        shutil.copy(os.path.join(FIXTURE, "elf", IDS[PROGRAM]), os.path.join(outside, "jitproof"))
        for target in (outside, "../../outside"):
            os.symlink(target, os.path.join(folder, "tmp", "jitproof"))
            self.expect_missing_files("--root", folder)
            os.remove(os.path.join(folder, "tmp", "jitproof"))
        self.add_build_ids()
        os.symlink(outside, os.path.join(folder, "elsewhere"))
        os.remove(os.path.join(folder, "real", "jitproof"))
        self.expect_missing_files("--elf", folder)

    def test_no_elf_files(self) -> None:
        """FIFOs, folders and damaged ELF files are skipped."""
        self.add_build_ids()
        folder = self.copy_elf(LIBC, IDS[LIBC])
        os.makedirs(os.path.join(folder, "tmp", "jitproof"))
        os.mkfifo(os.path.join(folder, "tmp", "jitproof", "jitproof"))
        files.write_bytes(os.path.join(folder, "short"), b"\x7fELF")
        files.write_bytes(os.path.join(folder, "broken"), b"\x7fELF" + bytes(range(256)) * 9)
        for option in ("--elf", "--root"):
            self.assertEqual(self.expect_missing_files(option, folder)[0]["path"], PROGRAM)

    def test_own_files_are_not_the_copied_roots(self) -> None:
        """With an empty --root, files of this machine are not used."""
        os.mkdir(self.place("given"))
        for mapping in self.perf.maps():
            if mapping.name == PROGRAM:
                mapping.name, mapping.ino = os.path.abspath(JITPROOF), os.stat(JITPROOF).st_ino
        self.expect_missing_files("--root", self.place("given"))


class Reported(Finding):
    def test_text(self) -> None:
        self.add_build_ids()
        self.assertIn(IDS[PROGRAM], self.run_judge().stdout)

    def test_other_machine(self) -> None:
        self.perf.features[6] = rd.pack_string("sparc64")
        self.assertIn("not unwound: 40 dumps of sparc64", self.run_judge().stdout)
        figures = self.judge_unwind()
        self.assertEqual((figures["samples"], figures["not_unwound"]["other_machine"]), (0, 40))

    def test_explain_does_not_call_it_healthy(self) -> None:
        """Stacks that cannot be unwound are not known to be whole."""
        for attr in self.perf.attrs:
            attr.flags |= 1 << 22
        for sample in self.perf.samples():
            sample.chain = []
        self.perf.features[6] = rd.pack_string("sparc64")
        self.perf.save(self.place("perf.data"))
        result = process.run([JITPROOF, "explain", self.place("perf.data")])
        self.assertEqual(result.returncode, 1)
        self.assertIn("40 of the 40 stacks are dumps of sparc64", result.stdout)
        result = process.run([JITPROOF, "explain", "--json", self.place("perf.data")])
        figures = json.loads(result.stdout)
        self.assertEqual((figures["healthy"], figures["unknown_stacks"]), (False, 40))

    def test_32_bits(self) -> None:
        """Of 32-bit tasks, only those of x86 are unwound."""
        for sample in self.perf.samples():
            sample.abi = 1
        self.assertNotIn("not unwound", self.run_judge().stdout)
        self.perf.features[6] = rd.pack_string("aarch64")
        self.assertIn("not unwound: 40 dumps of 32-bit tasks", self.run_judge().stdout)
