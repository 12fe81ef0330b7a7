# SPDX-License-Identifier: GPL-2.0-only
"""Reads ci/matrix/matrix.toml, and adds the options that the subcommands for VMs share."""

import argparse
import os
import tomllib
from typing import Any, Collection

from ci.base.status import Malformed, Refused

NATIVE = "x86_64"
FILE = os.path.abspath(__file__ + "/../../matrix.toml")
NAMES = {str: "a text", int: "a number", list: "a list", dict: "a table"}
Keys = dict[str, type]
TABLES: dict[str, Keys] = {
    "kernels": {"versions": list, "flavour": str, "suites": list, "architecture": str},
    "qemu": {"oldest": str, "suite": str, "package": str, "program": str, "machine": list,
             "console": str, "loader": list, "root": str, "memory": int, "output": int},
    "limits": {"boot": int, "case": int, "leave": int}}
# Optional lists of tables. Each table may also have the key `kernels`.
LISTS: dict[str, Keys] = {
    "skips": {"case": str, "why": str, "reason": str}, "allowed": {"pattern": str, "reason": str}}
OPTIONAL = ("architecture", "loader", "machine", "root")
SUITE: Keys = {"at_most": int, "groups": list}
GROUP: Keys = {"name": str, "smp": int, "cases": list, "profiler": str}


def add_options(parser: argparse.ArgumentParser) -> None:
    build = os.environ.get("O", "build")
    parser.add_argument("--arch", default=NATIVE, metavar="NAME",
                        help="machine of the guests; default: %(default)s")
    parser.add_argument("--config", default=FILE, metavar="FILE",
                        help="default: ci/matrix/matrix.toml")
    parser.add_argument("--cache", default=os.path.join(build, "matrix-cache"), metavar="DIR",
                        help="downloads; default: %(default)s")


def check(where: str, table: Any, keys: Keys, optional: Collection[str] = ()) -> None:
    """Raises Malformed if a key of @keys is missing and not @optional, has a value of another type,
    or if the table has another key."""
    if not isinstance(table, dict):
        raise Malformed(where, 0, "expected a table")
    for key, kind in keys.items():
        if (key in table or key not in optional) and type(table.get(key)) is not kind:
            raise Malformed(where, 0, "%s: expected %s" % (key, NAMES[kind]))
    for key in table:
        if key not in keys:
            raise Malformed(where, 0, "%s: expected one of %s" % (key, ", ".join(keys)))


def select(config: dict[str, Any], arch: str) -> dict[str, Any]:
    """Returns the configuration for guests of the machine @arch."""
    architectures = config.get("architectures", {})
    if arch == NATIVE:
        return config
    if arch not in architectures:
        raise Refused("no architecture %s: %s" % (arch, ", ".join([NATIVE, *architectures])))
    return {**config,
            **{name: {**config[name], **table} for name, table in architectures[arch].items()}}


def load(path: str, arch: str = NATIVE) -> dict[str, Any]:
    with open(path, "rb") as file:
        try:
            config = tomllib.load(file)
        except ValueError as error:
            raise Malformed(path, 0, str(error)[:200]) from error
    check(path, config, {**dict.fromkeys(TABLES, dict), **dict.fromkeys(LISTS, list),
                         "architectures": dict, "suites": dict}, (*LISTS, "architectures"))
    for name, keys in TABLES.items():
        check("%s: [%s]" % (path, name), config[name], keys, OPTIONAL)
    for machine, tables in config.get("architectures", {}).items():
        check("%s: [architectures.%s]" % (path, machine), tables, dict.fromkeys(TABLES, dict),
              TABLES)
        for name, table in tables.items():
            check("%s: [architectures.%s.%s]" % (path, machine, name), table, TABLES[name],
                  TABLES[name])
    for name, keys in LISTS.items():
        for entry in config.get(name, []):
            check("%s: [[%s]]" % (path, name), entry, {**keys, "kernels": str}, ("kernels",))
    for name, suite in config["suites"].items():
        check("%s: [suites.%s]" % (path, name), suite, SUITE)
        for group in suite["groups"]:
            check("%s: [[suites.%s.groups]]" % (path, name), group, GROUP, ("profiler",))
    return select(config, arch)
