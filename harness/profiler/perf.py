#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for perf, as a profiler and as an injector (docs/profiler-adapters.md).

$JITPROOF_PERF is the program; the default is perf in PATH.
"""

import argparse
import glob
import os
import platform
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting import shown
from adapting.perf_programs import clean_environment, find_perf, list_readers, number_of, version_of
from adapting.perf_records import FILE_HEADER, DataFile, Unreadable
from adapting.protocol import (TICK_MS, TIMEOUT_S, Crashed, Failed, Missing, facts_of,
                               report_failures,
                               one_line, parse, read_orders, report,
                               write_capture)

# perf's names of the user registers by which jitproof finds the depth of a recursion, by machine.
REGISTERS = {"x86_64": "BP,SP,IP", "aarch64": "x29,sp,pc"}
# Options that need a hardware event.
HARDWARE = re.compile(r"-b$|-j|--branch-|--call-graph=lbr")
ALL_CPUS = {"-a", "--all-cpus"}
# Messages in which perf inject refuses a jitdump that nobody can use.
REFUSES = ("wrong jitdump version", "uses arch timestamps but there is no timestamp conversion")
TO_PIPE = {"-o-", "--output=-"}
COMPRESS = ("-z", "--compression-level")


def record_options(options: argparse.Namespace) -> Iterator[str]:
    """Yields perf record's arguments for the events and for the case's own options."""
    event = "task-clock" if options.task_clock else "cpu-clock"
    if any(HARDWARE.match(word) for word in options.with_words):
        event = "cycles"
    # --sample-cpu: the CPU of each sample shows whether samples of a CPU's clock are missing.
    # --timestamp: with --per-thread, perf records times only on request.
    yield from ("record", "-N", "--sample-cpu", "--timestamp", "-k", "mono", "-F",
                str(options.freq), "-e", event + (":u" if options.user_only else ""))
    # Without -B perf would read the whole file once more for build ids.
    if not any(word.startswith("--buildid") for word in options.with_words):
        yield "-B"
    yield from options.with_words


def find_conflict(words: Sequence[str]) -> str:
    """Returns why perf records no readable data with the options @words, though it accepts them,
    or ""."""
    if not any(word.startswith("--switch-output") for word in words):
        return ""
    if TO_PIPE & {*words}:
        return "perf ends where it would begin the second file of a pipe (perf.pipe-switch)"
    if any(word.startswith(COMPRESS) for word in words):
        return "only the first compressed file can be read (perf.switch-compressed)"
    return ""


def try_options(options: argparse.Namespace) -> None:
    """Tries the case's own options. Raises Missing if this perf, machine or user does not support
    them, which the version of perf does not show."""
    if not options.with_words:
        return
    perf = find_perf()
    conflict = find_conflict(options.with_words)
    if conflict:
        raise Missing("perf %s %s %s: %s" % (version_of(perf), options.verb_for,
                                             " ".join(options.with_words), conflict))
    with tempfile.TemporaryDirectory() as home:
        command = [perf, "inject", *options.with_words, "-i", "/dev/null", "-o", "/dev/null"] \
            if options.verb_for == "inject" else \
            [perf, *record_options(options), "--", "true"]
        result = subprocess.run(command, cwd=home, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                                env=clean_environment(), timeout=TIMEOUT_S)
    # `perf inject` always fails on the empty input. Status 129 means wrong options.
    if result.returncode > 0 and (options.verb_for != "inject" or result.returncode == 129):
        raise Missing("perf %s %s %s: %s" % (
            version_of(perf), options.verb_for, " ".join(options.with_words),
            find_first_error(result.stderr.decode(errors="replace"))))


def find_first_error(text: str) -> str:
    """Returns perf's error message: the first line before its usage."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and line != "Error:"), "it fails")


def join_files(path: str) -> None:
    """Turns the files of --switch-output into a folder as --threads writes it: the first file
    becomes data, and the records of the others, which have the same events, become data.N."""
    names = sorted(glob.glob(glob.escape(path) + ".*"))
    if not names:
        return
    os.mkdir(path)
    for number, name in enumerate(names[1:]):
        with open(name, "rb") as file, open(os.path.join(path, "data.%d" % number), "wb") as part:
            head = file.read(FILE_HEADER)
            start, size = struct.unpack_from("<QQ", head, 40)
            file.seek(start)
            part.write(file.read(size))
        os.unlink(name)
    os.rename(names[0], os.path.join(path, "data"))


def check_readable(path: str) -> None:
    """Raises Missing for several files of --switch-output: perf reads each of them alone. In the
    folder of join_files(), it reads the first file, whose header lacks HEADER_DIR_FORMAT
    (tools/perf/util/header.h)."""
    if os.path.exists(os.path.join(path, "data.0")):
        with open(os.path.join(path, "data"), "rb") as file:
            features, = struct.unpack_from("<Q", file.read(FILE_HEADER), 72)
        if not features >> 24 & 1:
            raise Missing("perf reads the files of --switch-output one at a time")


# perf's message for most EINVAL of perf_event_open() (results/FINDINGS.md).
MISLEADING = "clockid feature not supported"


class Recording:
    """One run of `perf record`, controlled through the FIFOs of its option --control."""

    process: subprocess.Popen[bytes]

    @classmethod
    def version(cls) -> str:
        return version_of(find_perf())

    @staticmethod
    def list_readers(only_own: bool) -> Iterator[shown.Reader]:
        """Yields the versions of perf as readers of a perf.data. @own: only the version that
        records."""
        return list_readers(only_own)

    def __init__(self, perf: str, options: argparse.Namespace) -> None:
        self.options = options
        self.perf = perf
        self.number = number_of(version_of(perf))
        self.path = os.path.join(options.dir, "perf.data")
        self.all_cpus = bool(ALL_CPUS & set(options.with_words))
        # With -a, count only samples of the workload, because jitproof waits for a number of these.
        pids = set() if options.command else {options.pid}
        self.file = DataFile(self.path, pids if self.all_cpus else None)
        self.log = os.path.join(options.dir, "workload.txt" if options.command else "profiler.txt")
        self.fifos = [os.path.join(options.dir, name) for name in ("control", "ack")]
        self.fds: list[int] = []
        for path in self.fifos:
            os.mkfifo(path, 0o600)
            self.fds.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        self.acks = self.pings = 0
        self.enabled = self.stopped = 0
        self.pidfd = -1
        self.before = 0

    def arguments(self) -> Iterator[str]:
        options = self.options
        yield from (self.perf, *record_options(options), "--control=fifo:" + ",".join(self.fifos))
        if not TO_PIPE & set(options.with_words):
            yield from ("-o", self.path)
        if options.stack:
            yield "--call-graph=dwarf,%d" % options.stack
        elif not options.no_chain and not any(word.startswith("--call-graph")
                                              for word in options.with_words):
            yield "-g"
        if platform.machine() in REGISTERS:
            yield "--user-regs=" + REGISTERS[platform.machine()]
        # Rings for 250 ms of samples, as in jitproof's captures. Without root, keep perf's default.
        ring = options.ring or (options.stack + 1024) * options.freq // 4
        if options.ring or os.geteuid() == 0:
            yield from ("-m", "%dB" % (1 << max(ring - 1, 1 << 18).bit_length()))
        if options.gated:
            yield from ("-D", "-1")
        if options.command:
            yield from ("--", *options.command)
        elif not self.all_cpus:
            # Not with -D, which would leave the event for mappings waiting for an exec that never
            # comes.
            yield from ("-p", str(options.pid))

    def start(self) -> None:
        self.enabled = time.monotonic_ns()
        piped = TO_PIPE & set(self.options.with_words)
        with open(self.log, "ab") as words, open(self.path if piped else os.devnull, "wb") as out:
            gate = dict([self.options.gated.split("=", 1)] if self.options.gated else [])
            self.process = subprocess.Popen(list(self.arguments()), stdin=subprocess.DEVNULL,
                                            stdout=out if piped else words, stderr=words,
                                            env=clean_environment(**gate),
                                            pass_fds=self.options.keep_fd)
        for fd in self.options.keep_fd:
            os.close(fd)
        self.pidfd = os.pidfd_open(self.process.pid)
        if not self.options.command:
            # perf answers only after it has enabled the events, so the answer gives a time for
            # that.
            self.send_command("enable")
            self.enabled = time.monotonic_ns()
            self.count_records()
            self.before = self.file.count.samples  # sampled before self.enabled

    def read_acks(self) -> None:
        try:
            self.acks += os.read(self.fds[1], 4096).count(b"ack\n")
        except BlockingIOError:
            pass

    def ended(self) -> bool:
        return bool(select.select([self.pidfd], [], [], 0)[0])

    def failed(self, action: str) -> Exception:
        with open(self.log, encoding="utf-8", errors="replace") as file:
            words = file.read()
        status = self.process.poll()
        if status is not None and status < 0:
            return Crashed("perf record", status, words)
        why = one_line(words)
        if MISLEADING in words:
            why += "; perf prints this as well if the kernel lowered " \
                "kernel.perf_event_max_sample_rate meanwhile: run the case again"
        return Failed("perf record %s: %s" % (action, why))

    def send_command(self, word: str) -> None:
        """Sends an order to perf and waits for the answer."""
        # All answers are alike, so wait for the answers to earlier pings first.
        self.await_acks(self.pings)
        os.write(self.fds[0], word.encode() + b"\n")
        self.pings += 1
        self.await_acks(self.pings)

    def await_acks(self, count: int) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while self.acks < count:
            ready = select.select([self.fds[1], self.pidfd], [], [], TIMEOUT_S)[0]
            if self.fds[1] in ready:
                self.read_acks()
            elif self.pidfd in ready or time.monotonic() > deadline:
                # perf takes each SIGCHLD for the end of its child (results/FINDINGS.md).
                silent = "does not answer; a recording ends when its workload is stopped" \
                    if self.options.command else "does not answer"
                raise self.failed("ended early" if ready else silent)

    def count_records(self) -> None:
        if self.all_cpus and self.options.command:
            children = "/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)
            with open(children, encoding="ascii") as file:
                self.file.count.watched = {*(self.file.count.watched or ()),
                                           *map(int, file.read().split())}
        self.file.read_more()

    def flush_rings(self) -> None:
        """Makes perf write the content of its rings, which it otherwise does when a ring is half
        full."""
        os.write(self.fds[0], b"ping\n")
        # perf before 5.12 does not know "ping": it writes its rings, but does not answer.
        self.pings += self.number >= (5, 12)

    def forward_orders(self) -> bytes:
        """Passes jitproof's orders on to perf and reports the number of samples, until the order
        "stop". Returns the bytes read after this order."""
        orders, reported = b"", None
        while True:
            while b"\n" in orders:
                word, orders = orders.split(b"\n", 1)
                if word == b"stop":
                    return orders
                self.send_command(word.decode())
                report(word.decode() + "d")
            ready = select.select([0, self.pidfd], [], [], TICK_MS / 1000)[0]
            if 0 in ready:
                orders += read_orders()
            elif self.pidfd in ready:
                report("exited")
                self.file.read_more()
                report("samples", self.file.count.samples - self.before)
                select.select([0], [], [])
            else:
                self.read_acks()
                if self.pings - self.acks < 8:
                    self.flush_rings()
                self.count_records()
                if reported != self.file.count.samples:
                    reported = self.file.count.samples
                    report("samples", reported - self.before)

    def stop(self) -> None:
        self.stopped = time.monotonic_ns()
        if not self.ended():
            self.send_command("disable")
        report("stopped")

    def finish(self) -> None:
        # On "stop" perf would kill a launched command, which ends by itself.
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
        join_files(self.path)
        # The last count may be of the workload alone, or lack the end of a file, so count again.
        self.file = DataFile(self.path)
        self.file.read_more()

    def facts(self) -> dict[str, object]:
        """Returns the content of the file `capture`. Samples and mappings share a ring, so its
        losses count as losses of both."""
        nr_lost = self.file.lost
        return facts_of(self.options, enabled=self.enabled, sampling=self.enabled,
                        stopped=self.stopped, lost_sideband=nr_lost, lost_samples=nr_lost,
                        capture="perf", samples=self.file.count.samples)

    def clean(self) -> None:
        if self.pidfd >= 0 and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for path in self.fifos:
            os.unlink(path)


def record(recording: Recording) -> None:
    try:
        recording.start()
        report("sampling")
        unread_bytes = recording.forward_orders()
        recording.stop()
        while b"finish" not in unread_bytes:
            unread_bytes += read_orders()
        recording.finish()
        write_capture(recording.options.dir, recording.facts())
    finally:
        recording.clean()
    report("done")


def is_whole(path: str) -> bool:
    try:
        return DataFile(path).is_whole()
    except Unreadable:
        return False


def run_inject(perf: str, home: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([perf, "--buildid-dir", home, *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          errors="replace",
                          env=clean_environment(HOME=home, JITDUMPDIR=home, LC_ALL="C"))


def describe_last_dump(output: str) -> str:
    """Returns at which jitdump perf inject ended, or "". @output: what it prints with -v."""
    dumps = re.findall(r"(?m)^injecting: (.*)$", output)
    if not dumps:
        return ""
    if not os.path.exists(dumps[-1]):
        return "%s does not exist (results/FINDINGS.md, perf.inject-missing)" % dumps[-1]
    return "the last jitdump is " + dumps[-1]


def inject(options: argparse.Namespace) -> None:
    perf = find_perf()
    check_readable(os.path.join(options.dir, "perf.data"))
    home = os.path.join(options.dir, "inject-home")
    os.mkdir(home)
    dump = ""
    command = ["inject", "--jit", "-i", os.path.join(options.dir, "perf.data"), "-o",
               os.path.join(options.dir, "injected.data"), *options.with_words]
    try:
        # Use a temporary cache, into which `perf inject` copies files with build ids.
        result = run_inject(perf, home, *command)
        if result.returncode > 0:
            dump = describe_last_dump(run_inject(perf, home, *command, "-v").stdout)
    finally:
        shutil.rmtree(home)
    output = result.stdout
    sys.stderr.write(output)
    if result.returncode < 0:
        raise Crashed("perf inject", result.returncode, output)
    if result.returncode:
        report("refused" if any(words in output for words in REFUSES) else "failed",
               "perf inject ended with %d: %s" % (
                   result.returncode, one_line("%s\n%s" % (output, dump))))
    elif not os.path.exists(os.path.join(options.dir, "injected.data")):
        report("failed perf inject wrote nothing: %s" % one_line(output))
    elif not is_whole(os.path.join(options.dir, "injected.data")):
        report("failed perf inject ended with 0 and wrote a file whose records do not follow each "
               "other")
    else:
        report("done")


def main(recording: type[Recording] = Recording) -> None:
    options = parse(__doc__)
    with report_failures():
        if options.verb == "version":
            try_options(options)
            report("version", recording.version())
        elif options.verb == "inject":
            inject(options)
        elif options.verb == "read":
            check_readable(os.path.join(options.dir, "perf.data"))
            shown.read(options, recording.list_readers(options.own))
        else:
            record(recording(find_perf(), options))


if __name__ == "__main__":
    main()
