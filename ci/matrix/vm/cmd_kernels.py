# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix kernels: lists the archive's packages for the kernels of the configuration."""

import argparse

from ci.base import status
from ci.base.status import Missing
from ci.matrix.option_types import Subparsers
from ci.matrix.vm import configuration
from ci.matrix.vm.kernels import Kernels


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("kernels", help="list the packages of the kernels",
                                   description=__doc__)
    configuration.add_options(parser)
    parser.add_argument("--update", action="store_true", help="update the archive's index first")
    parser.add_argument("--download", action="store_true", help="download the packages")
    parser.set_defaults(run=status.guard_command("ci/matrix kernels", run))


def run(options: argparse.Namespace) -> int:
    config = configuration.load(options.config, options.arch)
    kernels, missing = Kernels(config["kernels"], options.cache), 0
    if options.update:
        kernels.update()
    for version in config["kernels"]["versions"]:
        try:
            package = kernels.resolve(version)
            path = (" " + kernels.find(version).path) if options.download else ""
            print("%s: %s %s sha256:%s%s" % (version, package.name, package.version,
                                             package.sha256, path), flush=True)
        except Missing as reason:
            missing += 1
            print("%s: %s" % (version, reason), flush=True)
    return Missing.status if missing else 0
