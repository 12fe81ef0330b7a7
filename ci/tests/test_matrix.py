# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/matrix/vm/ without a kernel or QEMU: a script replaces the VM."""

import concurrent.futures
import dataclasses
import json
import os
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Sequence
import unittest
import zlib

from ci.base import process
from ci.base.status import Malformed, Refused
from ci.matrix.vm import bundle, cell, configuration, initramfs, kernel_log
from ci.matrix.vm import kernels, qemu, suites
from harness.selftest.support.scratch import Folder, JITPROOF, MATRIX

LIMITS = {"boot": 20, "case": 20, "leave": 20}
FIRST = "6,0,0,-;Linux version 6.12.1-made"
# Replaces QEMU: finds the files of the console and the output memory in its arguments.
MACHINE = """#!%s
import os, re, struct, sys, time, zlib
words = " ".join(sys.argv)
console = open(re.search(r"id=console,path=(\\S+)", words).group(1), "w", buffering=1)
output = re.search(r"mem-path=([^ ,]+)", words).group(1)
def say(text):
    console.write(text + "\\r\\n")
def leave(files, torn=False):
    body = b""
    for name, data in files.items():
        kind = b"d" if data is None else b"f"
        body += struct.pack("<IIQ", kind[0], len(name), len(data or b"")) + name.encode()
        if data:
            body += struct.pack("<IIQ", ord("p"), len(data), 0) + data
    count = sum(3 if data else 1 for data in files.values()) - sum(bool(d) for d in files.values())
    head = struct.pack("<8sQII", b"JPBUNDLE", len(body), zlib.adler32(body) ^ torn, count)
    with open(output, "r+b") as file:
        file.write(head.ljust(4096, b"\\0") + body)
%s
"""
READY = 'say("jitproof-vm: ready")\nsay("jitproof-vm: run run.txt")\n'
GOOD = READY + """
say("# 1 of 1: study/a: SKIP")
leave({"/out/cases": None, "/out/cases/study": None, "/out/cases/study/a": None,
       "/out/cases/study/a/case": CASE, "/out/cases/study/a/outcome": b"SKIP nothing is here",
       "/out/cases/study/a/seconds": b"1.500000000\\n", "/out/run.txt": b"x", "/out/kmsg": KMSG})
say("jitproof-vm: ran run.txt 0 at 12.5")
say("jitproof-vm: left 0")
"""
CASE = b"case study/a check : anon_exec : attach --synth=exec\n"


def pack_memory(*records: tuple[str, bytes, int], count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<IIQ", ord(kind), len(data), value) + data
                    for kind, data, value in records)
    head = struct.pack("<8sQII", b"JPBUNDLE", len(body), zlib.adler32(body),
                       len(records) if count is None else count)
    return (head.ljust(4096, b"\0") + body).ljust(1 << 16, b"\0")


class Binary(Folder):
    def write_bytes(self, data: bytes, *names: str) -> str:
        return self.write(data.decode("utf-8", "surrogateescape"), *names)


class KernelLog(unittest.TestCase):
    def scan(self, *texts: str, allow: Sequence[dict[str, str]] = (),
             release: str = "6.12.1") -> list[str]:
        log = "\n".join([FIRST] + ["4,%d,%d,-;%s" % (number, number * 1000, text)
                                   for number, text in enumerate(texts, 1)])
        return kernel_log.find_splats(kernel_log.parse_records(log),
                                      kernel_log.parse_allowed(allow), release)

    def test_log_without_splats(self) -> None:
        self.assertEqual(self.scan(
            "Kernel command line: oops=panic softlockup_panic=1 hung_task_panic=1",
            "Spectre V2 : WARNING", "perf: Dynamic interrupt throttling disabled, can hang your "
            "system!", "rcu: Hierarchical RCU implementation.", "debug: notice"), [])

    def test_each_kind_of_splat_is_found(self) -> None:
        for text in (
                "BUG: kernel NULL pointer dereference, address: 0000000000000000",
                "BUG: soft lockup - CPU#0 stuck for 26s! [jitproof:71]",
                "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [jitproof:71]",
                "WARNING: CPU: 0 PID: 71 at kernel/events/core.c:2400 event_sched_out+0x1/0x2",
                "WARNING: kernel/events/core.c:2400 at event_sched_out+0x1/0x2, CPU#0: x/71",
                "WARNING: possible recursive locking detected",
                "WARNING: possible circular locking dependency detected",
                "Oops: 0000 [#1] PREEMPT SMP PTI", "Oops: Oops: 0002 [#1] SMP NOPTI",
                "rcu: INFO: rcu_preempt self-detected stall on CPU",
                "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
                "INFO: rcu_sched self-detected stall on CPU",
                "INFO: task jitproof:71 blocked for more than 120 seconds.",
                "INFO: task hung in x", "INFO: trying to register non-static key.",
                "BUG: KASAN: use-after-free in perf_event_mmap+0x1/0x2",
                "BUG: KFENCE: out-of-bounds read in x", "UBSAN: array-index-out-of-bounds in x.c",
                "BUG: sleeping function called from invalid context at mm/x.c:1",
                "BUG: Bad page state in process jitproof  pfn:01",
                "BUG: Bad rss-counter state mm:1 type:MM_ANONPAGES val:1",
                "general protection fault, probably for non-canonical address 0x1: 0000 [#1]",
                "refcount_t: underflow; use-after-free.", "list_add corruption. prev is bad",
                "------------[ cut here ]------------",
                "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009",
                "irq 11: nobody cared (try booting with the \"irqpoll\" option)",
                "jitproof invoked oom-killer: gfp_mask=0x1", "Out of memory: Killed process 71",
                "jitproof[71]: segfault at 0 ip 0 sp 0 error 4"):
            with self.subTest(text):
                self.assertEqual(len(self.scan("before", text, "after")), 1)

    def test_allowed_splats(self) -> None:
        known = {"pattern": "event_sched_out", "reason": "known since 6.12", "kernels": r"6\.12\."}
        text = "WARNING: CPU: 0 PID: 71 at kernel/events/core.c:2400 event_sched_out+0x1/0x2"
        self.assertEqual(self.scan(text, allow=[known]), [])
        self.assertEqual(len(self.scan(text, allow=[known], release="6.16.1")), 1)
        self.assertEqual(len(self.scan("BUG: other", text, allow=[known])), 1)

    def test_incomplete_log_is_not_clean(self) -> None:
        for log in ("", "4,7,1,-;later", FIRST + "\n6,2,1,-;one is missing",
                    FIRST + "\nno record", FIRST + "\n6,1,1,-;x\n6,1,1,-;twice"):
            with self.subTest(log), self.assertRaises(kernel_log.Unscannable):
                kernel_log.parse_records(log)


class Bundle(Binary):
    def unpack(self, memory: bytes, name: str) -> int:
        return bundle.unpack(self.write_bytes(memory, "memory"), self.place(name))

    def test_unpack_restores_files(self) -> None:
        self.unpack(pack_memory(("d", b"/out/a", 0), ("f", b"/out/a/b", 10000), ("p", b"xyz", 8000),
                                ("p", b"tail", 9996), ("f", b"/out/e", 0)), "out")
        self.assertEqual(self.read("out/a/b"), "\0" * 8000 + "xyz" + "\0" * 1993 + "tail")
        self.assertEqual(self.read("out/e"), "")

    def test_torn_bundles_are_rejected(self) -> None:
        complete_bundle = pack_memory(("f", b"/out/a", 3), ("p", b"xyz", 0))
        torn = {
            "empty": b"", "nothing left": b"\0" * 8192,
            "head alone": complete_bundle[:100],
            "not all": complete_bundle[:4096 + 10],
            "another byte": complete_bundle[:4096 + 20] + b"!" + complete_bundle[4096 + 21:],
            "a record too few": pack_memory(("f", b"/out/a", 0), count=2),
            "a record too many": pack_memory(("f", b"/out/a", 0), ("f", b"/out/b", 0), count=1),
            "above": pack_memory(("f", b"/out/../x", 0)),
            "twice": pack_memory(("d", b"/out/a", 0), ("d", b"/out/a", 0)),
            "no path": pack_memory(("d", b"/out/a\0b", 0)),
            "elsewhere": pack_memory(("f", b"/etc/x", 0)),
            "a piece of nothing": pack_memory(("p", b"xyz", 0)),
            "a length beyond": pack_memory(("f", b"", 0))[:4100]
            + struct.pack("<I", 1 << 30) + pack_memory(("f", b"", 0))[4104:],
        }
        for name, memory in torn.items():
            with self.subTest(name), self.assertRaises(bundle.Torn):
                self.unpack(memory, "out-" + name)
        self.assertFalse(os.path.exists(self.place("x")))


class Initramfs(unittest.TestCase):
    def test_cpio_lists_the_archive(self) -> None:
        archive = initramfs.Archive()
        archive.add("proc", initramfs.FOLDER)
        archive.add("a/b/c", initramfs.TEXT, b"text")
        data = archive.build_archive()
        self.assertEqual(data, archive.build_archive())
        listing = subprocess.run("gzip -dc | cpio -t --quiet", shell=True, input=data,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if listing.returncode == 127:
            self.skipTest("cpio is not here")
        self.assertEqual(listing.stdout.decode().split(), ["a", "a/b", "a/b/c", "proc"])

    def test_libraries_and_loader_are_found(self) -> None:
        libraries = initramfs.find_libraries(sys.executable)
        self.assertTrue(any("libc.so" in path for path in libraries), libraries)
        self.assertTrue(any("/ld-" in path for path in libraries), libraries)

class Choice(unittest.TestCase):
    def make_package(self, name: str, version: str) -> kernels.Package:
        return kernels.Package(name, version, "0", "-unsigned" not in name)

    def test_newest_package_of_a_version(self) -> None:
        known = [self.make_package("linux-image-6.1.0-55", "6.1.192-1"),
                 self.make_package("linux-image-6.1.0-56", "6.1.192-2"),
                 self.make_package("linux-image-6.12.9", "6.12.9-1"),
                 self.make_package("linux-binary-unsigned-7.3.4", "7.3.4-1~bpo13+1"),
                 self.make_package("linux-binary-7.3.4", "7.3.4-1~bpo13+1"),
                 self.make_package("linux-image-6.12.117", "6.12.117-1~deb12u1")]
        self.assertEqual(kernels.find_newest(known, "6.1").version, "6.1.192-2")
        self.assertEqual(kernels.find_newest(known, "6.12").name, "linux-image-6.12.117")
        self.assertEqual(kernels.find_newest(known, "6.12.9").name, "linux-image-6.12.9")
        self.assertEqual(kernels.find_newest(known, "7.3").name, "linux-binary-7.3.4")
        self.assertIsNone(kernels.find_newest(known, "6.16"))

    def test_unlisted_skips(self) -> None:
        results = [{"case": "x/a", "outcome": "SKIP", "why": "no profiler 'perf'"},
                   {"case": "x/b", "outcome": "PASS", "why": ""}]
        entry = {"case": "x/*", "why": "no profiler", "reason": "no guest has one"}
        self.assertEqual(suites.find_unlisted_skips(results, [entry], "6.12"), [])
        self.assertEqual(len(suites.find_unlisted_skips(results, [], "6.12")), 1)
        for change in ({"why": "memfd"}, {"case": "y/*"}, {"kernels": r"5\."}):
            self.assertEqual(len(suites.find_unlisted_skips(results, [{**entry, **change}],
                                                            "6.12")), 1)

    def test_groups(self) -> None:
        config = {"suites": {"short": {"at_most": 2, "groups": [
            {"name": "two", "smp": 2, "cases": ["x/b*"]},
            {"name": "one", "smp": 1, "cases": ["x/*", "y/a"]}]}}}
        names = ["x/a", "x/b", "y/a", "y/b"]
        choices: tuple[tuple[list[str], list[str], Any], ...] = (
                (names, [], [("two", 2, ("x/b",), ""), ("one", 1, ("x/a", "y/a"), "")]),
                (names, ["x/a"], [("one", 1, ("x/a",), "")]),
                ([*names, "x/c"], [], [("two", 2, ("x/b",), ""), ("one-1", 1, ("x/a", "y/a"), ""),
                                       ("one-2", 1, ("x/c",), "")]))
        for known, globs, expected in choices:
            self.assertEqual(list(map(dataclasses.astuple, suites.make_groups(
                config, known, "short", globs))), expected)
        for known, suite, glob in ((names, "short", "y/b"), (names, "long", "*"),
                                   (["x/a", "y/a"], "short", "*")):
            with self.subTest(glob, suite=suite), self.assertRaises(Refused):
                suites.make_groups(config, known, suite, [glob])


class Configuration(Binary):
    def test_malformed_configuration(self) -> None:
        good = self.read(configuration.FILE).encode()
        for data, messages in ((b"a =", "value"), (b"", "kernels: expected a table"),
                           (b"kernels = 3", "kernels: expected a table"),
                           (good.replace(b"flavour = ", b"color = "), "[kernels]: flavour"),
                           (good.replace(b"memory = 3072", b"memory = 'x'"), "[qemu]: memory"),
                           (good.replace(b"smp = 2", b"smp = true", 1), "groups]]: smp"),
                           (good + b"[architectures.vax]\ncolor = 1\n", "vax]: color"),
                           (good + b"[architectures.vax.qemu]\nmemory = 'x'\n", "qemu]: memory"),
                           (good + b"[[allowed]]\npattern='x'\nreason='y'\nmore=1\n", "more"),
                           (good + b"[[allowed]]\npattern='x'\n", "]]: reason")):
            path = self.write_bytes(data, "c.toml")
            with self.assertRaises(Malformed) as raised:
                configuration.load(path)
            self.assertTrue(str(raised.exception).startswith(path + ": "), raised.exception)
            self.assertIn(messages, str(raised.exception))
        for command in ("kernels", "run"):
            result = process.run([*MATRIX, command, "--config", path,
                                  "--cache", self.place("cache")])
            self.assertEqual(result.returncode, 99, result.stderr)
            self.assertIn("ci/matrix %s: %s: " % (command, path), result.stderr)


class CommittedConfiguration(unittest.TestCase):
    """Tests ci/matrix/matrix.toml itself."""

    def test_suites_cover_all_studies_and_cases(self) -> None:
        config = configuration.load(configuration.FILE)
        names = suites.list_cases(JITPROOF)
        short, full = ([name for group in suites.make_groups(config, names, suite, [])
                        for name in group.cases] for suite in ("short", "full"))
        # The cases of peers need a profiler.
        self.assertEqual({name.split("/")[0] for name in names} - {"peers"},
                         {name.split("/")[0] for name in short})
        self.assertEqual(sorted(full), sorted(names))


class Image(Binary):
    def make_image(self, magic: bytes = b"HdrS") -> bytes:
        data = bytearray(8192)
        data[0x202:0x206] = magic
        data[0x20e:0x210] = (0x1000).to_bytes(2, "little")
        data[0x1200:0x1220] = b"6.12.117+deb12 (builder) #1 SMP\0"
        return bytes(data)

    def test_release_in_an_image(self) -> None:
        for magic in (b"ARM\x64", b"RSC\x05"):
            data = bytearray(8192)
            data[0x38:0x3c] = magic
            data[0x1200:0x1220] = b"Linux version 7.2.13+deb14-riscv"
            path = self.write_bytes(bytes(data), "Image")
            self.assertEqual(kernels.read_release(path), "7.2.13+deb14-riscv")

    def test_find_by_path(self) -> None:
        self.write_bytes(self.make_image(), "tree/arch/x86/boot/bzImage")
        self.assertEqual(kernels.find_by_path(self.place("tree")).label, "6.12.117+deb12")
        vmlinuz = self.write_bytes(self.make_image(), "vmlinuz")
        self.assertEqual(kernels.find_by_path(vmlinuz).package, "")
        slash = self.make_image().replace(b"6.12.117+deb12 ", b"6.12/../../etc ")
        for invalid_file in (self.write_bytes(self.make_image(b"...."), "other"),
                    self.write_bytes(slash, "slash"), self.place("none"), self.home):
            with self.subTest(invalid_file), self.assertRaises(Refused):
                kernels.find_by_path(invalid_file)


class Unjudged(Folder):
    """Tests jitproof run --no-judge on this machine."""

    def test_judge_completes_the_run_from_its_folder(self) -> None:
        run = process.run([JITPROOF, "run", "--no-judge", "-o", self.place("run"), "--seed=1",
                           "preexisting/anon.attach.exec"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("\n# 1 of 1: preexisting/anon.attach.exec: ", run.stdout)
        self.assertNotIn("KTAP", run.stdout)
        self.assertEqual(self.read("run/ktap.txt"), "KTAP version 1\n1..1\n")
        self.assertEqual(self.read("run/results.jsonl"), "")
        process.run([JITPROOF, "judge", "--results", "results", "run"], cwd=self.home)
        result = json.loads(self.read("results"))
        self.assertEqual(result["seconds"],
                         float(self.read("run/preexisting/anon.attach.exec/seconds")))
        self.assertNotIn(result["outcome"], ("ERROR", "TIMEOUT"), result["why"])


class Scripted(Folder):
    """Runs cells with a script in place of QEMU."""

    kind = cell.Cell
    profiler = ""

    def make(self, script: str, kmsg: bytes = FIRST.encode(), limits: dict[str, int] | None = None,
             label: str = "6.12", cases: tuple[str, ...] = ("study/a",),
             clock: str = "") -> cell.Cell:
        group = suites.Group("one", 1, cases, self.profiler)
        path = self.write(MACHINE % (sys.executable, "CASE, KMSG = %r, %r\n" % (CASE, kmsg)
                                     + script), "machine", runs=True)
        config = {"qemu": {"output": 1, "memory": 64, "console": "ttyS0"},
                  "limits": {**LIMITS, **(limits or {})}}
        plan = cell.Plan(kernels.Kernel(label, label + ".1", "/dev/null", "0", ""),
                         qemu.Qemu(path, "10.0", ""), (group,), config,
                         {"one": b""}, JITPROOF, "short", 1, "tcg" if clock else "kvm", clock,
                         "ci/matrix run")
        return self.kind(plan, self.home, threading.Event(), lambda text: None)

    def make_result(self, *arguments: Any, **more: Any) -> dict[str, Any]:
        result = self.make(*arguments, **more).run()
        self.assertEqual(json.loads(self.read("6.12/cell.json")), result)
        self.assertEqual(sorted(name for name in os.listdir(self.home) if "6.12" in name),
                         ["6.12"])
        return result


class Machines(Scripted):
    def test_host_judges_a_complete_run(self) -> None:
        ended = self.make_result(GOOD)
        self.assertEqual((ended["outcome"], ended["cases"]), ("DONE", {"SKIP": 1}), ended)
        self.assertEqual(ended["groups"][0]["seconds"], "12.5")
        self.assertEqual(ended["unlisted_skips"], ["study/a: nothing is here"])
        result = json.loads(self.read("6.12/results.jsonl"))
        self.assertEqual((result["case"], result["seconds"]), ("study/a", 1.5))

    def test_missing_case_is_an_error(self) -> None:
        result = self.make_result(GOOD, cases=("study/a", "study/b"))
        self.assertEqual(result["outcome"], "ERROR")
        self.assertIn("1 of 2 cases", result["reason"])

    def test_splat_changes_the_outcome(self) -> None:
        result = self.make_result(GOOD, kmsg=FIRST.encode() + b"\n4,1,1,-;WARNING: CPU: 0 at x.c:1")
        self.assertEqual((result["outcome"], result["cases"]), ("SPLAT", {"SKIP": 1}))
        self.assertIn("x.c:1", result["groups"][0]["reason"])

    def test_missing_log_is_an_error(self) -> None:
        result = self.make_result(GOOD, kmsg=b"")
        self.assertEqual(result["outcome"], "ERROR")
        self.assertIn("kernel log", result["groups"][0]["reason"])

    def test_lost_machines(self) -> None:
        hang = "\ntime.sleep(1000)\n"
        for name, script, limits, reason in (
                ("no boot", hang, {"boot": 1}, "it did not boot"),
                ("no answer", READY + 'say("# 1 of 2: study/a: watched")' + hang, {"case": 1},
                 "no answer after '1 of 2: study/a'"),
                ("does not leave", READY + 'say("jitproof-vm: ran run.txt 0 at 1.0")' + hang,
                 {"leave": 1}, "did not leave"),
                ("panic", READY + 'say("[ 3.1] Kernel panic - not syncing: made")', {},
                 "left no result: [ 3.1] Kernel panic - not syncing: made"),
                ("soft lockup", READY + 'say("watchdog: BUG: soft lockup - CPU#0 stuck")' + hang,
                 {"case": 1}, "soft lockup"),
                ("torn", GOOD.replace("})\n", "}, torn=True)\n"), {}, "checksum"),
                ("QEMU fails", "sys.exit('no such device')", {}, "no such device")):
            with self.subTest(name):
                result = self.make_result(script, limits=limits)
                self.assertEqual(result["outcome"], "LOST")
                self.assertIn(reason, result["groups"][0]["reason"])
                self.assertIsInstance(result["groups"][0]["last"], list)
                self.assertFalse(os.path.exists(self.place("6.12/results.jsonl")))

    def test_interrupt_leaves_nothing(self) -> None:
        # Creates a link, which is complete at once: a file could exist before its text is written.
        emulator = self.make(READY + "os.symlink(str(os.getpid()), %r)\ntime.sleep(1000)\n"
                        % self.place("pid"))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            ended = pool.submit(emulator.run)
            deadline = time.monotonic() + 240
            while not os.path.lexists(self.place("pid")) and time.monotonic() < deadline:
                time.sleep(0.01)
            emulator.stopped.set()
            self.assertIsInstance(ended.exception(20), KeyboardInterrupt)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(os.readlink(self.place("pid"))), 0)
        self.assertEqual([name for name in os.listdir(self.home) if "6.12" in name], [])


class Architectures(unittest.TestCase):
    def test_an_architecture_replaces_parts_of_the_configuration(self) -> None:
        native = configuration.load(configuration.FILE)
        foreign = configuration.load(configuration.FILE, "aarch64")
        self.assertEqual(native["kernels"]["flavour"], "cloud-amd64")
        self.assertEqual(foreign["kernels"]["flavour"], "cloud-arm64")
        self.assertEqual(foreign["kernels"]["suites"], native["kernels"]["suites"])
        self.assertEqual(foreign["qemu"]["program"], "qemu-system-aarch64")
        self.assertEqual(foreign["limits"], native["limits"])
        other = configuration.load(configuration.FILE, "riscv64")
        self.assertEqual(kernels.Kernels(other["kernels"], "cache").architecture, "riscv64")
        with self.assertRaises(Refused):
            configuration.load(configuration.FILE, "vax")


class CommandLine(unittest.TestCase):
    def test_no_device_reads_state_of_this_machine(self) -> None:
        machine = qemu.Machine("/k", "a", 2, 64, 4096)
        words = qemu.make_command(qemu.Qemu("q", "10", ""), machine)
        self.assertEqual(words[:3], ["env", "LD_PRELOAD=./clock.so", "q"])
        self.assertIn("shift=3,sleep=off", words)
        self.assertEqual([words[index + 1] for index, word in enumerate(words)
                          if word == "-device"],
                         ["ivshmem-plain,memdev=output"])
