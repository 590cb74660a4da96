#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests run --named: with a case that reports its defect, one that does not, and one that does not
exist.

Usage: test-defects-run.py RUN BUILD SOURCE      (TAP)
"""

import os
import subprocess
import sys
import tempfile
import unittest

RUN, BUILD, SOURCE = sys.argv[1:4]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'tools/dev/tests'))

import tree_case  # noqa: E402  pylint: disable=wrong-import-position

TABLE = '''<!-- defects: first line; conformance/bad/defects/run --record writes it -->

| defect | emul:ib |
|---|---|
| `completion-doubled` | {} |

<!-- defects: last line -->
'''


class Named(unittest.TestCase):
    def run_named(self, cell, expect, said):
        with tempfile.NamedTemporaryFile('w', suffix='.md', encoding='ascii') as table:
            table.write(TABLE.format(cell))
            table.flush()
            done = subprocess.run([sys.executable, '-B', RUN, '--build', BUILD, '--named', table.name], text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, expect, done.stdout)
        self.assertIn(said, done.stdout)

    def test_model(self):
        self.run_named('model: seed 1', 0, '1 of 1 defects')

    def test_api(self):
        self.run_named('api: dto/no-such-case', 1, 'there is no such case')

    def test_verbs(self):
        """The case needs no data transfer, so it cannot name a defect of data, and the run fails."""
        self.run_named('verbs: verbs.object.busy.0006', 1, 'the case passes')

    def test_nothing(self):
        """If the table has no named defects, the run fails."""
        self.run_named('not named', 1, '0 of 0 defects')


if __name__ == '__main__':
    tree_case.main()
