# SPDX-License-Identifier: GPL-2.0-only
"""What a recipe records with: programs, perfs of five versions, our own recorder. Each command goes
into the capture's file "how"."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from typing import Callable, Sequence

from ci.base import files, process
from ci.base.status import Missing
from ci.labelled import programs
from ci.peer import perf_tools

# The events and the clock that every capture has; perf's other defaults stay.
CLOCK = ("-k", "mono")
EVENT = ("-e", "cpu-clock")
TIMEOUT = 120


def chains(version: str, frequency: int = 999) -> tuple[str, ...]:
    """Words for callchains."""
    return (*(() if version == "ours" else ("-g",)), "-F", str(frequency))


def dumps(version: str, size: int, frequency: int = 249) -> tuple[str, ...]:
    """Words for stack dumps of so many bytes, and no callchains."""
    if version == "ours":
        return "-F", str(frequency), "--stack", str(size), "--no-chain"
    return "-F", str(frequency), "--call-graph", "dwarf,%d" % size


def need(program: str, package: str) -> str:
    """The path of a program; Missing, with what installs it, where there is none."""
    path = shutil.which(program)
    if not path:
        raise Missing("%s is not installed: %s" % (program, package))
    return path


class Bench:
    """One capture's folder: scratch for what runs, perf.data, and what was done."""

    def __init__(self, scratch: str, name: str) -> None:
        self.scratch, self.name = scratch, name
        self.folder = os.path.join(scratch, "runs", name)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.data = self.place("perf.data")
        self.jitproof = os.path.join(scratch, "bin", "jitproof")
        self.steps: list[str] = []
        self.pid = self.launched = 0  # what was attached to; the recorder of what was started
        self.extra: list[str] = []  # files that no mapping names
        # jitdumps go where perf writes files; ours and the runtimes' own rules agree on these.
        # Nothing of the maker's environment: stack dumps hold it.
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "DEBUGINFOD_URLS": "",
            **dict.fromkeys(("HOME", "PWD", "TMPDIR", "JITDUMPDIR"), self.folder)}

    def place(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def note(self, command: Sequence[str], how: str = "") -> None:
        self.steps.append(how + shlex.join(command))

    def export(self, name: str, value: str) -> None:
        self.environment[name] = value
        self.steps.append("export %s=%s" % (name, shlex.quote(value)))

    def write(self, name: str, text: str) -> str:
        files.write(self.place(name), text)
        self.steps.append("# %s: of ci/labelled/scripts.py" % name)
        return self.place(name)

    def must(self, command: Sequence[str], how: str = "") -> str:
        self.note(command, how)
        return process.must(command, cwd=self.folder, env=self.environment, timeout=TIMEOUT)

    def build(self, name: str, source: str, *options: str, language: str = "c") -> str:
        """Compiles a program of this module's neighbour."""
        path = self.place(name)
        compiler = "g++" if language == "c++" else "gcc"
        command = [compiler, *options, "-x", language, "-", "-x", "none", "-o", path]
        # Libraries follow what uses them.
        libraries = [option for option in options if option.endswith(".so")]
        command = [word for word in command if word not in libraries] + libraries
        self.note(command, "# of ci/labelled/programs.py: ")
        process.must(command, input=source, cwd=self.folder)
        return path

    def chain(self, name: str = "chain", *options: str) -> str:
        return self.build(name, programs.CHAIN, "-O1", *(options or ("-fno-omit-frame-pointer",)))

    def workload(self, name: str, *options: str) -> list[str]:
        return [self.jitproof, "workload", name, "--truth", self.place("truth"),
                *options]

    def perf(self, version: str) -> str:
        return perf_tools.find(os.path.join(self.scratch, "perf"), version).path

    def recorder(self, version: str, options: Sequence[str], clock: bool = True) -> list[str]:
        """The command up to what is recorded; version "ours" is jitproof record."""
        if version == "ours":
            return [self.jitproof, "record", *options, "-o", self.data]
        return [self.perf(version), "record", *(CLOCK if clock else ()),
                *(() if "-e" in options else EVENT), *options, "-o", self.data]

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """A program that has said that it is ready."""
        self.note(command)
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=files_of_errors(self), cwd=self.folder,
                                   env=self.environment)
        assert started.stdout
        for line in started.stdout:
            if line.startswith(b"ready"):
                return started
        raise RuntimeError("%s: it ended and was not ready: %s" % (
            command[0], files.read(self.place("stderr"), "replace")[-300:]))

    def end(self, started: subprocess.Popen[bytes], patience: int) -> None:
        """Ends a program: our workloads by their input, runtimes by force, after so many seconds.
        The libraries that a workload makes for itself outlive it."""
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
               meanwhile: Callable[[], None] | None = None, inject: str = "") -> None:
        """Records a program from its start; @before the recorder's command stands another.
        @inject: the version that merges its jitdumps then."""
        started = self.start([*before, *self.recorder(version, options, clock), "--", *command])
        self.launched = started.pid
        if meanwhile:
            meanwhile()
        time.sleep(1)
        self.end(started, TIMEOUT)
        if started.returncode not in (0, -signal.SIGTERM):
            raise RuntimeError("exit %d: %s" % (
                started.returncode, files.read(self.place("stderr"), "replace")[-300:]))
        if inject:
            self.inject(inject)

    def attach(self, version: str, options: Sequence[str], command: Sequence[str],
               seconds: float = 1.0, name: str = "",
               meanwhile: Callable[[], None] | None = None) -> None:
        """Records a program that runs already: it, or its child called @name."""
        target = self.start(command)
        self.pid = child(target.pid, name) if name else target.pid
        record = [*self.recorder(version, options), "-p", str(self.pid)]
        if version == "ours":
            self.note(record)
            with subprocess.Popen(record, env=self.environment, cwd=self.folder,
                                  stderr=files_of_errors(self)) as watching:
                time.sleep(2 + seconds)  # attaching takes its time on a busy machine
                watching.send_signal(signal.SIGINT)
                watching.wait(TIMEOUT)
        else:
            self.must([*record, "--", "sleep", str(seconds)])
        if meanwhile:
            meanwhile()
        self.end(target, 2)

    def case(self, definition: str) -> None:
        """The capture of a case of docs/expected-format.md: it acts at the moments of an attach."""
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


def files_of_errors(bench: Bench) -> int:
    """Where a program's complaints go."""
    return os.open(bench.place("stderr"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)


def child(pid: int, name: str) -> int:
    """A descendant by its name: wrappers start the runtime that is meant."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        if files.read("/proc/%d/comm" % pid, "replace").strip() == name:
            return pid
        for thread in os.listdir("/proc/%d/task" % pid):
            waiting += map(int, files.read("/proc/%d/task/%s/children" % (pid, thread)).split())
    raise RuntimeError("no process called " + name)
