# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""rdma-core's own tests on rxe0 in the guest; their results are compared with those expected behind
the verbs door on emul:ib.

pyverbs-rxe.txt has a line for each test whose result on rxe0 differs, with the reason, for one
kernel or for both. A test that crashes the guest's kernel is left out.
"""

import os
import tempfile

from lab_case import Failed, Skipped
from lab_doors import DOORS

import test_pyverbs             # of DOORS
from tool_runs import Done

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pyverbs-rxe.txt')
SAID = '/tmp/lab-pyverbs'       # in the guest
DEVICE = 'rxe0'
NO_END = 124


def run_tests(bench, left_out):
    """The results of all tests but those."""
    with tempfile.TemporaryDirectory(prefix='lab-pyverbs-') as folder:
        tests = os.path.join(folder, 'tests')
        os.mkdir(tests)
        test_pyverbs.unpack(tests)
        words = [test_pyverbs.PYTHON, '-B', os.path.join(DOORS, 'pyverbs_run.py'), tests, '--dev', DEVICE, *left_out]
        job = bench.start(bench.theirs, ['sh', '-c', f'exec "$@" >{SAID} 2>{SAID}.err', 'sh', *words])
        try:
            status = bench.wait(bench.theirs, job)
        except Failed:
            status = NO_END
    return test_pyverbs.Results(words,
                                Done(status, *(bench.theirs.contents(SAID + name) for name in ('', '.err'))))


class Comparison:
    """Compares the result of each test on rxe0 with both lists."""

    def __init__(self, kernel):
        self.door = test_pyverbs.Expected(os.path.join(DOORS, 'pyverbs-expected.txt'), 'emul:ib')
        self.rxe = test_pyverbs.Expected(LIST, kernel)
        self.left_out = sorted(name for name, (result, _) in self.rxe.names.items() if result == 'left')
        self.complaints = []
        self.rows = [self.row_of(name, 'left') for name in self.left_out]
        self.same = {'pass': 0, 'skip': 0, 'fail': 0}

    def row_of(self, name, result):
        behind_door, why = self.door.line_of(name)
        words = {'left': 'not run', 'fail': 'fails', 'refuse': 'is refused', 'crash': 'crashes', 'pass': 'passes', 'skip': 'is skipped',
                 'either': 'passes or is skipped'}
        return [f'`{name}`', words[result], words[behind_door] + (f': {why}' if why else ''), self.rxe.line_of(name)[1] or '']

    def add(self, name, result, why):
        """One test of the guest."""
        behind_door, line = self.door.of(name), self.rxe.of(name)
        same = test_pyverbs.fits(result, behind_door)
        if line is None and not same:
            self.complaints.append(f'{name}: {result} on {DEVICE}, {behind_door} behind the door: {why}')
        elif line not in (None, 'either', result):
            self.complaints.append(f'{name}: {result} on {DEVICE}, not {line}: {why}')
        elif same and line not in (None, 'either'):
            self.complaints.append(f'{name}: {LIST} says that it differs, but it does not')
        if same:
            self.same[result] += 1
        else:
            self.rows.append(self.row_of(name, result))


def compare(bench):
    """Runs all tests; each difference must be in the list. Returns the counts and the differences."""
    if bench.topology != 'link':
        raise Skipped('there is no tap device, and the guest without one has siw only')
    if not os.path.exists(test_pyverbs.TESTS):
        raise Skipped('not installed: python3-pyverbs')
    kernel = '.'.join(bench.run(bench.theirs, ['uname', '-r']).split('.')[:2])
    comparison = Comparison(kernel)
    results = run_tests(bench, comparison.left_out)
    for name in results.order:
        comparison.add(name, *results.of[name])
    missing = [name for name in comparison.rxe.names if name not in results.of and name not in comparison.left_out]
    if not results.ended or missing or comparison.complaints:
        raise Failed('\n'.join([results.err[-2000:], f'{len(results.of)} tests ran, but not {missing}', *comparison.complaints]))
    return {'pyverbs': {'tests': len(results.of) + len(comparison.left_out), 'passed': comparison.same['pass'],
                        'skipped': comparison.same['skip'], 'differ': len(comparison.rows), 'rows': comparison.rows}}
