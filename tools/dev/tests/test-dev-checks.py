#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests how tools/check counts failed tests, on small projects that are made for each case."""

import contextlib
import io
import os
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import tree_case

run_checks = tree_case.load('run_checks.py')

PROJECT = """project('small')
add_test_setup('plain', is_default: true)
shell = find_program('sh')
"""
# Fails when it runs for the first time.
ONCE = 'test -e {0} || {{ touch {0}; echo too late; exit 1; }}'


class ChecksCase(unittest.TestCase):
    def checked(self, *scripts):
        """The checker, and what it printed, after it has run a project with these tests."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            with open('meson.build', 'w', encoding='utf-8') as file:
                file.write(PROJECT)
                for number, script in enumerate(scripts):
                    text = script.format(os.path.join(folder, f'ran-{number}'))
                    file.write(f"test('t{number}', shell, args: ['-c', '''{text}'''])\n")
            subprocess.run(['meson', 'setup', 'build/plain'], check=True, capture_output=True)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                checker = run_checks.Checker(2)
                checker.test('plain')
                checker.report(0)
            return checker, output.getvalue()

    def test_counts(self):
        """Counts a test that passes, one that is skipped, one that fails, and one that fails beside others and passes alone."""
        checker, text = self.checked('true', 'exit 77', 'echo wrong; exit 1', ONCE)
        self.assertEqual(checker.tally.summary(), '2 passed, 1 failed, 1 skipped')
        self.assertIn('wrong', text)
        self.assertIn('too late', text)
        self.assertEqual(checker.unsteady, ['plain: t3'])
        self.assertIn('failed beside others, passed alone: plain: t3\n', text)
        self.assertEqual(text.split('\n')[-2], checker.tally.summary())

    def test_damage_is_not_run_again(self):
        checker, _ = self.checked(ONCE.replace('too late', 'ERROR: AddressSanitizer: heap-use-after-free'))
        self.assertEqual(checker.tally.summary(), '0 passed, 1 failed, 0 skipped')

    def test_many_are_not_run_again(self):
        checker, _ = self.checked(*[ONCE] * (run_checks.AGAIN + 1))
        self.assertEqual(len(checker.tally.failed), run_checks.AGAIN + 1)

    def test_what_runs_beside_is_whole(self):
        """What is built beside something shorter is built when that is over, not cut off in the middle."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            checker = run_checks.Checker(2)
            with checker.beside(['sh', '-c', 'echo half > made; sleep 1; echo whole > made']):
                while not os.path.exists('made'):
                    time.sleep(0.01)
            with open('made', encoding='utf-8') as made:
                self.assertEqual(made.read(), 'whole\n')

    def test_a_failed_command_is_told_twice(self):
        """At once, and behind everything else: of a long output often only the end is kept."""
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(output):
            checker = run_checks.Checker(2)
            checker.check('odd', ['sh', '-c', 'echo no such thing >&2; exit 1'])
            checker.report(0)
        self.assertEqual(output.getvalue().count('no such thing'), 2)

    def test_parts(self):
        """--part runs the parts it names, in that order, --soak those that take hours, and neither anything else."""
        ran = []
        parts = {name: (lambda checker, name=name: (ran.append(name), checker.tally.add(name, True))) for name in run_checks.PARTS}
        for arguments, expected in ((['--part', 'valgrind', '--part', 'clang'], ['valgrind', 'clang']),
                                    (['--soak'], ['mutants', 'valgrind', 'long'])):
            output = io.StringIO()
            ran.clear()
            with unittest.mock.patch.object(run_checks, 'PARTS', parts), contextlib.redirect_stdout(output), \
                    unittest.mock.patch.object(run_checks.sys, 'argv', ['tools/check', *arguments]):
                self.assertEqual(run_checks.main(), 0)
            self.assertEqual(ran, expected)
            self.assertIn('part valgrind: 0.0 minutes', output.getvalue())
            self.assertEqual(output.getvalue().split('\n')[-2], f'{len(expected)} passed, 0 failed, 0 skipped')


if __name__ == '__main__':
    tree_case.main()
