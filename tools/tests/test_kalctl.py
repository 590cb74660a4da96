#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""kalctl with a kald, whose clients are the tools.

Usage: test_kalctl.py TOOLS KALD      (TAP)
"""

import functools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tool_runs import PATIENCE, Failed, Server, finish, main, run


class Daemon:
    """A kald with its own socket and rules; `with` ends it."""

    def __init__(self, kald, policy=''):
        self.folder = tempfile.TemporaryDirectory(prefix='kalctl.')
        self.socket = os.path.join(self.folder.name, 'socket')
        self.policy = os.path.join(self.folder.name, 'kald.conf')
        with open(self.policy, 'w', encoding='ascii') as file:
            file.write(policy)
        self.process = subprocess.Popen([kald, '--socket', self.socket, '--policy', self.policy],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.environment = {**os.environ, 'ITAPI_KALD': self.socket}
        until = time.monotonic() + PATIENCE
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > until:
                raise Failed('kald does not serve')
            time.sleep(0.01)

    def listens(self):
        """Whether it listens; its socket has a name before it does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            return client.connect_ex(self.socket) == 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        if self.process.wait(PATIENCE) != 0:
            raise Failed(f'kald ended with {self.process.returncode}')
        self.folder.cleanup()


def kalctl(tools, daemon, *arguments):
    return finish(subprocess.Popen([os.path.join(tools, 'kalctl'), *arguments], env=daemon.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def processes(tools, daemon):
    return kalctl(tools, daemon, '--json', 'list').expect(0).json()['processes']


PASS = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ['LISTEN_PID'] = str(os.getpid() + int(sys.argv[2]))
os.execv(sys.argv[3], sys.argv[3:])
"""


class Activated(Daemon):
    """A kald that is started as systemd starts it: with its listening socket, and with a socket for
    its notifications. `other`: the socket is meant for another process; `count`: the number of
    sockets."""

    def __init__(self, kald, other=0, count=1):
        self.folder = tempfile.TemporaryDirectory(prefix='kalctl.')
        self.passed, self.socket, told = (os.path.join(self.folder.name, name) for name in ('passed', 'socket', 'told'))
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(told)
        self.told.settimeout(min(PATIENCE, 20))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.passed)
            listener.listen()
            self.early = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.early.settimeout(0.5)
            self.early.connect(self.passed)
            self.process = subprocess.Popen([sys.executable, '-c', PASS, str(listener.fileno()), str(other), kald, '--socket', self.socket],
                                            pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            env={**os.environ, 'LISTEN_FDS': str(count), 'NOTIFY_SOCKET': told})
        if self.told.recv(100) != b'READY=1':
            raise Failed('it does not say that it is ready')
        self.environment = {**os.environ, 'ITAPI_KALD': self.passed}

    def __exit__(self, *unused):
        self.process.terminate()
        if self.process.wait(PATIENCE) != 0 or self.told.recv(100) != b'STOPPING=1':
            raise Failed(f'kald ended with {self.process.returncode}, or does not say that it ends')
        self.told.close()
        self.early.close()
        self.folder.cleanup()


def activated(tools, kald):
    """kald serves the socket that systemd passes, also for clients that connected before it ran,
    and does not remove its name."""
    with Activated(kald) as daemon:
        if processes(tools, daemon) or os.path.exists(daemon.socket):
            raise Failed('the list is not empty, or it has made a socket of its own')
        daemon.early.send(b'no first message')
        if daemon.early.recv(100) != b'':
            raise Failed('a client that connected before is not served')
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(PATIENCE)
        if not os.path.exists(daemon.passed):
            raise Failed('it has removed a socket that is not its own')
    for words in ({'other': 1}, {'count': 2}):
        with Activated(kald, **words) as daemon:
            if not os.path.exists(daemon.socket):
                raise Failed('it takes a descriptor that is not meant for it: %s' % words)
            daemon.environment['ITAPI_KALD'] = daemon.socket
            if processes(tools, daemon):
                raise Failed('the list is not empty')


def shown(tools, kald):
    """A server is in the list with its port, adapter and objects, and gone after its end."""
    with Daemon(kald) as daemon:
        if processes(tools, daemon):
            raise Failed('the list is not empty')
        with Server(tools, 'it-ping', '-P', '-a', 'iwarp:lo', env=daemon.environment) as server:
            run(tools, 'it-ping', '-p', server.port, '-a', 'iwarp:lo', '-C', '2', '127.0.0.1', env=daemon.environment).expect(0)
            one, = [entry for entry in processes(tools, daemon) if entry['pid'] == server.process.pid]
            wanted = {'command': 'it-ping', 'adapters': ['iwarp:lo'], 'ports': [int(server.port)], 'answers': True,
                      'stopped': False, 'uid': os.getuid()}
            if {name: one[name] for name in wanted} != wanted:
                raise Failed(f'the entry is {one}')
            if one['used']['listen'] != 1 or not 1 <= one['used']['rnic'] <= one['lent']['rnic']:
                raise Failed(f'used is {one["used"]}, lent is {one["lent"]}')
            kalctl(tools, daemon, 'list').expect(0, 'it-ping', server.port, 'iwarp:lo')
            kalctl(tools, daemon, 'show', str(server.process.pid)).expect(0, f'process {server.process.pid}, it-ping', 'in use')
            limits = kalctl(tools, daemon, '--json', 'limits').expect(0).json()
            if limits['id'] != os.getuid() or limits['lent'] != one['lent'] or limits['limits']['qp'] != 'unlimited':
                raise Failed(f'the limits are {limits}')
            kalctl(tools, daemon, 'limits', 'root').expect(0, 'user 0')
        until = time.monotonic() + PATIENCE
        while processes(tools, daemon):
            if time.monotonic() > until:
                raise Failed('it is in the list after its end')


def objects_of(report, pid):
    """The objects that a report of kalctl or it-info shows for a process, by serial number."""
    one, = [entry for entry in report['processes'] if entry['pid'] == pid]
    return sorted(one['objects'], key=lambda each: each['serial'])


def without_counters(objects):
    return [{name: value for name, value in each.items() if name != 'counters'} for each in objects]


def agrees(tools, kald):
    """kalctl and it-info --live show the same connections, peers and states, and counters that
    never decrease."""
    with Daemon(kald) as daemon:
        with Server(tools, 'it-ping', '-P', '-a', 'iwarp:lo', env=daemon.environment) as server:
            client = subprocess.Popen([os.path.join(tools, 'it-ping'), '-p', server.port, '-a', 'iwarp:lo', '-C', '0', '127.0.0.1'],
                                      env=daemon.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                for pid in (server.process.pid, client.pid):
                    until = time.monotonic() + PATIENCE
                    up, sends = [], 0
                    while not up or sends == 0:
                        if time.monotonic() > until:
                            raise Failed('there is no connection with traffic')
                        live = run(tools, 'it-info', '--live', 'all', '--json').expect(0).json()
                        if pid in [entry['pid'] for entry in live['processes']]:
                            up = [each for each in objects_of(live, pid) if each.get('state') == 'UP']
                            sends = sum(each['counters'].get('sends', 0) for each in objects_of(live, pid))
                    first = objects_of(run(tools, 'it-info', '--live', str(pid), '--json').expect(0).json(), pid)
                    middle = objects_of(kalctl(tools, daemon, '--json', 'list').expect(0).json(), pid)
                    last = objects_of(run(tools, 'it-info', '--live', str(pid), '--json').expect(0).json(), pid)
                    if not without_counters(first) == without_counters(middle) == without_counters(last):
                        raise Failed(f'{first} and {middle} differ')
                    for one, two, three in zip(first, middle, last):
                        for name in one['counters']:
                            if not one['counters'][name] <= two['counters'][name] <= three['counters'][name]:
                                raise Failed(f'{name}: {one}, {two}, {three}')
                    if not up[0]['peer'] or not any(each['counters'].get('sends', 0) > 0 for each in middle):
                        raise Failed(f'the connection is {up}')
                    kalctl(tools, daemon, 'show', str(pid)).expect(0, 'UP', up[0]['peer'], 'sends')
                one, = [entry for entry in processes(tools, daemon) if entry['pid'] == client.pid]
                endpoints = [each for each in one['objects'] if each['kind'] == 'endpoint']
                if one['used']['qp'] != len(endpoints) or not one['shown']:
                    raise Failed(f'{one["used"]} but {endpoints}')
            finally:
                client.send_signal(signal.SIGINT)
                client.wait(PATIENCE)


def unseen(tools, kald):
    """Tests a process with ITAPI_LIVE=off, invalid command lines, and the line of ITAPI_STATS at
    the end."""
    del kald
    with tempfile.TemporaryDirectory(prefix='live.') as folder:
        stats = os.path.join(folder, 'stats')
        with Server(tools, 'it-ping', '-a', 'iwarp:lo', env={**os.environ, 'ITAPI_LIVE': 'off', 'ITAPI_STATS': stats}) as server:
            run(tools, 'it-info', '--live', str(server.process.pid)).expect(1, 'ITAPI_LIVE=off')
            run(tools, 'it-ping', '-p', server.port, '-a', 'iwarp:lo', '-C', '3', '127.0.0.1',
                env={**os.environ, 'ITAPI_STATS': stats}).expect(0)
            server.done().expect(0)
        with open(stats, encoding='ascii') as file:
            lines = [json.loads(line) for line in file]
        if len(lines) != 2 or any(line['adapters'][0]['posts']['send'] < 3 for line in lines):
            raise Failed(f'the lines are {lines}')
        link = os.path.join(folder, 'link')
        os.symlink(stats, link)
        run(tools, 'it-ping', '--self', '-a', 'emul:ib', '-C', '1', env={**os.environ, 'ITAPI_STATS': link}).expect(
            0, 'ITAPI_STATS: nothing is written to', 'it is a symbolic link')
    for words in (['--live', 'x'], ['--live', '0'], ['--live', 'all', '-a', 'iwarp'], ['-i', '1'], ['--live', 'all', '-i', 'x']):
        run(tools, 'it-info', *words).expect(2)
    run(tools, 'it-info', '--live', '4194305').expect(1, 'there is no process')
    watcher = subprocess.Popen([os.path.join(tools, 'it-info'), '--live', 'all', '-i', '50ms', '--json'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It shows all processes of the host; one that is slow to answer delays the next round.
    out, until = '', time.monotonic() + PATIENCE
    while out.count('"processes"') < 2 and time.monotonic() < until:
        out += watcher.stdout.readline()
    watcher.send_signal(signal.SIGINT)
    rest, err = watcher.communicate(timeout=PATIENCE)
    out += rest
    if watcher.returncode != 0 or out.count('"processes"') < 2:
        raise Failed(f'--interval: {watcher.returncode}: {out}{err}')


def refused(tools, kald):
    """The message of a refused application names the daemon and the rule, and `kalctl watch`
    reports the refusal."""
    with Daemon(kald, '[limits.user]\nqp = 0\n[policy]\nadapters = emul:*\n') as daemon:
        watcher = subprocess.Popen([os.path.join(tools, 'kalctl'), 'watch'], env=daemon.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(0.2)
            run(tools, 'it-info', '-a', 'iwarp', env=daemon.environment).expect(
                1, f'kald at {daemon.socket} refuses: [policy] adapters = emul:* ({daemon.policy}:4)')
            run(tools, 'it-ping', '--self', '-a', 'emul:ib', env=daemon.environment).expect(
                1, f'kald at {daemon.socket} refuses: [limits.user] qp = 0 ({daemon.policy}:2)')
            seen = [watcher.stdout.readline() for _ in range(2)]
        finally:
            watcher.send_signal(signal.SIGINT)
            watcher.communicate(timeout=PATIENCE)
        if not seen[0].startswith('joined ') or 'refused' not in seen[1] or 'adapters = emul:*' not in seen[1]:
            raise Failed(f'seen was {seen}')
        if watcher.returncode != 128 + signal.SIGINT:
            raise Failed(f'kalctl watch ended with {watcher.returncode}')


def stopped(tools, kald):
    """By port with SIGTERM; frozen without."""
    with Daemon(kald) as daemon:
        with Server(tools, 'it-ping', '-P', '-a', 'iwarp:lo', env=daemon.environment) as server:
            kalctl(tools, daemon, '--freeze', 'stop', str(server.process.pid)).expect(0, 'gets nothing more')
            one, = processes(tools, daemon)
            if not one['stopped'] or server.process.poll() is not None:
                raise Failed('it is not frozen')
            kalctl(tools, daemon, 'stop', f':{server.port}').expect(0, 'SIGTERM')
            server.done().expect(0)
        kalctl(tools, daemon, 'stop', '1').expect(1, 'there is no such process')


def sums_agree(tools, daemon, pids):
    """The list has only these processes, and the account of the user equals their sum, at least at
    one moment."""
    for _ in range(200):
        before = processes(tools, daemon)
        user = kalctl(tools, daemon, '--json', 'limits').expect(0).json()
        sums = {name: sum(one['lent'][name] for one in before) for name in user['lent']}
        if {one['pid'] for one in before} <= pids and sums == user['lent'] and user['processes'] == len(before):
            return
    raise Failed(f'processes {pids}: the list is {before}, the user has {user}')


def killed(tools, kald):
    """Processes are killed at random moments, also while they start; the sums must agree after
    each."""
    chance = random.Random(1)
    with Daemon(kald) as daemon:

        def begin():
            return subprocess.Popen([os.path.join(tools, 'it-ping'), '--self', '-C', '100000000', '-a', 'emul:ib'], env=daemon.environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        ones = [begin() for _ in range(4)]
        lent = 0
        for _ in range(12):
            time.sleep(chance.random() * 0.05)
            one = ones.pop(chance.randrange(len(ones)))
            one.kill()
            one.wait()
            sums_agree(tools, daemon, {other.pid for other in ones})
            lent += len(processes(tools, daemon))
            ones.append(begin())
        for one in ones:
            one.kill()
            one.wait()
        sums_agree(tools, daemon, set())
        if lent == 0:
            raise Failed('no process has borrowed anything')


def announced(_, kald):
    """A kald in the foreground prints the names of its socket and of its file of rules."""
    version = subprocess.run([kald, '-V'], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    if not version.startswith('kald (itapi) '):
        raise Failed(version)
    with tempfile.TemporaryDirectory(prefix='kalctl.') as folder:
        path, rules = (os.path.join(folder, name) for name in ('socket', 'rules'))
        with open(rules, 'w', encoding='ascii') as file:
            file.write('[limits.user]\nqp = 5\n')
        with subprocess.Popen([kald, '-s', path, '-p', rules], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as daemon:
            said = daemon.stderr.readline()
            daemon.terminate()
        if said != f'kald: serves {path}, rules of {rules}\n' or daemon.returncode != 0:
            raise Failed(f'it says {said}')


def usage(tools, kald):
    """Invalid command lines, invalid rules, and no daemon."""
    with Daemon(kald) as daemon:
        for words in ([], ['nothing'], ['show'], ['show', 'x'], ['list', 'x'], ['stop', ':0'], ['policy', 'x']):
            kalctl(tools, daemon, *words).expect(2)
        kalctl(tools, daemon, 'policy', 'check', daemon.policy).expect(0, 'can be used')
        with open(daemon.policy, 'w', encoding='ascii') as file:
            file.write('[policy]\nport = 1\n')
        kalctl(tools, daemon, 'policy', 'check', daemon.policy).expect(1, f'{daemon.policy}:2: [policy] port: there is no such key')
        done = subprocess.run([kald, '--check', '--policy', daemon.policy], capture_output=True, text=True, check=False)
        if done.returncode != 1 or 'there is no such key' not in done.stderr:
            raise Failed(f'kald --check says {done.stderr}')
        kalctl(tools, daemon, '-s', '/nonexistent', 'list').expect(1, 'no kald answers at /nonexistent')
        failed = kalctl(tools, daemon, '--json', '-s', '/nonexistent', 'list')
        if json.loads(failed.out)['ok'] is not False:
            raise Failed(failed.out)


if __name__ == '__main__':
    sys.exit(main([('/tools/kalctl/' + case.__name__, functools.partial(case, *sys.argv[1:]))
                   for case in (announced, activated, shown, agrees, unseen, refused, stopped, killed, usage)]))
