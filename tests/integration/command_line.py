"""What tests of the command line share: how to run a verb, and how a user must be told of a failure.

A test program is called with the folder of the programs as its first argument. Nothing but the standard library is
needed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path("build/release/bin")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BAD_INPUT = 2
ENVIRONMENT = 3


def run(*arguments, stdin="", program="doppler", folder=None, environment=None):
    return subprocess.run(
        [str((folder or BIN) / program), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(environment or {})},
    )


class CommandLineTest(unittest.TestCase):
    """Has a private folder, self.path."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def write(self, name, content):
        path = self.path / name
        path.write_text(content)
        return path

    def assert_refused(self, result, code, *parts):
        """One line on stderr with all parts; what was printed before it does not matter."""
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def assert_fails(self, result, code, *parts):
        """The same, and nothing on stdout."""
        self.assert_refused(result, code, *parts)
        self.assertEqual(result.stdout, "")
