# SPDX-License-Identifier: GPL-2.0-only
"""Tools of recipes: programs, perfs of five versions and our own recorder. The capture's
file "how" gets each command."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from typing import Callable, Iterator, Sequence

from ci.base import files, process
from ci.base.status import Missing
from ci.labelled import programs
from ci.perf import perf_tools

# Clock and event of every capture; perf's other defaults stay.
CLOCK = ("-k", "mono")
EVENT = ("-e", "cpu-clock")
TIMEOUT = 120


CHAINS = ("-g", "-F", "999")
WITH_FP = ("-O1", "-fno-omit-frame-pointer")  # options of compilers


def make_dump_options(size: int, frequency: int = 249) -> tuple[str, ...]:
    """Returns options for stack dumps of @size bytes, without callchains."""
    return "-F", str(frequency), "--call-graph", "dwarf,%d" % size


def translate_options(options: Sequence[str]) -> Iterator[str]:
    """Yields the options of jitproof record for those of perf record."""
    words = iter(options)
    for word in words:
        if word == "--call-graph":
            yield from ("--stack", next(words).removeprefix("dwarf,"), "--no-chain")
        elif word != "-g":
            yield word


def find_program(program: str, packages: str = "") -> str:
    """Returns the path of a program, or raises Missing with the command that installs it."""
    path = shutil.which(program)
    if not path:
        raise Missing("%s is not installed: apt-get install %s" % (program, packages or program))
    return path


class Bench:
    """The folder of one capture: scratch files, perf.data, and the steps that were done."""

    def __init__(self, scratch: str, name: str) -> None:
        self.scratch, self.name = scratch, name
        self.folder = os.path.join(scratch, "runs", name)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.data = self.place("perf.data")
        self.jitproof = os.path.join(scratch, "bin", "jitproof")
        self.steps: list[str] = []
        self.pid = self.launched = 0  # pids of an attached process, and of the started command
        self.extra: list[str] = []  # files of the capture that no mapping names
        # perf, our recorder and runtimes agree on this directory for jitdumps. Stack dumps contain
        # the environment, so nothing of the caller's is in it.
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "DEBUGINFOD_URLS": "",
            **dict.fromkeys(("HOME", "PWD", "TMPDIR", "JITDUMPDIR"), self.folder)}

    def place(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def add_note(self, command: Sequence[str], how: str = "") -> None:
        self.steps.append(how + shlex.join(command))

    def set_variable(self, name: str, value: str) -> None:
        self.environment[name] = value
        self.steps.append("export %s=%s" % (name, shlex.quote(value)))

    def write(self, name: str, text: str) -> str:
        files.write(self.place(name), text)
        self.steps.append("# %s: of ci/labelled/scripts.py" % name)
        return self.place(name)

    def must(self, command: Sequence[str], how: str = "") -> str:
        self.add_note(command, how)
        return process.run_or_raise(command, cwd=self.folder, env=self.environment, timeout=TIMEOUT)

    def build(self, name: str, source: str, *options: str, language: str = "c") -> str:
        """Compiles @source, a program of ci/labelled/programs.py. Returns its path."""
        path = self.place(name)
        compiler = "g++" if language == "c++" else "gcc"
        command = [compiler, *options, "-x", language, "-", "-x", "none", "-o", path]
        # The linker needs libraries after the code that uses them.
        libraries = [option for option in options if option.endswith(".so")]
        command = [word for word in command if word not in libraries] + libraries
        self.add_note(command, "# of ci/labelled/programs.py: ")
        process.run_or_raise(command, input=source, cwd=self.folder)
        return path

    def build_chain(self, name: str = "chain", *options: str) -> str:
        return self.build(name, programs.CHAIN, "-O1", *(options or ("-fno-omit-frame-pointer",)))

    def workload(self, name: str, *options: str) -> list[str]:
        return [self.jitproof, "workload", name, "--truth", self.place("truth"),
                *options]

    def perf(self, version: str) -> str:
        return perf_tools.find(os.path.join(self.scratch, "perf"), version).path

    def recorder(self, version: str, options: Sequence[str], clock: bool = True) -> list[str]:
        """Returns the command without the program to record. Version "ours" is jitproof record."""
        if version == "ours":
            return [self.jitproof, "record", *translate_options(options), "-o", self.data]
        return [self.perf(version), "record", *(CLOCK if clock else ()),
                *(() if "-e" in options else EVENT), *options, "-o", self.data]

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a program and waits for its line "ready"."""
        self.add_note(command)
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=open_stderr(self), cwd=self.folder,
                                   env=self.environment)
        assert started.stdout
        for line in started.stdout:
            if line.startswith(b"ready"):
                return started
        raise RuntimeError("%s: it ended before it was ready: %s" % (
            command[0], files.read(self.place("stderr"), "replace")[-300:]))

    def stop(self, started: subprocess.Popen[bytes], patience: int) -> None:
        """Ends a program: workloads by the end of their input, runtimes by SIGTERM after @patience
        seconds. Keeps the libraries that a workload made for itself."""
        made = [self.place(name) for name in os.listdir(self.folder) if name.startswith("files-")]
        for folder in made:
            shutil.copytree(folder, folder + ".kept")
        try:
            started.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            started.terminate()
            started.communicate(timeout=TIMEOUT)
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(folder + ".kept", folder)

    def launch(self, version: str, options: Sequence[str], command: Sequence[str],
               clock: bool = True, before: Sequence[str] = (),
               meanwhile: Callable[["Bench"], object] | None = None, inject: str = "") -> None:
        """Records a program from its start. @before: a command in front of the recorder's;
        @meanwhile: called while the program runs; @inject: version that merges jitdumps
        afterwards."""
        started = self.start([*before, *self.recorder(version, options, clock), "--", *command])
        self.launched = started.pid
        if meanwhile:
            meanwhile(self)
        time.sleep(1)
        self.stop(started, TIMEOUT)
        if started.returncode not in (0, -signal.SIGTERM):
            raise RuntimeError("exit %d: %s" % (
                started.returncode, files.read(self.place("stderr"), "replace")[-300:]))
        if inject:
            self.inject(inject)

    def attach(self, version: str, options: Sequence[str], command: Sequence[str],
               seconds: float = 1.0, descendant: str = "",
               meanwhile: Callable[["Bench"], object] | None = None) -> None:
        """Records a running program, or its @descendant of that name."""
        target = self.start(command)
        self.launched = target.pid
        self.pid = find_descendant(target.pid, descendant) if descendant else target.pid
        record = [*self.recorder(version, options), "-p", str(self.pid)]
        if version == "ours":
            self.add_note(record)
            with subprocess.Popen(record, env=self.environment, cwd=self.folder,
                                  stderr=open_stderr(self)) as watching:
                time.sleep(2 + seconds)  # attaching is slow on a busy machine
                watching.send_signal(signal.SIGINT)
                watching.wait(TIMEOUT)
        else:
            self.must([*record, "--", "sleep", str(seconds)])
        if meanwhile:
            meanwhile(self)
        self.stop(target, 2)

    def record_case(self, definition: str) -> None:
        """Records a case of docs/expected-format.md, which acts at certain moments of an attach."""
        expected, run = self.place("expected"), self.place("run")
        os.makedirs(expected)
        text = "case one check : %s\n\tlost.samples >=0\n" % definition
        files.write(os.path.join(expected, "made"), text)
        self.steps.append("# expected/made: " + text.replace("\n", " "))
        self.must([self.jitproof, "run", "--no-judge", "--expected", expected, "-o", run,
                   "made/one"])
        shutil.move(os.path.join(run, "made/one/perf.data"), self.data)

    def remove_jitdumps(self) -> None:
        for name in os.listdir(self.folder):
            if name.startswith("jit-"):
                self.must(["rm", self.place(name)])

    def inject(self, version: str, *options: str) -> None:
        """Merges the jitdumps into the capture."""
        merged = self.place("injected.data")
        command = ([self.jitproof, "inject", *options] if version == "ours" else
                   [self.perf(version), "inject", "--jit", *options])
        self.must([*command, "-i", self.data, "-o", merged])
        os.replace(merged, self.data)


def open_stderr(bench: Bench) -> int:
    """Opens the file for the standard error of programs."""
    return os.open(bench.place("stderr"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)


def find_descendant(pid: int, name: str) -> int:
    """Returns the pid of the descendant called @name: wrappers start the runtime as a child."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        if files.read("/proc/%d/comm" % pid, "replace").strip() == name:
            return pid
        for thread in os.listdir("/proc/%d/task" % pid):
            waiting += map(int, files.read("/proc/%d/task/%s/children" % (pid, thread)).split())
    raise RuntimeError("no process called " + name)
