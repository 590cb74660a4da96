#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""tools/dev/check-commits.py on first lines made up for each case, and on a history."""

import os
import subprocess
import tempfile
import unittest

import tree_case

commits = tree_case.load('check-commits.py')


class CommitsCase(unittest.TestCase):
    def found(self, subject):
        return list(commits.check_line('1234567 ' + subject))

    def test_good(self):
        for subject in ('kal: keep the port', 'vp/emul: x', 'tools, doc: name both', 'kal: ' + 'x' * 67):
            with self.subTest(subject):
                self.assertEqual(self.found(subject), [])

    def test_bad(self):
        for subject in ('kal: ' + 'x' * 68, 'keep the port', 'kal:keep', 'Fix: '):
            with self.subTest(subject):
                self.assertEqual(len(self.found(subject)), 1)

    def test_history(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertIsNone(commits.history(root))
            git = ['git', '-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b']
            subprocess.run([*git, 'init', '-q'], check=True)
            for date, subject in (('2026-11-25T00:00:00Z', 'an old one'), ('2036-01-01T00:00:00Z', 'new')):
                subprocess.run([*git, 'commit', '-q', '--allow-empty', '-m', subject], check=True,
                               env=dict(os.environ, GIT_COMMITTER_DATE=date))
            self.assertEqual(len(list(commits.check(root))), 1)


if __name__ == '__main__':
    tree_case.main()
