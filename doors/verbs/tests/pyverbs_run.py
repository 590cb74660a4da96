# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs rdma-core's tests in one process, and prints a line when a test begins and when it ends.

Usage: pyverbs_run.py FOLDER --dev DEVICE [NAME]...      (the folder of the tests, and tests that are left out)
"""

import importlib.machinery
import os
import sys
import unittest

FOLDER = sys.argv.pop(1)


def name_of(test):
    return (test.id() if hasattr(test, 'id') else str(test)).removeprefix('tests.')


def without(tests, names):
    """A suite of the tests of another one but those of these names."""
    suite = unittest.TestSuite()
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            suite.addTest(without(test, names))
        elif name_of(test) not in names:
            suite.addTest(test)
    return suite


class Result(unittest.TestResult):
    """One line each: what, the name, why."""

    def tell(self, what, test, why=''):
        print('%s\t%s\t%s' % (what, name_of(test), ' '.join(str(why).split())), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.tell('begin', test)

    def addSuccess(self, test):
        self.tell('pass', test)

    def addSkip(self, test, reason):
        self.tell('skip', test, reason)

    def addFailure(self, test, err):
        self.tell('fail', test, err[1])

    def addError(self, test, err):
        self.tell('fail', test, '%s: %s' % (err[0].__name__, err[1]))


def main():
    sys.path.insert(0, FOLDER)
    from args_parser import parser      # pylint: disable=import-error,import-outside-toplevel
    tests = importlib.machinery.SourceFileLoader('tests', os.path.join(FOLDER, '__init__.py')).load_module()
    parser.parse_args()
    without(unittest.defaultTestLoader.loadTestsFromModule(tests), sys.argv[1:]).run(Result())


if __name__ == '__main__':
    main()
