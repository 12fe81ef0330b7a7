# SPDX-License-Identifier: GPL-2.0-only
"""Runs programs and returns what they print as text."""

import contextlib
import os
import shutil
import subprocess
from typing import Any, Iterator, Sequence

from ci.base import files
from ci.base.status import Missing


def run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """Returns the finished process with its output and errors as text, whatever its exit status."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8",
            "errors": "replace", **options}
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    result: subprocess.CompletedProcess[str] = subprocess.run(command, check=False, **options)
    return result


def run_or_raise(command: Sequence[str], **more: Any) -> str:
    """Returns the standard output of @command; RuntimeError with the end of its standard error if
    it fails."""
    result = run(command, **more)
    if result.returncode:
        raise RuntimeError("%s: exit %d: %s" % (
            " ".join([os.path.basename(command[0]), *command[1:2]]), result.returncode,
            (result.stderr or "").strip()[-300:]))
    return result.stdout


def find_program(program: str) -> str:
    """Returns the path of a program, or raises Missing."""
    path = shutil.which(program)
    if not path:
        raise Missing("%s is not installed" % program)
    return path


def compile_c(source: str, path: str, *options: str, language: str = "c") -> None:
    run_or_raise(["gcc", *options, "-x", language, "-", "-o", path], input=source)


def list_children() -> list[str]:
    """Returns NAME:PID of each child of this process that still runs, and reaps the others.

    It is empty only where the kernel knows no child: /proc alone can miss a child that is started
    while it is read."""
    children: list[str] = []
    while not children:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        children = ["%s:%d" % (name, pid) for pid, name, fields in read_stats()
                    if fields[1] == str(os.getpid()) and fields[0] != "Z"]
    return children


def read_stats() -> Iterator[tuple[int, str, list[str]]]:
    """Yields (pid, name, the fields after the name) of each process, by /proc/PID/stat."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            head, _, fields = files.read("/proc/%s/stat" % pid, "replace").rpartition(")")
            yield int(pid), head.partition("(")[2], fields.split()


def read_symbols(path: str) -> dict[str, int]:
    """Returns {symbol: address} of a file, as nm prints them."""
    lines = [line.split() for line in run_or_raise(["nm", path]).splitlines()]
    return {words[2]: int(words[0], 16) for words in lines if len(words) == 3}
