# SPDX-License-Identifier: GPL-2.0-only
"""Tests that case lines without allowed exceptions pass where nothing is wrong."""

from ci.base import process
from harness.selftest.support.scratch import Folder, JITPROOF

CASES = """\
defaults : : launch --synth=exec --stack=8192 --freq=999 : samples=100
case files.jitdump check : plt_vdso : : publish=jitdump inject=cut
case files.map check : fuse_library : : publish=map
case vdso check : plt_vdso --vdso : : publish=map
case forked.dump check : prefork --children=2 : : publish=jitdump:shared inject=cut
case other.clock check : anon_exec : : publish=jitdump:arch-times inject=cut
case map.partial check : anon_exec : : publish=both:partial
case children.relocated check : prefork --publish-children=both : : publish=jitdump:unrelocated
case dump.stopped check : address_reuse : : publish=jitdump:silent-stop inject=cut
case children.map check : fork_exec --tasks=2 --publish-children=map : : inject=cut
case memfd.late check : odd_paths --memfd : launch --elf=late --stack=8192 --freq=999
case unmap.busy check : anon_exec --programs=2 : attach --freq=999 : at=before-enable:unmap
case user-only check : syscalls : launch --synth=exec --stack=8192 --freq=999 --user-only

defaults : : attach --freq=1999 --synth=none : samples=100 publish=jitdump inject=cut
case older.growth check : coalesced_growth
case older.reuse check : pid_reuse

defaults : shared_space : launch --freq=1999 : samples=100 publish=map
case shared.keep check : : : publish=jitdump inject=keep
case shared.map check
case image.exec check : fork_exec --how=exec --tasks=2
case image.stripped check : pid_reuse : : publish=jitdump inject=strip
case image.inside check : namespaces --depth=2 : : publish=both inject=cut
case image.attach check : anon_exec : attach --freq=1999 : at=before-threads:exec publish=none
case folder check : anon_exec : launch-by perf --threads --freq=1999 : publish=jitdump inject=cut
case image.forked check : prefork : attach --freq=1999 : at=before-enable:fork publish=none

defaults : : gated --gate=backfill --freq=1999 : samples=100 inject=cut
case gate.jitdump check : fork_exec --tasks=2 : : publish=jitdump
"""


class Bare(Folder):
    def test_bare_cases_pass(self) -> None:
        self.write(CASES, "expected", "bare")
        result = process.run([JITPROOF, "run", "--expected", self.place("expected")], timeout=240)
        if "perf_event_open" in result.stdout:
            self.skipTest("no events here")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout,
                         "PASS:(22|21|20|19) FAIL:0 SKIP:[1-4] ERROR:0")
        self.assertRegex(result.stdout,
                         "folder # SKIP (inject=cut merges one file|profiler perf)")

    def test_contradicting_options_are_skipped(self) -> None:
        self.write("""\
defaults : : launch --freq=999 : samples=100
case launch check : fork_exec --how=exec --replace=/bin/sh
case perf check : fork_exec --how=exec --replace=/bin/sh : launch-by perf --freq=999
case reuse check : address_reuse --how=unmap --backing=heap
case growth check : coalesced_growth --manner=mmap --direction=down --backing=heap
""", "expected", "options")
        result = process.run([JITPROOF, "run", "--expected", self.place("expected")], timeout=60)
        self.assertIn("FAIL:0 SKIP:4 ERROR:0", result.stdout)
