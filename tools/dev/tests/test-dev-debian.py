#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""new_debian.py: what it reads in doc/verbs.md, and in which network each step runs."""

import contextlib
import io
import unittest
from unittest import mock

import tree_case

new_debian = tree_case.load('new_debian.py')

PAGE = """Text.

    jobs:
      one:
        steps:
          - uses: something
          - run: apt-get install -y x
          - run: |
              first &
              second && wait
          - run: third

    FROM debian:12
    COPY a/* /b/
    ENV X=1 Y=2
"""


class DebianCase(unittest.TestCase):
    def test_read(self):
        self.assertEqual(new_debian.steps_of(PAGE), ['apt-get install -y x', 'first &\nsecond && wait', 'third'])
        self.assertEqual(new_debian.image_of(PAGE), [('FROM', 'debian:12'), ('COPY', 'a/* /b/'), ('ENV', 'X=1 Y=2')])

    def test_page_is_read_whole(self):
        with open(new_debian.PAGE, encoding='utf-8') as file:
            page = file.read()
        self.assertEqual(len(new_debian.steps_of(page)), page.count('- run: '))
        self.assertIn('ENV', dict(new_debian.image_of(page)))

    def test_networks(self):
        for script, own in (('apt-get update', False), ('it-run x', True)):
            with mock.patch.object(new_debian.subprocess, 'run') as run, contextlib.redirect_stdout(io.StringIO()):
                new_debian.inside('/nowhere', script, own_network=not new_debian.installs(script))
            self.assertEqual(run.call_args[0][0][0] == 'unshare', own)


if __name__ == '__main__':
    tree_case.main()
