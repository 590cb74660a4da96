# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs rdma-core's tests in one process, and prints a line when a test begins and when it ends.

Usage: pyverbs_run.py FOLDER --dev DEVICE [NAME]...      (the folder of the tests, and tests that are left out)
"""

import errno
import importlib
import importlib.machinery
import multiprocessing.process
import os
import sys
import time
import unittest

FOLDER = sys.argv.pop(1)
ARRIVES = 60        # s that data may be under way
ENDS = 10           # s that a child has to end once its test is over


# --- processes of a test -----------------------------------------------------------------------------------------


class Children:
    """The processes that tests start. rdma-core's tests take a child that was ended by a signal for
    a successful one; so this checks them."""

    def __init__(self):
        self.started, self.stopped = [], []
        process = multiprocessing.process.BaseProcess
        self.start, self.terminate = process.start, process.terminate
        process.start, process.terminate = lambda child: self.starts(child), lambda child: self.stops(child)

    def starts(self, child):
        self.start(child)
        self.started.append(child)

    def stops(self, child):
        self.stopped.append(child)
        self.terminate(child)

    def trouble(self):
        """The children that did not end by themselves, as a text; the list of children is cleared."""
        said = []
        for child in self.started:
            child.join(ENDS)
            if child.exitcode is None:
                child.kill()
                said.append('%s does not end' % child.name)
            elif child.exitcode < 0 and child not in self.stopped:
                said.append('signal %d ended %s' % (-child.exitcode, child.name))
        self.started, self.stopped = [], []
        return ', '.join(said)


def say_exception(passive, exception):
    """Replaces the handler of rdma-core's tests for an exception in a child: it prints the
    exception's name, too, because some have no text."""
    if isinstance(exception, unittest.case.SkipTest):
        sys.exit(5)
    print('Player %s got: %s: %s' % ('passive' if passive else 'active', type(exception).__name__, exception), flush=True)
    sys.exit(2)


# --- data under way ----------------------------------------------------------------------------------------------


class Arrival:
    """A barrier that also waits until the data that the other side has written are in memory, for a
    limited time."""

    def __init__(self, barrier, mr, size):
        self.barrier, self.mr, self.size, self.waits = barrier, mr, size, 0

    def wait(self):
        self.barrier.wait()
        self.waits += 1
        until = time.monotonic() + ARRIVES
        while self.waits == 2 and self.mr.read(self.size, 0) != b'c' * self.size and time.monotonic() < until:
            time.sleep(0.01)


def wait_for_writes():
    """Makes a test wait for written data: on iWARP a Write completes when its data have left, and
    the test reads the peer's memory at once."""
    connection = importlib.import_module('tests.rdmacm_utils').CMConnection
    run = connection.remote_traffic

    def remote_traffic(self, passive, remote_op='write'):
        if passive and remote_op == 'write':
            self.syncer = Arrival(self.syncer, self.cm_res.mr, self.cm_res.msg_size)
        return run(self, passive, remote_op)

    connection.remote_traffic = remote_traffic


# --- results -----------------------------------------------------------------------------------------------------


def name_of(test):
    return (test.id() if hasattr(test, 'id') else str(test)).removeprefix('tests.')


def without(tests, names):
    """A suite with the tests of another one, except those with these names."""
    suite = unittest.TestSuite()
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            suite.addTest(without(test, names))
        elif name_of(test) not in names:
            suite.addTest(test)
    return suite


class Result(unittest.TestResult):
    """One line each: what, the name, why."""

    def __init__(self, children):
        super().__init__()
        self.children = children

    def tell(self, what, test, why=''):
        trouble = self.children.trouble()
        if trouble:
            what, why = 'crash', '%s; %s: %s' % (trouble, what, why)
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
        refused = err[0].__name__ == 'PyverbsRDMAError' and err[1].error_code == errno.EOPNOTSUPP
        self.tell('refuse' if refused else 'fail', test, '%s: %s' % (err[0].__name__, err[1]))


def main():
    sys.path.insert(0, FOLDER)
    from args_parser import parser      # pylint: disable=import-error,import-outside-toplevel
    tests = importlib.machinery.SourceFileLoader('tests', os.path.join(FOLDER, '__init__.py')).load_module()
    importlib.import_module('tests.base').RDMACMBaseTest._rdmacm_exception_handler = staticmethod(say_exception)
    wait_for_writes()
    parser.parse_args()
    without(unittest.defaultTestLoader.loadTestsFromModule(tests), sys.argv[1:]).run(Result(Children()))


if __name__ == '__main__':
    main()
