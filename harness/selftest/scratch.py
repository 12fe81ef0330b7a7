# SPDX-License-Identifier: GPL-2.0-only
"""What tests write to, and what is gone after each of them."""

import os
import tempfile
import unittest


class Folder(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="jitproof-")
        self.addCleanup(home.cleanup)
        self.home = os.path.realpath(home.name)

    def place(self, *names):
        return os.path.join(self.home, *names)

    def write(self, text, *names, runs=False):
        os.makedirs(os.path.dirname(self.place(*names)), exist_ok=True)
        with open(self.place(*names), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        if runs:
            os.chmod(self.place(*names), 0o755)
        return self.place(*names)

    def read(self, *names):
        with open(self.place(*names), encoding="utf-8") as file:
            return file.read()
