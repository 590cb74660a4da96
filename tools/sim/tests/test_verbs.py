#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""it-sim with programs of libibverbs (TAP).

Usage: test_verbs.py IT_SIM VERBS RDMACM APP SEEDS
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'dev', 'tests'))

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402

IT_SIM, VERBS, RDMACM, APP = map(os.path.abspath, sys.argv[1:5])
SEEDS = int(sys.argv[5])
PATIENCE = 900      # s


def pair(what, *more):
    return '\n'.join([f'node server {VERBS} {what} 18515', f'node client {VERBS} {what} 18515 @server', *more, ''])


class Verbs(unittest.TestCase):
    maxDiff = None

    def run_sim(self, scene, *options):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'scene.sim')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene)
            return subprocess.run([IT_SIM, path, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)

    def result(self, scene, *options):
        done = self.run_sim(scene, '--json', *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def good(self, scene, seeds=SEEDS):
        result = self.result(scene, '--seeds', f'1..{seeds}', '--twice', '-j', '2')
        self.assertEqual(result['failures'], [])
        self.assertEqual(result['good'], seeds)
        return result['hash']

    def one_failure(self, result):
        self.assertEqual(len(result['failures']), 1, result['failures'])
        return result['failures'][0]

    # --- right programs

    def test_poll(self):
        """A thread that polls lets the others run; the same seeds give the same runs, also when
        they are repeated."""
        scene = pair('poll', 'expect output server done', 'expect output client done')
        hashed = self.good(scene)
        self.assertEqual(hashed, self.result(scene, '--seeds', f'1..{SEEDS}')['hash'])

    def test_channel(self):
        self.good(pair('event', 'expect output server done', 'expect output client done', 'chaos legal', 'wire 50us'))

    def test_other_types(self):
        """UC, UD and a shared receive queue, with a channel, in each order."""
        for what in ('uc', 'ud', 'srq'):
            with self.subTest(what):
                self.good(pair(what, 'expect output server done', 'expect output client done', 'chaos legal', 'wire 50us'))

    def test_lost_datagram(self):
        """A program that relies on a datagram waits for ever when it is lost, and the run reports a
        deadlock."""
        failures = self.result(pair('ud', 'drop server client 50', 'wire 10us'), '--seeds', '1..20', '--twice')['failures']
        self.assertIn('deadlock', [failure['kind'] for failure in failures])
        cut = self.result(pair('ud', 'cut server client', 'wire 10us'), '--seeds', '1..3')['failures']
        self.assertEqual([(failure['kind'], failure['count']) for failure in cut], [('deadlock', 3)])

    def test_told(self):
        """A program that waits for the message behind a Write is right in each order."""
        self.good(pair('told', 'expect output server "read ' + 'b' * 64 + '"', 'chaos legal', 'wire 50us'))

    def test_orders_differ(self):
        """Seeds are not all one run."""
        scene = pair('poll')
        one, other = (self.run_sim(scene, '--seed', str(seed), '--trace').stdout for seed in (1, 2))
        self.assertNotEqual(one, other)

    # --- wrong ones, and bad days

    def test_last_octet(self):
        """A program that polls the last octet of a Write must fail on an adapter that places octets
        in any order."""
        scene = pair('last', 'expect output server "read ' + 'b' * 64 + '"')
        self.good(scene, 25)
        result = self.result(scene + 'chaos legal\n', '--seeds', '1..100')
        self.assertLess(result['good'], 95)
        self.assertTrue(all('server did not write' in failure['kind'] for failure in result['failures']), result['failures'])

    def test_peer_leaves(self):
        """The end of a program destroys its queue pairs and closes its sockets."""
        self.good(pair('leave', 'expect output server "transport retry counter exceeded"'))

    def test_kill(self):
        """A node is killed at a random time: its peer gets an error, or waits where it would wait
        on a real adapter."""
        result = self.result(pair('poll', 'kill client at 2ms..3ms', 'expect exit server any', 'until 10s'), '--seeds', '1..50', '--twice')
        for failure in result['failures']:
            self.assertTrue('did not repeat' not in failure['text'] and 'crash' not in failure['kind'], failure)

    def test_cut(self):
        """Each node has an adapter of its own, between which a path can be cut."""
        scene = pair('poll', 'cut server client for 20ms at 1us', 'expect output client done', 'wire 10us')
        self.good(scene)
        said = self.run_sim(scene, '--seed', '1').stdout
        self.assertGreater(float(re.search(r'seed 1: good, .* ([\d.]+) ms', said)[1]), 20, said)

    def test_long_polls(self):
        """Polls that find nothing advance the time: a run with slow messages needs few steps.
        Otherwise it would exceed the limit of steps."""
        self.good(pair('poll', 'wire 30ms'), 2)

    def test_restart(self):
        """A node's second life begins with fresh devices, at the port that its first life had."""
        self.good(f'node server {VERBS} poll 18515\nnode client {VERBS} poll 18515 @server at 2ms\n'
                  'restart server at 1ms\nexpect output server done\nexpect output client done\n')

    # --- what cannot be held

    def test_refused_calls(self):
        for what, call in {'cq-ex': 'ibv_create_cq_ex', 'qp-ex': 'ibv_create_qp_ex', 'srq-ex': 'ibv_create_srq_ex'}.items():
            with self.subTest(call):
                failure = self.one_failure(self.result(f'node a {VERBS} {what} 1\n', '--seed', '1'))
                self.assertEqual(failure['kind'], f'a calls {call}()')

    def test_librdmacm(self):
        done = self.run_sim(f'node a {RDMACM}\n', '--seed', '1')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('needs librdmacm', done.stderr)

    def test_other_access_layer(self):
        """Programs of verbs and of IT-API in one scenario have no fabric in common, so that is refused."""
        done = self.run_sim(f'node a {VERBS} poll 1\nnode b {APP} good\n', '--seed', '1')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('IT-API', done.stderr)


if __name__ == '__main__':
    tree_case.main()
