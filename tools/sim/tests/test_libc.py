#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""it-sim with programs that use the C library in less common ways, and with commands for faults
that do not exist (TAP).

Usage: test_libc.py IT_SIM LIBC
"""

import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

IT_SIM, LIBC = map(os.path.abspath, sys.argv[1:3])
PATIENCE = 120      # s


class Libc(unittest.TestCase):
    maxDiff = None

    def run_sim(self, scene, *options, patience=PATIENCE):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'scene.sim')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return subprocess.run([IT_SIM, path, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      timeout=patience, check=False)
        return self.fail(f'it-sim did not end within {patience} s: {scene}')

    def result(self, scene, *options, patience=PATIENCE):
        done = self.run_sim(scene, '--json', *options, patience=patience)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def good(self, case, *expected):
        lines = [f'node a {LIBC} {case}', *(f'expect output a "{line}"' for line in expected), '']
        result = self.result('\n'.join(lines), '--seeds', '1..8', '--twice')
        self.assertEqual(result['failures'], [], case)

    def bad(self, case, kind, *words, options=('--twice',), patience=PATIENCE):
        result = self.result(f'node a {LIBC} {case}\n', '--seed', '1', *options, patience=patience)
        self.assertEqual([failure['kind'] for failure in result['failures']], [kind], case)
        for word in words:
            self.assertIn(word, result['failures'][0]['text'], case)

    def test_octets(self):
        """A call that waits for the peer waits in virtual time, and returns what it returns outside
        of a simulation."""
        self.good('much', 'took 4194304')
        self.good('all')
        self.bad('too-much', 'deadlock', 'a waits in write for descriptor')
        self.bad('for-ever', 'deadlock', 'a waits in recv for descriptor')

    def test_output(self):
        """Whatever function a node writes with, the text goes to the output of the node."""
        self.good('streams', 'printed 7', 'pieces', 'still there')
        self.bad('freopen', 'a calls freopen()')
        self.bad('dup2', 'a calls dup2()')

    def test_sockets(self):
        for case in ('early-set', 'copies', 'stale', 'options', 'backlog'):
            with self.subTest(case):
                self.good(case)

    def test_other_nodes(self):
        """A program that closes all descriptors closes those of no other node."""
        result = self.result(f'node a {LIBC} close-all at 1ms\nnode b {LIBC} connected\n', '--seeds', '1..8', '--twice')
        self.assertEqual(result['failures'], [])

    def test_names(self):
        self.good('names', 'a')

    def test_threads(self):
        self.good('main-leaves', 'rested')
        for case in ('spins', 'times-out', 'large-stack'):
            with self.subTest(case):
                self.good(case)

    def test_clocks(self):
        """Every clock and every source of random numbers belongs to the run."""
        said = [self.run_sim(f'node a {LIBC} clocks\n', '--seed', seed).stdout for seed in ('1', '1', '2')]
        self.assertEqual(said[0], said[1])
        self.assertNotEqual(said[0].split('seed')[0], said[2].split('seed')[0])
        self.assertIn('a: 946684800.', said[0])
        self.good('bad-spans')

    def test_handlers(self):
        said = self.run_sim(f'node a {LIBC} handlers\n', '--seed', '1').stdout
        self.assertEqual(said.count('a: bye'), 2, said)

    def test_refused(self):
        for call in ('posix_spawn', 'execl', 'setitimer', 'thrd_create', 'flock', 'waitid'):
            with self.subTest(call):
                self.bad(call, f'a calls {call}()')

    def test_blocked(self):
        """A node that blocks, sleeps or spins outside of the scheduler gets a verdict of its own,
        whatever the load of the machine."""
        ways = (('stdio', 'a blocks in read', 'does not simulate'), ('dozes', 'a waits past it-sim', 'again and again'),
                ('deaf', 'hang in a', 'spins, without a call'))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(self.bad, *way, options=('--patience', '1'), patience=20) for way in ways]:
                done.result()

    def test_faults(self):
        """An invalid command for a fault is refused, with its line, before the first seed runs,
        even if it would be due later."""
        node = f'node a {LIBC} names\n'
        for command, words in (('nonsense 3', "there is no command 'nonsense'"), ('cal qp_create 1 resources', "did you mean 'call'"),
                               ('call qp_create 1 resources too', 'wanted: call VERB'), ('fail qp 1 loudly at 2ms', "no fault 'loudly'"),
                               ('full cq', 'which one?'), ('fail qp 1 at message 3 of a', None)):
            done = self.run_sim(f'{node}a: {command}\n')
            self.assertEqual(done.returncode, 2 if words else 0, done.stdout + done.stderr)
            if words:
                self.assertIn('scene.sim:2: ', done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == '__main__':
    tree_case.main()
