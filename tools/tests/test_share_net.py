#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Programs of librdmacm in processes that share an address of RoCE: with each other, and with a process of another host.

Usage: test_share_net.py TOOLS KALD SOME|all IT-RUN     (TAP); SOME is a family of addresses; two programs run over it
"""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time

import tool_nets
from tool_runs import PATIENCE, Failed, Skipped, behind_door, finish, main

# Server, client; {own} is the address of the one who runs it. The server of a group receives.
PROGRAMS = {
    'rping': ('rping -s -a {own} -p 7200 -C 10 -V', 'rping -c -a {server} -p 7200 -C 10 -V'),
    'ucmatose': ('ucmatose -b {own} -p 7201 -c 5 -C 10', 'ucmatose -s {server} -p 7201 -c 5 -C 10'),
    'udaddy': ('udaddy -b {own} -c 3 -C 20', 'udaddy -s {server} -c 3 -C 20'),
    'mckey': ('mckey -m {group} -b {own} -C 5', 'mckey -m {group} -b {own} -s -C 5'),
}
# Addresses here and in the other network, and a group.
FAMILIES = {'IPv4': ('10.77.0.1', '10.77.0.2', '239.1.2.3'), 'IPv6': ('fd77::1', 'fd77::2', 'ff15::33')}


class Bench:
    """The two networks, a kald in the first one, and programs behind the door."""

    def __init__(self, tools, kald, it_run, far, folder):
        self.tools, self.it_run, self.far = tools, it_run, far
        self.socket = os.path.join(folder, 'socket')
        self.daemon = subprocess.Popen([kald, '--socket', self.socket, '--policy', '/dev/null'],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, member, words):
        env = behind_door(self.it_run, {**os.environ, 'ITAPI_KALD': self.socket if member else 'off',
                                        'ITAPI_ROCE_SHARE': 'on' if member else 'off'})
        return subprocess.Popen([*([] if member else self.far.inside), self.it_run, '-a', 'roce:near' if member else 'roce:far',
                                 *words.split()], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def wait_for_server(self, member, process, group):
        """Waits until the server listens, or has the socket of the shared address. The other
        network has one process at a time."""
        ask = [*([] if member else self.far.inside), 'ss', '-uanH', 'sport', '=', '4791']
        if member and group is None:
            ask = [os.path.join(self.tools, 'kalctl'), '-s', self.socket, 'shares']
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and process.poll() is None:
            said = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
            rows = [line.split() for line in said.splitlines()]
            if member and group is None:
                if any(row[2] == str(process.pid) and len(row) > 4 and row[4] != '0' for row in rows[1:]):
                    return
            elif group is None and rows or group is not None and group in said:
                time.sleep(0.5 if group is None else 0)     # the port is claimed before the request to listen has returned
                return
            time.sleep(0.02)
        raise Failed('the server does not listen')

    def members(self):
        done = finish(subprocess.Popen([os.path.join(self.tools, 'kalctl'), '-s', self.socket, 'shares'],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)).expect(0)
        return len(done.out.strip().splitlines()) - 1

    def run(self, program, family, server_here, client_here):
        """Runs one program with its peer; afterwards no process may be left at the address."""
        here, there, group = FAMILIES[family]
        words = {'group': group, 'server': here if server_here else there}
        sides = []
        try:
            for member, line in ((server_here, PROGRAMS[program][0]), (client_here, PROGRAMS[program][1])):
                if sides:
                    self.wait_for_server(server_here, sides[0], group if program == 'mckey' else None)
                sides.append(self.start(member, line.format(own=here if member else there, **words)))
            for side in reversed(sides):
                finish(side).expect(0)
        finally:
            for side in sides:
                if side.poll() is None:
                    side.kill()
                    side.wait()
        until = time.monotonic() + PATIENCE
        while self.members() != 0:
            if time.monotonic() > until:
                raise Failed('a member that has ended has a slot')
            time.sleep(0.02)


def judge(bench, program, family):
    if shutil.which(program) is None:
        raise Skipped(f'no {program}')
    for server_here, client_here in ((True, True), (True, False), (False, True)):
        try:
            bench.run(program, family, server_here, client_here)
        except Failed as error:
            raise Failed(f'server {"here" if server_here else "there"}, client {"here" if client_here else "there"}: {error}') from error


def everything(tools, kald, which, it_run=None):
    if it_run is None:
        tool_nets.skip('no door')
    tool_nets.enter_namespace()
    with tool_nets.Far(1500) as far, tempfile.TemporaryDirectory(prefix='share.') as folder:
        bench = Bench(tools, kald, it_run, far, folder)
        try:
            return main([(f'{program}, {family}', functools.partial(judge, bench, program, family))
                         for family in FAMILIES if which in (family, 'all')
                         for program in PROGRAMS if which == 'all' or program in ('rping', 'mckey')])
        finally:
            bench.daemon.kill()
            bench.daemon.wait()


if __name__ == '__main__':
    sys.exit(everything(*sys.argv[1:]))
