# SPDX-License-Identifier: GPL-2.0-only
"""Tests hosts that deny something: each case passes there, or its SKIP names reason and remedy."""

import os
import platform
import shutil
import struct
import tempfile

from ci.base import process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import JITPROOF, Folder, needs_namespaces

# Sets PR_SET_MDWE to PR_MDWE_REFUSE_EXEC_GAIN (linux/prctl.h), then runs the command.
MDWE = """import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""
SAMPLE_MAX_STACK = 108  # offset in struct perf_event_attr


class OddHosts(Folder):
    def run_there(self, *before: str, cases: tuple[str, ...], folder: str = "") -> str:
        command = [*before, JITPROOF, "run", *cases]
        result = process.run(command, timeout=240,
                             env={**os.environ, "TMPDIR": folder or self.home})
        if result.returncode == 77 or "perf_event_open" in result.stdout:
            self.skipTest("this kernel denies it: " + result.stdout)
        return result.stdout

    def test_noexec(self) -> None:
        needs_namespaces(self)
        script = 'mount -t tmpfs -o noexec none "$TMPDIR" && exec "$0" "$@"'
        text = self.run_there("unshare", "-Urm", "sh", "-c", script,
                              cases=("frame-pointers/big.touched", "process-tree/replaced.none"))
        for name in ("frame-pointers/big.touched", "process-tree/replaced.none"):
            self.assertRegex(text, r"(?m)^ok \d %s # SKIP executable files in \S+, which is "
                             r"mounted noexec: run with TMPDIR or -o elsewhere$" % name)

    def test_memory_deny_write_execute(self) -> None:
        """Code in a memfd runs, because it is written through another mapping."""
        denied = ("growth/anon.map", "process-tree/exec.none", "tree/short_lived.launch",
                  "tree/namespaces.launch")
        text = self.run_there("python3", "-c", MDWE,
                              cases=(*denied, "preexisting/memfd.attach.exec"))
        for name in denied:
            self.assertRegex(text, r"(?m)^ok \d %s # SKIP (memory that becomes executable: "
                             r"PR_SET_MDWE denies it|.*EPERM)" % name)
        self.assertRegex(text, r"(?m)^ok \d preexisting/memfd.attach.exec$")

    def test_time_namespace(self) -> None:
        command = ("unshare", "-Ur", "--time", "--monotonic", "1000", "--fork")
        if process.run([*command, "true"]).returncode:
            self.skipTest("no time namespace")
        text = self.run_there(*command, cases=("growth/anon.map",))
        self.assertRegex(text, r"(?m)^ok 1 growth/anon.map # SKIP one clock for truth and capture: "
                         r"this time namespace moves CLOCK_MONOTONIC by 1000 s")

    def test_fixed_addresses(self) -> None:
        """After an exec of the same program every mapping has the same address as before."""
        text = self.run_there("setarch", platform.machine(), "-R",
                              cases=("process-tree/exec.backfill",))
        self.assertRegex(text, r"(?m)^ok 1 process-tree/exec.backfill # SKIP random addresses, by "
                         r"which backfill sees an exec \(run without setarch -R")

    def test_unlimited_stack(self) -> None:
        """With an unlimited stack the C library gives threads 2 MiB, less than the largest frames
        need."""
        text = self.run_there("sh", "-c", 'ulimit -s unlimited || exit 77; exec "$0" "$@"',
                              cases=("frame-pointers/big.touched",))
        self.assertIn("\nok 1 frame-pointers/big.touched\n", text)

    def run_with_max_stack(self, number: int, *options: str) -> str:
        """Runs deep.chain where kernel.perf_event_max_stack seems to be @number."""
        needs_namespaces(self)
        script = ('mount --bind "$TMPDIR/number" /proc/sys/kernel/perf_event_max_stack && '
                  'exec "$0" "$@"')
        with open(self.place("number"), "w", encoding="ascii") as file:
            file.write("%d\n" % number)
        return self.run_there("unshare", "-Urm", "sh", "-c", script,
                              cases=("frame-pointers/deep.chain", *options))

    def test_short_callchains(self) -> None:
        self.assertRegex(self.run_with_max_stack(16), r"(?m)^ok 1 frame-pointers/deep.chain # SKIP "
                         r"kernel.perf_event_max_stack is 16, .* of up to 127 addresses")

    def test_long_callchains(self) -> None:
        """Where callchains may be longer, a case asks for the usual length."""
        text = self.run_with_max_stack(1000, "-o", self.place("run"))
        self.assertIn("\nok 1 frame-pointers/deep.chain\n", text)
        attrs = rd.PerfData.load(self.place("run", "frame-pointers/deep.chain/perf.data")).attrs
        self.assertIn(127, [struct.unpack_from("<H", attr.raw, SAMPLE_MAX_STACK)[0]
                            for attr in attrs])

    def test_shared_memory(self) -> None:
        """A library below /dev/shm is a file and no JIT's memory."""
        if not os.path.ismount("/dev/shm") or not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        folder = tempfile.mkdtemp(prefix="jitproof-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder)
        text = self.run_there(cases=("frame-pointers/big.touched",), folder=folder)
        self.assertRegex(text, r"\nok 1 frame-pointers/big.touched(\n| # SKIP executable files)")
