#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An adapter that is broken in one way, in one place of the protocol: $JITPROOF_FAULT, or the
case's name, such as `word.stop`. It records nothing, and leaves $JITPROOF_LINK in /tmp."""

import os
import select
import signal
import subprocess
import sys
import time

ANSWERS = ("sampling", "stopped", "done", "enabled", "disabled")
OPTIONS = dict(word.split("=", 1) for word in sys.argv[2:] if word.startswith("--") and "=" in word)
FOLDER = sys.argv[sys.argv.index("--dir") + 1] if "--dir" in sys.argv else ""
FAULT, _, PLACE = (os.environ.get("JITPROOF_FAULT") or os.path.basename(FOLDER)).partition(".")


def say(text: bytes) -> None:
    os.write(1, text)


def break_at(right: str) -> None:
    if FAULT.startswith("exit"):
        os._exit(int(FAULT[4:]))
    elif FAULT == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif FAULT == "closes":
        os.close(1)
    elif FAULT == "early":
        say(ANSWERS[ANSWERS.index(right) + 1].encode() + b"\n")
    else:
        say({"word": b"wrong\n", "empty": b"\n", "long": b"x" * 2000 + b"\n",
             "nul": right.encode() + b"\0more\n", "lives": b""}[FAULT])
    while True:
        time.sleep(100)


def at(place: str, right: str = "") -> None:
    """Says @right, unless that is where it is broken."""
    if place == PLACE:
        print("last words", file=sys.stderr, flush=True)
    if place == PLACE and FAULT == "twice":
        say(right.encode() + b"\n")
    elif place == PLACE:
        break_at(right)
    if right:
        say(right.encode() + b"\n")


def hear(wanted: str) -> None:
    samples = 1
    while not select.select([0], [], [], 0.05)[0]:
        if wanted == "stop":
            samples *= 10
            say(b"samples %d\n" % samples)
    word = os.read(0, 4096).decode().strip()
    if word in ("enable", "disable"):
        at(word, word + "d")
        hear(wanted)
    elif word != wanted:
        sys.exit(1)


def record() -> None:
    if sys.argv[1] == "launch":
        gate = [sys.argv[at + 1].split("=", 1) for at, word in enumerate(sys.argv)
                if word == "--gated"]
        keep = [int(word.split("=")[1]) for word in sys.argv if word.startswith("--keep-fd=")]
        subprocess.Popen(sys.argv[sys.argv.index("--") + 1:], pass_fds=keep,
                         stdout=subprocess.DEVNULL, env={**os.environ, **dict(gate)})
        for fd in keep:
            os.close(fd)
    link = os.environ.get("JITPROOF_LINK")
    if link:
        os.symlink(os.path.join(FOLDER, link), os.path.join("/tmp", link))
    at("sampling", "sampling")
    at("recording")
    hear("stop")
    at("stop", "stopped")
    at("stopped")
    hear("finish")
    at("finish", "done")
    at("done")


if sys.argv[1] == "version":
    at("version", "version 1")
    at("versioned")
elif sys.argv[1] == "inject":
    at("inject", "done")
    at("injected")
else:
    record()
