#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the server of the example with keys and values, and clients of it."""

import os
import re
import signal
import subprocess
import sys
import unittest

KV = sys.argv[1]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/dev/tests'))

import tree_case  # noqa: E402  pylint: disable=wrong-import-position

ADAPTER = 'iwarp:lo'
ADDRESS = '127.0.0.1'
PATIENCE = 100  # s


class Store(unittest.TestCase):
    """One server for each test; it must end with status 0 when it is told to."""

    def setUp(self):
        self.server = subprocess.Popen([KV, ADAPTER, '0'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        line, self.port = ' ', None
        while line not in ('waiting\n', ''):
            line = self.server.stdout.readline()
            found = re.fullmatch(r'spigot 0 listens on port (\d+)\n', line)
            self.port = found.group(1) if found else self.port
        self.assertIsNotNone(self.port)

    def end(self):
        """For a test that failed before it stopped the server."""
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()

    def stop(self):
        """Ends the server and returns its output since it began to wait."""
        self.server.send_signal(signal.SIGTERM)
        said = self.server.communicate(timeout=PATIENCE)[0]
        self.assertEqual(self.server.returncode, 0, said)
        return said

    def client(self, *arguments, expect=0):
        """Standard output and error of a client."""
        done = subprocess.run([KV, ADAPTER, self.port, ADDRESS, *arguments], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, expect, f'{arguments}: {done.stdout}{done.stderr}')
        return done.stdout, done.stderr

    def test_values(self):
        self.client('put', 'colour', 'blue')
        self.client('put', 'shape', 'round')
        self.assertEqual(self.client('get', 'colour')[0], 'blue\n')
        self.client('put', 'colour', 'bluegreen')
        self.assertEqual(self.client('get', 'colour')[0], 'bluegreen\n')
        self.assertEqual(self.client('get', 'shape')[0], 'round\n')
        self.assertEqual(self.client('get', 'weight', expect=1)[1], 'kv: no such key\n')
        self.stop()

    def test_counter(self):
        self.assertEqual(self.client('count', '5')[0], '0\n')
        self.assertEqual(self.client('count', '7')[0], '5\n')
        self.assertTrue(self.stop().endswith('counter: 12\n'))

    def test_version(self):
        """A client of another version is rejected and told the version of the server."""
        self.assertEqual(self.client('speak', '1', expect=1)[1], 'kv: the server speaks version 2\n')
        self.client('speak', '2')
        self.assertEqual(self.stop().count('rejected: version 1\n'), 1)


if __name__ == '__main__':
    sys.exit(tree_case.main())
