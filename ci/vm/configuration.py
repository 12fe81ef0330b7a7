# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix.toml, and the options that all subcommands about VMs share."""

import os
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))


def add_options(parser):
    build = os.environ.get("O", "build")
    parser.add_argument("--config", default=os.path.join(TREE, "ci/matrix.toml"), metavar="FILE",
                        help="default: ci/matrix.toml")
    parser.add_argument("--cache", default=os.path.join(build, "matrix-cache"), metavar="DIR",
                        help="downloads; default: %(default)s")


def load(path):
    with open(path, "rb") as file:
        return tomllib.load(file)
