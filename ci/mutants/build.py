# SPDX-License-Identifier: GPL-2.0-only
"""A build by make, in which a mutant replaces a single object."""

import os
import shlex
from typing import Sequence

from ci.base import files, process
from ci.base.status import Unusable
from ci.mutants import oracles

# No line numbers, so that the same code has the same bytes.
FLAGS = "-O2 -g0"
# Warnings that the author of a change would not accept.
REFUSED = ("incompatible-pointer-types", "int-conversion", "discarded-qualifiers",
           "implicit-function-declaration")
TIMEOUT_S = 120


class Build:
    def __init__(self, tree: str, folder: str, options: Sequence[str] = ()) -> None:
        """@options: arguments of make besides O=."""
        self.tree, self.folder, self.options = tree, folder, options
        self.binary = os.path.join(self.folder, "jitproof")
        self.make(self.binary, os.path.join(self.folder, "profiler"))
        self.compiler = self.find_command("harness/base/array.o", "CFLAGS=" + FLAGS, "WERROR=")
        link = self.find_command("jitproof")
        self.linker, self.objects, oracles.LIBRARIES[:] = split_link(link)

    def make(self, *targets: str) -> None:
        result = process.run(["make", "-j2", "O=" + self.folder, *self.options, *targets],
                             cwd=self.tree)
        if result.returncode:
            raise Unusable("make %s: %s" % (" ".join(targets), result.stderr.strip()[-300:]))

    def find_command(self, target: str, *options: str) -> list[str]:
        path = os.path.join(self.folder, target)
        output = process.run_or_raise(["make", "-n", "V=1", "-W", self.find_source(target),
                               "O=" + self.folder, *self.options, *options, path], cwd=self.tree)
        lines = [line for line in output.splitlines() if " -o %s " % path in line + " "]
        if not lines:
            raise Unusable("make builds no " + target)
        return shlex.split(lines[-1])

    def find_source(self, target: str) -> str:
        return target.removesuffix(".o") + ".c" if target.endswith(".o") else \
            "harness/command/main.c"

    def find_object(self, file: str) -> str:
        return os.path.join(self.folder, file.removesuffix(".c") + ".o")

    def compile(self, file: str, text: str, scratch: str) -> tuple[str | None, bool]:
        """Compiles @file with another text. Returns (object, or None if that is not valid C;
        whether its code is the same as before)."""
        objects = []
        for name, content in (("mutant", text),
                              ("plain", files.read(os.path.join(self.tree, file)))):
            source = os.path.join(scratch, "mutant.c")
            files.write(source, content)
            objects.append(os.path.join(scratch, name + ".o"))
            words = [word for word in self.compiler[:self.compiler.index("-c")]
                     if word not in ("-MMD", "-MP")]
            failed, _ = oracles.run(
                [*words, *("-Werror=" + name for name in REFUSED), "-c", "-o", objects[-1],
                 source], TIMEOUT_S, self.tree)
            if failed:
                return None, False
        return objects[0], files.read_bytes(objects[0]) == files.read_bytes(objects[1])

    def link(self, file: str, changed: str, scratch: str) -> str:
        """Links the program with @changed in place of the object of @file. Returns its path."""
        target = os.path.join(scratch, "jitproof")
        objects = [changed if path == self.find_object(file) else path for path in self.objects]
        files.write(os.path.join(scratch, "objects"), shlex.join(objects))
        status, output = oracles.run([*self.linker, "-o", target, *objects, *oracles.LIBRARIES],
                                     TIMEOUT_S, self.tree)
        if status or status is None:
            raise Unusable("link: " + output.decode(errors="replace")[-300:])
        return target


def split_link(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Splits a link command into (its start, its objects, its libraries)."""
    position = words.index("-o")
    objects = [word for word in words[position + 2:] if word.endswith(".o")]
    libraries = [word for word in words[position + 2:] if not word.endswith(".o")]
    return words[:position], objects, libraries
