# SPDX-License-Identifier: GPL-2.0-only
"""The profiler of docs/profiler-adapters.md works, and `jitproof adapter check` reports each change
that breaks a rule."""

import os
import platform
import re
import shutil
import sys
import unittest

from ci.base import files, process
from harness.selftest.support.scratch import HERE, JITPROOF, Folder

TOY = files.read(os.path.join(HERE, "support", "toy_profiler.py"))
DATA = """
    def write_data(self, file: IO[bytes]) -> None:
        # Samples of (ip, tid, time, chain, bp, sp, ip), all records with an id, CLOCK_MONOTONIC.
        attr = struct.pack("<IIQQQQQ32xQIi40x", 1, 136, 0, 1_000_000, 0x1027, 0, 1 << 18 | 1 << 25,
                           0x1c0, 0, 1)
        body = b""
        for now, tid, frames, bp, sp in self.taken:
            sample = struct.pack("<QIIQQQ%dQQ" % len(frames), frames[0], self.pid, tid, now,
                                 len(frames) + 1, 2**64 - 512, *frames, 2) + bp + sp
            body += struct.pack("<IHH", 9, 2, 16 + len(sample)) + sample
            body += struct.pack("<Q", frames[0])
        file.write(struct.pack("<8s8Q32x", b"PERFILE2", 104, 152, 104, 152, 256, len(body), 0, 0) +
                   attr + bytes(16) + body)


"""


class Adapters(Folder):
    def check_adapter(self, text: str, **environment: str) -> tuple[int, str]:
        """Checks the adapter with this text; returns status and output."""
        self.write(text, "profilers", "mine.py")
        result = process.run([JITPROOF, "adapter", "check", "mine"], timeout=240, env={
            **os.environ, "JITPROOF_PROFILERS": self.place("profilers"), **environment})
        self.assertEqual(result.stderr, "")
        if "perf_event_open" in result.stdout:
            self.skipTest("the clocks cannot be compared here")
        return result.returncode, result.stdout


@unittest.skipUnless(platform.machine() == "x86_64", "the toy reads x86-64's registers")
class Toy(Adapters):

    def test_length_of_the_toy(self) -> None:
        lines = [line for line in TOY.splitlines() if line.strip() and not line.startswith("#")]
        self.assertLessEqual(len(lines), 60)

    def test_toy_is_truthful(self) -> None:
        """`jitproof adapter check` finds nothing wrong, whether it attaches or launches."""
        status, text = self.check_adapter(TOY)
        self.assertEqual(status, 0, text)
        self.assertIn("ok 2 attach\n", text)
        self.assertIn("ok 3 launch\n", text)
        self.assertNotIn("# found", text)
        self.assertEqual(len(re.findall("(?m)^# not judged \\(no-mappings\\):.* mapping_coverage",
                                        text)), 2, text)
        self.assertEqual(len(re.findall(
            "(?m)^# seen -, mapped -, right -, .*, whole 100%, invented 0,", text)), 2, text)

    def test_wrong_toy_is_found(self) -> None:
        for old, new, message in (
                ("frames.append(ip)", "frames.append(ip + 1)", "wrong.chain, cause wrong-frame"),
                ("[ip], time", "[ip + 1], time", "# found: wrong.chain, cause no-depth"),
                ("len(frames) < 127", "len(frames) < 2", "broken.chain, cause kernel-walk"),
                ("(now, tid, frames))", "(now, self.pid, frames))",
                 "# found: wrong.chain, cause no-stay"),
                ("time.monotonic_ns()", "time.time_ns()", "times of CLOCK_MONOTONIC in ns"),
                ('"no-names", ', "", "# found: names.unnamed, cause no-name"),
                ('"no-names"', '"no-addresses"',
                 "observations: line 5: expected only names, because the header declares"),
                ('"no-mappings", ', "", "# found: broken.chain, cause no-record"),
                ('"no-tasks"', '"no-task"', "observations: line 3: expected no-registers, "),
                ('number = "1"', "number = 1 / 0", "ZeroDivisionError")):
            with self.subTest(new or old):
                self.assertIn(old, TOY)
                self.assertRegex(self.check_adapter(TOY.replace(old, new))[1], message)

    def test_missing(self) -> None:
        result = process.run([JITPROOF, "adapter", "check", "none"], timeout=240)
        self.assertEqual(result.returncode, 4)
        self.assertRegex(result.stdout,
                         "# no profiler 'none': there is no none.py in /.*/profiler\n")

    def test_perf_data_without_mappings(self) -> None:
        """The toy profiler is changed to write a perf.data without mappings instead of a stream."""
        begin, end = TOY.index("    def write("), TOY.index("main(Toy)")
        text = TOY[:begin] + DATA + TOY[end:]
        text = self.check_adapter(text.replace("(now, tid, frames)",
                                               "(now, tid, frames, registers[32:40], "
                                               "registers[152:160])"))[1]
        self.assertRegex(text, "# found: broken.chain, cause no-record: ")
        self.assertRegex(text, "(?m)^# seen -, mapped 0%!, .*, whole 0%!, invented 0,")


# An adapter of a program that writes a perf.data.
PERF = """
import os
import shutil
import sys

sys.path.insert(0, os.environ["JITPROOF_ADAPTING"])
from adapting.program import Program
from adapting.protocol import main


class Mine(Program):
    name = "perf"
    version_from = (r"^perf version (\\S+)", "--version")
    sampling = "Events enabled"

    def command(self):
        return (self.program(), "record", "-k", "mono", "-e", "cpu-clock", "-g",
                "--user-regs=bp,sp,ip", "-D", "10", "-F", str(self.options.freq),
                "-p", str(self.pid), "-o", self.path("perf.out"))

    def write_data(self, file):
        with open(self.path("perf.out"), "rb") as made:
            shutil.copyfileobj(made, file)


main(Mine)
"""
# The profiler that docs/profiler-adapters.md describes: it reports a single stack, $MINE.
MINE = """#!%s
import os, signal, sys
if sys.argv[1] == "--version":
    print("mine 1.0")
    sys.exit()
if os.environ["MINE"] == "end":
    sys.exit(3)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("Sampling", flush=True)
signal.sigwait([signal.SIGINT])
if os.environ["MINE"] != "silent":
    with open("/tmp/perf-%%s.map" %% sys.argv[2]) as names:
        name = names.readline().split()[2]
    with open(sys.argv[6], "w") as file:
        file.write(os.environ["MINE"].replace("JIT", name) + " 100\\n")
""" % sys.executable


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("perf"), "needs perf")
class Perf(Adapters):
    def test_copied_file(self) -> None:
        """perf ends by the SIGINT that ends it, and its number of samples is an estimate."""
        attached = self.check_adapter(PERF)[1].split("ok 2 attach\n")[0]
        self.assertRegex(attached, "# seen .*, mapped 100%, right 100%, ")
        self.assertNotIn("event.samples", attached)


class Page(Adapters):
    """The adapter in docs/profiler-adapters.md."""

    def check_page(self, own_text: str, old: str = "", new: str = "") -> tuple[int, str]:
        """Checks the page's adapter with @new in place of @old."""
        page = files.read(os.path.join(HERE, "../../docs/profiler-adapters.md"))
        begin = page.index("import os\n")
        text = page[begin:page.index("```", begin)]
        self.assertIn(old, text)
        return self.check_adapter(text.replace(old, new) if old else text, MINE=own_text,
                                  JITPROOF_MINE=self.write(MINE, "mine", runs=True))

    def test_messages(self) -> None:
        for own_text, message in (
                ("end", "mine ended with 3, and did not print 'Sampling': without a word"),
                ("silent", "# the profiler wrote no profile.txt\n"),
                ("JIT;JIT;main", "1 native frames, and then an impossible stack; a stream must "
                 "have the innermost frame first"),
                ("bash;JIT;JIT", "samples of pid [0-9]+ in [a-z0-9_]+: 3 frames seen, [0-9]+ must "
                 "be, equal up to frame 1; then comes [a-z0-9_]+\n")):
            with self.subTest(own_text):
                self.assertRegex(self.check_page(own_text)[1], message)

    def test_kernel_and_suffix(self) -> None:
        """Suffixes of flamegraph tools are not part of a name."""
        output = self.check_page("JIT_[j];JIT;do_syscall_64_[k]")[1]
        self.assertRegex(output, "in [a-z0-9_]+: 2 frames seen, ")
        self.assertNotIn("misnamed", output)

    def test_no_version(self) -> None:
        status, output = self.check_page("JIT", "^mine (", "^Mine v(")
        self.assertEqual(status, 4)
        self.assertRegex(output, r"# profiler mine: mine: prints no version: '/.*/mine "
                         r"--version' printed 'mine 1\.0', and '\^Mine v\(\\S\+\)' was expected\n")

    def test_no_program(self) -> None:
        """The SKIP of a missing profiler that `ci/peers` lacks does not suggest ci/peers."""
        status, output = self.check_page("JIT", 'name = "mine"', 'name = "mi-ne"')
        self.assertEqual(status, 4)
        self.assertIn("# profiler mine: mi-ne: not found in PATH; set JITPROOF_MI_NE\n", output)
