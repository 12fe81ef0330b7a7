# SPDX-License-Identifier: GPL-2.0-only
"""Recognizes known findings: results/expected names the finding of a tool's defect in the reason of
the line that allows it, and the finding's title in FINDINGS.md names its options. FINDINGS.md alone
states crashes that no case shows."""

import dataclasses
import os
import re
from typing import Iterable, Mapping, Sequence

from ci.base import files, text
from ci.hunt.relations import AGAINST, WITHOUT, is_of_relation
from ci.hunt.space import CAPTURE, INJECT, Crossing
from ci.hunt.trial import Signature

LINE = re.compile(r"^\s*(?:where \S+.*?: )?(?:when (?P<tool>\S+) (?P<versions>\S+): )?"
                  r"(?P<allows>[^#]*)#(?P<reason>.*)$")
ALLOW = re.compile(r"([\w.]+) allow (\S+)")
ID = re.compile(r"\b((?:perf|kernel|elfutils|gcc)\.[a-z][a-z0-9-]+)\b")
EVERYWHERE = {"--jit", "-p", "-F"}  # options of titles that no crossing can lack, or none has
COMMANDS = {"perf", "record", "inject", "script", "report", "ip"}  # other words need not be values


def drop_method(metric: str) -> str:
    """Returns @metric, of stacks without the method that walks them: what a capture lacks breaks
    the stacks of each."""
    return re.sub(r"^(broken|wrong|extra)\..*", r"\1", metric)


@dataclasses.dataclass(frozen=True)
class Known:
    """An exception that a finding explains. @first and @last: versions of the tool, or ()."""
    finding: str
    metric: str
    cause: str
    tool: str = ""
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    def is_cause_of(self, signature: Signature) -> bool:
        # A cause is an id of explain, with the validator's word in parentheses, or the word alone.
        # A difference between two results has no cause, and is of a metric of the same kind.
        if is_of_relation(signature):
            if self.metric.split(".")[0] != signature.metric.split(".")[0]:
                return False
        elif drop_method(self.metric) != drop_method(signature.metric) or \
                self.cause not in re.findall(r"[^ ()]+", signature.cause):
            return False
        tool, _, version = signature.tools.partition(" ")
        if tool != (self.tool or "perf"):
            return False
        number = text.parse_numbers(version)
        return number >= self.first and (
            not self.last or number[:len(self.last)] <= self.last)


def read_lines(lines: Iterable[str]) -> list[Known]:
    found = []
    for line in lines:
        match = LINE.match(line)
        name = match and ID.search(match.group("reason"))
        if not match or not name:
            continue
        first, dots, last = (match.group("versions") or "").partition("..")
        for metric, cause in ALLOW.findall(match.group("allows")):
            found.append(Known(name.group(1), metric, cause, match.group("tool") or "",
                               text.parse_numbers(first),
                               text.parse_numbers(last if dots else first)))
    return found


SIGNAL = re.compile(r"\bSIG[A-Z]{3,}|\bsignal \d+")
ASSERTION = re.compile(r'`([\w/-]+\.c)`; "assertion failed"')


def read_crashes(findings: str) -> list[Known]:
    """Returns the crashes of perf's `record` and `inject` that @findings, the text of FINDINGS.md,
    states: by signal, or by the source file of a failed assertion. A title has the versions before
    those without the defect: "defect, 6.1 and 6.12, gone in 7.2"."""
    found = []
    for section in findings.split("\n### "):
        title = section.partition("\n")[0].rpartition(" - ")[2]
        versions = re.findall(r"\d+\.\d+", re.split("gone|not", title)[0])
        if not versions or not SIGNAL.search(section):
            continue
        assertion = ASSERTION.search(section)
        numbers = sorted(map(text.parse_numbers, versions))
        found += [Known(name, command, assertion[1] if assertion else "signal", "", numbers[0],
                        numbers[-1])
                  for name in {*ID.findall(section)} for command in ("inject", "record")
                  if re.search("`%s\\b" % command, section)]
    return found


def read_titles(text: str) -> dict[str, list[frozenset[str]]]:
    """Returns the words in code style of the titles in FINDINGS.md, by each id below a title."""
    found: dict[str, list[frozenset[str]]] = {}
    for section in text.split("\n### "):
        words = frozenset(" ".join(re.findall("`(.*?)`", section.partition("\n")[0])).split())
        for name in {*ID.findall(section)}:
            found.setdefault(name, []).append(words)
    return found


def has_words(signature: Signature, crossing: Crossing, words: frozenset[str]) -> bool:
    """Returns whether @crossing has the command of perf, one of the options and one of the values
    in @words, the title of a finding. A difference between two results needs such an option or
    value: the option that the twin lacks, if @signature states it."""
    options = {word for word in words if word.startswith("-")} - EVERYWHERE
    values = words - options - EVERYWHERE - COMMANDS
    used = {name.partition(" ")[2] for name in crossing}
    chosen = {part for value in crossing.values() for part in re.split("[:,]", value)}
    if is_of_relation(signature):
        twin_lacks = signature.cause.removeprefix(WITHOUT)
        if not (options & used or values & chosen if signature.cause == AGAINST else
                twin_lacks in options):
            return False
    return ("inject" not in words or crossing.get(INJECT) == "perf") and (
        "record" not in words or crossing[CAPTURE].endswith(" perf")) and (
        not options or bool(options & used)) and (
        not values or bool(values & chosen))


@dataclasses.dataclass(frozen=True)
class Findings:
    """The known findings. @titles: see read_titles()."""
    failures: Sequence[Known]
    titles: Mapping[str, list[frozenset[str]]]

    def find_id(self, signature: Signature, crossing: Crossing) -> str:
        """Returns the id of the finding that explains @signature of @crossing, or "". Of several
        findings, returns that whose title has most words. The cause of a difference that a reader
        shows is such an id."""
        ids = [signature.cause] if ID.fullmatch(signature.cause) else [
            one.finding for one in self.failures if one.is_cause_of(signature)]
        fitting = [(len(words), name) for name in ids for words in self.titles.get(name, ())
                   if has_words(signature, crossing, words)]
        return max(fitting, key=lambda one: one[0], default=(0, ""))[1]


def read_results(folder: str) -> Findings:
    """Reads the findings of a folder such as results."""
    expected = os.path.join(folder, "expected")
    findings = files.read(os.path.join(folder, "FINDINGS.md"))
    return Findings([*read_crashes(findings), *(
        one for name in sorted(os.listdir(expected)) for one in read_lines(
            files.read(os.path.join(expected, name)).splitlines()))], read_titles(findings))
