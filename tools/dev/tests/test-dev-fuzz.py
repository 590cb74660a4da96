#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""tools/fuzz: its corpora, and what it reads in the log of a fuzzer."""

import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import tree_case

fuzz = tree_case.load('../fuzz')

FOUND = """#5\tNEW    cov: 31 ft: 40 corp: 2/3b
#9\tDONE   cov: 32 ft: 41 corp: 3/5b
stat::number_of_executed_units: 1234
==7== ERROR: libFuzzer: deadly signal
artifact_prefix='x/'; Test unit written to x/crash-0102
"""


class FuzzCase(unittest.TestCase):
    def test_pack(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(fuzz, 'HARNESSES', folder):
            os.makedirs(f'{folder}/corpus')
            with open(f'{folder}/corpus/one.hex', 'w', encoding='ascii') as file:
                file.write('# a defect that is mended\n00ff\n\n10\n')
            self.assertEqual(fuzz.names(), ['one'])
            fuzz.unpack('one', f'{folder}/files')
            self.assertEqual(len(os.listdir(f'{folder}/files')), 2)
            with open(f'{folder}/files/third', 'wb') as file:
                file.write(b'\x05')
            fuzz.pack('one', f'{folder}/files')
            with open(f'{folder}/corpus/one.hex', encoding='ascii') as file:
                self.assertEqual(file.read(), '# a defect that is mended\n05\n10\n00ff\n')

    def result_of(self, text, status):
        with tempfile.TemporaryDirectory() as folder:
            with open(f'{folder}/log', 'w', encoding='utf-8') as file:
                file.write(text)
            return fuzz.Result('one', f'{folder}/log', status, 3)

    def test_result(self):
        result = self.result_of(FOUND, 77)
        self.assertEqual((result.executions, result.edges, result.input), (1234, 32, 'x/crash-0102'))
        self.assertEqual(result.messages, 1234)
        self.assertEqual(self.result_of(FOUND + 'stat::messages: 98765\n', 77).messages, 98765)
        self.assertIn('FOUND SOMETHING', result.line())
        self.assertIn('nothing found', self.result_of(FOUND.split('==')[0], 0).line())

    def test_what_fast_runs_kept_runs_with_asan(self):
        runs = []

        def execute(name, build_folder, bounds, corpus):
            runs.append((build_folder, bounds, corpus))
            return self.result_of(FOUND.replace('1234', str(10 ** len(runs))), 0)

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(fuzz, 'RUNS', folder), \
                mock.patch.object(fuzz, 'execute', execute):
            result = fuzz.fuzz('wire', fuzz.arguments_of(['--fast', '--seconds', '5']))
        self.assertEqual([(run[0], run[1]) for run in runs],
                         [(fuzz.FAST_BUILD, ['-max_total_time=5']), (fuzz.BUILD, ['-runs=0'])])
        self.assertEqual(runs[0][2], runs[1][2])
        self.assertEqual((result.executions, result.messages), (110, 110))

    def test_fast_is_not_for_the_check(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(fuzz.main(['--fast', '--check']), 2)

    def test_every_corpus_is_run(self):
        self.assertEqual(sorted(fuzz.CHECK_RUNS), fuzz.names())


if __name__ == '__main__':
    tree_case.main()
