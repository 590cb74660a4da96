#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Runs the tools: both sides in one process, or as two processes over the loopback interface.

Usage: test_programs.py TOOLS ADAPTER self|pair|brief      (TAP; brief: a pair, and only some cases)
"""

import contextlib
import fcntl
import functools
import os
import pty
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

import tool_runs
from tool_runs import PATIENCE, Failed, Folder, Skipped, finish, main, run, start, wait_for_packets, wait_for_rings, wait_for_traffic

HOST = '127.0.0.1'
OWN = '127.%d.%d.' % (80 + os.getpid() % 40, os.getpid() // 40 % 256)       # of processes with an address each
SOME = bytes(range(256)) * 12345        # 3 MB, no multiple of a chunk


class Server(tool_runs.Server):
    """A server; over RoCE it has an address of its own, to which clients connect."""

    def __init__(self, tools, name, *arguments, **keywords):
        if 'roce:lo' in arguments:
            keywords['env'] = {**os.environ, 'ITAPI_ROCE_ADDRESS': OWN + '2'}
        super().__init__(tools, name, *arguments, **keywords)


class Bench:
    """The two ways to run a tool here: both sides in one process, or a server and a client."""

    def __init__(self, tools, adapter, pair):
        self.tools, self.adapter, self.pair = tools, adapter, pair

    def both(self, name, before=(), after=(), server=()):
        """Runs both sides and returns the output of the client (or of the one process). The server
        must end with the same status."""
        if not self.pair:
            return run(self.tools, name, '-a', self.adapter, '--self', *server, *before, *after)
        with Server(self.tools, name, '-a', self.adapter, *server) as other:
            said = run(self.tools, name, '-a', self.adapter, '-p', other.port, *before, HOST,
                       *after)
            other.done().expect(said.status)
            return said

    def wait_for_traffic(self, server, client, octets=4096):
        """Returns once data moves between the two."""
        if self.adapter.startswith('shm'):
            wait_for_rings(client)
        elif self.adapter.startswith('roce'):
            wait_for_packets(self.tools, client, max(octets // 512, 64))
        else:
            wait_for_traffic(server.port, [client], octets)

    def needs_tcp(self):
        """Skips a case whose peer is a TCP socket of the test."""
        if not self.adapter.startswith('iwarp'):
            raise Skipped('peers of %s do not meet by TCP' % self.adapter)

    def needs_requests(self, always=False):
        """Skips a case in which one side may have no request outstanding when its peer dies, if
        only an unanswered request reveals the death."""
        if self.adapter.startswith('roce') and not always:
            raise Skipped('only a request without an answer shows that the peer has died')

    def copy(self, folder, source, target, *options, expect=0, limit=None, early=False):
        """Copies with it-cp; '@' in a path becomes the server's address. A client that fails `early` may not connect at all."""
        where = (HOST if self.pair else '') + ':'
        paths = [path.replace('@', where) for path in (source, target)]
        served = ('--serve', folder.served)
        keywords = {'preexec_fn': limit} if limit else {}
        if not self.pair:
            return run(self.tools, 'it-cp', '-a', self.adapter, '--self', *served, *options,
                       *paths, **keywords).expect(expect)
        with Server(self.tools, 'it-cp', '-a', self.adapter, *served) as other:
            said = run(self.tools, 'it-cp', '-a', self.adapter, '-p', other.port, *options,
                       *paths, **keywords).expect(expect)
            if early:
                other.kill(signal.SIGINT)
                other.done()
            else:
                other.done().expect(expect)
            return said


def same(wanted, got):
    if wanted != got:
        raise Failed('%r is not %r' % (got, wanted))


def info(bench):
    said = run(bench.tools, 'it-info', '-a', bench.adapter, '--json').expect(0).json()
    same(bench.adapter, said['adapters'][0]['name'])
    if not said['adapters'][0]['spigots'][0]['addresses']:
        raise Failed('a spigot without address')
    run(bench.tools, 'it-info', '-a', bench.adapter, '-v').expect(
        0, bench.adapter, 'spigot', 'rdma_read_requires_remote_write')
    names = [one['name'] for one in run(bench.tools, 'it-info', '--json').expect(0).json()['adapters']]
    if bench.adapter.split(':')[0] not in [name.split(':')[0] for name in names]:
        raise Failed('%s is not among %s' % (bench.adapter, names))


def ping(bench):
    bench.both('it-ping', ('-C', '20')).expect(0, '20 round trips of 64 octets verified')
    for size in ('1', '1000', '1m'):
        said = bench.both('it-ping', ('-C', '3', '-S', size, '--json')).expect(0).json()
        same((True, 3), (said['ok'], said['rounds']))


def rping(bench):
    """Both sides speak rping's protocol; a server that speaks another one is noticed."""
    server = ('--rping', '--verify')
    bench.both('it-ping', ('--rping', '-C', '130'), server=server).expect(
        0, '130 round trips of 64 octets verified')
    for size in ('26', '1000', '1m'):
        said = bench.both('it-ping', ('--rping', '-C', '3', '-S', size, '--json'), server=server)
        said = said.expect(0).json()
        same((True, 3, 'rping'), (said['ok'], said['rounds'], said['protocol']))
    shown = bench.both('it-ping', ('--rping', '-C', '1', '-v'), server=('--rping', '-v')).expect(0, 'round 0: ')
    if not bench.pair and 'read "rdma-ping-0: ABCDEFG' not in shown.out:
        raise Failed('the server does not show what it read: ' + shown.out)


def transactions(bench):
    said = bench.both('it-test', ('-C', '50', '--json')).expect(0).json()
    same((True, 300, 300 * 4096), (said['ok'], said['done'], said['verified_octets']))
    bench.both('it-test', ('-C', '20'), ('client', 'SR', '100', 'server', 'RW', '64k')).expect(
        0, '40 operations on 1 connections')


def sizes(bench):
    words = []
    for size in ('1', '7', '4095', '65537', '1m'):
        for kind in ('SR', 'RW', 'RR'):
            words += ['client', kind, size, 'server', kind, size]
    said = bench.both('it-test', ('-C', '3', '--json'), words).expect(0).json()
    same(90, said['done'])


def segments(bench):
    words = ['client', 'SR', '100', '3', 'server', 'RW', '1000', '4', 'server', 'SR', '1', '2']
    bench.both('it-test', ('-C', '20'), words).expect(0, '60 operations')


def threads(bench):
    said = bench.both('it-test', ('-C', '10', '-t', '3', '-e', '2', '--json')).expect(0).json()
    same(360, said['done'])
    bench.both('it-test', ('-C', '10', '--poll', '-t', '2')).expect(0, '120 operations')


def performance(kind, bench):
    for wake in ('--poll', '--sleep'):
        for window in ('1', '64'):
            said = bench.both('it-test', ('--perf', kind, '-C', '300', '-S', '256', '-W', window,
                                          wake, '--json')).expect(0).json()
            same((True, 600, wake[2:]), (said['ok'], said['done'], said['wake']))
            if not 0 < said['min_us'] <= said['p50_us'] <= said['p99_us'] <= said['max_us']:
                raise Failed('percentiles out of order: %s' % said)
    bench.both('it-test', ('--perf', kind, '-C', '20', '-S', '256k', '-t', '2')).expect(0, 'MB/s')
    bench.both('it-test', ('--perf', kind, '-C', '3', '-S', '6m', '-b', '--sleep')).expect(0, 'both ways')


def checked(kind, bench):
    """Transfers in both directions and of all sizes; every octet that can be checked is checked,
    and the client reports how many."""
    said = bench.both('it-test', ('--perf', kind, '-C', '50', '-S', '1,63-65,1000-4000,100k', '-b',
                                  '--sleep', '--verify', '--json')).expect(0).json()
    sizes = [1, 63, 65, 1000, 2000, 4000, 102400]
    same(sizes, [run['operations'][0]['size'] for run in said['runs']])
    trips = {'send': 55, 'write': 0, 'read': 55}[kind]      # with the warm-up
    same([size * (trips + 50) for size in sizes], [run['verified_octets'] for run in said['runs']])
    for more in (('--poll', '-S', '64', '-C', '50'), ('--sleep', '-S', '64', '-C', '100'),
                 ('--sleep', '-S', '2m', '-C', '4', '-b')):
        bench.both('it-test', ('--perf', kind, '-W', '200', '--verify', *more)).expect(
            0, 'data checked')


def duration(bench):
    said = bench.both('it-test', ('--perf', 'write', '-D', '300ms', '-b', '--sleep',
                                  '--json')).expect(0).json()
    same(0.3, said['duration'])
    if said['seconds'] < 0.3 or said['samples'] < 16 or said['done'] < 48:
        raise Failed('too short: %s' % said)


def columns(bench):
    said = bench.both('it-test', ('--perf', 'read', '-C', '5', '-S', '1-1m', '--sleep')).expect(0)
    rows = said.out.splitlines()
    same(23, len(rows))     # what holds for all, heads, 21 sizes
    for row in rows:
        if len(row) > 80:
            raise Failed('%d columns: %s' % (len(row), row))


def copies(bench):
    with Folder() as folder:
        source = folder.file('source', SOME)
        os.chmod(source, 0o640)
        for options in ((), ('-c', 'crc32c'), ('-c', 'sha256'), ('-c', 'xxh3')):
            bench.copy(folder, source, '@copy', *options).expect(0, 'verified')
            same(SOME, folder.content('served/copy'))
            bench.copy(folder, '@copy', os.path.join(folder.path, 'back'), *options)
            same(SOME, folder.content('back'))
        same(0o640, os.stat(os.path.join(folder.served, 'copy')).st_mode & 0o7777)
        said = bench.copy(folder, source, '@', '--json').json()
        same((True, len(SOME)), (said['ok'], said['octets']))
        same(['copy', 'source'], folder.names())


def progress(bench):
    """The progress bar shows the amount, the total, the rate and the remaining time, on at most 80
    columns."""
    with Folder() as folder:
        source = folder.file('source', SOME)
        said = bench.copy(folder, source, '@copy', '--progress').expect(0)
        bars = [bar for bar in re.split(r'[\r\n]', said.err) if bar.startswith('[')]
        for bar in bars:
            if len(bar) > 80 or not re.fullmatch(
                    r'\[[#.]+\] +\d+% +[\d.]+ [kM]?B of +3\.2 MB +[\d.]+ MB/s +\d+:\d\d left', bar):
                raise Failed('what a bar: %r' % bar)
        if not bars or '100%' not in bars[-1]:
            raise Failed('no full bar in %r' % said.err)
        same('', bench.copy(folder, source, '@copy').err)       # nobody looks
        said = bench.copy(folder, source, '@copy', '--progress', '-q')
        same(('', ''), (said.out, said.err))


def terminal_lines(bench, folder, columns):
    """The lines that it-cp writes to a terminal of that many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    source = os.path.join(folder.path, 'source')
    with subprocess.Popen([os.path.join(bench.tools, 'it-cp'), '-a', bench.adapter, '--self', '--serve', folder.served,
                           source, ':copy'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower) as copy:
        os.close(follower)
        shown = b''
        while True:
            try:
                octets = os.read(leader, 65536)
            except OSError:     # nobody has the terminal open any more
                break
            shown += octets
        status = copy.wait(PATIENCE)
    os.close(leader)
    same(0, status)
    return shown.decode('ascii')


def widths(bench):
    """The progress line is always narrower than the terminal, and has a maximum width; it contains
    no control characters but \r and \n."""
    with Folder() as folder:
        folder.file('source', SOME * 4)
        for columns in (2, 5, 10, 14, 20, 25, 33, 40, 60, 80, 132, 400, 1000, 0):
            shown = terminal_lines(bench, folder, columns)
            lines = [line for line in re.split('[\r\n]+', shown) if line]
            if not lines or any(len(line) >= (columns or 80) for line in lines):
                raise Failed('%d columns: %r' % (columns, lines))
            if re.search('[^ -~\r\n]', shown):
                raise Failed('control characters: %r' % shown)
            if columns == 0 or columns >= 6:
                last = lines[-1]
                if '100%' not in last or ('[' in last) != (columns == 0 or columns > 8):
                    raise Failed('%d columns: %r' % (columns, last))
            if columns == 80 and not re.search(r'#\] 100% .* of .* MB/s .* left *$', lines[-1]):
                raise Failed('80 columns: %r' % lines[-1])
        said = bench.copy(folder, os.path.join(folder.path, 'source'), '@copy', '--progress')
        if '\r' in said.err or '100%' not in said.err or not said.err.endswith('left\n'):
            raise Failed('no terminal: %r' % said.err)


def small_copies(bench):
    with Folder() as folder:
        for size in (0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1):
            source = folder.file('source', SOME[:size])
            bench.copy(folder, source, '@copy')
            same(SOME[:size], folder.content('served/copy'))


def large_copies(bench):
    """A copy that is large enough to use each slot of both rings several times; all chunks differ."""
    octets = random.Random(1).randbytes((27 << 20) + 5)
    with Folder() as folder:
        source = folder.file('source', octets)
        for options in ((), ('-c', 'sha256')):
            bench.copy(folder, source, '@copy', *options)
            same(True, octets == folder.content('served/copy'))
            bench.copy(folder, '@copy', os.path.join(folder.path, 'back'), *options)
            same(True, octets == folder.content('back'))


def strange_files(bench):
    """Files that are not regular, and files with more or less data than their size, are refused.
    Holes are copied."""
    with Folder() as folder:
        pipe = os.path.join(folder.path, 'pipe')
        os.mkfifo(pipe)
        for path, why in (('/proc/cpuinfo', 'more than the 0 octets of its size'), (pipe, 'is not a regular file'),
                          ('/dev/zero', 'is not a regular file'), (folder.served, 'is not a regular file')):
            words = ('--self', '--serve', folder.served, path, ':copy')     # no server hears of it
            run(bench.tools, 'it-cp', '-a', bench.adapter, *words).expect(1, why)
        kernel = '/sys/kernel/mm/transparent_hugepage/enabled'      # its size is that of a page
        if os.path.exists(kernel):
            bench.copy(folder, kernel, '@copy', expect=1).expect(1, 'the file ends after')
        os.mkfifo(os.path.join(folder.served, 'pipe'))
        back = os.path.join(folder.path, 'back')
        bench.copy(folder, '@pipe', back, expect=1).expect(1, 'the server says', 'is not a regular file')
        same(['pipe'], folder.names())
        sparse = folder.file('sparse', b'begin')
        os.truncate(sparse, (3 << 20) + 5)
        bench.copy(folder, sparse, '@copy')
        same(b'begin' + bytes(3 << 20), folder.content('served/copy'))
        same(False, os.path.exists(back))


def until_refused(bench, folder, words, copied):
    """Repeats a copy until one fails: on a busy machine the thread that makes the file grow may
    sleep as long as a copy takes."""
    for _ in range(20):
        try:
            return bench.copy(folder, *words, expect=1, early=True)
        except Failed:
            os.remove(copied)       # raises if the copy failed with another status
    raise Failed('no copy of a file that grows is refused')


def growing_file(bench):
    """A file grows while it is copied, in both directions: the copy must fail and leave no target
    file."""
    with Folder() as folder:
        for source, target in ((folder.file('log', SOME), '@copy'), (folder.file('served/log', SOME), '')):
            over = threading.Event()

            def append(path=source, over=over):
                with open(path, 'ab', buffering=0) as log:
                    while not over.wait(0.001):
                        log.write(b'a line\n')

            writer = threading.Thread(target=append)
            writer.start()
            try:
                words = (source, target) if target else ('@log', os.path.join(folder.path, 'back'))
                copied = os.path.join(folder.path, 'served/copy' if target else 'back')
                until_refused(bench, folder, words, copied).expect(1, 'while it was copied')
            finally:
                over.set()
                writer.join()
        same(['log'], folder.names())
        same(['log', 'served'], sorted(os.listdir(folder.path)))


def walls(bench):
    with Folder() as folder:
        secret = folder.file('secret', b'secret')
        os.symlink('../secret', os.path.join(folder.served, 'link'))
        os.symlink('..', os.path.join(folder.served, 'up'))
        for path in ('../secret', secret, 'link', 'up/secret', './up', 'nothing', 'up'):
            back = os.path.join(folder.path, 'back')
            bench.copy(folder, '@' + path, back, expect=1).expect(1, 'the server says')
            if os.path.exists(back):
                raise Failed(path + ' left a file behind')
        for path in ('../new', secret, 'link', 'up/new', 'up', 'a/b'):
            bench.copy(folder, secret, '@' + path, expect=1).expect(1, 'the server says')
        same(['link', 'up'], folder.names())
        same(b'secret', folder.content('secret'))


def no_room(bench):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    with Folder() as folder:
        folder.file('served/large', SOME)
        back = os.path.join(folder.path, 'back')
        bench.copy(folder, '@large', back, expect=1, limit=limit).expect(1, 'File too large')
        same(['served'], sorted(os.listdir(folder.path)))


def command_lines(bench):
    for name, *arguments in (
            ('it-info', 'extra'), ('it-info', '--nonsense'), ('it-ping', '-C', 'many', HOST),
            ('it-ping', '-p', '70000', HOST), ('it-ping', HOST, 'extra'),
            ('it-ping', '--self', HOST), ('it-ping', '-S', '0', HOST), ('it-test', HOST, 'nobody'),
            ('it-test', HOST, 'client', 'XX'), ('it-test', '--perf', 'fly', HOST),
            ('it-test', '--perf', 'write'), ('it-test', '--poll', '--sleep', HOST),
            ('it-test', '-t', '0', HOST), ('it-test', '--size', '8', HOST),
            ('it-test', '--timeout', '-1', HOST), ('it-test', '--perf', 'write', '-S', '', HOST),
            ('it-test', '--perf', 'write', '-S', '2-1', HOST),
            ('it-test', '--perf', 'write', '-S', '1,', HOST),
            ('it-test', '--perf', 'write', '-D', '5d', HOST),
            ('it-test', '--perf', 'write', '-D', '5s', '-C', '5', HOST),
            ('it-test', '--verify', HOST), ('it-ping', '-P', '--clients', '0'),
            ('it-ping', '--memory', '1x'), ('it-ping', '--verify'),
            ('it-ping', '--rping', '-S', '25', HOST), ('it-cp',), ('it-cp', 'a', 'b'),
            ('it-cp', 'a:b', 'c:d'), ('it-cp', '-c', 'md5', 'a', 'b:c'), ('it-cp', '--self', 'a', 'b:c')):
        said = run(bench.tools, name, *arguments)
        said.expect(2, name + ': ')
        same('', said.out)
    for name in ('it-info', 'it-ping', 'it-test', 'it-cp'):
        run(bench.tools, name, '--help').expect(0, 'Usage:')


def no_adapter(bench):
    for name, *arguments in (('it-info',), ('it-ping', HOST), ('it-test', HOST),
                             ('it-cp', __file__, HOST + ':x')):
        run(bench.tools, name, '-a', 'nothing', *arguments).expect(1, "'nothing'")
        said = run(bench.tools, name, '-a', 'nothing', '--json', *arguments).expect(1).json()
        same(False, said['ok'])


def nobody_there(bench):
    """No server listens at the port. Over RoCE another process has the address, since without one
    there would be no answer at all."""
    with contextlib.ExitStack() as stack:
        if bench.adapter.startswith('roce'):
            stack.enter_context(Server(bench.tools, 'it-ping', '-a', bench.adapter))
        place = stack.enter_context(socket.socket())
        place.bind((HOST, 0))
        port = str(place.getsockname()[1])
        for name, *arguments in (('it-ping', HOST), ('it-test', HOST),
                                 ('it-cp', __file__, HOST + ':x')):
            run(bench.tools, name, '-a', bench.adapter, '-p', port, *arguments).expect(
                1, 'cannot connect to %s:%s over %s: nobody listens there' % (
                    HOST, port, bench.adapter),
                'shm: between processes' if bench.adapter.startswith('emul:') else '(IT_CN_REJ_OTHER)')
        run(bench.tools, 'it-ping', '-a', bench.adapter, 'no-such-host.invalid').expect(1, 'host')


def silent_there(bench):
    with socket.socket() as place:
        bench.needs_tcp()
        place.bind((HOST, 0))
        place.listen()
        port = str(place.getsockname()[1])
        run(bench.tools, 'it-ping', '-a', bench.adapter, '-p', port, '--timeout', '1', HOST).expect(
            1, 'IT_CN_REJ_TIMEOUT')


def wrong_tool(bench):
    with Server(bench.tools, 'it-test', '-a', bench.adapter) as server:
        port = ('-a', bench.adapter, '-p', server.port)
        run(bench.tools, 'it-ping', *port, HOST).expect(1, 'another tool serves that port')
        run(bench.tools, 'it-ping', '--rping', *port, HOST).expect(1, 'another tool serves that port')
        run(bench.tools, 'it-test', *port, '-C', '5', HOST).expect(0)
        server.done().expect(0, 'a program other than this tool connected')


def no_file(bench):
    """A file that does not exist is reported before a connection is made."""
    for source, target, why in (('/nonexistent', 'no-such-host.invalid:x', 'No such file'),
                                ('no-such-host.invalid:x', '/nonexistent/x', 'No such file'),
                                ('/dev', 'no-such-host.invalid:x', 'not a regular file')):
        run(bench.tools, 'it-cp', '-a', bench.adapter, source, target).expect(1, '/', why)


def versions(bench):
    for name in ('it-info', 'it-ping', 'it-test', 'it-cp'):
        said = run(bench.tools, name, '--version').expect(0)
        if not re.fullmatch(name + r' \(itapi\) \d+\.\d+\.\d+\n', said.out):
            raise Failed('%r is not a version' % said.out)
        helped = run(bench.tools, name, '--help').expect(0)
        if name != 'it-info' and 'default: iwarp' not in helped.out:
            raise Failed('no defaults in: ' + helped.out)


def safe_terminal(bench):
    """Control characters in a name do not reach the terminal; JSON has the name unchanged."""
    name = 'no\033[31m\nsuch\x9b'
    for locale in ('C', 'C.UTF-8'):
        there = {'env': {**os.environ, 'LC_ALL': locale}}
        for tool, *words in (('it-info',), ('it-ping', HOST), ('it-test', HOST),
                             ('it-cp', __file__, HOST + ':x')):
            said = run(bench.tools, tool, '-a', name, *words, **there).expect(
                1, r'no\x1b[31m\x0asuch\xc2\x9b')
            same([], re.findall(r'[^\n -~]', said.out + said.err))
            said = run(bench.tools, tool, '-a', name, '--json', *words, **there).expect(1)
            same([], re.findall(r'[^\n -~]', said.out))
            if name not in said.json()['error']:
                raise Failed('the name is lost: ' + said.out)


def refused_provider(bench):
    """If the registry refuses the provider of an adapter, the tool gives the reason, without
    control characters."""
    with Folder() as folder:
        folder.file('no\033[31mobject.so', b'no object at all')
        there = {'env': {**os.environ, 'ITAPI_PROVIDER_PATH': folder.path}}
        for words in (('it-info',), ('it-info', '-a', 'other'), ('it-ping', '-a', 'other', HOST)):
            said = run(bench.tools, *words, **there).expect(
                1 if 'other' in words else 0, words[0] + '[', ']: warning: registry: ',
                r'no\x1b[31mobject.so: ')
            same([], re.findall(r'[^\n -~]', said.out + said.err))


def stopped_ping(bench):
    """With output to a terminal it-ping prints a line each second; after ^C it still prints the
    figures."""
    ours, theirs = pty.openpty()
    with Server(bench.tools, 'it-ping', '-a', bench.adapter, '-P') as server:
        with subprocess.Popen([os.path.join(bench.tools, 'it-ping'), '-a', bench.adapter, '-p',
                               server.port, HOST], stdin=subprocess.DEVNULL, stdout=theirs,
                              stderr=subprocess.PIPE) as client:
            os.close(theirs)
            shown = b''
            while shown.count(b'rounds, us: min') < 2:
                shown += os.read(ours, 4096)
            client.send_signal(signal.SIGINT)
            try:
                while True:
                    shown += os.read(ours, 4096)
            except OSError:         # the terminal is closed
                os.close(ours)
            same(b'', client.stderr.read())
            same(128 + signal.SIGINT, client.wait(PATIENCE))
        if not re.search(rb'\d+ round trips of 64 octets verified in .*\r\nus: min .* median .* 99.9% ',
                         shown):
            raise Failed('no summary in %r' % shown)
        server.kill(signal.SIGTERM)
        server.done().expect(0)


def stopped_json(bench):
    with Server(bench.tools, 'it-ping', '-a', bench.adapter, '-P') as server:
        client = start(bench.tools, 'it-ping', '-a', bench.adapter, '-p', server.port, '--json', HOST)
        bench.wait_for_traffic(server, client)
        client.send_signal(signal.SIGINT)
        said = finish(client).expect(128 + signal.SIGINT).json()
        same((True, True), (said['ok'], said['stopped']))
        if not 0 < said['min_us'] <= said['p50_us'] <= said['p99_9_us'] <= said['max_us']:
            raise Failed('figures out of order: %s' % said)


def port_in_use(bench):
    with Server(bench.tools, 'it-ping', '-a', bench.adapter) as server:
        if bench.adapter.startswith('roce'):
            run(bench.tools, 'it-ping', '-a', bench.adapter, env={**os.environ, 'ITAPI_ROCE_ADDRESS': HOST}).expect(
                1, 'UDP port 4791 of %s has process %d (it-ping)' % (HOST, server.process.pid))
            return
        run(bench.tools, 'it-ping', '-a', bench.adapter, '-p', server.port).expect(1, 'in use')
    if not bench.adapter.startswith('iwarp'):
        return      # their ports are not those of TCP
    with socket.socket() as taken:      # at one address of several: a client there would find somebody else
        taken.bind((HOST, 0))
        run(bench.tools, 'it-ping', '-a', bench.adapter, '-p',
            str(taken.getsockname()[1])).expect(1, 'in use')


def many_clients(bench):
    with Server(bench.tools, 'it-test', '-a', bench.adapter, '--persistent') as server:
        port = ('-a', bench.adapter, '-p', server.port)
        for _ in range(3):
            run(bench.tools, 'it-test', *port, '-C', '5', HOST).expect(0)
        run(bench.tools, 'it-ping', *port, HOST).expect(1)
        run(bench.tools, 'it-test', *port, '--perf', 'read', '-C', '50', HOST).expect(0)
        server.kill(signal.SIGTERM)
        server.done().expect(0)


def killed(victim, name, bench):
    """One side is killed while data moves; the other must report that and end soon."""
    said = ['connection']
    endless = ('-C', '1000000000') if name == 'it-test' else ('-C', '0')
    if bench.adapter.startswith('roce'):
        bench.needs_requests((victim, name) == ('server', 'it-test'))
        # The failed request and the end of the connection are events of two dispatchers, which have no order.
        said, endless = ['IT_DTO_ERR_TRANSPORT', 'the connection broke'], ('--perf', 'write', '-W', '16', *endless)
    with Server(bench.tools, name, '-a', bench.adapter) as server:
        client = start(bench.tools, name, '-a', bench.adapter, '-p', server.port, *endless, HOST)
        bench.wait_for_traffic(server, client)
        if victim == 'client':
            client.kill()
            finish(client)
            server.done().expect_either(1, *said)
        else:
            server.kill()
            finish(client).expect_either(1, *said)


def killed_copy(bench):
    """A client dies after half a file: the server must remove its part."""
    bench.needs_requests()
    with Folder() as folder:
        os.truncate(folder.file('source'), 4 << 30)
        server = Server(bench.tools, 'it-cp', '-a', bench.adapter, '--serve', folder.served)
        with server:
            client = start(bench.tools, 'it-cp', '-a', bench.adapter, '-p', server.port,
                           os.path.join(folder.path, 'source'), HOST + ':copy')
            bench.wait_for_traffic(server, client, 1 << 20)
            same(1, len(folder.names()))
            client.kill()
            finish(client)
            server.done().expect(1)
        same([], folder.names())


def interrupted_copy(bench):
    """The user interrupts a copy to this host: no part of it must remain here."""
    with Folder() as folder:
        os.truncate(folder.file('served/source'), 4 << 30)
        server = Server(bench.tools, 'it-cp', '-a', bench.adapter, '--serve', folder.served)
        with server:
            client = start(bench.tools, 'it-cp', '-a', bench.adapter, '-p', server.port,
                           HOST + ':source', os.path.join(folder.path, 'copy'))
            bench.wait_for_traffic(server, client, 1 << 20)
            client.send_signal(signal.SIGINT)
            finish(client).expect(128 + signal.SIGINT, 'interrupted')
            server.done().expect(1)
        same(['served'], sorted(os.listdir(folder.path)))


def self_fails(bench):
    """With --self a client that cannot connect ends the server, too."""
    with Folder() as folder:
        copy = ('it-cp', '--serve', folder.path, __file__, ':x')
        for name, *arguments in (('it-ping',), ('it-test',), copy):
            run(bench.tools, name, '-a', bench.adapter, '--self', '--timeout', '0', *arguments,
                env={**os.environ, 'ITAPI_EMUL_FAULTS': 'call connect 1 resources'}).expect(1, 'IT_ERR_RESOURCES')


EVERYWHERE = [
    ('info', info), ('ping', ping), ('rping', rping), ('transactions', transactions), ('sizes', sizes),
    ('segments', segments), ('threads', threads),
    *[('performance-' + kind, functools.partial(performance, kind))
      for kind in ('write', 'read', 'send')],
    *[('checked-' + kind, functools.partial(checked, kind)) for kind in ('write', 'read', 'send')],
    ('duration', duration), ('columns', columns),
    ('copies', copies), ('progress', progress), ('widths', widths), ('small-copies', small_copies), ('large-copies', large_copies),
    ('strange-files', strange_files), ('growing-file', growing_file),
    ('walls', walls), ('no-room', no_room),
]

PAIRS = [
    ('command-lines', command_lines), ('no-adapter', no_adapter), ('nobody-there', nobody_there),
    ('no-file', no_file), ('versions', versions), ('safe-terminal', safe_terminal),
    ('refused-provider', refused_provider),
    ('stopped-ping', stopped_ping), ('stopped-json', stopped_json),
    ('silent-there', silent_there), ('wrong-tool', wrong_tool), ('port-in-use', port_in_use),
    ('many-clients', many_clients),
    *[('killed-%s-of-%s' % (victim, name), functools.partial(killed, victim, name))
      for victim in ('client', 'server') for name in ('it-ping', 'it-test')],
    ('killed-copy', killed_copy), ('interrupted-copy', interrupted_copy),
]


BRIEF = ('info', 'ping', 'rping', 'segments', 'small-copies', 'no-adapter', 'nobody-there', 'wrong-tool', 'port-in-use')


def built(tools, adapter):
    names = [one['name'] for one in run(tools, 'it-info', '--json').json()['adapters']]
    return any(name.split(':')[0] == adapter.split(':')[0] for name in names)


if __name__ == '__main__':
    if not sys.argv[2].startswith('iwarp') and not built(sys.argv[1], sys.argv[2]):
        print('1..0 # SKIP this build has no emulated fabric')
        sys.exit(0)
    if sys.argv[2] == 'roce:lo':
        HOST = OWN + '2'
        os.environ['ITAPI_ROCE_ADDRESS'] = OWN + '3'
    BENCH = Bench(sys.argv[1], sys.argv[2], sys.argv[3] != 'self')
    CASES = EVERYWHERE + (PAIRS if BENCH.pair else [('nobody-there', nobody_there), ('self-fails', self_fails)])
    if sys.argv[3] == 'brief':
        CASES = [case for case in CASES if case[0] in BRIEF or case[0].startswith('killed')]
    sys.exit(main([('/tools/%s/%s' % (BENCH.adapter, name), functools.partial(case, BENCH))
                   for name, case in CASES]))
