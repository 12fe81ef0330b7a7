# SPDX-License-Identifier: GPL-2.0-only
"""What is known of a cell: the findings of results/FINDINGS.md, and the threads of
results/THREADS.md."""

import dataclasses
import os
import re

from ci.base import files
from ci.matrix.results import stored

# Repositories of the short names in THREADS.md and results/profilers.toml, where they are known.
REPOSITORIES = {
    "alloy": "grafana/alloy", "async-profiler": "async-profiler/async-profiler",
    "bcc": "iovisor/bcc", "blazesym": "libbpf/blazesym", "bpftrace": "bpftrace/bpftrace",
    "codspeed": "CodSpeedHQ/codspeed", "cpython": "python/cpython", "ddprof": "DataDog/ddprof",
    "dotnet": "dotnet/runtime", "hotspot": "KDAB/hotspot", "huatuo": "ccfos/huatuo",
    "llvm": "llvm/llvm-project", "LuaJIT": "LuaJIT/LuaJIT", "magic-trace": "janestreet/magic-trace",
    "node": "nodejs/node", "one-collect": "microsoft/one-collect",
    "otel": "open-telemetry/opentelemetry-ebpf-profiler", "otp": "erlang/otp",
    "parca": "parca-dev/parca-agent", "perf-map-agent": "jvm-profiling-tools/perf-map-agent",
    "perfetto": "google/perfetto", "perfview": "microsoft/perfview", "pprof": "google/pprof",
    "ruby": "ruby/ruby", "systing": "josefbacik/systing", "wasmtime": "bytecodealliance/wasmtime"}
THREAD = re.compile(r"([\w./-]*)#(\d+)")


@dataclasses.dataclass
class Finding:
    """A section of FINDINGS.md. @names: the words in backticks, with ids of findings and names of
    cases."""
    title: str
    names: set[str]


def list_threads(text: str) -> list[str]:
    """Returns the addresses of threads, such as of "bcc#2030, #4735"; else the threads as they
    are."""
    links, name = list[str](), ""
    for repository_name, number in THREAD.findall(text):
        name = repository_name or name
        repository = name if "/" in name else REPOSITORIES.get(name)
        links.append("https://github.com/%s/issues/%s" % (repository, number) if repository
                     else "%s#%s" % (name, number))
    return links


def parse_findings(text: str) -> list[Finding]:
    """Returns the sections of FINDINGS.md."""
    return [Finding(section.split("\n")[0], set(
        word.strip("'()") for quoted in re.findall(r"`([^`]+)`", section)
        for word in quoted.split()))
            for section in re.split(r"(?m)^### ", text)[1:]]


def find_findings(findings: list[Finding], case: str, why: str) -> list[str]:
    """Returns the titles of the findings that @why names by their ids, else of those that name
    @case."""
    ids = re.findall(r"\(([a-z]+\.[a-z0-9-]+)\)", why)
    return [finding.title for finding in findings if finding.names.intersection(ids or [case])]


def parse_threads(text: str) -> dict[str, list[str]]:
    """Returns the addresses of threads by the cases that THREADS.md names."""
    threads = dict[str, list[str]]()
    for row in re.findall(r"(?m)^\| (\S+#.*?) \|.*?\| (.*) \|$", text):
        for case in re.findall(r"`([\w.-]+/[\w.-]+)`", row[1]):
            threads.setdefault(case, []).extend(list_threads(row[0]))
    return threads


class Upstream:
    """What results/FINDINGS.md and results/THREADS.md contain."""

    def __init__(self) -> None:
        read_result = lambda name: files.read(os.path.join(stored.ROOT, "results", name))
        self.findings = parse_findings(read_result("FINDINGS.md"))
        self.threads = parse_threads(read_result("THREADS.md"))

    def describe_case(self, name: str, outcome: str, why: str) -> list[str]:
        """Returns lines about a case with this outcome: findings that explain a failure, and
        addresses of threads."""
        failed = outcome not in ("PASS", "SKIP")
        titles = find_findings(self.findings, name, why) if failed else []
        return ["results/FINDINGS.md, \"%s\"" % title.replace("`", "") for title in titles] + \
            ([", ".join(self.threads[name])] if name in self.threads else [])
