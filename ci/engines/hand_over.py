#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reports the result of each case of a run to a test engine, from results.jsonl.

Usage: hand_over.py lava|tmt DIR

lava: calls lava-test-case for each case, or prints the commands if it is not installed. tmt: writes
$TMT_TEST_DATA/results.yaml, for a test with `result: custom`."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from typing import Any

# An expected failure of jitproof itself is neither a pass nor a failure of the kernel.
LAVA = {"PASS": "pass", "FAIL": "fail", "XPASS": "fail", "SKIP": "skip", "XFAIL": "skip",
        "ERROR": "unknown", "TIMEOUT": "unknown", "CRASH": "fail"}
TMT = {"PASS": "pass", "FAIL": "fail", "XPASS": "fail", "SKIP": "skip", "XFAIL": "info",
       "ERROR": "error", "TIMEOUT": "error", "CRASH": "fail"}


def read_results(folder: str) -> list[dict[str, Any]]:
    with open(os.path.join(folder, "results.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def format_duration(seconds: float) -> str:
    rounded = round(seconds)
    return f"{rounded // 3600:02}:{rounded // 60 % 60:02}:{rounded % 60:02}"


def write_lava(results: list[dict[str, Any]]) -> None:
    tool = shutil.which("lava-test-case")
    for result in results:
        # LAVA uses the name in a URL path, where a slash would separate components.
        command = ["lava-test-case", result["case"].replace("/", "."), "--result",
                   LAVA[result["outcome"]], "--measurement", f"{result['seconds']:.3f}",
                   "--units", "seconds"]
        if tool:
            subprocess.run([tool, *command[1:]], check=True)
        else:
            print(*command)


def write_tmt(results: list[dict[str, Any]], folder: str) -> None:
    """Writes results.yaml as JSON, which is valid YAML."""
    data = os.environ["TMT_TEST_DATA"]
    entries = []
    for result in results:
        entry = {"name": "/" + result["case"], "result": TMT[result["outcome"]],
                 "duration": format_duration(result["seconds"])}
        log = os.path.join(folder, result["case"], "ktap.txt")
        if os.path.exists(log):
            entry["log"] = [os.path.relpath(log, data)]
        entries.append(entry)
    with open(os.path.join(data, "results.yaml"), "w", encoding="utf-8") as file:
        json.dump(entries, file, indent=1)
        file.write("\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("engine", choices=("lava", "tmt"))
    parser.add_argument("dir", metavar="DIR")
    arguments = parser.parse_args()
    try:
        results = read_results(arguments.dir)
        if arguments.engine == "lava":
            write_lava(results)
        else:
            write_tmt(results, arguments.dir)
    except KeyError as missing:
        print(f"hand_over.py: {missing} is missing", file=sys.stderr)
        return 99
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"hand_over.py: {arguments.dir}: {error}", file=sys.stderr)
        return 99
    return 0 if results else 99


if __name__ == "__main__":
    sys.exit(main())
