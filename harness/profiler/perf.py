#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf as a profiler that jitproof watches with, and as an injector (docs/profiler-adapters.md).

$JITPROOF_PERF is the perf to use; else the one that PATH leads to.
"""

import argparse
import os
import platform
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.protocol import Failed, Missing, one_line, say

# What (ip, sp) needs for the depth in a recursion; perf's names, by machine.
REGISTERS = {"x86_64": "BP,SP,IP", "aarch64": "x29,sp,pc"}
LOST, SAMPLE, LOST_SAMPLES = 2, 9, 13
TICK_MS = 40  # between two looks at how many samples there are
TIMEOUT_S = 60  # seconds until perf must have answered, or ended


class Crashed(Exception):
    """Killed by a signal, which is the first argument; the second one is the text."""


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


def crashed(what: str, status: int, words: str) -> Crashed:
    """What there is to raise of a perf that has ended with a negative status."""
    return Crashed(signal_name(-status), "%s was killed by signal %d (%s): %s" % (
        what, -status, signal.strsignal(-status), one_line(words) or "without a word"))


def find_perf() -> str:
    wanted = os.environ.get("JITPROOF_PERF") or "perf"
    path = shutil.which(wanted)
    if not path:
        raise Missing("%s: not found" % wanted)
    return path


def environment(**more: str) -> dict[str, str]:
    """The user's configuration of perf stays out of it, and so does the network."""
    return {**os.environ, "PERF_CONFIG": "/dev/null", "DEBUGINFOD_URLS": "", **more}


def version_of(perf: str) -> str:
    try:
        done = subprocess.run([perf, "--version"], stdin=subprocess.DEVNULL, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing("%s: %s" % (perf, error)) from error
    found = re.match(r"perf version (\d\S*)", done.stdout)
    if not found:
        raise Missing("%s: %s" % (perf, one_line(done.stderr or done.stdout)))
    return found.group(1)


def number_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


class DataFile:
    """Counts the records of a perf.data that still grows, each of them once."""

    def __init__(self, path: str) -> None:
        self.path, self.rest = path, b""
        self.at: int | None = None
        self.samples = self.lost = self.lost_samples = 0

    def look(self) -> None:
        try:
            with open(self.path, "rb") as file:
                head = file.read(56)
                if len(head) < 56 or head[:8] != b"PERFILE2":
                    return
                start, size = struct.unpack_from("<QQ", head, 40)
                if self.at is None:
                    if not start:
                        return
                    self.at = start
                file.seek(self.at)
                # Its size is told at the end; features follow it then.
                data = self.rest + file.read(start + size - self.at if size else -1)
        except FileNotFoundError:
            return
        self.at += len(data) - len(self.rest)
        self.rest = data[self.take(data):]

    def take(self, data: bytes) -> int:
        offset = 0
        while offset + 8 <= len(data):
            kind, _, size = struct.unpack_from("<IHH", data, offset)
            if size < 8 or offset + size > len(data):
                break
            if kind == SAMPLE:
                self.samples += 1
            elif kind == LOST:
                self.lost += struct.unpack_from("<Q", data, offset + 16)[0]
            elif kind == LOST_SAMPLES:
                self.lost_samples += struct.unpack_from("<Q", data, offset + 8)[0]
            offset += size
        return offset


class Recording:
    """One perf record, told what to do through its own FIFOs."""

    process: subprocess.Popen[bytes]

    @classmethod
    def version(cls) -> str:
        return version_of(find_perf())

    def __init__(self, perf: str, options: argparse.Namespace) -> None:
        self.options = options
        self.perf = perf
        self.number = number_of(version_of(perf))
        self.file = DataFile(os.path.join(options.dir, "perf.data"))
        self.words = os.path.join(options.dir,
                                  "workload.txt" if options.command else "profiler.txt")
        self.fifos = [os.path.join(options.dir, name) for name in ("control", "ack")]
        self.fds: list[int] = []
        for path in self.fifos:
            os.mkfifo(path, 0o600)
            self.fds.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        self.acks = self.pings = 0
        self.enabled = self.stopped = 0
        self.pidfd = -1

    def arguments(self) -> Iterator[str]:
        options = self.options
        event = "task-clock" if options.task_clock else "cpu-clock"
        # Build ids would cost another reading of the whole file, and a copy of each binary.
        yield from (self.perf, "record", "-B", "-N", "-k", "mono", "-F", str(options.freq),
                    "-e", event + (":u" if options.user_only else ""),
                    "--control=fifo:" + ",".join(self.fifos), "-o", self.file.path)
        if options.stack:
            yield "--call-graph=dwarf,%d" % options.stack
        elif not options.no_chain:
            yield "-g"
        if platform.machine() in REGISTERS:
            yield "--user-regs=" + REGISTERS[platform.machine()]
        # For 250 ms of samples, as jitproof's own; others than root have perf's default.
        ring = options.ring or (options.stack + 1024) * options.freq // 4
        if options.ring or os.geteuid() == 0:
            yield from ("-m", "%dB" % (1 << max(ring - 1, 1 << 18).bit_length()))
        if options.gated:
            yield from ("-D", "-1")
        if options.command:
            yield from ("--", *options.command)
        else:
            # Not with -D: the event for mappings would then wait for an exec that never comes.
            yield from ("-p", str(options.pid))

    def start(self) -> None:
        self.enabled = time.monotonic_ns()
        with open(self.words, "ab") as words:
            gate = dict([self.options.gated.split("=", 1)] if self.options.gated else [])
            self.process = subprocess.Popen(list(self.arguments()), stdin=subprocess.DEVNULL,
                                            stdout=words, stderr=words, env=environment(**gate),
                                            pass_fds=self.options.keep_fd)
        for fd in self.options.keep_fd:
            os.close(fd)
        self.pidfd = os.pidfd_open(self.process.pid)
        if not self.options.command:
            # It answers once it has enabled them itself: this changes nothing, and says when.
            self.command("enable")
            self.enabled = time.monotonic_ns()

    def take_acks(self) -> None:
        try:
            self.acks += os.read(self.fds[1], 4096).count(b"ack\n")
        except BlockingIOError:
            pass

    def ended(self) -> bool:
        return bool(select.select([self.pidfd], [], [], 0)[0])

    def failed(self, when: str) -> Exception:
        with open(self.words, encoding="utf-8", errors="replace") as file:
            words = file.read()
        status = self.process.poll()
        if status is not None and status < 0:
            return crashed("perf record", status, words)
        return Failed("perf record %s: %s" % (when, one_line(words)))

    def command(self, word: str) -> None:
        """Tells perf, and returns when it says that it did."""
        # Answers carry no name: those of the pings come first.
        self.await_acks(self.pings)
        os.write(self.fds[0], word.encode() + b"\n")
        self.pings += 1
        self.await_acks(self.pings)

    def await_acks(self, count: int) -> None:
        until = time.monotonic() + TIMEOUT_S
        while self.acks < count:
            ready = select.select([self.fds[1], self.pidfd], [], [], TIMEOUT_S)[0]
            if self.fds[1] in ready:
                self.take_acks()
            elif self.pidfd in ready or time.monotonic() > until:
                raise self.failed("ended early" if ready else "does not answer")

    def ping(self) -> None:
        """perf writes what its rings hold when half of one is full, or when it is spoken to."""
        os.write(self.fds[0], b"ping\n")
        # 5.10 wakes up by it all the same, and does not answer.
        self.pings += self.number >= (5, 12)

    def watch(self) -> bytes:
        """Until jitproof says "stop"; tells how many samples there are."""
        heard, told = b"", None
        while True:
            while b"\n" in heard:
                word, heard = heard.split(b"\n", 1)
                if word == b"stop":
                    return heard
                self.command(word.decode())
                say(word.decode() + "d")
            ready = select.select([0, self.pidfd], [], [], TICK_MS / 1000)[0]
            if 0 in ready:
                more = os.read(0, 4096)
                if not more:
                    raise Failed("nobody listens any more")
                heard += more
            elif self.pidfd in ready:
                say("exited")
                self.file.look()
                say("samples", self.file.samples)
                select.select([0], [], [])
            else:
                self.take_acks()
                if self.pings - self.acks < 8:
                    self.ping()
                self.file.look()
                if told != self.file.samples:
                    told = self.file.samples
                    say("samples", told)

    def stop(self) -> None:
        self.stopped = time.monotonic_ns()
        if not self.ended():
            self.command("disable")
        say("stopped")

    def finish(self) -> None:
        # What perf started ends by itself; perf would kill it.
        if not self.options.command and not self.ended():
            if self.number >= (5, 12):
                os.write(self.fds[0], b"stop\n")
            else:
                self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise self.failed("does not end") from None
        if status and not (status == -signal.SIGINT and self.number < (5, 12)):
            raise self.failed("ended with %d" % status)
        self.file.look()

    def facts(self) -> tuple[tuple[str, object], ...]:
        """One ring holds samples and mappings: what it lost may have been either."""
        lost = max(self.file.lost, self.file.lost_samples)
        return (("policy", "exec"), ("enabled", self.enabled), ("sampling", self.enabled),
                ("stopped", self.stopped), ("slack", self.options.slack),
                ("max_stack", self.options.max_stack), ("stack_dump", self.options.stack),
                ("lost_sideband", lost), ("lost_samples", lost),
                ("duplicates", 0), ("breakpoints", 0), ("settled", "yes"),
                ("capture", "perf"), ("samples", self.file.samples))

    def clean(self) -> None:
        if self.pidfd >= 0 and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for path in self.fifos:
            os.unlink(path)


def record(recording: Recording) -> None:
    options = recording.options
    try:
        recording.start()
        say("sampling")
        rest = recording.watch()
        recording.stop()
        while b"finish" not in rest:
            more = os.read(0, 4096)
            if not more:
                raise Failed("nobody listens any more")
            rest += more
        recording.finish()
        with open(os.path.join(options.dir, "capture"), "x", encoding="ascii") as file:
            for key, value in recording.facts():
                file.write("%s %s\n" % (key, value))
    finally:
        recording.clean()
    say("done")


def whole(path: str) -> bool:
    file = DataFile(path)
    file.look()
    return file.at is not None and not file.rest


def inject(options: argparse.Namespace) -> None:
    perf = find_perf()
    home = os.path.join(options.dir, "inject-home")
    os.mkdir(home)
    try:
        # It copies every file that has a build id into a cache: here, into one that goes.
        done = subprocess.run(
            [perf, "--buildid-dir", home, "inject", "--jit", "-i",
             os.path.join(options.dir, "perf.data"), "-o",
             os.path.join(options.dir, "injected.data")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env=environment(HOME=home, JITDUMPDIR=home, LC_ALL="C"))
    finally:
        shutil.rmtree(home)
    said = done.stdout.decode(errors="replace")
    sys.stderr.write(said)
    if done.returncode < 0:
        raise crashed("perf inject", done.returncode, said)
    if done.returncode:
        say("failed perf inject ended with %d: %s" % (done.returncode, one_line(said)))
    elif not os.path.exists(os.path.join(options.dir, "injected.data")):
        say("failed perf inject wrote nothing: %s" % one_line(said))
    elif not whole(os.path.join(options.dir, "injected.data")):
        say("failed perf inject ended with 0 and wrote a file whose records do not follow each "
            "other")
    else:
        say("done")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("version")
    verbs.add_parser("inject").add_argument("--dir", required=True)
    for verb in ("launch", "attach"):
        command = verbs.add_parser(verb)
        command.add_argument("--dir", required=True)
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


def main(recording: type[Recording] = Recording) -> None:
    options = parse()
    try:
        if options.verb == "version":
            say("version", recording.version())
        elif options.verb == "inject":
            inject(options)
        else:
            record(recording(find_perf(), options))
    except Missing as missing:
        say("skip", missing)
    except Crashed as crash:
        say("crash", crash.args[0], " ".join(crash.args[1].split("\n")))
    except (Failed, OSError) as error:
        say("error", " ".join(str(error).split("\n")))


if __name__ == "__main__":
    main()
