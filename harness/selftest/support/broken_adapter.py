#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An adapter with one fault at one step of the protocol: FAULT.STEP, such as `word.stop`, is
$JITPROOF_FAULT or the name of the case. It records nothing and leaves $JITPROOF_LINK in /tmp."""

import os
import select
import signal
import subprocess
import sys
import time

ANSWERS = ("sampling", "stopped", "done", "enabled", "disabled")
FOLDER = sys.argv[sys.argv.index("--dir") + 1] if "--dir" in sys.argv else ""
FAULT, _, FAULTY_STEP = (os.environ.get("JITPROOF_FAULT") or
                         os.path.basename(FOLDER)).partition(".")


def write_output(text: bytes) -> None:
    os.write(1, text)


def commit_fault(right: str) -> None:
    if FAULT.startswith("exit"):
        os._exit(int(FAULT[4:]))
    elif FAULT == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif FAULT == "closes":
        os.close(1)
    elif FAULT == "early":
        write_output(ANSWERS[ANSWERS.index(right) + 1].encode() + b"\n")
    else:
        write_output({"word": b"wrong\n", "empty": b"\n", "long": b"x" * 2000 + b"\n",
                      "nul": right.encode() + b"\0more\n", "lives": b""}[FAULT])
    while True:
        time.sleep(100)


def answer_step(step: str, right: str = "") -> None:
    """Writes the answer @right, or commits the fault if this is the step of the fault."""
    if step == FAULTY_STEP:
        print("last words", file=sys.stderr, flush=True)
    if step == FAULTY_STEP and FAULT == "twice":
        write_output(right.encode() + b"\n")
    elif step == FAULTY_STEP:
        commit_fault(right)
    if right:
        write_output(right.encode() + b"\n")


def await_word(wanted: str) -> None:
    samples = 1
    while not select.select([0], [], [], 0.05)[0]:
        if wanted == "stop":
            samples = min(samples * 10, 10**18)  # stays a valid count
            write_output(b"samples %d\n" % samples)
    word = os.read(0, 4096).decode().strip()
    if word in ("enable", "disable"):
        answer_step(word, word + "d")
        await_word(wanted)
    elif word != wanted:
        sys.exit(1)


def write_record() -> None:
    if sys.argv[1] == "launch":
        gate = [sys.argv[index + 1].split("=", 1) for index, word in enumerate(sys.argv)
                if word == "--gated"]
        keep = [int(word.split("=")[1]) for word in sys.argv if word.startswith("--keep-fd=")]
        subprocess.Popen(sys.argv[sys.argv.index("--") + 1:], pass_fds=keep,
                         stdout=subprocess.DEVNULL, env={**os.environ, **dict(gate)})
        for fd in keep:
            os.close(fd)
    link = os.environ.get("JITPROOF_LINK")
    if link:
        os.symlink(os.path.join(FOLDER, link), os.path.join("/tmp", link))
    answer_step("sampling", "sampling")
    answer_step("recording")
    await_word("stop")
    answer_step("stop", "stopped")
    answer_step("stopped")
    await_word("finish")
    answer_step("finish", "done")
    answer_step("done")


if sys.argv[1] == "version":
    answer_step("version", "version 1")
    answer_step("versioned")
elif sys.argv[1] == "inject":
    answer_step("inject", "done")
    answer_step("injected")
else:
    write_record()
