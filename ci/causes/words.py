# SPDX-License-Identifier: GPL-2.0-only
"""What validators call a cause, in the words of explain; and what no capture can tell."""

from typing import Any

# Metrics that count samples which lost their stack, or their name.
STACKS = ("broken.chain", "broken.dump")
NAMES = ("names.unnamed", "names.wrong")
# What explain says of names. It says the same of native files, which the truth does not hold.
OF_NAMES = ("no-name-source", "map-not-read-for-memfd", "map-stale", "map-partial",
            "map-wrong-owner", "pid-namespace-map", "jitdump-not-injected", "jitdump-file-gone",
            "jitdump-wrong-clock", "jitdump-hidden")
OF_FILES = ("missing-file", "stripped-symbols")

UNKNOWABLE = {
    "mremap": "the kernel records no move: no record says where the code is now, as with code "
              "that was mapped before or while the profiler attached",
    "shared-mm": "code of a process that shares another's memory (CLONE_VM) and never mapped any: "
                 "the record of the clone is that of a fork",
    "bad-cfi": "a library's call frame information is wrong: the walk ends in a caller that is "
               "plausible",
    "kernel-walk": "the kernel's own walk of a stack ended early for a moment (a page was being "
                   "copied)",
    "wrong-frame": "a frame that cannot be, and that lies in code",
    "hole": "a caller is missing in the middle, and the stack reaches its root",
}


def of_validators(exception: dict[str, Any], definition: str) -> str:
    """The id of what validators found; their own word where explain has none."""
    if exception["cause"] == "no-map" and "publish=map" in definition:
        return "map-partial"
    return exception.get("id", exception["cause"])


def publishes_nothing(definition: str) -> bool:
    return "publish=" not in definition or "publish=none" in definition
