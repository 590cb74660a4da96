#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Programs with one mistake each are found by it-sim, and their twins are never blamed (TAP).

Usage: test_strange.py IT_SIM STRANGE TWINS [VERBS]     TWINS: seeds of each twin
"""

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

IT_SIM, STRANGE = map(os.path.abspath, sys.argv[1:3])
TWINS = int(sys.argv[3])
VERBS = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
LONG = TWINS > 1000
PATIENCE = 1500     # s


class Strange(unittest.TestCase):
    maxDiff = None

    def result(self, scene, seeds):
        with tempfile.TemporaryDirectory(prefix='itapi-sim.') as folder:
            path = os.path.join(folder, 'scene.sim')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scene)
            done = subprocess.run([IT_SIM, path, '--json', '--seeds', f'1..{seeds}', '-j', '2'], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def judge(self, lines, text, wrong='wrong', right='right', share=0.0):
        """The wrong program must fail within a few seeds, with its mistake in the first line of the
        failure; the right one must never fail."""
        found = self.result(lines.replace('HOW', wrong) + 'chaos legal\n', 100 if LONG else 40)
        self.assertFalse(found['ok'])
        self.assertGreaterEqual(found['seeds'] - found['good'], share * found['seeds'])
        self.assertTrue(any(text in failure['text'].splitlines()[0] for failure in found['failures']), found['failures'])
        self.assertEqual(self.result(lines.replace('HOW', right) + 'chaos legal\n', TWINS)['failures'], [])

    def both(self, name, text):
        for adapter in ('emul:ib', 'emul:iwarp') if LONG else ('emul:ib',):
            self.judge(f'node server {STRANGE} {adapter} 7471 {name} HOW\nnode client {STRANGE} {adapter} 7471 {name} HOW @server at 1ms\n', text)

    def test_credits(self):
        self.both('credits', 'IT_DTO_ERR_')

    def test_fence(self):
        self.both('fence', 'the copy is another one')

    def test_answer(self):
        self.both('answer', 'the value is another one')

    def test_torn(self):
        self.both('torn', 'client ended with 1; expected 0: a torn record')

    def test_sink(self):
        self.both('sink', 'client ended with 1; expected 0: a part is missing')

    def test_slot(self):
        self.both('slot', 'the record is another one')

    def test_repost(self):
        self.both('repost', 'the message is another one')

    def test_last(self):
        self.both('last', 'messages are missing')

    @unittest.skipIf(VERBS is None, 'no programs of verbs')
    def test_verbs_arm(self):
        """The wrong program polls the queue, arms it, and waits: a completion that came in between
        raises no event. In most seeds one comes in between."""
        self.judge(f'node server {VERBS} HOW 18515\nnode client {VERBS} HOW 18515 @server at 1ms\n', 'deadlock', 'hasty', 'event', 0.6)


if __name__ == '__main__':
    tree_case.main()
