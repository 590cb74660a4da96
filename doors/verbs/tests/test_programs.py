#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Programs of Debian behind the door: those of programs_table.py, as the user "nobody" in a network
namespace where Linux allows it.

Usage: test_programs.py [--long] [--only GLOB] TOOLS DOOR BUILD PAGE      (TAP)
       test_programs.py --record TOOLS DOOR BUILD PAGE
BUILD has the programs of this folder. The table of PAGE must be that of the rows; --record runs all of them and writes it.
"""

import argparse
import concurrent.futures
import contextlib
import filecmp
import fnmatch
import glob
import itertools
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

# pylint: disable=wrong-import-position
import door_programs  # noqa: E402
import programs_table  # noqa: E402
from door_programs import Failed, Program, deadline, need_good, wait_until  # noqa: E402
from tool_runs import Skipped, main, need_installed  # noqa: E402

AT_ONCE = 4
MARKS = ('<!-- programs -->\n', '<!-- end -->\n')
# An interface beside lo: libfabric takes no loopback, and the link of the other one goes down.
INTERFACE, ADDRESS, WATCHED = 'near', '10.77.0.1', 'watched'
STAYS = 5       # s that a program is seen to wait

ports = itertools.count(random.randrange(20000, 30000))
locks = {row.alone: threading.Lock() for row in programs_table.ROWS}
has_interfaces = False      # pylint: disable=invalid-name


def make_interfaces():
    """Makes the two interfaces, if this test has a network namespace of its own."""
    global has_interfaces       # pylint: disable=global-statement
    for name, address in ((INTERFACE, ADDRESS + '/24'), (WATCHED, '10.78.0.1/24')):
        for words in (['link', 'add', name, 'type', 'veth', 'peer', 'name', name + 'x'], ['link', 'set', name + 'x', 'up'],
                      ['addr', 'add', address, 'dev', name], ['link', 'set', name, 'up']):
            if not door_programs.is_alone() or not door_programs.runs('ip', *words):
                return
    has_interfaces = True


class Run:
    """A run of one row, with a folder of its own."""

    def __init__(self, door, build, row):
        self.door, self.row = door, row
        self.folder = tempfile.TemporaryDirectory(prefix='test-programs-')
        self.port = row.port or next(ports)
        while not row.port and not door_programs.may_listen(self.port):
            self.port = next(ports)
        self.values = {'port': self.port, 'folder': self.folder.name, 'tests': HERE, 'build': build, 'machine': machine(),
                       'examples': os.path.join(HERE, '../../../doc/examples')}
        self.values['address'] = ADDRESS if row.address == '{interface}' else row.address
        if row.address == '{roce}':
            self.values.update(address=self.loopback(2), own=self.loopback(3))
        self.until = deadline()

    def loopback(self, last):
        """An address of the loopback that no other row has."""
        return '127.%d.%d.%d' % (64 + self.port // 256 % 128, self.port % 256, last)

    def start(self, command, server=False):
        # Processes of two users, as this test has in a namespace of its own and outside of it, cannot share what programs make in /tmp.
        env = {'TMPDIR': self.folder.name, **{name: self.fill(text) for name, text in self.row.environment.items()}}
        if self.row.address == '{roce}':
            env['ITAPI_ROCE_ADDRESS'] = self.loopback(2 if server else 3)
        env = self.door.environment(**env)
        return Program(self.door.words([self.fill(word) for word in command.split()], self.adapters()), env, cwd=self.folder.name)

    def adapters(self):
        return ['iwarp:' + INTERFACE if self.row.address == '{interface}' and name == 'iwarp' else name for name in self.row.adapters]

    def fill(self, text):
        return text.format(**self.values)

    def listens(self):
        if self.row.ready and self.row.ready.startswith('{roce}'):
            return door_programs.has_roce(self.row.ready[len('{roce}'):] or self.values['address'])
        if self.row.ready:
            return bool(glob.glob(os.path.join(self.folder.name, self.fill(self.row.ready))))
        return self.port in door_programs.bound_ports('0A')

    def client(self, command=None):
        """Runs a client, and judges what it says."""
        with self.start(command or self.row.client) as program:
            done = need_good(program.wait(self.until), program.words)
        if command is None:
            self.judge(done, self.row.says, self.row.status, 'the client')
        return done

    def judge(self, done, says, status, who):
        said = done.out + done.err
        if done.status not in status:
            raise Failed('%s: status %d: %s' % (who, done.status, said[-1500:]))
        for expression in says:
            if not re.search(expression, said):
                raise Failed('%s does not say %r: %s' % (who, expression, said[-1500:]))
        for expression in self.row.silent:
            found = re.search(expression, said)
            if found:
                raise Failed('%s says %r: %s' % (who, found.group(0), said[-1500:]))

    def go(self):
        """Both sides, as the row says."""
        check = JUDGES.get(self.row.judge)
        with locks[self.row.alone] if self.row.alone else contextlib.nullcontext():
            self.until = deadline()
            if not self.row.server:
                if check:
                    check(self)
                else:
                    self.client()
                return
            with self.start(self.row.server, server=True) as server:
                wait_until(self.listens, server, 'a listener', self.until)
                try:
                    if self.row.judge != 'waits_for_itself':
                        self.client()
                    if check:
                        check(self)
                except Failed as error:
                    raise Failed('%s\nthe server: %s' % (error, server.last_words())) from error
                done = need_good(server.stop() if self.row.stays else server.wait(self.until), server.words)
                self.judge(done, self.row.server_says, (done.status,) if self.row.stays else (0,), 'the server')

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.folder.cleanup()


# --- what no output tells ------------------------------------------------------------------------------------------


def again(run):
    """The server serves another client."""
    run.client()


def compares_the_copy(run):
    source, copy = (os.path.join(run.folder.name, name) for name in ('source', 'copy'))
    if not filecmp.cmp(source, copy, shallow=False):
        raise Failed('the copy has other octets')


def quits_dapltest(run):
    """The server ends in order."""
    run.client('dapltest -T Q -D ofa-lo -s {address}')


def watches_a_link(run):
    """A link goes down and up, and the program that watches the device sees both."""
    with run.start('stdbuf -oL ' + run.row.client) as program:
        def seen(what):
            return lambda: re.search(what, program.said()[0])
        wait_until(seen('async event FD'), program, 'the device', run.until)
        for state, event in (('down', 'IBV_EVENT_PORT_ERR '), ('up', 'IBV_EVENT_PORT_ACTIVE ')):
            subprocess.run(['ip', 'link', 'set', WATCHED, state], check=True)
            wait_until(seen(event), program, event, run.until)
        need_good(program.stop(), program.words)


def waits_for_itself(run):
    """Neither side may crash or end until its user stops it: both wait for each other."""
    with run.start(run.row.client) as program:
        time.sleep(STAYS)
        if program.ended():
            raise Failed('the client has ended: %s' % program.last_words())
        need_good(program.stop(), program.words)


JUDGES = {function.__name__: function for function in (waits_for_itself, again, compares_the_copy, quits_dapltest, watches_a_link)}


# --- rows ------------------------------------------------------------------------------------------------------------


def machine():
    """The folder of Debian's libraries."""
    said = subprocess.run(['dpkg-architecture', '-qDEB_HOST_MULTIARCH'], capture_output=True, text=True, check=False) \
        if door_programs.shutil.which('dpkg-architecture') else None
    return said.stdout.strip() if said and said.returncode == 0 else platform.machine() + '-linux-gnu'


def go(door, build, row):
    needed = [word.format(machine=machine(), build=build) for word in row.programs()]
    need_installed(door_programs.missing(needed), not row.long)
    if door.sanitizer == 'tsan' and row.no_tsan:
        raise Skipped(row.no_tsan)
    if not has_interfaces and (row.address == '{interface}' or row.judge == 'watches_a_link'):
        raise Skipped('no interface can be made here')
    try:
        go_once(door, build, row)
    except Failed as error:
        if not row.again or not re.search(row.again, str(error)):
            raise
        go_once(door, build, row)


def go_once(door, build, row):
    with Run(door, build, row) as run:
        if row.judge == 'compares_the_copy':
            with open(os.path.join(run.folder.name, 'source'), 'wb') as file:
                file.write(random.Random(run.port).randbytes(3000017))
        run.go()


def table():
    """The table of the page."""
    lines = ['| program | with | result | remark |', '|---|---|---|---|']
    for row in programs_table.ROWS:
        with_what = ', '.join(sorted({name.split(':')[0] if name.startswith('iwarp') else name for name in row.adapters}))
        lines.append('| %s | %s | %s | %s |' % (row.title.replace('|', '\\|'), with_what, row.result, row.why))
    return '\n'.join(lines) + '\n'


def page_with_table(path):
    """The text of the page, and the text with the table of these rows."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not rest or not after:
        raise Failed('%s has no place for the table' % path)
    return text, before + MARKS[0] + table() + MARKS[1] + after


def page_is_right(path):
    has, wanted = page_with_table(path)
    if has != wanted:
        raise Failed('the table of %s is not that of the programs; run test_programs.py --record' % path)


def parse(words):
    parser = argparse.ArgumentParser(prog='test_programs.py')
    parser.add_argument('--long', action='store_true', help='also the rows that take long')
    parser.add_argument('--only', default='*', help='rows whose name fits')
    parser.add_argument('--record', action='store_true', help='write the table, if every row runs and is right')
    parser.add_argument('tools')
    parser.add_argument('door')
    parser.add_argument('build')
    parser.add_argument('page')
    return parser.parse_args(words)


def run_all(words):
    arguments = parse(words)
    door_programs.enter(arguments.door, os.path.join(arguments.tools, 'it-run'), as_nobody=not arguments.record)
    make_interfaces()
    door = door_programs.Door(arguments.tools, arguments.door)
    rows = [row for row in programs_table.ROWS if fnmatch.fnmatch(row.name, arguments.only) and
            (not row.long or arguments.long or arguments.record)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(go, door, os.path.realpath(arguments.build), row) for row in rows]
        cases = [('/programs/' + row.name, future.result) for row, future in zip(rows, futures)]
        if not arguments.record:
            cases.append(('/programs/page', lambda: page_is_right(arguments.page)))
        status = main(cases)
    if arguments.record and status == 0 and not any(isinstance(future.exception(), Skipped) for future in futures):
        _, wanted = page_with_table(arguments.page)
        with open(arguments.page, 'w', encoding='utf-8') as file:
            file.write(wanted)
    return status


if __name__ == '__main__':
    sys.exit(run_all(sys.argv[1:]))
