#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Processes of one user at one address of RoCE, through a kald that is killed and started again.

Usage: test_share.py TOOLS KALD [IT-RUN]      (TAP)
"""

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tool_runs import PATIENCE, Done, Failed, Server, Skipped, behind_door, finish, main, run

# Tests that run at the same time have other addresses.
ADDRESS = f'127.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}.7'


class Kald:
    """A kald that may be killed and started again in its place."""

    def __init__(self, kald):
        self.kald = kald
        self.folder = tempfile.TemporaryDirectory(prefix='share.')
        self.socket = os.path.join(self.folder.name, 'socket')
        self.environment = {**os.environ, 'ITAPI_KALD': self.socket, 'ITAPI_ROCE_SHARE': 'on', 'ITAPI_ROCE_ADDRESS': ADDRESS}
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.kald, '--socket', self.socket, '--policy', '/dev/null'],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def members(self, tools, count):
        """Waits until `count` processes share the address, and returns their slots by pid."""
        until = time.monotonic() + 20
        while True:
            done = finish(subprocess.Popen([os.path.join(tools, 'kalctl'), '-s', self.socket, 'shares'],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            rows = [line.split() for line in done.out.splitlines()[1:]]
            if done.status == 0 and len(rows) == count:
                if {row[0] for row in rows} != {ADDRESS}:
                    raise Failed(done.out)
                return {int(row[2]): int(row[1]) for row in rows}
            if time.monotonic() > until:
                raise Failed(f'not {count} members: {done.status} {done.out}{done.err}')
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.kill()
        self.folder.cleanup()


def ping(tools, port, environment, *more):
    return run(tools, 'it-ping', '-a', 'roce:lo', '-p', port, '-C', '200', '-S', '5000', *more, ADDRESS, env=environment)


def shared(tools, kald):
    """Four processes share the address. kald is killed, and a connection is made without it; one
    process is killed; a new kald continues."""
    with Kald(kald) as daemon:
        env = daemon.environment
        stranger = {**env, 'ITAPI_KALD': 'off', 'ITAPI_ROCE_SHARE': 'off', 'ITAPI_ROCE_ADDRESS': ''}
        with Server(tools, 'it-ping', '-P', '-a', 'roce:lo', env=env) as one, \
                Server(tools, 'it-ping', '-P', '-a', 'roce:lo', env=env) as two, \
                Server(tools, 'it-ping', '-P', '-a', 'roce:lo', env=env) as three:
            slots = daemon.members(tools, 3)
            if set(slots) != {s.process.pid for s in (one, two, three)} or len(set(slots.values())) != 3:
                raise Failed(f'slots {slots}')
            # A fourth process of the address, and one with an address of its own.
            for server in (one, two, three):
                ping(tools, server.port, env).expect(0, '200 round trips')
                ping(tools, server.port, stranger).expect(0, '200 round trips')
            run(tools, 'it-ping', '-a', 'roce:lo', '-p', two.port, '-C', '1', ADDRESS,
                env={**env, 'ITAPI_KALD': 'off', 'ITAPI_ROCE_SHARE': 'off'}).expect(1, 'UDP port 4791 of ' + ADDRESS + ' has ')
            long = subprocess.Popen([os.path.join(tools, 'it-ping'), '-a', 'roce:lo', '-p', one.port, ADDRESS],
                                    env=stranger, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.3)
            daemon.kill()
            # New connections to known listeners, and one that goes on, without kald.
            for server in (one, two, three):
                ping(tools, server.port, stranger).expect(0, '200 round trips')
            daemon.start()
            if daemon.members(tools, 3) != slots:
                raise Failed('other slots after the restart')
            ping(tools, three.port, env).expect(0, '200 round trips')
            two.process.kill()
            two.process.wait(PATIENCE)
            if two.process.pid in daemon.members(tools, 2):
                raise Failed('the dead one has a slot')
            ping(tools, one.port, env).expect(0, '200 round trips')
            ping(tools, three.port, stranger).expect(0, '200 round trips')
            ping(tools, two.port, stranger).expect(1, 'nobody listens there')
            long.send_signal(signal.SIGINT)
            out, err = long.communicate(timeout=PATIENCE)
            Done(long.returncode, out, err).expect(130, 'round trips')
            with Server(tools, 'it-ping', '-P', '-a', 'roce:lo', env=env) as four:
                ping(tools, four.port, stranger).expect(0, '200 round trips')


def by_attributes(it_run, kald):
    """Two pairs of ibv_rc_pingpong, which exchange queue pair numbers over TCP; all four processes
    share the address."""
    if it_run is None or shutil.which('ibv_rc_pingpong') is None:
        raise Skipped('no door, or no ibv_rc_pingpong')
    with Kald(kald) as daemon:
        runs = []
        for port in (18800 + os.getpid() % 500 * 2, 18801 + os.getpid() % 500 * 2):
            words = [it_run, '-a', 'roce:lo', 'ibv_rc_pingpong', '-g', '0', '-n', '300', '-s', '9000', '-p', str(port)]
            keywords = {'env': behind_door(it_run, daemon.environment), 'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE,
                        'stderr': subprocess.PIPE, 'text': True}
            runs.append(subprocess.Popen(words, **keywords))
            time.sleep(0.5)
            runs.append(subprocess.Popen([*words, '127.0.0.1'], **keywords))
        for one in runs:
            finish(one).expect(0, 'iters')


if __name__ == '__main__':
    tool_folder, daemon_path = sys.argv[1:3]
    door = sys.argv[3] if len(sys.argv) > 3 else None
    cases = [('four processes, a restart, a death', functools.partial(shared, tool_folder, daemon_path)),
             ('queue pairs by attributes', functools.partial(by_attributes, door, daemon_path))]
    sys.exit(main(cases))
