#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests of tutorial_reader.py: which outputs of a command it accepts as those that a page shows, and which not."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools', 'dev', 'tests')]

# pylint: disable=wrong-import-position
import tree_case  # noqa: E402
import tutorial_reader  # noqa: E402


def console(*lines):
    return '\n'.join(['```console', *lines, '```', ''])


def follow(page):
    """(cases, failed ones) of somebody who follows a page."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'page.md')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(page)
        reader = tutorial_reader.Reader(dict(os.environ), folder)
        with contextlib.redirect_stdout(io.StringIO()):
            reader.follow_all([path])
        return reader.cases, reader.failed


class Reader(unittest.TestCase):
    def test_output(self):
        self.assertEqual(follow(console('$ echo one', 'one', '$ echo two', 'two', '$ true')), (3, 0))

    def test_other_output(self):
        self.assertEqual(follow(console('$ echo one', 'two')), (1, 1))

    def test_more_output(self):
        self.assertEqual(follow(console('$ echo one; echo two', 'one')), (1, 1))

    def test_less_output(self):
        self.assertEqual(follow(console('$ echo one', 'one', 'two')), (1, 1))

    def test_dots_in_a_line(self):
        self.assertEqual(follow(console('$ echo one two three', 'one ... three')), (1, 0))
        self.assertEqual(follow(console('$ echo one two three', 'one ... four')), (1, 1))

    def test_dots_for_lines(self):
        self.assertEqual(follow(console('$ echo one; echo two; echo three', '...', 'three')), (1, 0))
        self.assertEqual(follow(console('$ echo one', '...', 'one', '...')), (1, 0))
        self.assertEqual(follow(console('$ echo one; echo two', '...', 'one')), (1, 1))

    def test_status(self):
        self.assertEqual(follow(console('$ false')), (1, 1))
        self.assertEqual(follow(console('$ exit 3', '$ echo $?', '3')), (2, 0))
        self.assertEqual(follow(console('$ exit 3', '$ echo $?', '1')), (2, 1))

    def test_colours(self):
        self.assertEqual(follow(console("$ printf '\\033[1mbold\\033[0m\\n'", 'bold')), (1, 0))

    def test_files(self):
        page = 'File `a.txt`:\n\n```c\none\n```\n\nMore of `a.txt`:\n\n```c\ntwo\n```\n\n'
        self.assertEqual(follow(page + console('$ cat a.txt', 'one', '', 'two')), (1, 0))

    def test_snippets(self):
        page = 'File `a.h`:\n\n```c\n/* [one] */\nint one;\n/* [one] */\n/* [two] */\n```\n\n@snippet '
        self.assertEqual(follow(page + 'a.h one\n'), (1, 0))
        self.assertEqual(follow(page + 'a.h two\n'), (1, 1))
        self.assertEqual(follow(page + 'b.h one\n'), (1, 1))

    def test_code_that_belongs_nowhere(self):
        with self.assertRaises(tutorial_reader.Wrong):
            follow('```c\nint one;\n```\n')

    def test_server(self):
        wait = 'while ! test -s asked; do sleep 0.01; done'
        page = console(f'server$ echo listening on port 47001; {wait}; cat asked', 'listening on port 1', 'hello') \
            + console('$ test 1 = 47001', '$ echo hello > asked')
        self.assertEqual(follow(page), (3, 0))
        self.assertEqual(follow(page.replace('\nhello\n', '\nbye\n')), (3, 1))


if __name__ == '__main__':
    tree_case.main()
