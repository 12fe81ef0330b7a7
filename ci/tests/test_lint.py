#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""lint.py must find what is wrong in wrong trees, and nothing in a right one."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.lint import __main__ as lint

SPDX = "// SPDX-License-Identifier: GPL-2.0-only\n"


class Trees(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.write("harness/error.c", SPDX + '#include "harness/error.h"\n')

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def found(self, path, text, *parts, line=None):
        """@path with @text must give exactly one finding, which holds all @parts."""
        self.write(path, text)
        found = lint.check(self.root, formatted=False)
        self.assertEqual(len(found), 1, found)
        place = f"{path}:{line}: " if line else f"{path}:"
        self.assertTrue(found[0].startswith(place), found[0])
        for part in parts:
            self.assertIn(part, found[0])

    def clean(self, path, text):
        self.write(path, text)
        self.assertEqual(lint.check(self.root, formatted=False), [])

    def test_clean_tree(self):
        self.clean("workloads/a.c", SPDX + '#include "harness/format/truth/write.h"\n'
                   '#include "workloads/emit/emitter.h"\n')

    def test_empty_tree(self):
        os.remove(os.path.join(self.root, "harness/error.c"))
        self.assertEqual(len(lint.check(self.root, formatted=False)), 1)

    def test_spdx(self):
        self.found("harness/a.c", "int a;\n", "SPDX", line=1)
        os.remove(os.path.join(self.root, "harness/a.c"))
        self.found("ci/a.py", "#!/usr/bin/env python3\npass\n", "SPDX", line=2)

    def test_folders(self):
        self.found("harness/util/a.c", SPDX, "folder 'util'")

    def test_file_names(self):
        self.found("harness/common.h", SPDX, "file 'common'")

    def test_columns(self):
        self.found("harness/a.c", SPDX + "\t" * 12 + "/* x */\n", "103 columns", line=2)

    def test_blanks(self):
        self.found("harness/a.c", SPDX + "int a; \n", "blanks", line=2)

    def test_conflict(self):
        self.found("docs/a.md", "# A\n" + "<" * 7 + " HEAD\n", "conflict", line=2)

    def test_links(self):
        for target in ("b.md", "../a.md", "/docs/a.md", "../../etc", "c/", "b.md#a", "%62.md",
                       "#nothing", "a.md#c-d", "../harness/error.c#L3", "<b.md>", "b.md \"t\""):
            self.found("docs/a.md", f"# A\n## B, c `D`\n\n[a](a.md) ([text]({target}))\n",
                       "link to", line=4)
        self.found("docs/a.md", "[text][b]\n\n[b]: b.md\n", "link to b.md: nothing", line=3)
        self.found("docs/a.md", "```\n[a](no)\n```\n![a](b.png)\n~~~\n[a](no)\n", "b.png", line=4)

    def test_good_links(self):
        self.clean("docs/a.md", "# A\n## B, c `D`\n[1](a.md) [2](#b-c-d) [3](../docs/a.md#a)\n"
                   "[4](../harness/) [5](../harness/error.c#L2) [6](https://a.b/c#d)\n"
                   "[7](mailto:a@b) [8][r] "
                   "`[a](no)` `` [a](`no`) ``\n\n[r]: ../harness/error.c\n\n```c\na[b](no);\n```\n")

    def test_workload_sees_capture(self):
        self.found("workloads/a.c",
                   SPDX + '#include "harness/capture/capture.h"\n', "a workload knows",
                   line=2)

    def test_workload_sees_replay(self):
        self.found("workloads/arch/a.c", SPDX + '#include "harness/model/space/replay.h"\n',
                   "a workload knows")

    def test_workload_command(self):
        self.clean("harness/command/cmd_workload.c",
                   SPDX + '#include "harness/command/command.h"\n')

    def test_validator_includes(self):
        for name in ("unistd.h", "sys/mman.h", "linux/perf_event.h", "fcntl.h"):
            self.write("validators/a.c", SPDX + f"#include <{name}>\n")
            self.assertTrue(any("a validator knows" in line
                                for line in lint.check(self.root, formatted=False)), name)

    def test_validator_sees_capture(self):
        self.found("validators/a.c", SPDX + '#include "harness/capture/capture.h"\n',
                   "a validator knows")

    def test_validator_calls(self):
        self.found("validators/a.c", SPDX + "int f(void)\n{\n\treturn open(0, 0);\n}\n",
                   "calls open()", line=4)

    def test_calls_in_comments_are_none(self):
        self.clean("validators/a.c", SPDX + '/* open(x) */\nconst char *a = "read(x)";\n')

    def test_capture_sees_validators(self):
        self.found("harness/capture/a.c", SPDX + '#include "validators/stack_verdict.h"\n',
                   "a capture never sees")

    def test_core_names_concrete_things(self):
        self.found("harness/a.c", SPDX + '#include "harness/capture/session.h"\n',
                   "the core names no capture")
        self.found("harness/a.c", SPDX + '#include "workloads/emit/emitter.h"\n',
                   "the core names no workload")
        self.found("harness/a.c", SPDX + '#include "validators/stack_verdict.h"\n',
                   "the core names no validator")

    def test_facts(self):
        self.clean("harness/facts/a.c", SPDX + "#include <linux/perf_event.h>\n"
                   '#include "harness/capture/events.h"\n')
        for name in ("workloads/emit/emitter.h", "validators/stack_verdict.h"):
            self.found("harness/facts/a.c", SPDX + f'#include "{name}"\n',
                       "a fact acts and watches",
                       line=2)
        os.remove(os.path.join(self.root, "harness/facts/a.c"))
        for path in ("harness/a.c", "harness/capture/a.c", "validators/a.c"):
            self.found(path, SPDX + '#include "harness/facts/fact.h"\n', "nobody names a fact")
            os.remove(os.path.join(self.root, path))
        self.clean("harness/selftest/bad_facts.c", SPDX + '#include "harness/facts/fact.h"\n')

    def test_homes(self):
        for name, good in (("libelf.h", "harness/format/elf/elf_file.c"),
                           ("elfutils/libdw.h", "harness/model/unwind/cfi.c"),
                           ("zstd.h", "harness/format/perfdata/zstd.c"),
                           ("linux/perf_event.h", "harness/format/perfdata/write.c"),
                           ("linux/perf_event.h", "harness/capture/events.c")):
            text = SPDX + f"#include <{name}>\n"
            self.found("harness/wrong.c", text, "it has one home", line=2)
            os.remove(os.path.join(self.root, "harness/wrong.c"))
            self.clean(good, text)

    def test_sleep(self):
        for call in ("sleep(1)", "usleep(5)", "nanosleep(&a, 0)"):
            self.found("workloads/a.c", SPDX + f"void f(void)\n{{\n\t{call};\n}}\n",
                       "a handshake", line=4)

    def test_sleep_in_words(self):
        self.clean("workloads/a.c", SPDX + "/* sleep(1) is banned */\nint no_sleep(void);\n")

    def test_long_macro(self):
        self.found("harness/a.h", SPDX + "#define A(x) \\\n" + "\tx; \\\n" * 6 + "\tx\n",
                   "macro of 8 lines", line=2)

    def test_macro_hides_return(self):
        self.found("harness/a.h", SPDX + "#define A(x) if (x) return 1\n", "macro with a return")

    def test_registration_fields(self):
        fields = "".join(f"\t.f{i} = {i},\n" for i in range(9))
        self.found("harness/a.c", SPDX + "static const struct jp_command a = {\n" + fields +
                   "};\nJP_REGISTER(command, a);\n", "more than eight fields")

    def test_registration_not_const(self):
        self.found("harness/a.c", SPDX + "static struct jp_command a = {\n\t.x = 1,\n};\n"
                   "JP_REGISTER(command, a);\n", "registers a", line=5)

    def test_good_registration(self):
        self.clean("harness/a.c", SPDX + "static const struct jp_command a = {\n\t.x = 1,\n};\n"
                   "JP_REGISTER(command, a);\n")

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_format(self):
        self.write(".clang-format", "BasedOnStyle: LLVM\n")
        self.write("harness/a.c", SPDX + "int  a ;\n")
        found = lint.check(self.root)
        self.assertEqual(len(found), 1, found)
        self.assertIn("run clang-format -i harness/a.c", found[0])


if __name__ == "__main__":
    unittest.main()
