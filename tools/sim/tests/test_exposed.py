#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Adapters with defects in a simulation: the table exposable.toml lists the defects that make
correct programs fail in some legal order of events; each of them must be found (TAP).

Usage: test_exposed.py IT_SIM WRONG KV DEFECTS_LIST PROVIDERS [long]     without "long": the table itself, and a few of its defects
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

IT_SIM, WRONG, KV, LIST, PROVIDERS = map(os.path.abspath, sys.argv[1:6])
LONG = len(sys.argv) > 6
SHORT = ('completion-lost', 'completion-reordered', 'write-late', 'established-lost')      # of a short run
PROGRAMS = ('octet', 'reuse', 'free', 'two', 'arrived', 'broken', 'reject', 'count', 'patience')


def scene(adapter):
    """A scenario with all correct programs at once, each with a server of its own."""
    lines = ['chaos legal']
    for number, name in enumerate(PROGRAMS):
        common = f'{WRONG} {adapter} {7471 + number} {name} right'
        lines.append(f'node {name}-server {common}' + (' daemon' if name == 'broken' else ''))
        lines += [f'node {name}-client{i} {common} @{name}-server at 1ms' for i in range(2 if name == 'count' else 1)]
    lines += ['kill broken-server at 5ms', f'node server {KV} {adapter} 7571 daemon',
              f'node writer {KV} {adapter} 7571 @server put colour blue at 2ms',
              f'node reader {KV} {adapter} 7571 @server get colour after writer', 'expect output reader blue']
    return '\n'.join(lines) + '\n'


class Exposed(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(HERE, 'exposable.toml'), 'rb') as file:
            cls.table = tomllib.load(file)
        said = subprocess.run([LIST], capture_output=True, text=True, check=True).stdout
        cls.defects = [line.split('\t')[0] for line in said.splitlines() if not line.startswith('none\t')]

    def failures(self, adapter, seeds):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'scene.sim')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene(adapter))
            done = subprocess.run([IT_SIM, path, '--seeds', seeds, '--json', '-j', '2', '--patience', '20'], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=1500, check=False,
                                  env=dict(os.environ, ITAPI_PROVIDER_PATH=PROVIDERS))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)['failures']

    def is_found(self, name):
        """Whether one of 1,000 seeds fails with this defect, not counting failures to open the
        adapter."""
        for seeds in ('1..4', '5..100', '101..1000'):
            for base in self.table['exposed'][name]:
                if any('IT_ERR_INVALID_NAME' not in failure['text'] for failure in self.failures(f'defect:{name}:{base}', seeds)):
                    return True
        return False

    def test_table(self):
        """Each defect is in the table once, and each that is not exposed has a reason."""
        named = list(self.table['exposed'])
        for group in self.table['hidden']:
            self.assertGreater(len(group['reason']), 30)
            named += group['defects']
        self.assertEqual(sorted(named), sorted(self.defects))

    def test_no_defect(self):
        for base in ('emul:ib', 'emul:iwarp'):
            self.assertEqual(self.failures(f'defect:none:{base}', '1..1000' if LONG else '1..10'), [])

    def test_found(self):
        names = list(self.table['exposed']) if LONG else SHORT
        self.assertEqual([name for name in names if not self.is_found(name)], [])


if __name__ == '__main__':
    tree_case.main()
