# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs Debian's programs behind the verbs door (doors/verbs) for the cases of the lab.

A row of doors/verbs/tests/programs_table.py says how both sides of a program are started and
what they print. Here one side runs behind the door and the other over the kernel's siw, or both
run in the guest over the same of the two.
"""

import contextlib
import dataclasses
import os
import re
import sys

from lab_case import Failed, Skipped

DOORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../doors/verbs/tests')
sys.path.append(DOORS)

import door_programs            # noqa: E402
import programs_table           # noqa: E402

DIFFERS = programs_table.DIFFERS
MACHINE = 'x86_64-linux-gnu'        # of the host and the guest: there are no others
REFUSED = 'ERRNO: Connection refused'       # what a client of perftest says over siw in the case of its row's `again`
COPIED = 3000017                    # octets of a file that is copied
# The server of perftest frees its queue pair when it has sent its last message. If the connection
# ends before siw has completed the client's last Send, siw fails that Send, although the server
# has received it.
LATE_RESET = re.compile(r'Bad wc status 2\n Unable to write to socket/rdma_cm\n'
                        r'Failed to close connection between server and client\n Trying to close this side resources\n')


def behind_door(bench, command, adapter='iwarp'):
    """The words that run a command behind the door."""
    return [bench.tool('it-run'), '--adapter', adapter, '--', *command]


def in_lab(row):
    """The row as the lab runs it: less data, since the guest is slow, and no more output than a case keeps.

    siw drops data in transit when a process ends, so the last transfer of rstream's server is
    small, too.
    """
    def words(text):
        for long, short in (('-n 500', '-n 50'), ('-I 10', '-I 1'), ('-S 65536 -C 50', '-S 4096 -C 50'), ('-V -v', '-V')):
            text = text.replace(long, short)
        return text
    says = tuple(text.replace('+10 ', '+1 ').replace('64k ', '4k ') for text in row.says)
    return dataclasses.replace(row, name=row.name.replace('n-500', 'n-50'), title=words(row.title), client=words(row.client),
                               server=words(row.server), says=() if row.name.startswith('rping') else says)


# Programs that cannot run over siw in the guest: siw has no atomic operations, and DAPL has no
# device for it. qperf needs an extra library (guest.md), sizes up to 8 MiB take too long, and
# fio's client sends before a slow server has posted a receive.
NOT_OVER_SIW = re.compile(r'ib_atomic|d(apl)?test|qperf|fio-send|.*-a$')
ROWS = {row.name: row for row in map(in_lab, programs_table.ROWS)
        if row.server and row.adapters[0].startswith('iwarp') and row.result != programs_table.REFUSED and not NOT_OVER_SIW.match(row.name)}


class Pair:
    """A program of the table as server on one side and client on the other; `wrap` gives the words of a side's command."""

    def __init__(self, bench, row, server, client, wrap):
        self.bench, self.row, self.server, self.client, self.wrap = bench, row, server, client, wrap
        self.folder = f'/tmp/lab-doors-{os.getpid()}-{bench.port}'
        self.values = {'address': bench.address(server, 6 if row.address == programs_table.LOOPBACK6 else 4),
                       'folder': self.folder, 'machine': MACHINE, 'tests': DOORS}
        self.environment = {name: self.fill(text, bench.port) for name, text in row.environment.items()}

    def fill(self, text, port):
        return text.format(**self.values, port=port)

    def words(self, side, command):
        return self.wrap(side, [self.fill(word, self.bench.port) for word in command.split()])

    def run(self):
        """Runs both programs to their ends, and makes the further check that the row asks for;
        returns what the client printed."""
        absent = door_programs.missing([word.format(**self.values) for word in self.row.programs()])
        if absent:
            raise Skipped(f'not installed: {", ".join(absent)}')
        if self.row.judge == 'compares_the_copy':
            return self.copy()
        return self.run_again()

    def run_again(self):
        """Runs both programs to their ends, a second time if the row allows that; returns what the
        client printed."""
        until = self.bench.until
        try:
            return self.run_once()
        except Failed as failure:
            if not self.row.again or not re.search(f'{self.row.again}|{REFUSED}', str(failure)):
                raise
            self.bench.until = until        # a pair that failed has little time left
            self.bench.port += 1
            return self.run_once()

    def run_once(self):
        bench, row = self.bench, self.row
        server, client = self.words(self.server, row.server), self.words(self.client, row.client)
        if row.stays:
            job = bench.server(self.server, server, bench.port, self.environment)
            client_said = bench.run(self.client, client, env=self.environment)
            if row.judge == 'again':
                bench.run(self.client, client, env=self.environment)
            server_said = self.server.says(job)
        else:
            server_said, client_said = bench.pair((self.server, server), (self.client, client), bench.port, env=self.environment,
                                                  their_env=self.environment)
        judge(row, server_said, LATE_RESET.sub('', client_said))
        return client_said

    def copy(self):
        """Runs a program that copies a file from its client to its server, and compares the two
        files."""
        bench, sums = self.bench, []
        with self.folders():
            bench.run(self.client, ['sh', '-c', f'head -c {COPIED} /dev/urandom >{self.folder}/source'])
            said = self.run_again()
            for side, name in ((self.client, 'source'), (self.server, 'copy')):
                sums.append(bench.run(side, ['sha256sum', f'{self.folder}/{name}']).split()[0])
        if sums[0] != sums[1]:
            raise Failed(f'the copy has other octets: {sums}')
        return said

    @contextlib.contextmanager
    def folders(self):
        sides = (self.client, self.server)
        for side in sides:
            self.bench.run(side, ['mkdir', '-p', self.folder])
        try:
            yield
        finally:
            for side in sides:
                side.poll(side.start(['rm', '-rf', self.folder]), 10)


def judge(row, server_said, client_said):
    """Checks that both sides have printed what the row requires."""
    for words, said, whose in ((row.says, client_said, 'client'), (row.server_says, server_said, 'server')):
        for expression in words:
            if not re.search(expression, said):
                raise Failed(f'the {whose} does not say {expression!r}:\n{said}')
    for expression in row.silent:
        for said in (server_said, client_said):
            if re.search(expression, said):
                raise Failed(f'it says {expression!r}:\n{said}')
