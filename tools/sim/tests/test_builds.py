#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""A seed gives the same run however the library and the programs were compiled: optimized as for
users, and by clang (TAP).

Usage: test_builds.py SOURCE BUILD IT_SIM KV WRONG LIBC [VERBS DOOR]      each below BUILD, and built again below another folder
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
PARTS = [os.path.relpath(path, BUILD) for path in sys.argv[3:]]
SIM, KV, WRONG, LIBC = PARTS[:4]
VERBS = PARTS[4:5]
SEEDS = '1..100'
PATIENCE = 1500     # s, for a build or a sweep

WAYS = {'release': ('gcc', '--buildtype=release'), 'clang': ('clang', '--buildtype=debugoptimized')}
FAULTS = ('chaos legal', 'wire 80us', 'delay server writer 1us..90us', 'cut server reader for 3ms at 2ms', 'pause adder 1ms at 1ms..2ms',
          'restart server inside message 1..9 of writer', 'expect exit reader any', 'expect exit writer any', 'expect exit adder any')


def pair(program, words, *more):
    return '\n'.join([f'node server {program} {words}', f'node client {program} {words} @server at 1ms', *more, ''])


def scenes(folder):
    """The scenarios, with the programs of a build folder."""
    for adapter in ('emul:ib', 'emul:iwarp'):
        kv = [f'node server {folder}/{KV} {adapter} 7471 daemon', f'node writer {folder}/{KV} {adapter} 7471 @server put colour blue at 2ms',
              f'node reader {folder}/{KV} {adapter} 7471 @server get colour after writer',
              f'node adder {folder}/{KV} {adapter} 7471 @server count 5 at 1ms..3ms', '']
        yield '\n'.join(kv)
        yield '\n'.join(kv + [*FAULTS, ''])
        for case in ('octet', 'free', 'arrived'):
            yield pair(f'{folder}/{WRONG}', f'{adapter} 7471 {case} wrong', 'chaos legal')
    for case in ('times-out', 'backlog', 'clocks'):
        yield f'node a {folder}/{LIBC} {case}\n'
    for program in VERBS:
        for what in ('poll', 'event', 'ud', 'srq'):
            yield pair(f'{folder}/{program}', f'{what} 18515', 'chaos legal', 'wire 50us', 'drop server client 20', 'expect exit server any')


def hashes(folder):
    """For each scenario, the hash of its sweep and the number of seeds that were good."""
    found = []
    with tempfile.TemporaryDirectory(prefix='itapi-sim.') as place:
        path = os.path.join(place, 'scene.sim')
        for scene in scenes(folder):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene)
            done = subprocess.run([f'{folder}/{SIM}', path, '--json', '--seeds', SEEDS], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
            if not done.stdout:
                raise AssertionError(f'{scene}\n{done.stderr}')
            result = json.loads(done.stdout)
            found.append((scene.replace(folder, ''), result['hash'], result['good']))
    return found


class Builds(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.here = hashes(BUILD)

    def same(self, way):
        compiler, option = WAYS[way]
        if shutil.which(compiler) is None:
            self.skipTest(f'{compiler} is not there')
        cc = os.environ.get('CC', '').split()
        env = dict(os.environ, CC=' '.join([*(['ccache'] if cc[:1] == ['ccache'] else []), compiler]),
                   CXX='g++' if compiler == 'gcc' else 'clang++')
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            for command in (['meson', 'setup', option, '-Ddoc=disabled', '-Dwerror=false', folder, SOURCE], ['ninja', '-C', folder, *PARTS]):
                done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
            self.assertEqual(self.here, hashes(folder))

    def test_seeds_matter(self):
        """The sweeps contain many different runs, some of which fail; otherwise the comparison
        would show nothing."""
        self.assertEqual(len({one for _, one, _ in self.here}), len(self.here))
        self.assertGreater(len([good for _, _, good in self.here if 0 < good < 100]), 3)

    def test_release(self):
        self.same('release')

    def test_clang(self):
        self.same('clang')


if __name__ == '__main__':
    tree_case.main()
