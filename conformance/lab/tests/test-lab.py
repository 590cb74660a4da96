#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""The runner of the lab without a guest: which guests the cases need, what is counted, how sides end jobs.

With the path of lab-itapi as argument also a talk of that program with itself, over loopback.
"""

import contextlib
import io
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, '..'), os.path.join(HERE, '../../../tools/dev/tests')]

import lab_case                 # noqa: E402
import lab_report               # noqa: E402
import lab_side                 # noqa: E402
import lab_table                # noqa: E402
import run_lab                  # noqa: E402
import tree_case                # noqa: E402

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else None
OPERATIONS = 'send:0,send:1,write:0,write:1,read:0,read:1,send:70000,write:1m,read:1m,read:1000:8'


def bench(seconds=120):
    side = lab_side.Local()
    result = lab_case.Bench(side, side, '/', 'link')
    result.begin(seconds, {})
    return result


class TableCase(unittest.TestCase):
    def test_cases_have_guests(self):
        cases = lab_table.all_cases()
        boots = lab_table.boots_of(cases)
        self.assertEqual(sorted(case.name for _, _, group in boots for case in group),
                         sorted(case.name for case in cases))
        self.assertTrue(all(case.siw() == siw and case.topology == topology
                            for topology, siw, group in boots for case in group))

    def test_what_may_break_the_guest_is_last(self):
        boots = lab_table.boots_of(lab_table.all_cases())
        fatal = [any(case.fatal for case in group) for _, _, group in boots]
        self.assertEqual(fatal, sorted(fatal))

    def test_each_case_is_told_of_once(self):
        names = [case.name for case in lab_table.all_cases()]
        self.assertEqual(len(names), len(set(names)))


class CountCase(unittest.TestCase):
    def run_of(self, *told, known=None):
        run = run_lab.Run.__new__(run_lab.Run)
        run.tally, run.results, run.known, run.number = run_lab.Tally(), {}, known or {}, 0
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            for name, result, why in told:
                run.note({'name': name, 'result': result, 'why': why, 'seconds': 1})
        return run, text.getvalue()

    def test_results(self):
        run, text = self.run_of(('a', 'ok', ''), ('b', 'failed', 'x\ny'), ('c', 'skip', 'no c'))
        self.assertEqual(run.tally.summary(), '1 passed, 1 failed, 1 skipped')
        self.assertIn('not ok 2 - b\n', text)
        self.assertIn('ok 3 - c # SKIP no c\n', text)

    def test_known_failure(self):
        run, text = self.run_of(('a', 'failed', 'x'), ('b', 'ok', ''), known={'a': 'siw 1', 'b': 'siw 2'})
        self.assertEqual(run.tally.summary(), '1 passed, 0 failed, 1 skipped')
        self.assertEqual(run.tally.skipped, ['a: siw 1'])
        self.assertIn('ok 1 - a # SKIP siw 1', text)

    def test_tap_is_counted_alike(self):
        run, text = self.run_of(('a', 'ok', ''), ('b', 'failed', 'x'), ('c', 'skip', 'why'))
        again = run_lab.Tally()
        self.assertEqual(again.add_tap('lab', text + '1..3\n'), 3)
        self.assertEqual(again.summary(), run.tally.summary())

    def test_row_of_the_table(self):
        rows = {}
        for result in ('ok', 'failed', 'skip', 'known'):
            case = lab_case.Case('c', None, crc=True, table=('peer', 'role', 'what'))
            lab_report.row_of(rows, case, {'name': result, 'result': result, 'why': 'w'})
        self.assertEqual(rows[('peer', 'role', 'what')], [1, 3, {'CRC'}, ['failed', 'skip: w', 'known: w']])


class SideCase(unittest.TestCase):
    def test_pair_that_ends_badly(self):
        with self.assertRaises(lab_case.Failed):
            one = bench()
            one.ours.listens = lambda *_: True
            one.pair((one.ours, ['true']), (one.ours, ['false']), 1)

    def test_job_that_does_not_end(self):
        one = bench(1)
        job = one.start(one.ours, ['sleep', '1000'])
        with self.assertRaises(lab_case.Failed):
            one.wait(one.ours, job)
        self.assertEqual(one.ours.end_all(), 0)
        self.assertEqual(one.ours.jobs, {})

    def test_program_that_is_missing(self):
        one = bench()
        self.assertEqual(one.wait(one.ours, one.start(one.ours, ['/nonexistent/program'])), 127)

    def test_output_and_status(self):
        one = bench()
        self.assertEqual(one.run(one.ours, ['sh', '-c', 'echo said; exit 3'], 3), 'said\n')
        one.ours.end_all()

    def talk(self, *options, both=()):
        """A talk of the program with itself: (server's options, client's options); what the server said."""
        one = bench()
        server = one.start(one.ours, [PROGRAM, '-p', '0', *both, *options[0]])
        while not (port := re.search(r'^port (\d+)$', one.ours.says(server), re.MULTILINE)):
            self.assertIsNone(one.ours.poll(server, 0.1), one.ours.says(server))
        one.run(one.ours, [PROGRAM, '-p', port.group(1), *both, *options[1], '127.0.0.1'])
        self.assertEqual(one.wait(one.ours, server), 0, one.ours.says(server))
        said = one.ours.says(server)
        one.ours.end_all()
        return said

    @unittest.skipUnless(PROGRAM, 'lab-itapi was not named')
    def test_talk(self):
        lead = ['--lead', OPERATIONS]
        for options in ((lead, []), ([], lead), ([], lead + ['--private', '9'])):
            self.assertIn('2 connections, all well', self.talk(*options, both=['--count', '2']))

    @unittest.skipUnless(PROGRAM, 'lab-itapi was not named')
    def test_talk_sees_faults(self):
        for fault in ('wrong-write', 'wrong-read', 'far-write', 'long-send'):
            self.assertIn('ended: IT_CM_MSG_CONN_BROKEN_EVENT', self.talk([], ['--lead', f'send:1,{fault}:8']))

    @unittest.skipUnless(PROGRAM, 'lab-itapi was not named')
    def test_reject(self):
        data = ['--private', '100', '--reject']
        self.assertIn('all well', self.talk(data, ['--expect-private', '100', '--reject']))


if __name__ == '__main__':
    del sys.argv[1:]
    tree_case.main()
