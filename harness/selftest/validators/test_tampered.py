# SPDX-License-Identifier: GPL-2.0-only
"""Judges altered fixtures, and compares outcomes and exceptions with golden/tampered.

`make tamper` makes the same alterations in new recordings. UPDATE=1 writes the golden file anew:
the first alteration with each set of exceptions, and each harmless kind. Review the difference.
EACH_KIND=1 makes each kind of alteration in a single fixture.
"""

import os
import re
import shutil
import struct
from typing import Iterable

from ci.base import files
from ci.tamper.__main__ import KINDS
from ci.tamper.case import Case
from ci.tamper.kinds import Absent, Unobservable
from harness.selftest.support.recorded import ALL_FIXTURES, describe_cases
from harness.selftest.support.scratch import FIXTURES, HERE, JITPROOF, Folder

GOLDEN = os.path.join(HERE, "golden", "tampered")


class Tampered(Folder):
    def alter_fixture(self, fixture: str, kinds: Iterable[str]) -> None:
        """Writes run/FIXTURE/KIND for each of @kinds that the fixture has something for."""
        shutil.copytree(os.path.join(FIXTURES, fixture), self.place("fixtures", fixture))
        case = Case(self.place("fixtures"), fixture, 1, JITPROOF)
        case.scratch = self.place("scratch")
        os.makedirs(case.scratch, exist_ok=True)
        for case.kind in kinds:
            try:
                changes = KINDS[case.kind].make(case)
            except (Absent, Unobservable, LookupError, OSError, struct.error):
                continue
            folder = self.place("run", fixture, case.kind)
            shutil.copytree(case.path(""), folder, copy_function=os.link)
            changes = {**changes, "case": case.read("case").replace(
                b"fixture/" + fixture.encode(), ("%s/%s" % (fixture, case.kind)).encode())}
            for name, content in changes.items():
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    os.unlink(path)
                if content is not None:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    files.write_bytes(path, content)

    def test_each_alteration(self) -> None:
        golden = files.read(GOLDEN).splitlines() if os.path.exists(GOLDEN) else []
        if os.environ.get("EACH_KIND"):
            kinds = {line.split(":")[0].split("/")[1]: line for line in golden}
            golden = [line for line in golden if line in kinds.values()]
        for fixture in ALL_FIXTURES:
            self.alter_fixture(fixture, KINDS if os.environ.get("UPDATE") else [
                line.split(":")[0].split("/")[1] for line in golden
                if line.startswith(fixture + "/")])
        lines = describe_cases(self.home)
        if os.environ.get("UPDATE"):
            first = {re.sub(r"\d+", "", text) + name.split("/")[1] * KINDS[
                name.split("/")[1]].harmless: name for name, text in reversed(lines.items())}
            files.write(GOLDEN, "".join("%s: %s\n" % (name, lines[name])
                                        for name in lines if name in first.values()))
        else:
            self.assertEqual(["%s: %s" % one for one in lines.items()], golden)
