#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The counts at the end of tools/check, from logs made up for each case."""

import json
import os
import tempfile
import unittest

import tree_case

tally = tree_case.load('tally.py')


def counted(*records):
    result = tally.Tally()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'testlog.json')
        with open(path, 'w', encoding='utf-8') as file:
            for name, stdout, outcome, status in records:
                file.write(json.dumps({'name': name, 'stdout': stdout, 'result': outcome,
                                       'returncode': status}) + '\n')
        bad = result.add_testlog(path, 'plain')
    return result, [record['name'] for record in bad]


class TallyCase(unittest.TestCase):
    def test_tap(self):
        result, bad = counted(('t', '1..4\nok 1 /a\nnot ok 2 /b\nok 3 /c # SKIP no root\n'
                                    'not ok 4 /d # TO' 'DO later\n# ok 5 /no\n', 'FAIL', 1))
        self.assertEqual(result.summary(), '2 passed, 1 failed, 1 skipped')
        self.assertEqual(result.failed, ['plain: t /b'])
        self.assertEqual(result.skipped, ['plain: t /c: no root'])
        self.assertEqual(bad, ['t'])

    def test_plain_programs(self):
        result, bad = counted(('a', 'ok, whatever', 'OK', 0), ('b', '', 'FAIL', 1), ('c', 'no tool\n', 'SKIP', 77))
        self.assertEqual(result.summary(), '1 passed, 1 failed, 1 skipped')
        self.assertEqual(result.skipped, ['plain: c: no tool'])
        self.assertEqual(bad, ['b'])

    def test_bad_end_after_good_lines(self):
        for outcome in ('ERROR', 'TIMEOUT', 'FAIL', 'INTERRUPT', 'UNEXPECTEDPASS'):
            with self.subTest(outcome):
                result, bad = counted(('t', '1..1\nok 1 /a\n', outcome, 23))
                self.assertEqual(result.summary(), '1 passed, 1 failed, 0 skipped')
                self.assertEqual(bad, ['t'])

    def test_nothing_said(self):
        result, _ = counted(('t', '', 'TIMEOUT', -9))
        self.assertEqual(result.summary(), '0 passed, 1 failed, 0 skipped')

    def test_whole_program_skipped(self):
        result, _ = counted(('t', '1..0 # SKIP no tshark\n', 'SKIP', 0))
        self.assertEqual(result.summary(), '0 passed, 0 failed, 1 skipped')
        self.assertEqual(result.skipped, ['plain: t : no tshark'])

    def test_alike_skips_are_one_line(self):
        many = '1..5\n' + ''.join(f'ok {i} /a{i} # SKIP no root\n' for i in range(1, 5)) + 'ok 5 /b # SKIP no tool\n'
        result, _ = counted(('t', many, 'OK', 0), ('u', '1..1\nok 1 /a # SKIP no root\n', 'OK', 0))
        self.assertEqual(result.summary(), '0 passed, 0 failed, 6 skipped')
        self.assertEqual(list(result.skip_lines()), ['plain: t: 4 cases: no root', 'plain: t /b: no tool',
                                                     'plain: u /a: no root'])


if __name__ == '__main__':
    tree_case.main()
