#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Freedoms are behaviour that the specification leaves to an adapter. This tests the table of
freedoms, the rules that allow them, and the judges on adapters that use them (TAP).

Usage: test_freedoms.py SOURCE IT_CERTIFY PROGRAMS DIFFERENTIAL [long]
"""

import glob
import os
import re
import subprocess
import sys
import tomllib
import unittest

SOURCE, CERTIFY, PROGRAMS, DIFFERENTIAL = map(os.path.abspath, sys.argv[1:5])
LONG = len(sys.argv) > 5
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'tools', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

ADAPTERS = ('emul:ib', 'emul:iwarp')
# Of the quick run: what looks at memory that a Write may, or may not, reach.
GLOBS = ('verbs.mw.bind.*', 'verbs.iova.data.*', 'verbs.far.zero.*', 'verbs.data.size.*')
ROW = re.compile(r'\[VEM_FREE_\w+\] =\s*\{"(\w+)", "(\[IT [\d.]+\])"')
MARK = re.compile(r'Freedoms: ([a-z, ]+)')


def read(path):
    with open(os.path.join(SOURCE, path), encoding='utf-8') as file:
        return file.read()


class Freedoms(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.rows = dict(ROW.findall(read('vp/emul/vem_wire.c')))
        cls.table = tomllib.loads(read('conformance/judge/freedoms.toml'))
        cls.environment = dict(os.environ, ITAPI_EMUL_WIRE_US='20', ITAPI_EMUL_FREEDOMS='all')

    def test_rows(self):
        self.assertGreaterEqual(len(self.rows), 5)
        self.assertEqual({name: row['clause'] for name, row in self.table.items()}, self.rows)

    def test_rules(self):
        """Each row of the table is cited by exactly the sources that the row names."""
        found = {}
        for path in glob.glob('conformance/judge/**/*.[ch]', root_dir=SOURCE, recursive=True):
            for names in MARK.findall(read(path)):
                for name in names.replace(',', ' ').split():
                    found.setdefault(name, set()).add(path)
        self.assertEqual(found, {name: set(row['judges']) for name, row in self.table.items()})

    def judge(self, *command, **environment):
        done = subprocess.run(command, env=self.environment | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                              check=False)
        self.assertEqual(done.returncode, 0, f'{" ".join(command)}:\n{done.stdout[-4000:]}{done.stderr[-2000:]}')

    def test_model(self):
        for adapter in ADAPTERS:
            for kind in ([], ['--wide'], ['--changes'], ['--watermarks']):
                self.judge(DIFFERENTIAL, *kind, '--adapter', adapter, '--count', '2000' if LONG else '20')

    def test_certify(self):
        """No case fails on an adapter that uses all freedoms, except `unready`: emul claims that it
        repeats a message without a receive, and cases rely on that."""
        words = ', '.join(sorted(self.rows.keys() - {'unready'}))
        cases = [word for pattern in GLOBS for word in ('--case', pattern)]
        for adapter in ADAPTERS:
            self.judge(CERTIFY, '--adapter', adapter, '--programs', PROGRAMS, '--level', 'verbs', '--seed', '1', '--quick', '--patience', '100',
                       '--limit', '300', *([] if LONG else cases), ITAPI_EMUL_FREEDOMS=words)


if __name__ == '__main__':
    tree_case.main()
