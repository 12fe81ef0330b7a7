# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/lint: it must find each violation in made trees. This tree serves as the tree without
violations."""

import os
import shutil
import unittest

from ci.lint import __main__ as lint
from harness.selftest.support.scratch import Folder

SPDX = "// SPDX-License-Identifier: GPL-2.0-only\n"
CAPTURE = '#include "harness/capture/capture.h"\n'
# (path, text, part of the finding, line)
WRONG = (
    ("harness/base/a.c", "int a;\n", "SPDX", 1),
    ("ci/a.py", "#!/usr/bin/env python3\npass\n", "SPDX", 2),
    ("harness/base/util/a.c", SPDX, "folder 'util'", None),
    ("harness/base/common.h", SPDX, "file 'common'", None),
    ("harness/base/a.c", SPDX + "\t" * 12 + "/* x */\n", "103 columns", 2),
    ("harness/base/a.c", SPDX + "int a; \n", "blanks", 2),
    ("docs/a.md", "# A\n" + "<" * 7 + " HEAD\n", "conflict", 2),
    ("workloads/a.c", SPDX + CAPTURE, "a workload includes", 2),
    ("workloads/arch/a.c", SPDX + '#include "harness/model/space/replay.h"\n', "workload includes",
     None),
    ("validators/a.c", SPDX + CAPTURE, "a validator includes", None),
    ("validators/a.c", SPDX + "int f(void)\n{\n\treturn open(0, 0);\n}\n", "calls open()", 4),
    ("harness/capture/a.c", SPDX + '#include "validators/stack_verdict.h"\n',
     "validators register", None),
    ("harness/repro/a.c", SPDX + '#include "harness/capture/session.h"\n',
     "the core must not name a capture", None),
    ("harness/base/a.c", SPDX + '#include "workloads/emit/emitter.h"\n', "workloads register",
     None),
    *(("workloads/a.c", SPDX + f"void f(void)\n{{\n\t{call};\n}}\n", "a handshake", 4)
      for call in ("sleep(1)", "usleep(5)", "nanosleep(&a, 0)")),
    ("harness/model/symbols/a.c", SPDX + "void f(void)\n{\n\tfopen(path, mode);\n}\n",
     "calls fopen()", 4),
    ("harness/base/a.h", SPDX + "#define A(x) \\\n" + "\tx; \\\n" * 6 + "\tx\n",
     "macro of 8 lines", 2),
    ("harness/base/a.h", SPDX + "#define A(x) if (x) return 1\n", "macro with a return", None),
    ("harness/base/a.c", SPDX + "JP_DEFINE(command, a) = {\n" +
     "".join(f"\t.f{i} = {i},\n" for i in range(9)) + "};\n", "more than eight fields", None),
    ("harness/base/a.c", SPDX + "static const struct jp_fact a = {\n\t.x = 1,\n};\n"
     "JP_REGISTER_ROWS(fact, a);\n", "registers a", 5),
    ("harness/a.c", SPDX, "on no floor", 1),
    ("harness/base/a.c", SPDX + "\n/* Whoever reads, reads twice. */\n", "'Whoever'", 3),
    ("ci/a.py", SPDX.replace("//", "#") + '"""A file\ntells nothing."""\n', "'tells'", 3),
    ("docs/a.md", "# A\n\nThe file says\n`told` this.\n", "'says'", 3),
    ("harness/base/a.c", SPDX + "static int beside(int a)\n{\n\treturn a;\n}\n",
     "function 'beside'", 2),
    ("ci/a.py", SPDX.replace("//", "#") + "class A:\n    def look(self): ...\n",
     "function 'look'", 3),
    ("harness/base/a.h", SPDX + "\n/* The size of @a. */\nint jp_size(int a);\n",
     "comment begins with 'The'", 3),
    ("docs/a.md", "# A\n\nFirst.\n" + "word " * 31 + "end.\n", "32 words", 4),
    ("-", "{}\n", "an odd name", 1),
    ("results/expected/a", "case a full\n\twhen perf 7..: inject allow tool-crash <=1\t# it dies\n",
     "an allow under when", 2),
    ("results/expected/a", "case a full\n\twhen perf 7.2..: a allow b <=1\t# (perf.unknown)\n",
     "an allow under when", 2),
)


class Trees(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.write_file("harness/base/error.c", SPDX + '#include "harness/base/error.h"\n')

    def write_file(self, path: str, text: str) -> None:
        self.write(text, path)

    def list_findings(self) -> list[str]:
        return list(map(str, lint.check(self.home, False)[0]))

    def expect_finding(self, path: str, text: str, *parts: str, line: int | None = None) -> None:
        """Checks that a file gives exactly one finding, which contains all @parts; removes it."""
        self.write_file(path, text)
        findings = self.list_findings()
        os.remove(self.place(path))
        self.assertEqual(len(findings), 1, findings)
        place = f"{path}:{line}: " if line else f"{path}:"
        self.assertTrue(findings[0].startswith(place), findings[0])
        for part in parts:
            self.assertIn(part, findings[0])

    def expect_clean(self, path: str, text: str) -> None:
        self.write_file(path, text)
        self.assertEqual(self.list_findings(), [])

    def test_violations(self) -> None:
        for path, text, messages, line in WRONG:
            with self.subTest(messages):
                self.expect_finding(path, text, messages, line=line)

    def test_empty_tree(self) -> None:
        os.remove(self.place("harness/base/error.c"))
        self.assertEqual(len(self.list_findings()), 1)

    def test_broken_links(self) -> None:
        for target in ("b.md", "../a.md", "/docs/a.md", "../../etc", "c/", "b.md#a", "%62.md",
                       "#nothing", "a.md#c-d", "../harness/base/error.c#L3", "<b.md>",
                       "b.md \"t\""):
            self.expect_finding("docs/a.md", f"# A\n## B, c `D`\n\n[a](a.md) ([text]({target}))\n",
                                "link to", line=4)
        self.expect_finding("docs/a.md", "[text][b]\n\n[b]: b.md\n", "link to b.md: no such file",
                            line=3)
        self.expect_finding("docs/a.md", "```\n[a](no)\n```\n![a](b.png)\n~~~\n[a](no)\n", "b.png",
                            line=4)

    def test_validator_includes(self) -> None:
        for name in ("unistd.h", "sys/mman.h", "linux/perf_event.h", "fcntl.h"):
            self.write_file("validators/a.c", SPDX + f"#include <{name}>\n")
            self.assertTrue(any("a validator includes" in line
                                for line in self.list_findings()), name)

    def test_includes_of_facts(self) -> None:
        self.expect_clean("harness/facts/a.c", SPDX + "#include <linux/perf_event.h>\n"
                          '#include "harness/capture/events.h"\n')
        for name in ("workloads/emit/emitter.h", "validators/stack_verdict.h"):
            self.expect_finding("harness/facts/a.c", SPDX + f'#include "{name}"\n',
                                "register themselves", line=2)
        self.expect_finding("harness/repro/a.c", SPDX + '#include "harness/facts/fact.h"\n',
                            "facts register")
        self.expect_clean("harness/selftest/support/bad_facts.c",
                          SPDX + '#include "harness/facts/fact.h"\n')

    def test_headers_with_one_home(self) -> None:
        for name, good in (("libelf.h", "harness/format/elf/elf_source.h"),
                           ("elfutils/libdw.h", "harness/model/unwind/cfi.c"),
                           ("zstd.h", "harness/format/perfdata/zstd.c"),
                           ("linux/perf_event.h", "harness/format/perfdata/write.c"),
                           ("linux/perf_event.h", "harness/capture/events.c")):
            text = SPDX + f"#include <{name}>\n"
            self.expect_finding("harness/base/wrong.c", text, "may include", line=2)
            self.expect_clean(good, text)

    def test_floors(self) -> None:
        for path, name, messages in (
                ("harness/format/elf/a.c", "harness/model/space/b.h", "is above harness/format"),
                ("harness/base/a.c", "harness/format/b.h", "harness/format is above harness/base"),
                ("harness/judge/a.c", "harness/case/b.h", "harness/case is beside harness/judge"),
                ("harness/run/a.c", "harness/report/b.h", "harness/report is beside harness/run"),
                ("harness/repro/a.c", "harness/command/b.h", "is above harness/repro")):
            self.expect_finding(path, SPDX + f'#include "{name}"\n', messages, line=2)
            self.write_file(path, SPDX + f'#include "{name}"\n')
            self.assertEqual(lint.check(self.home, False)[1],
                             "floors: 1 upward includes, 0 cycles of folders, 0 cycles of files")
            os.remove(self.place(path))

    def test_cycle_of_folders(self) -> None:
        self.write_file("harness/model/space/a.h", SPDX + '#include "harness/model/unwind/a.h"\n')
        self.write_file("harness/model/unwind/a.h", SPDX)
        self.write_file("harness/model/unwind/b.c", SPDX + '#include "harness/model/space/a.h"\n')
        self.assertIn("harness/model/space:1: cycle of folders: harness/model/space -> "
                      "harness/model/unwind; ", self.list_findings()[0])
        self.assertEqual(lint.check(self.home, False)[1],
                         "floors: 0 upward includes, 1 cycles of folders, 0 cycles of files")

    def expect_cycle(self, length: int) -> None:
        """Checks that a ring of includes is one cycle; a .c file and its header are one node."""
        for number in range(length):
            suffix = ".c" if number else ".h"
            self.write_file(f"harness/base/f{number}.h", SPDX)
            self.write_file(f"harness/base/f{number}{suffix}",
                            SPDX + f'#include "harness/base/f{(number + 1) % length}.h"\n')
        findings = self.list_findings()
        self.assertEqual(len(findings), 1, findings)
        self.assertIn("cycle of files: harness/base/f0 -> harness/base/f1; ", findings[0])

    def test_cycle_of_files(self) -> None:
        for length in (2, 3, 5):
            self.expect_cycle(length)

    def test_cycle_by_function_names(self) -> None:
        """A common header hides that two files use each other's functions."""
        self.write_file("harness/base/all.h", SPDX + "int jp_a(void);\nint jp_b(void);\n")
        for one, other in (("a", "b"), ("b", "a")):
            self.write_file(f"harness/base/{one}.c", SPDX + '#include "harness/base/all.h"\n\n'
                            f"int jp_{one}(void)\n{{\n\treturn jp_{other}();\n}}\n")
        self.assertEqual(self.list_findings(), [
            "harness/base/a:1: cycle of files: harness/base/a -> "
            "harness/base/b; harness/base/b -> harness/base/a"])

    def test_duplicate_tags(self) -> None:
        for kind in ("struct", "union", "enum"):
            self.write_file("harness/format/a.h", SPDX + "struct jp_a {\n\tint a;\n};\n")
            self.expect_finding("harness/model/a.c", SPDX + kind + " jp_a {\n\tint a;\n};\n",
                                "a second 'jp_a'", "harness/format/a.h:2", line=2)
        self.expect_clean("harness/model/a.c", SPDX + "struct jp_a;\n/* struct jp_a { } */\n"
                          "struct jp_b {\n\tstruct jp_a *a;\n\tstruct {\n\t\tint b;\n\t};\n};\n")

    def test_comment_names_missing_file(self) -> None:
        for path, text, name, line in (
                ("harness/base/a.c", SPDX + "/*\n * As gone.c does.\n */\n", "gone.c", 3),
                ("harness/base/a.c", SPDX + "// see harness/gone/error.c\n",
                 "harness/gone/error.c", 2),
                ("harness/base/a.c", SPDX + "/* docs/gone.md has it */\n", "docs/gone.md", 2),
                ("ci/a.py", SPDX.replace("//", "#") + "# as ci/gone.py\n", "ci/gone.py", 2),
                ("ci/a.py", SPDX.replace("//", "#") + '"""Gone\nwith gone.py."""\n', "gone.py", 3),
                ("ci/a.sh", SPDX.replace("//", "#") + "a=1 # gone.py\n", "gone.py", 2)):
            self.expect_finding(path, text, f"comment names {name}", line=line)

    def test_comment_names_missing_parameter(self) -> None:
        for comment, below in (("/* @size: of it. */", "void f(int length);\n"),
                               ("/*\n * Of @a and @b.\n */", "static int f(int a)\n{\n}\n"),
                               ("/* @b. */", "int f(int a);\nint g(int c);\n\nint h(int b);\n")):
            self.expect_finding("harness/base/a.h", SPDX + comment + "\n" + below,
                                "comment names @")

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_format(self) -> None:
        self.write_file(".clang-format", "BasedOnStyle: LLVM\n")
        self.write_file("harness/base/a.c", SPDX + "int  a ;\n")
        findings = list(map(str, lint.check(self.home)[0]))
        self.assertEqual(len(findings), 1, findings)
        self.assertIn("run clang-format -i harness/base/a.c", findings[0])

    def expect_tool_finding(self, path: str, text: str, says: str, line: int = 2) -> None:
        self.write_file(path, SPDX.replace("//", "#") + text)
        findings = list(map(str, lint.check(self.home)[0]))
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(f"{path}:{line}: {says}", findings[0])
        os.remove(self.place(path))

    @unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
    def test_types_are_checked(self) -> None:
        self.write_file("mypy.ini", "[mypy]\ndisallow_untyped_defs = True\n")
        self.expect_tool_finding("ci/a.py", "def a(b):\n    return b\n",
                                 "mypy: error: Function is missing a type")

    @unittest.skipUnless(shutil.which("pyflakes3"), "pyflakes3 is not installed")
    def test_unused_imports(self) -> None:
        self.expect_tool_finding("ci/a.py", "import os\n", "pyflakes: 'os' imported but unused")

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shell_is_checked(self) -> None:
        self.expect_tool_finding("ci/a.sh", "# shellcheck shell=sh\ncd $1 || exit\n",
                                 "shellcheck: ", 3)
