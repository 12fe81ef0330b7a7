# SPDX-License-Identifier: GPL-2.0-only
"""Single steps on workloads, whose truth is known: the trace's callers are the true ones."""

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any, Sequence

from ci.base import files
from harness.selftest.support.scratch import JITPROOF, Folder, stay_on_one_cpu

# Short loops, so that a burst contains many calls. Threads that run beside a burst need longer
# ones: else they fill the truth.
SHORTER = ("--shorter", "1000")
PLACES = ("entry", "body", "call", "exit")
# Pushes the flags, loops and pops them.
FLAGS = """
import ctypes, mmap, time
# 1: pushf; mov $20, %ecx; 2: dec %ecx; jne 2b; popf; dec %edi; jne 1b; ret
CODE = bytes.fromhex("9cb914000000ffc975fc9dffcf75f1c3")
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(CODE)
call = ctypes.CFUNCTYPE(None, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
end = time.monotonic() + 1
while time.monotonic() < end: call(10000)
"""


class Trace(Folder):
    """Traces a workload until its bursts are done, then ends it."""

    def setUp(self) -> None:
        super().setUp()
        stay_on_one_cpu(self)

    def workload(self, *arguments: str) -> list[str]:
        return [JITPROOF, "workload", *arguments, "--truth", self.place("truth"),
                "--publish-dir", self.home]

    def start(self, options: Sequence[str], command: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [JITPROOF, "trace", "--seed", "7", "--interval", "10", *options, *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, TMPDIR=self.home))

    def trace(self, *arguments: str, bursts: int = 15, steps: int = 1500,
              options: Sequence[str] = ()) -> dict[str, Any]:
        """Returns the result for the workload of @arguments."""
        traced = self.start(
            ("--json", "--bursts", str(bursts), "--steps", str(steps),
             "--truth", self.place("truth"), *options, "--"), self.workload(*arguments))
        assert traced.stderr
        errors = traced.stderr.readline()
        output, more = traced.communicate(timeout=240)
        self.assertIn("bursts are done", errors, errors + more)
        found = json.loads(output.splitlines()[-1])
        self.assertEqual((found["truth"]["wrong"], found["truth"]["elsewhere"]), (0, 0), found)
        self.assertEqual(traced.returncode, 0, more)
        assert isinstance(found, dict)
        return found

    def check(self, *arguments: str, right: int = 500, **more: Any) -> dict[str, Any]:
        """The trace has many callers, and none of them is wrong."""
        result = self.trace(*arguments, **more)
        self.assertGreaterEqual(result["truth"]["right"], right, result)
        return result


class Callers(Trace):
    def test_shapes(self) -> None:
        """Shapes with and without frame pointers, with large frames, and leaf functions."""
        # Half of the bursts meet no exit.
        result = self.check("anon_exec", "--shorter", "20000", bursts=45)
        for place in PLACES:
            self.assertGreater(result["by_fp"][place]["right"] + result["by_fp"][place]["skipped"],
                               0, place)
        self.assertEqual(sum(result["by_fp"][place]["wrong"] for place in PLACES), 0, result)

    def test_other_frame_pointers(self) -> None:
        # With longer loops, three of four bursts meet one frame pointer only.
        result = self.check("bad_chain", "--shorter", "20000")
        self.assertGreater(result["by_fp"]["body"]["wrong"], 0, result)

    def test_tail_calls(self) -> None:
        result = self.check("tail_calls", "--publish", "map", "--shorter", "3000", steps=2500,
                           bursts=60)
        self.assertGreater(result["events"]["tail-call"], 0, result)

    def test_signals(self) -> None:
        result = self.check("signals", "--shorter", "60", right=100, bursts=30)
        self.assertGreater(result["events"]["signal"], 0, result)

    def test_stacks(self) -> None:
        """Emitted code on a stack of its own."""
        result = self.check("coroutines", "--managed", "--shorter", "3000", steps=2500, bursts=30)
        self.assertGreater(result["events"]["stack-switch"], 0, result)

    def test_coroutines(self) -> None:
        self.check("coroutines", "--shorter", "3000", steps=2500)

    def test_native_callers(self) -> None:
        self.check("native_holes", *SHORTER)

    def test_without_main_thread(self) -> None:
        """Bursts end although threads start and exit. Few bursts meet emitted code."""
        self.check("thread_churn", "--shorter", "100", right=0, bursts=2, steps=500)


class Children(Trace):
    def setUp(self) -> None:
        """Leaves all CPUs to the children, which compute beside the traced process."""
        Folder.setUp(self)

    def test_children(self) -> None:
        self.check("prefork", "--shorter", "100", right=200, bursts=6)


class Disturbance(Trace):
    """The traced program goes on, also without its tracer."""

    def start_workload(self) -> subprocess.Popen[str]:
        started = subprocess.Popen(self.workload("anon_exec"), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        assert started.stdout
        self.assertIn("ready", started.stdout.readline())
        return started

    def wait_for_burst(self, pid: int) -> None:
        while not re.search(r"^State:\tt", files.read("/proc/%d/status" % pid), re.M):
            pass

    def end_tracer(self, number: int) -> None:
        workload = self.start_workload()
        tracer = self.start(("--bursts", "100000", "--pid", str(workload.pid)), ())
        self.wait_for_burst(workload.pid)
        tracer.send_signal(number)
        tracer.communicate(timeout=240)
        workload.communicate(timeout=240)
        self.assertEqual(workload.returncode, 0)

    def test_killed_tracer(self) -> None:
        self.end_tracer(signal.SIGKILL)

    def test_interrupted(self) -> None:
        self.end_tracer(signal.SIGINT)

    def test_flags(self) -> None:
        """The program neither stores nor keeps the flag by which the CPU steps."""
        program = self.write(FLAGS, "flags.py")
        result = subprocess.run(
            [JITPROOF, "trace", "--interval", "2", "--bursts", "200", "--steps", "100", "--", "sh",
             "-c", '"$0" -S "$1"; echo "status: $?"', sys.executable, program],
            capture_output=True, text=True)
        self.assertIn("status: 0\n", result.stdout)

    def test_status_of_an_untraceable_program(self) -> None:
        """A program that cannot be traced."""
        result = subprocess.run([JITPROOF, "trace", "--pid", "1999999999"], capture_output=True,
                                text=True)
        self.assertEqual((result.returncode, result.stdout), (99, ""))
        self.assertIn("1999999999", result.stderr)


class Output(Trace):
    def test_lines_of_instructions(self) -> None:
        """Each line is an instruction of emitted code."""
        result = self.trace("anon_exec", *SHORTER, "--publish", "both", bursts=5,
                           options=("-o", self.place("trace")))
        lines = [json.loads(line) for line in files.read(self.place("trace")).splitlines()]
        self.assertEqual(len(lines), result["emitted"])
        self.assertEqual(sum("return" in line for line in lines), result["known"])
        for line in lines:
            self.assertEqual((line["map"]["is"], line["dump"]["is"]), ("right", "right"))
