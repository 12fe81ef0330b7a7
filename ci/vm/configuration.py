# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix.toml, and the options that all subcommands about VMs share."""

import os
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))

# What each configuration has; what is in the lists is for their users to find out.
TABLES = {"kernels": {"versions": list, "flavour": str, "suites": list},
          "qemu": {"oldest": str, "suite": str, "package": str, "memory": int, "output": int},
          "limits": {"boot": int, "case": int, "leave": int},
          "suites": {}}


def add_options(parser):
    build = os.environ.get("O", "build")
    parser.add_argument("--config", default=os.path.join(TREE, "ci/matrix.toml"), metavar="FILE",
                        help="default: ci/matrix.toml")
    parser.add_argument("--cache", default=os.path.join(build, "matrix-cache"), metavar="DIR",
                        help="downloads; default: %(default)s")


class Malformed(Exception):
    """The configuration is not one: the text says which, and why."""


def load(path):
    with open(path, "rb") as file:
        try:
            config = tomllib.load(file)
        except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, too deep
            raise Malformed("%s: %s" % (path, str(error)[:200])) from error
    for name, keys in TABLES.items():
        table = config.get(name)
        if not isinstance(table, dict):
            raise Malformed("%s: expected a table [%s]" % (path, name))
        for key, kind in keys.items():
            if not isinstance(table.get(key), kind):
                raise Malformed("%s: [%s] %s: expected a %s" % (path, name, key, kind.__name__))
    return config
