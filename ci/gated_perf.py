#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What perf record --control knows of benchmark processes: the fork_exec workload with perf as its
gatekeeper (docs/gate-protocol.md), a line for each process."""

import argparse
import json
import os
import subprocess
import sys
import tempfile


def record(perf, jitproof, folder, tasks):
    fifos = [os.path.join(folder, name) for name in ("ctl", "ack")]
    for path in fifos:
        os.mkfifo(path)
    data, where = os.path.join(folder, "perf.data"), ",".join(fifos)
    done = subprocess.run(
        [perf, "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "1999", "-g", "-D", "-1",
         f"--control=fifo:{where}", "-o", data, "--", jitproof, "workload", "fork_exec",
         f"--tasks={tasks}", f"--gate=perf:{where}", "--truth", os.path.join(folder, "truth")],
        input=b"stop\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    if done.returncode:
        sys.exit(f"perf record: exit {done.returncode}: {done.stdout.decode(errors='replace')}")
    return data


def processes(jitproof, data):
    text = subprocess.run([jitproof, "judge", "--json", data], check=True,
                          stdout=subprocess.PIPE, timeout=60).stdout
    return [found for found in json.loads(text)["processes"] if found["samples"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--tasks", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jitproof-") as folder:
        found = processes(args.jitproof,
                          record(args.perf, args.jitproof, folder, args.tasks))
    print("process  MMAP2  name      samples  addresses  in no mapping  stacks without root")
    for number, one in enumerate(found, 1):
        print(f"{number:7}  {sum(one['mmap2'].values()):5}  {one['comm'] or '-':8}  "
              f"{one['samples']:7}  {one['addresses']:9}  {one['addresses_unmapped']:13}  "
              f"{one['rootless']}")


if __name__ == "__main__":
    main()
