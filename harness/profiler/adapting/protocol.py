# SPDX-License-Identifier: GPL-2.0-only
"""The adapters' side of the protocol with jitproof (docs/profiler-adapters.md). An adapter is a
subclass of Adapter; its file ends with `main(Mine)`."""

import argparse
import contextlib
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from typing import IO, Callable, Iterator, Sequence

from adapting.observations import Stream

TICK_MS = 40  # time between two counts of the samples
# Time limit for a profiler to begin or to end. jitproof waits 60 s, so it still gets the reason.
TIMEOUT_S = 50
ASIDE = ".jitproof-aside"  # end of the name that a perf map of an earlier process gets meanwhile


class Missing(Exception):
    """The profiler is not installed or cannot run here; the text states how to install it."""


class Failed(Exception):
    """The profiler or its output did not meet the protocol."""


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


class Crashed(Exception):
    """A signal killed the profiler. @status: minus the signal's number; @words: the profiler's
    log."""

    def __init__(self, program: str, status: int, words: str) -> None:
        super().__init__("%s %s was killed by signal %d (%s): %s" % (
            signal_name(-status), program, -status, signal.strsignal(-status),
            one_line(words) or "without a word"))


def report(*words: object) -> None:
    print(*words, flush=True)


def read_orders() -> bytes:
    """Returns the next bytes of jitproof's orders. Raises Failed at end of file."""
    chunk = os.read(0, 4096)
    if not chunk:
        raise Failed("jitproof is gone: standard input ended")
    return chunk


def facts_of(options: argparse.Namespace, **values: object) -> dict[str, object]:
    """Returns the content of the file `capture` of a recording: values from its options, and
    @values."""
    return {"policy": "exec", "slack": options.slack, "max_stack": options.max_stack,
            "stack_dump": options.stack, "duplicates": 0, "breakpoints": 0, "settled": "yes",
            **values}


def write_capture(folder: str, facts: dict[str, object]) -> None:
    with open(os.path.join(folder, "capture"), "x", encoding="ascii") as file:
        file.writelines("%s %s\n" % fact for fact in facts.items())


def one_line(text: str) -> str:
    """Returns the last four lines of a program's output as one line of at most 700 characters."""
    return " | ".join(text.strip().splitlines()[-4:])[:700]


def find(program: str, variable: str, install: str = "") -> str:
    """Returns the path of a program: the value of the environment variable @variable, else @program
    as installed by ci/peers, else @program in PATH. Raises Missing, with the command @install, if
    there is none."""
    configured = os.environ.get(variable)
    peers = os.environ.get("JITPROOF_PEERS")
    path = shutil.which(configured) if configured else \
        peers and shutil.which(program, path=os.path.join(peers, "bin")) or shutil.which(program)
    if not path:
        raise Missing("%s: not found%s; set %s%s" % (
            configured or program, "" if configured else " in PATH", variable,
            install and ", or " + install))
    return path


def output_of(*command: str) -> str:
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing("%s: %s" % (command[0], error)) from error
    return result.stdout


def version_of(program: str, pattern: str, *command: str) -> str:
    """Returns the first group of @pattern in @command's output. Raises Missing if none matches."""
    text = output_of(*command)
    match = re.search(pattern, text)
    if not match:
        raise Missing("%s: prints no version: '%s' printed '%s', and '%s' was expected" % (
            program, " ".join(command), one_line(text)[:200], pattern))
    return match[1]


class Published:
    """Links from /tmp, where profilers look for perf maps, to the perf maps in the case's folder. A
    map that an earlier process with the same pid left there is renamed meanwhile."""

    def __init__(self, folder: str) -> None:
        self.folder, self.links, self.renamed = folder, set[str](), set[str]()

    def put_aside(self, path: str) -> None:
        """Renames our own perf map at @path, because the profiler would use its names."""
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or \
                os.path.lexists(path + ASIDE):
            raise Failed("%s is there already, from another process: remove it" % path)
        os.rename(path, path + ASIDE)
        self.renamed.add(path)

    def link_maps(self) -> None:
        for name in os.listdir(self.folder):
            link = os.path.join("/tmp", name)
            if not re.fullmatch(r"perf-\d+\.map", name) or link in self.links:
                continue
            if os.path.islink(link) and not os.path.exists(link):
                os.unlink(link)  # a killed run may have left it
            if os.path.lexists(link):
                self.put_aside(link)
            os.symlink(os.path.join(self.folder, name), link)
            self.links.add(link)

    def remove(self) -> None:
        for link in self.links:
            os.unlink(link)
        for path in self.renamed:
            os.rename(path + ASIDE, path)
        self.links.clear()
        self.renamed.clear()


class Command:
    """A launched process, which waits before its exec until the profiler has attached."""

    def __init__(self, command: Sequence[str], words: IO[bytes], keep: Sequence[int]) -> None:
        gate, self.gate = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.close(self.gate)
                os.dup2(words.fileno(), 1)
                os.dup2(words.fileno(), 2)
                os.read(gate, 1)
                os.close(gate)
                for fd in keep:
                    os.set_inheritable(fd, True)
                os.execvp(command[0], list(command))
            finally:
                os._exit(127)
        os.close(gate)
        for fd in keep:
            os.close(fd)

    def run(self) -> None:
        os.write(self.gate, b"x")
        os.close(self.gate)


class Adapter:
    """One recording by one profiler. Times are CLOCK_MONOTONIC in ns."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.pid = 0  # the process to sample
        self.lost = 0
        self.published = Published(options.dir)
        self.observations: Stream | None = None

    # A subclass overrides the following members.

    number = ""  # version, if the profiler is part of the adapter
    estimates = False  # whether samples() returns an estimate

    @classmethod
    def version(cls) -> str:
        """Returns the profiler's version. Raises Missing if the profiler is not installed."""
        return cls.number

    def begin(self) -> None:
        """Attaches to self.pid. Returns once the profiler itself reports that it samples."""
        raise NotImplementedError

    def samples(self) -> int:
        """Returns the number of samples so far."""
        return 0

    def ended(self) -> bool:
        """Returns whether the profiler ended by itself."""
        return False

    def end(self) -> None:
        """Ends the profiler, which must sample until this call."""
        raise NotImplementedError

    def write(self, file: IO[str]) -> None:
        raise NotImplementedError

    def write_data(self, file: IO[bytes]) -> None:
        """Writes a perf.data; replaces write() in adapters that define it."""
        raise NotImplementedError

    def clean(self) -> None:
        """Kills the processes that still run."""

    # No adapter overrides the following methods.

    def path(self, name: str) -> str:
        return os.path.join(self.options.dir, name)

    def stream(self, file: IO[str], declares: Sequence[str], unwinder: str = "frame-pointers",
               period: int = 0) -> Stream:
        name = type(self).__module__ if type(self).__module__ != "__main__" else \
            os.path.basename(sys.argv[0])[:-3]
        stream = Stream(file, "%s %s" % (name, self.version()), declares, unwinder, period)
        if "no-time" not in declares:
            stream.window = (self.enabled, self.stopped)
        self.observations = stream
        return stream

    def start(self) -> None:
        command = None
        if self.options.command:
            with open(self.path("workload.txt"), "ab") as words:
                command = Command(self.options.command, words, self.options.keep_fd)
            self.pid = command.pid
        else:
            self.pid = self.options.pid
        before = time.monotonic_ns()
        self.begin()
        self.enabled = before if command else time.monotonic_ns()
        if command:
            command.run()

    def check_times(self) -> None:
        """Raises Failed if the times of all samples are outside the recording: a wrong clock."""
        stream = self.observations
        if stream and stream.outside and not stream.samples:
            raise Failed("all samples lie outside the recording, such as at %s, not from %d to %d: "
                         "write times of CLOCK_MONOTONIC in ns, or declare no-time"
                         % (stream.outside, *stream.window))

    def has_data(self) -> bool:
        return type(self).write_data is not Adapter.write_data

    def write_file(self) -> None:
        if self.has_data():
            with open(self.path("perf.data"), "xb") as data:
                self.write_data(data)
            return
        with open(self.path("observations"), "x", encoding="utf-8",
                  errors="surrogateescape") as file:
            self.write(file)
        self.check_times()

    def await_order(self, expected: str, rest: bytes) -> bytes:
        """Waits for jitproof's order @wanted. While it waits for "stop", reports the number of
        samples. @rest: the bytes already read. Returns the bytes read after the order. Raises
        Failed if another order comes."""
        reported = -1
        has_ended = False
        while b"\n" not in rest:
            if select.select([0], [], [], TICK_MS / 1000)[0]:
                rest += read_orders()
                continue
            self.published.link_maps()
            if expected == "stop" and self.samples() != reported:
                reported = self.samples()
                report("samples", reported)
            if expected == "stop" and not has_ended and self.ended():
                has_ended = True
                report("exited")
        word, rest = rest.split(b"\n", 1)
        if word.decode() != expected:
            raise Failed("expected the command '%s', not '%s'" % (
                expected, word.decode(errors="replace")))
        return rest

    def record(self) -> None:
        try:
            self.published.link_maps()
            self.start()
            report("sampling")
            unread_bytes = self.await_order("stop", b"")
            self.stopped = time.monotonic_ns()
            self.end()
            report("stopped")
            self.await_order("finish", unread_bytes)
            self.write_file()
            write_capture(self.options.dir, facts_of(
                self.options, enabled=self.enabled, sampling=self.enabled, stopped=self.stopped,
                lost_sideband=self.lost if self.has_data() else 0, lost_samples=self.lost,
                capture="observed",
                # Judging compares the samples of a perf.data with this number; 0: unknown.
                samples=0 if self.estimates and self.has_data() else self.samples()))
        finally:
            self.published.remove()
            self.clean()
        report("done")


@contextlib.contextmanager
def report_failures() -> Iterator[None]:
    """Reports an exception in the block of its `with` to jitproof as `skip`, `crash` or `error`."""
    try:
        yield
    except Missing as missing:
        report("skip", " ".join(str(missing).split()))
    except Crashed as crash:
        report("crash", " ".join(str(crash).split()))
    except (Failed, OSError) as error:
        report("error", " ".join(str(error).split()))


def parse(description: str | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description and description.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    version = verbs.add_parser("version")
    version.add_argument("--for", dest="verb_for", default="")
    version.set_defaults(gated=None, freq=997, user_only=False, task_clock=False)
    inject = verbs.add_parser("inject")
    inject.add_argument("--dir", required=True)
    read = verbs.add_parser("read")
    read.add_argument("--dir", required=True)
    read.add_argument("--file", action="append", default=[])
    read.add_argument("--only", default="")
    read.add_argument("--own", action="store_true")
    for verb_parser in (version, inject, read):
        verb_parser.add_argument("--with", dest="with_words", action="append", default=[])
    for verb in ("launch", "attach"):
        command = verbs.add_parser(verb)
        command.add_argument("--dir", required=True)
        command.add_argument("--with", dest="with_words", action="append", default=[])
        for name, default in (("freq", 997), ("stack", 0), ("ring", 0), ("slack", 0),
                              ("max-stack", 127)):
            command.add_argument("--" + name, type=int, default=default)
        command.add_argument("--gated")
        for name in ("no-chain", "user-only", "task-clock"):
            command.add_argument("--" + name, action="store_true")
        command.add_argument("--keep-fd", type=int, action="append", default=[])
        if verb == "launch":
            command.add_argument("command", nargs="+")
        else:
            command.add_argument("--pid", type=int, required=True)
            command.set_defaults(command=[])
    return parser.parse_args()


def main(adapter: Callable[[argparse.Namespace], Adapter]) -> None:
    options = parse()
    with report_failures():
        if options.with_words:
            raise Failed("the adapter takes no options such as %s" % options.with_words[0])
        if options.verb == "read" or (options.verb == "version" and options.verb_for == "read"):
            raise Missing("the profiler cannot read a perf.data of another profiler")
        if options.verb == "version":
            report("version", adapter.version())  # type: ignore[attr-defined]
        elif options.verb == "inject":
            raise Failed("the profiler cannot inject")
        elif options.gated:
            raise Failed("the profiler cannot record a gated case")
        else:
            adapter(options).record()
