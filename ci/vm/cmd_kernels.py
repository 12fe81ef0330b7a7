# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix kernels: what the configuration stands for in the archive."""

import sys

from debian_packages import Missing

from vm import configuration
from vm.kernels import Kernels


def add(subparsers):
    parser = subparsers.add_parser("kernels", help="list the kernels that the archive has",
                                   description=__doc__)
    configuration.add_options(parser)
    parser.add_argument("--update", action="store_true", help="ask the archive again")
    parser.add_argument("--download", action="store_true", help="download them, too")
    parser.set_defaults(run=run)


def run(options):
    try:
        config = configuration.load(options.config)
        return tell(Kernels(config["kernels"], options.cache), config, options)
    except (configuration.Malformed, OSError) as error:
        print("ci/matrix kernels: %s" % error, file=sys.stderr)
        return 99
    except Missing as reason:
        print(reason)
        return 4


def tell(kernels, config, options):
    status = 0
    if options.update:
        kernels.update()
    for wanted in config["kernels"]["versions"]:
        try:
            package = kernels.resolve(wanted)
            more = (" " + kernels.find(wanted).path) if options.download else ""
            print("%s: %s %s sha256:%s%s" % (wanted, package.name, package.version,
                                             package.sha256, more), flush=True)
        except Missing as reason:
            status = 4
            print("%s: %s" % (wanted, reason), flush=True)
    return status
