# SPDX-License-Identifier: GPL-2.0-only
"""Reads ci/matrix/matrix.toml, and adds the options that the subcommands for VMs share."""

import argparse
import os
import re
import tomllib
from typing import Any, Callable, Collection, Mapping

from ci.base.status import Malformed, Refused

NATIVE = "x86_64"
FILE = os.path.abspath(__file__ + "/../../matrix.toml")
Check = Callable[[Any], bool]
Rule = tuple[Check, str]


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


def is_count(value: object) -> bool:
    return type(value) is int and value >= 1  # isinstance() would accept True


def is_version(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d+(\.\d+)*", value, re.ASCII))


def list_of(is_one: Check) -> Check:
    return lambda value: isinstance(value, list) and bool(value) and all(map(is_one, value))


TEXT, TEXTS = (is_text, "a text"), (list_of(is_text), "a list of texts")
PATTERN = (is_pattern, "a regular expression")
COUNT = (is_count, "a number, 1 or more")
VERSION, VERSIONS = (is_version, 'a version as "6.12"'), (list_of(is_version), "a list of versions")
TABLES: dict[str, dict[str, Rule]] = {
    "kernels": {"versions": VERSIONS, "flavour": TEXT, "suites": TEXTS,
                "architecture": TEXT},
    "qemu": {"oldest": VERSION, "suite": TEXT, "package": TEXT, "program": TEXT, "machine": TEXTS,
             "console": TEXT, "loader": TEXTS, "root": TEXT, "memory": COUNT, "output": COUNT},
    "limits": {"boot": COUNT, "case": COUNT, "leave": COUNT}}
# Optional lists of tables. Each table may also have the key `kernels`.
LISTS: dict[str, dict[str, Rule]] = {
    "skips": {"case": TEXT, "why": PATTERN, "reason": TEXT},
    "allowed": {"pattern": PATTERN, "reason": TEXT}}
OPTIONAL = ("architecture", "loader", "machine", "root")
SUITE = {"at_most": COUNT, "groups": (list_of(lambda one: isinstance(one, dict)), "tables")}
GROUP = {"name": TEXT, "smp": COUNT, "cases": TEXTS, "profiler": TEXT}


def add_options(parser: argparse.ArgumentParser) -> None:
    build = os.environ.get("O", "build")
    parser.add_argument("--arch", default=NATIVE, metavar="NAME",
                        help="machine of the guests; default: %(default)s")
    parser.add_argument("--config", default=FILE, metavar="FILE",
                        help="default: ci/matrix/matrix.toml")
    parser.add_argument("--cache", default=os.path.join(build, "matrix-cache"), metavar="DIR",
                        help="downloads; default: %(default)s")


def check(where: str, table: Any, keys: Mapping[str, Rule], optional: Collection[str] = ()) -> None:
    """Raises Malformed if a key of @keys is missing and not @optional, has a wrong value, or if the
    table has another key."""
    if not isinstance(table, dict):
        raise Malformed(where, 0, "expected a table")
    for key, (is_one, what) in keys.items():
        if key not in table and key in optional:
            continue
        if not is_one(table.get(key)):
            raise Malformed(where, 0, "%s: expected %s" % (key, what))
    for key in table:
        if key not in keys:
            raise Malformed(where, 0, "%s: expected one of %s" % (key, ", ".join(keys)))


def select(config: dict[str, Any], arch: str) -> dict[str, Any]:
    """Returns the configuration for guests of the machine @arch."""
    known = config.get("architectures", {})
    if arch == NATIVE:
        return config
    if arch not in known:
        raise Refused("no architecture %s: %s" % (arch, ", ".join([NATIVE, *known])))
    return {**config, **{name: {**config[name], **table} for name, table in known[arch].items()}}


def load(path: str, arch: str = NATIVE) -> dict[str, Any]:
    with open(path, "rb") as file:
        try:
            config = tomllib.load(file)
        except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, too deep
            raise Malformed(path, 0, str(error)[:200]) from error
    suites = config.get("suites")
    for name, keys in TABLES.items():
        check("%s: [%s]" % (path, name), config.get(name), keys, OPTIONAL)
    architectures = config.get("architectures", {})
    if not isinstance(architectures, dict):
        raise Malformed(path, 0, "expected tables [architectures.NAME]")
    for machine, tables in architectures.items():
        check("%s: [architectures.%s]" % (path, machine), tables,
              {name: (lambda table: isinstance(table, dict), "a table") for name in TABLES}, TABLES)
        for name, table in tables.items():
            check("%s: [architectures.%s.%s]" % (path, machine, name), table, TABLES[name],
                  TABLES[name])
    for name, keys in LISTS.items():
        entries = config.get(name, [])
        if not isinstance(entries, list):
            raise Malformed(path, 0, "expected [[%s]]" % name)
        for entry in entries:
            check("%s: [[%s]]" % (path, name), entry, {**keys, "kernels": PATTERN}, ("kernels",))
    if not isinstance(suites, dict):
        raise Malformed(path, 0, "expected a table [suites]")
    for name, suite in suites.items():
        check("%s: [suites.%s]" % (path, name), suite, SUITE)
        for group in suite["groups"]:
            check("%s: [[suites.%s.groups]]" % (path, name), group, GROUP, ("profiler",))
    return select(config, arch)
