# SPDX-License-Identifier: GPL-2.0-only
"""Runs a cell of the matrix: all groups of a suite on one kernel. The host judges.

DIR/LABEL/ has results.jsonl and ktap.txt as `jitproof judge` makes them of cases/, kernel.log and
console.log of each group, facts.jsonl, cell.json, and host.json, which depends on this machine.
Until it is complete, the folder is called DIR/LABEL.partial.
"""

import collections
import dataclasses
import json
import os
import pathlib
import shutil
import threading
import time
from typing import Any, Callable

from ci.base import files, process
from ci.matrix.vm import bundle, guest, job, kernel_log, kernels, qemu, suites
from ci.matrix.vm.kernels import Kernel
from ci.matrix.vm.qemu import Qemu

OUTCOMES = ("DONE", "SPLAT", "ERROR", "LOST")  # from best to worst
LAST_LINES = 30  # lines of a lost guest's console that cell.json gets


@dataclasses.dataclass(frozen=True)
class Plan:
    """The inputs of a cell."""
    kernel: Kernel
    qemu: Qemu
    groups: tuple[suites.Group, ...]
    config: dict[str, Any]
    initrds: dict[str, bytes]  # initramfs by name of the group, for all kernels
    jitproof: str
    suite: str
    seed: int
    accelerator: str
    clock: str  # path of clock.so, QEMU's time of day
    command: str  # command line that makes the same cell again


def read_if_exists(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Cell:
    """One run of a plan, into a folder."""

    def __init__(self, plan: Plan, folder: str, stopped: threading.Event,
                 report: Callable[[str], None]) -> None:
        self.plan = plan
        self.final = os.path.join(os.path.abspath(folder), plan.kernel.label)
        self.folder = self.final + ".partial"
        self.stopped = stopped
        self.report = report
        self.groups: list[dict[str, Any]] = []
        self.wall: dict[str, float] = {}

    def run(self) -> dict[str, Any]:
        """Runs the groups and judges them. Returns the content of cell.json."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder + "/cases")
        try:
            started = time.monotonic()
            for group in self.plan.groups:
                self.groups.append(self.run_group(group))
            cell = self.describe()
            if cell["outcome"] in ("DONE", "SPLAT"):
                self.judge(cell)
            self.write("cell.json", json.dumps(cell, indent=1) + "\n")
            self.wall["all"] = round(time.monotonic() - started, 1)
            self.write("host.json", json.dumps({"wall_seconds": self.wall}) + "\n")
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        shutil.rmtree(self.final, ignore_errors=True)
        os.rename(self.folder, self.final)
        return cell

    def write(self, name: str, text: str) -> None:
        files.write(os.path.join(self.folder, name), text)

    def run_group(self, group: suites.Group) -> dict[str, Any]:
        """Boots the group's VM. Returns its entry in cell.json."""
        work = os.path.join(self.folder, "vm-" + group.name)
        os.mkdir(work)
        started = time.monotonic()
        result: dict[str, Any] = {"name": group.name, "smp": group.smp, "cases": len(group.cases),
                  "outcome": "DONE", "reason": "", "splats": [],
                  "append": job.APPEND % (self.plan.config["qemu"]["console"], self.plan.seed)}
        try:
            watch = self.boot(group, work, result["append"])
            self.collect(group, work, watch, result)
        except (guest.Lost, bundle.Torn) as reason:
            self.record_loss(work, str(reason), result)
        finally:
            self.keep_console(group, work)
            self.wall[group.name] = round(time.monotonic() - started, 1)
            shutil.rmtree(work, ignore_errors=True)
        return result

    def boot(self, group: suites.Group, work: str, append: str) -> guest.Watch:
        config = self.plan.config
        machine = qemu.Machine(kernel=os.path.abspath(self.plan.kernel.path), append=append,
                               smp=group.smp, memory=config["qemu"]["memory"],
                               output=config["qemu"]["output"] << 20,
                               accelerator=self.plan.accelerator, clock=self.plan.clock,
                               options=tuple(config["qemu"].get("machine", ())))
        qemu.create_files(work, machine, self.plan.initrds[group.name])
        return guest.run(qemu.make_command(self.plan.qemu, machine), work, config["limits"],
                         self.stopped, lambda text: self.report("%s: %s" % (group.name, text)))

    def collect(self, group: suites.Group, work: str, watch: guest.Watch,
                result: dict[str, Any]) -> None:
        """Moves the guest's results into the cell's folder, and completes @result."""
        result["bytes"] = bundle.unpack(work + "/output", work + "/out")
        result["seconds"] = watch.seconds.get(job.RUN)
        status = watch.status.get(job.RUN)
        if status != 0:
            result["outcome"] = "ERROR"
            result["reason"] = "jitproof run ended with status %s: %s" % (
                status, read_if_exists(work + "/out/" + job.RUN).strip()[-500:])
        self.merge_results(work + "/out", group)
        if os.path.exists(work + "/out/" + job.FACTS):
            shutil.move(work + "/out/" + job.FACTS, self.folder)
        try:
            self.scan_log(group, read_if_exists(work + "/out/kmsg"), result)
        except kernel_log.Unscannable as reason:
            result["outcome"] = "ERROR"
            result["reason"] = "\n".join(filter(None, (result["reason"], str(reason))))

    def scan_log(self, group: suites.Group, text: str, result: dict[str, Any]) -> None:
        lines = kernel_log.parse_records(text)
        self.write("kernel.%s.log" % group.name, "\n".join(lines) + "\n")
        allow = kernel_log.parse_allowed(self.plan.config.get("allowed", []))
        result["splats"] = kernel_log.find_splats(lines, allow, self.plan.kernel.version)
        if result["splats"] and result["outcome"] == "DONE":
            result["outcome"] = "SPLAT"
            result["reason"] = result["splats"][0]

    def merge_results(self, out: str, _: suites.Group) -> None:
        """Moves the folders of cases, two levels deep, to those of earlier groups."""
        for case in sorted(pathlib.Path(out, "cases").glob("*/*")):
            study = pathlib.Path(self.folder, "cases", case.parent.name)
            study.mkdir(parents=True, exist_ok=True)
            case.rename(study / case.name)

    def record_loss(self, work: str, reason: str, result: dict[str, Any]) -> None:
        console = read_if_exists(work + "/console").replace("\r", "")
        died = kernel_log.find_first_splat(console)
        result["outcome"] = "LOST"
        result["reason"] = "%s: %s" % (reason, died) if died else reason
        result["last"] = [line for line in console.splitlines() if line][-LAST_LINES:]

    def keep_console(self, group: suites.Group, work: str) -> None:
        if os.path.exists(work + "/console"):
            os.rename(work + "/console", os.path.join(self.folder,
                                                      "console.%s.log" % group.name))

    def describe(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "kernel": plan.kernel.label, "version": plan.kernel.version,
            "package": plan.kernel.package, "package_sha256": plan.kernel.package_sha256,
            "sha256": plan.kernel.sha256, "command": plan.command,
            "qemu": plan.qemu.version, "qemu_package": plan.qemu.package,
            "accelerator": plan.accelerator, "suite": plan.suite, "seed": plan.seed,
            "memory": plan.config["qemu"]["memory"],
            # Results of different builds must be distinguishable.
            "jitproof_sha256": kernels.hash_file(plan.jitproof),
            "outcome": max((group["outcome"] for group in self.groups), key=OUTCOMES.index),
            "groups": self.groups,
        }

    def judge(self, cell: dict[str, Any]) -> None:
        """Makes results.jsonl and ktap.txt from the cases' folders."""
        planned = sum(group["cases"] for group in self.groups)
        # `jitproof judge` reads the number of cases from it and notices a missing case.
        self.write("cases/ktap.txt", "KTAP version 1\n1..%d\n" % planned)
        result = process.run([os.path.abspath(self.plan.jitproof), "judge", "--results",
                            "results.jsonl", "cases"], cwd=self.folder)
        self.write("ktap.txt", result.stdout)
        outcomes: collections.Counter[str] = collections.Counter()
        results: list[dict[str, Any]] = []
        try:
            for line in read_if_exists(os.path.join(self.folder, "results.jsonl")).splitlines():
                results.append(json.loads(line))
                outcomes[results[-1]["outcome"]] += 1
            cell["unlisted_skips"] = suites.find_unlisted_skips(
                results, self.plan.config.get("skips", []), self.plan.kernel.version)
        except (ValueError, KeyError, TypeError) as error:
            result.returncode = 99
            result.stderr += str(error)
        cell["cases"] = dict(sorted(outcomes.items()))
        if result.returncode not in (0, 1, 4) or sum(outcomes.values()) != planned:
            cell["outcome"] = "ERROR"
            cell["reason"] = "jitproof judge: status %d, %d of %d cases: %s" % (
                result.returncode, sum(outcomes.values()), planned, result.stderr.strip()[-500:])
