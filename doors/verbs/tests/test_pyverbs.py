#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""rdma-core's own tests behind the door; the result of each is compared with the expected one on
each adapter.

Each result that is not expected is a failure, in both directions: if a test passes that was
expected to fail, its line in the list must be changed. Each line with a result other than a pass
gives the reason.

Usage: test_pyverbs.py TOOLS DOOR EXPECTED KALD ADAPTER      (TAP)
       test_pyverbs.py --show TOOLS DOOR EXPECTED KALD ADAPTER      (prints each result, and judges none)
Some tests of rdma_cm have a process for each side. Both use the one address of the device, so on
roce a kald lets them share it.
"""

import contextlib
import fnmatch
import gzip
import os
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import door_programs  # noqa: E402
from door_programs import Door, Program  # noqa: E402
from tool_runs import Failed, main  # noqa: E402

TESTS = '/usr/share/doc/rdma-core/tests'
PYTHON = '/usr/bin/python3'     # the one for which Debian's pyverbs was compiled
INTERFACE, ADDRESS = 'near', '10.77.0.1/24'
LINE = re.compile(r'(pass|skip|fail|refuse|either|left) +(\S+)(?: +"(.+)")?(?: +# (.+))?$')     # "left": left out, not run


def skip(why):
    print('1..0 # SKIP ' + why)
    sys.exit(0)


class Expected:
    """The expected results on an adapter. A line with the name of a test takes precedence over a
    line with a pattern."""

    def __init__(self, path, adapter):
        self.names, self.patterns = {}, []      # each with its result and the reason
        self.says = {}                          # what a test says that fails
        part = None
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip('\n')
                if re.fullmatch(r'\[.*\]', line):
                    part = line[1:-1].split(', ')
                elif line and not line.startswith('#') and part and (adapter in part or 'all' in part):
                    self.enter(line, '%s:%d' % (path, number))

    def enter(self, line, where):
        match = LINE.fullmatch(line)
        if not match:
            raise SystemExit('%s: no line of the list: %s' % (where, line))
        result, name, says, reason = match.groups()
        if result != 'pass' and not reason:
            raise SystemExit('%s: %s needs a reason' % (where, name))
        if says and result != 'fail':
            raise SystemExit('%s: %s: what the test says is for one that fails' % (where, name))
        self.says[name] = says
        if '*' in name:
            self.patterns.append((name, (result, reason)))
        elif name in self.names:
            raise SystemExit('%s: %s is there twice' % (where, name))
        else:
            self.names[name] = (result, reason)

    def line_of(self, name):
        """The expected result and its reason; (None, None) if the list does not have the test."""
        if name in self.names:
            return self.names[name]
        return next((line for pattern, line in self.patterns if fnmatch.fnmatchcase(name, pattern)), (None, None))

    def of(self, name):
        """The result alone."""
        return self.line_of(name)[0]


def unpack(folder):
    """Copies the tests into a folder, and unpacks the larger ones, which the package has
    compressed."""
    for name in os.listdir(TESTS):
        source, target = os.path.join(TESTS, name), os.path.join(folder, name.removesuffix('.gz'))
        if name.endswith('.gz'):
            with gzip.open(source, 'rb') as packed, open(target, 'wb') as file:
                shutil.copyfileobj(packed, file)
        elif name.endswith('.py'):
            shutil.copy(source, target)


def make_interface():
    """Makes an interface with an address, for tests of rdma_cm; returns its name, or "lo" if none
    can be made."""
    for words in (['link', 'add', INTERFACE, 'type', 'veth', 'peer', 'name', INTERFACE + 'x'], ['link', 'set', INTERFACE + 'x', 'up'],
                  ['addr', 'add', ADDRESS, 'dev', INTERFACE], ['link', 'set', INTERFACE, 'up']):
        if not door_programs.is_alone() or not door_programs.runs('ip', *words):
            return 'lo'
    return INTERFACE


class Results:
    """The result of each test of a run, read from its output."""

    def __init__(self, command, done):
        self.of = {}        # name: (result, why)
        self.order = []
        self.ended = done.status == 0
        self.trouble = door_programs.TROUBLE.search(done.err)
        self.err = done.err
        begun, said = None, []
        for line in done.out.splitlines():
            words = line.split('\t')
            if len(words) == 3 and words[0] == 'begin':
                begun, said = words[1], []
            elif len(words) == 3:
                self.of[words[1]] = (words[0], ' | '.join([words[2], *said]))
                self.order.append(words[1])
                begun = None
            else:
                said.append(line)
        if begun is not None:
            self.of[begun] = ('crash', 'the process ended with status %d in it: %s' % (done.status, done.err[-1000:]))
            self.order.append(begun)
        elif not self.ended:
            self.err = '%s: status %d: %s' % (' '.join(command), done.status, done.err[-2000:])


def wait_for_end(program):
    """Waits for the end of the run. There is no limit for the whole, since a sanitizer makes it
    slow, but one for each single test."""
    said, until = 0, door_programs.deadline()
    while not program.ended():
        time.sleep(0.05)
        length = os.path.getsize(program.files[0].name)
        if length > said:
            said, until = length, door_programs.deadline()
        elif time.monotonic() > until:
            program.end()


@contextlib.contextmanager
def sharing(kald, adapter, folder):
    """Yields further variables for the tests, if their processes must share an address."""
    if not adapter.startswith('roce'):
        yield {}
        return
    socket = os.path.join(folder, 'kald')
    with Program([kald, '--socket', socket, '--policy', '/dev/null'], dict(os.environ)) as daemon:
        door_programs.wait_until(lambda: os.path.exists(socket), daemon, 'the socket of kald', door_programs.deadline())
        yield {'ITAPI_KALD': socket, 'ITAPI_ROCE_SHARE': 'on'}
        daemon.stop()


def run_tests(door, kald, adapter):
    interface = make_interface()
    name = adapter if ':' in adapter else adapter + ':' + interface
    device = 'it_' + name.replace(':', '_')
    with tempfile.TemporaryDirectory(prefix='test-pyverbs-') as folder:
        tests = os.path.join(folder, 'tests')
        os.mkdir(tests)
        unpack(tests)
        here = os.path.dirname(os.path.abspath(__file__))
        words = door.words([PYTHON, '-B', os.path.join(here, 'pyverbs_run.py'), tests, '--dev', device], [name])
        with sharing(kald, adapter, folder) as more, Program(words, door.environment(ITAPI_LOG='none', TMPDIR=folder, **more)) as program:
            wait_for_end(program)
            return Results(words, program.done())


def fits(result, wanted):
    return result == wanted or (wanted == 'either' and result in ('pass', 'skip'))


def judge(results, expected, name):
    result, why = results.of[name]
    wanted = expected.of(name)
    if wanted is None:
        raise Failed('the list has no line for it: %s (%s)' % (result, why))
    if not fits(result, wanted):
        raise Failed('%s instead of %s: %s' % (result, wanted, why))
    says = expected.says.get(name)
    if says and not re.search(says, why):
        raise Failed('it does not say "%s": %s' % (says, why))


def judge_all(results, expected):
    """The process ended by itself, and each test in the list has run."""
    if not results.ended or results.trouble:
        raise Failed(results.err)
    missing = [name for name in expected.names if name not in results.of]
    if missing or len(results.of) < 200:
        raise Failed('of %d tests, these did not run: %s' % (len(results.of), missing))


def go(words):
    show = words[0] == '--show'
    tools, door_path, expected_path, kald, adapter = words[show:]
    if not os.path.exists(TESTS) or not door_programs.runs(PYTHON, '-c', 'import pyverbs.device'):
        skip('not installed: python3-pyverbs')
    door_programs.enter(door_path, os.path.join(tools, 'it-run'))
    door = Door(tools, door_path)
    expected = Expected(expected_path, adapter)
    results = run_tests(door, kald, adapter)
    if show:
        for name in results.order:
            print('%s %s  # %s' % (results.of[name][0], name, results.of[name][1]))
        print(results.err[-3000:])
        return 0
    cases = [('/pyverbs/%s/%s' % (adapter, name), lambda name=name: judge(results, expected, name)) for name in results.order]
    cases.append(('/pyverbs/%s' % adapter, lambda: judge_all(results, expected)))
    return main(cases)


if __name__ == '__main__':
    sys.exit(go(sys.argv[1:]))
