#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Recordings of two processes, replayed elsewhere and compared; recordings that are bad (TAP).

Usage: test_replay.py --app REPLAY-APP --replay IT-REPLAY --defects FOLDER [--operations N]
"""

import argparse
import collections
import os
import random
import re
import stat
import subprocess
import sys
import tempfile
import time

PATIENCE = 100
TARGETS = ('emul:ib', 'emul:iwarp', 'shm:iwarp')


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


class Recordings:
    """Recordings that are made once and used by all tests."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.ends = [self.path('server'), self.path('client')]
        self.operations = 0     # that both have

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self, **more):
        own = {key: value for key, value in os.environ.items() if key not in ('ITAPI_FAULTY', 'ITAPI_RECORD')}
        return dict(own, ITAPI_PROVIDER_PATH=self.options.defects, ITAPI_WRAPPED=self.options.roce, **more)

    def record(self, adapter, app=None, count=None, ends=None, more=()):
        words = [app or self.options.app, 'record:' + adapter]
        count = str(count or self.options.operations)
        ends = ends or self.ends
        with subprocess.Popen([*words, 'server', count, *more], stdout=subprocess.PIPE, text=True,
                              env=self.environment(ITAPI_RECORD=ends[0])) as server:
            try:
                port = server.stdout.readline().strip()
                with subprocess.Popen([*words, 'client', count, port, *more], stdin=subprocess.PIPE, text=True,
                                      env=self.environment(ITAPI_RECORD=ends[1])) as client:
                    client.communicate(server.stdout.readline() if app else None, timeout=PATIENCE)
                expect(client.returncode == 0, f'the client ended with {client.returncode}')
                expect(server.wait(PATIENCE) == 0, f'the server ended with {server.returncode}')
            finally:
                server.kill()

    def replay(self, *words, status=0, **more):
        """Runs it-replay and returns its output; fails unless it ends with that status (None: with
        0 or 1)."""
        done = subprocess.run([self.options.replay, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=self.environment(**more))
        said = done.stdout + done.stderr
        expect(done.returncode == status or (status is None and done.returncode in (0, 1)), f'it-replay {" ".join(words)} ended with {done.returncode}, not {status}: {said}')
        return said

    def lines(self, which=0):
        with open(self.ends[which], encoding='ascii') as file:
            return file.read().splitlines()

    def edited(self, name, lines):
        with open(self.path(name), 'w', encoding='ascii') as file:
            file.write('\n'.join(lines) + '\n')
        return self.path(name)


def signaled(lines):
    """Returns the lines of a recording in which only requests with the flag for it have completions
    of success."""
    asked = {}
    for line in lines:
        words = line.split()
        if words[1] == 'post' and '.s' in words[2]:
            asked[words[2]] = int(re.search(r'flags=(\w+)', line)[1], 0) & 1
        if words[1] == 'done' and '.s' in words[2]:
            expect(asked[words[2]] or words[4] != 'success', 'a request that is silent completes: ' + line)
    expect(0 in asked.values() and 1 in asked.values(), 'all requests are alike')


def numbered(lines):
    """Returns the lines with their numbers made consecutive."""
    return lines[:1] + [re.sub(r'^\d+', str(number), line) for number, line in enumerate(lines[1:], 1)]


def test_recording(recordings):
    """two processes are recorded, each into a file for its user alone"""
    recordings.record('iwarp')
    posted = 0
    for which, path in enumerate(recordings.ends):
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, 'the mode is not 0600')
        lines = recordings.lines(which)
        expect(lines[0] == 'itapi-record 1' and lines[-1].endswith(' end'), 'the recording is not whole')
        posted += sum(' post ' in line for line in lines)
        if which == 1:
            signaled(lines[1:])
        for verb in ('send', 'recv', 'rdma_write', 'rdma_read', 'fetch_add', 'bind_mw'):
            there = any(f' post q1.{letter}' in line and f' {verb} ' in line for line in lines for letter in 'sr')
            expect(there or (which == 0) != (verb == 'bind_mw'), f'no {verb} in {path}')
    expect(posted >= recordings.options.operations, f'only {posted} operations')
    expect(any(re.search(r' rereg m1 .* len=65536 .* = ok$', line) for line in recordings.lines(1)), 'no region changes')
    expect('invalidate=' in '\n'.join(recordings.lines(1)), 'no Send invalidates')
    recordings.operations = posted
    said = recordings.replay(*recordings.ends)
    expect(said == f'{posted} operations of 2 queue pairs\n', said)


def test_replays(recordings):
    """on each adapter, the replay of a recording does not differ from it"""
    for target in TARGETS:
        out = recordings.path('of-' + target)
        recordings.replay('-a', target, '-o', out, *recordings.ends)
        said = recordings.replay('--diff', out, *recordings.ends)
        expect('no difference' in said and 'excused: order of different queues' in said, said)
        with open(out, encoding='ascii') as file:
            sums = set(re.findall(r' post \S+ send len=[1-9]\d* crc=(\w+)', file.read()))
        expect(len(sums) > 5, f'all Sends have the same payload: {sums}')


def shared(recordings):
    """Records both ends of a run with a shared receive queue, windows addressed from 0, and
    datagrams, once for all tests."""
    ends = [recordings.path('shared-server'), recordings.path('shared-client')]
    if not os.path.exists(ends[0]):
        recordings.record('shm:ib', recordings.options.queues, max(40, recordings.options.operations // 10), ends)
    return ends


def lines_of(path):
    with open(path, encoding='ascii') as file:
        return file.read().splitlines()


def test_shared(recordings):
    """shared receive queues, windows addressed from 0 and datagrams are recorded, replayed, and recorded again"""
    ends = shared(recordings)
    said = '\n'.join(lines_of(ends[0]))
    for pattern in (r' srq s1 p1 wr=4 sge=1 = ok', r' modify s1 wr=8', r' modify s1 limit=4', r' post s1\.r9 recv ', r'(?s) done q2\.r1 recv success len=10 [^\n]* from=s1\.r2\n.* done q1\.r1 recv success len=9 [^\n]* from=s1\.r1\n',
                    r' post s1\.r1 .*\n.* modify s1 wr=8\n(.*\n)*.* post s1\.r2 ', r' event s1 RI_EVENT_SRQ_LIMIT', r' bind_mw .*flags=0x81 ', r' type=ud .* qpn=\d+ qkey=0x1235',
                    r' modify q3 mask=0x40 qkey=0x1234', r' ah h1 p1 dest=1:7f000001:0 = ok', r' send_ud .* ah=h1 qpn=\d+ qkey=0x1234', r' destroy s1 = ok'):
        expect(re.search(pattern, said), f'{pattern} is not in the recording')
    runs = [('emul:ib', ends), ('shm:ib', ends)]
    if recordings.options.roce:
        runs += [('roce:lo', ends), ('emul:ib', [recordings.path('shared-of-roce:lo')])]
    for number, (target, sources) in enumerate(runs):
        out = recordings.path('shared-of-' + target) + ('' if sources == ends else str(number))
        recordings.replay('-a', target, '-o', out, *sources)
        said = recordings.replay('--diff', out, *sources)
        expect('no difference' in said and 'arrived in one' not in said, f'{target}: {said}')
        lines = '\n'.join(lines_of(out))
        for pattern in (' srq s1 ', r' done q\d\.r\d+ recv success .* from=s1', ' event s1 RI_EVENT_SRQ_LIMIT', ' send_ud ', ' recv_ud success'):
            expect(re.search(pattern, lines), f'{target}: {pattern} is not in the replay')
        expect(' bind_mw len=0 flags=0x81' in lines, f'{target}: the window is addressed otherwise')
    said = recordings.replay('-a', 'emul:iwarp', '-o', recordings.path('shared-of-iwarp'), *ends, status=1)
    expect('emul:iwarp has no datagrams' in said, said)


def test_shared_iwarp(recordings):
    """the same without datagrams over TCP, and on InfiniBand; receives that have one cookie have no payload"""
    ends = [recordings.path('tcp-server'), recordings.path('tcp-client')]
    recordings.record('iwarp', recordings.options.queues, 40, ends, ('alike',))
    taken = [line for line in lines_of(ends[0]) if re.search(r' done q\d\.r\d+ recv success', line)]
    expect(len(taken) > 40 and not any('crc=' in line or 'from=' in line for line in taken), 'receives are told apart that are alike')
    for target in ('emul:ib', 'emul:iwarp'):
        out = recordings.path('tcp-of-' + target)
        recordings.replay('-a', target, '-o', out, *ends)
        said = recordings.replay('--diff', out, *ends)
        expect('no difference' in said, said)


def test_shared_differs(recordings):
    """a datagram that was not sent, a receive that differs, and a limit that one run lacks, are differences; a lost datagram is excused"""
    ends = shared(recordings)
    out = recordings.path('shared-of-emul:ib')
    good = lines_of(ends[0])
    cases = {
        'payload': (r'done q3\.r5 recv_ud', lambda line: re.sub(r'crc=\w+', 'crc=00000001', line), 'nobody has sent this datagram'),
        'length': (r'done q3\.r5 recv_ud', lambda line: re.sub(r'len=\d+', 'len=999', line), 'nobody has sent this datagram'),
        'twice': (r'done q3\.r6 recv_ud', lambda line: re.sub(r'len=.*', re.search(r'len=.*', good[first(good, r'done q3\.r5 ')])[0], line),
                  'nobody has sent this datagram'),
        'receive': (r'post s1\.r7 recv', lambda line: line.replace('len=1024', 'len=1000'), 'receives of s1'),
        'limit': (r'event s1 ', lambda line: line.replace('SRQ_LIMIT', 'SRQ_CATASTROPHIC'), 'limits of s1'),
    }
    for name, (pattern, change, message) in cases.items():
        lines = list(good)
        at = first(lines, pattern)
        lines[at] = change(lines[at])
        bad = recordings.edited('shared-' + name, lines)
        said = recordings.replay('--diff', out, bad, ends[1], status=1)
        # A long run has datagrams that are alike: which of them is one too many shows at the last of them.
        where = f'{bad}:' if name == 'twice' else f'{bad}:{at + 1}:'
        expect(message in said and where in said, f'{name}: {said}')
    lines = list(good)
    at = first(lines, r'done q3\.r5 ')
    del lines[at]
    said = recordings.replay('--diff', out, recordings.edited('shared-lost', numbered(lines)), ends[1])
    expect('no difference' in said and 'excused 1 times: datagrams that arrived in one' in said, said)


def test_shared_bad(recordings):
    """impossible lines of shared receive queues and datagrams are refused"""
    ends = shared(recordings)
    good = lines_of(ends[0])
    made, limit, post, done = (first(good, pattern) for pattern in (' srq s1 ', ' modify s1 limit', r' post s1\.r1 ', r' done q1\.r2 '))
    handle, datagram, qp = (first(good, pattern) for pattern in (' ah h1 ', ' send_ud ', ' qp q3 '))

    def with_line(at, line):
        return [*good[:at], line, *good[at + 1:]]
    cases = {
        'no-queue': (with_line(made, good[made].replace('= ok', '= resources')), r':\d+: there is no shared receive queue s1'),
        'queue-twice': (numbered(good[:made + 1] + good[made:]), f':{made + 2}: s1 exists already'),
        'too-large': (with_line(limit, good[limit].replace('limit=4', 'wr=99999999')), f':{limit + 1}: wr='),
        'gap': (with_line(post, good[post].replace('s1.r1', 's1.r2')), f':{post + 1}: operation r2 comes where r1 is due'),
        'request': (with_line(post, good[post].replace('s1.r1', 's1.s1')), f":{post + 1}: 's1.s1' is not an operation"),
        'own': (with_line(post, good[post].replace('s1.r1', 'q1.r1')), f':{post + 1}: .*q1'),
        'never': (with_line(done, re.sub('from=.*', 'from=s1.r9999', good[done])), f':{done + 1}: s1.r9999 completes, and was not posted'),
        'other': (with_line(done, re.sub('from=.*', 'from=s2.r1', good[done])), f':{done + 1}: from=s2.r1 is not a receive of s1'),
        'handle': (with_line(datagram, good[datagram].replace('ah=h1', 'ah=h2')), f':{datagram + 1}: ah=h2 is not an address handle'),
        'handle-twice': (numbered(good[:handle + 1] + good[handle:]), f':{handle + 2}: h1 exists'),
        'number': (with_line(datagram, re.sub(r'qpn=\d+', 'qpn=5', good[datagram])), f':{datagram + 1}: datagrams go to the queue pair of number 5'),
        'connected': (with_line(datagram, re.sub(r'post q3\.s\d+', 'post q1.s2', good[datagram])), f':{datagram + 1}: a datagram leaves q1'),
        'nameless': (with_line(qp, re.sub(r' qpn=\d+', '', good[qp])), f':{qp + 1}: there is no number qpn='),
        'both': (with_line(qp, good[qp].replace(' s0 ', ' s1 ')), f':{qp + 1}: q3 has a shared receive queue s1'),
    }
    for name, (lines, message) in cases.items():
        bad = recordings.edited('shared-bad-' + name, lines)
        said = recordings.replay(bad, ends[1], status=2)
        expect(re.search(message, said), f'{name}: {said}')
    group = recordings.edited('shared-group', with_line(datagram, re.sub(r'qpn=\d+', 'qpn=0xffffff', good[datagram])))
    said = recordings.replay('-a', 'emul:ib', '-o', recordings.path('shared-of-group'), group, ends[1], status=1)
    expect(f'{group}:{datagram + 1}: datagrams to groups are not replayed' in said, said)


def test_one_process(recordings):
    """both ends are in one recording, and one has sent before the other one knows that it is connected"""
    path = recordings.path('self')
    subprocess.run([os.path.join(os.path.dirname(recordings.options.replay), 'it-ping'), '--self', '-a', 'record:emul:ib', '-C', '3'],
                   stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True, env=recordings.environment(ITAPI_RECORD=path))
    lines = lines_of(path)
    active = re.search(r' link (q\d) active', '\n'.join(lines))[1]
    late = lines.pop(first(lines, ' passive '))
    lines.insert(first(lines, f' post {active}.s1 ') + 1, late)
    said = recordings.replay('-a', 'emul:ib', '-o', recordings.path('of-self'), recordings.edited('self-late', numbered(lines)))
    expect('of 2 queue pairs were run on emul:ib' in said, said)


def test_output_kept(recordings):
    """a file that exists is not written"""
    said = recordings.replay('-a', 'emul:ib', '-o', recordings.ends[0], *recordings.ends, status=2)
    expect('exists' in said, said)


def test_fault(recordings):
    """a request that completes with an error only in the replay is reported by its name"""
    out = recordings.path('of-fault')
    # The service thread breaks the queue pair, perhaps when all is over.
    recordings.replay('-a', 'faulty:emul:ib', '-o', out, '-t', '2', *recordings.ends, status=None,
                      ITAPI_FAULTY='complete 20 transport')
    said = recordings.replay('--diff', out, *recordings.ends, status=1)
    expect(re.search(r'completions of re\w+ of q1 of .*differ:\n .* done q1\.\w+ .* success .*\n.* done q\d\.\w+ .* transport', said),
           said)


def first(lines, pattern):
    return next(at for at, line in enumerate(lines) if re.search(pattern, line))


def test_defects(recordings):
    """a defect that is put into a recording is reported with the name of the operation"""
    good = recordings.lines(1)
    defects = {
        'length': (r'done q1\.s\d+ rdma_read', lambda line: re.sub(r'len=\d+', 'len=5000', line)),
        'status': (r'done q1\.s\d+ send success', lambda line: line.replace('success', 'rnr')),
        'payload': (r'done q1\.r\d+ recv success', lambda line: re.sub(r'crc=\w+', 'crc=00000001', line)),
        'opcode': (r'post q1\.s\d+ rdma_write', lambda line: line.replace('rdma_write', 'rdma_read')),
        'flags': (r'post q1\.s\d+ rdma_read .*flags=0x1', lambda line: line.replace('flags=0x1', 'flags=0x9')),
        'end': (r'end q1 closed', lambda line: line.replace('closed', 'broken')),
    }
    for name, (pattern, change) in defects.items():
        lines = list(good)
        at = first(lines, pattern)
        lines[at] = change(lines[at])
        bad = recordings.edited('defect-' + name, lines)
        out = recordings.path('of-emul:ib')
        said = recordings.replay('--diff', out, recordings.ends[0], bad, status=1)
        operation = lines[at].split()[2] if name != 'end' else 'end q1'
        expect(operation in said and f'{bad}:{at + 1}:' in said, f'{name}: {said}')
    lines = list(good)
    del lines[first(lines, r'done q1\.s')]
    bad = recordings.edited('defect-lost', numbered(lines))
    said = recordings.replay('--diff', recordings.path('of-emul:ib'), recordings.ends[0], bad, status=1)
    expect('completions of requests of q1' in said, said)


def test_bad(recordings):
    """recordings that are cut, out of order, of another version, or contradictory are refused, with the number of the line"""
    good = recordings.lines(1)
    link = first(good, ' link ')
    post = first(good, r'post q1\.s')
    done = first(good, r'done q1\.')
    swapped = list(good)
    swapped[post], swapped[post + 1] = swapped[post + 1], swapped[post]

    def with_line(at, line):
        return [*good[:at], line, *good[at + 1:]]
    cases = {
        'piece': ([*good[:-1], 'x'], 'does not begin with'),
        'reordered': (swapped, f':{post + 1}: .*out of order'),
        'missing': (good[:done] + good[done + 1:], f':{done + 1}: .*missing'),
        'version': (['itapi-record 2'] + good[1:], 'version 2'),
        'other': (['something'], 'not a recording'),
        'verb': (with_line(post, f'{post} jump q1'), f":{post + 1}: 'jump' is not a verb"),
        'twice': (numbered(good[:done + 1] + good[done:]), f':{done + 2}: .*twice'),
        'early': (with_line(done, f'{done} done q1.s999999 send success len=1'), f':{done + 1}: .*was not posted'),
        'object': (with_line(post, good[post].replace('q1.', 'q9.', 1)), f':{post + 1}: there is no queue pair q9'),
        'region': (with_line(post, re.sub(r'm1\+\d+', 'm1+99999999', good[post])), f':{post + 1}: .*is in no region'),
        'huge': (with_line(post, re.sub(r'len=\d+', 'len=99999999999999999999', good[post])), f':{post + 1}: len='),
        'memory': (with_line(first(good, ' mr '), re.sub(r'len=\d+', 'len=999999999999', good[first(good, ' mr ')])), 'len='),
        'regions': (numbered(good[:link] + [f'0 mr m{number} p1 at=0x1000 len=67108864 access=0x1 key=0x1 = ok'
                                            for number in range(90, 107)] + good[link:]), 'larger than 1 GiB'),
        'peer': (with_line(link, re.sub(r'peer=\S+', 'peer=1:01020304:5', good[link])), 'no recording has the other end'),
        'address': (with_line(link, re.sub(r'peer=\S+', 'peer=x', good[link])), f':{link + 1}: .*addresses'),
        'long': (with_line(post, f'{post} post ' + 'x' * 10000), f':{post + 1}: .*longer'),
        'behind': (good + [f'{len(good)} close a1'], 'behind the end'),
    }
    for name, (lines, message) in cases.items():
        bad = recordings.edited('bad-' + name, lines)
        said = recordings.replay(recordings.ends[0], bad, status=2)
        expect(re.search(message, said), f'{name}: {said}')
    said = recordings.replay(recordings.ends[0], status=2)
    expect('no recording has the other end' in said, said)
    said = recordings.replay(recordings.path('absent'), status=2)
    expect('No such file' in said, said)


WORDS = ('s1.r1', 's9.r1', 'from=s1.r1', 'ah=h1', 'ah=h9', 'qpn=1', 'qpn=0xffffff', 'qkey=1', 'wr=0', 'limit=99', 'type=rc', 'send_ud', 'h1',
         'q1.s1', 'q0.r1', 'q4294967296', 'm0', 'm1+0:1', 'm1+-1:5', 'w1', 'w99', 'p0', 's1', '-', 'len=0', 'len=-1', 'len=67108864', 'flags=0xffffffff',
         'key=', 'type=ud', 'access=0x3f', 'peer=', 'local=m1', 'local=m1+0:1,', 'remote=0x1', 'operand=', '= ok', 'sge=,,,', 'rereg', 'mr', 'qp')


def changed(lines, draw):
    """Returns the lines with a few changes that are unlikely in practice."""
    lines = list(lines)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(1, len(lines))
        words = lines[at].split(' ')
        how = draw.randrange(6)
        if how == 0:
            words[draw.randrange(1, max(2, len(words)))] = draw.choice(WORDS)
        elif how == 1:
            del words[draw.randrange(len(words))]
        elif how == 2:
            words.insert(draw.randrange(1, len(words) + 1), draw.choice(WORDS))
        elif how == 3:
            lines[at] = lines[draw.randrange(1, len(lines))]
        elif how == 4:
            del lines[at]
        else:
            octets = list(lines[at])
            octets[draw.randrange(len(octets))] = chr(draw.randrange(1, 128))
            lines[at] = ''.join(octets)
        if how < 3:
            lines[at] = ' '.join(words)
    return numbered([line.replace('\n', ' ') for line in lines] or ['']) if draw.random() < 0.9 else lines


def test_random(recordings):
    """recordings with random changes are replayed and compared, or refused, and no process crashes"""
    draw = random.Random(7)
    long = recordings.options.operations > 600
    plain, more = [recordings.lines(0), recordings.lines(1)], [lines_of(path) for path in shared(recordings)]
    statuses = collections.Counter()
    for number in range(2000 if long else 60):
        good = more if number % 4 == 3 else plain
        ends = [recordings.edited('random-%d' % which, changed(good[which], draw) if number % 3 != which else good[which]) for which in (0, 1)]
        ways = [['-t', '1', *ends], ['--diff', ends[0], ends[1], ends[1]]]
        if number % 10 == 0 or number % 12 == 7:
            ways.append(['-a', 'emul:ib', '-t', '1', '-o', recordings.path('of-random-%d' % number), *ends])
        for words in ways:
            done = subprocess.run([recordings.options.replay, *words], capture_output=True, timeout=PATIENCE, check=False,
                                  env=recordings.environment(ITAPI_LOG='none'))
            said = done.stderr[-1000:].decode(errors='replace')
            expect(done.returncode in (0, 1, 2), f'change {number}: it-replay {words} ended with {done.returncode}: {said}')
            expect(done.returncode == 0 or said, f'change {number}: no word')
            statuses[done.returncode] += 1
    expect(statuses[2] > 100 or statuses[0] > 5, f'all changes end alike: {statuses}')


def test_cut(recordings):
    """a recording that ends with a whole line is used, with a warning; one that ends inside a line is refused"""
    good = recordings.lines(1)
    at = first(good, r'end q1 closed')
    prefix = recordings.edited('prefix', good[:at])
    said = recordings.replay(recordings.ends[0], prefix)
    expect(f'warning: {prefix}:{at}: the last line is not "end"' in said, said)
    half = recordings.edited('half', good[:len(good) // 2])
    said = recordings.replay('--diff', recordings.path('of-emul:ib'), recordings.ends[0], half)
    expect('no difference' in said and re.search(r'excused \d+ times: .*recording that was cut', said), said)
    with open(prefix, 'rb+') as file:
        file.seek(-1, os.SEEK_END)
        file.truncate()
    said = recordings.replay(recordings.ends[0], prefix, status=2)
    expect(re.search(f':{at}: the recording is cut', said), said)
    with open(recordings.path('empty'), 'w', encoding='ascii'):
        pass
    said = recordings.replay(recordings.path('empty'), status=2)
    expect('not a recording' in said, said)


def test_killed(recordings):
    """a process that is killed leaves a recording that is replayed up to the kill; that of its peer is replayed to its end"""
    ends = [recordings.path('survivor'), recordings.path('killed')]
    words = [recordings.options.app, 'record:iwarp']
    with subprocess.Popen([*words, 'server', '1000000'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=recordings.environment(ITAPI_RECORD=ends[0])) as server:
        port = server.stdout.readline().strip()
        with subprocess.Popen([*words, 'client', '1000000', port], env=recordings.environment(ITAPI_RECORD=ends[1])) as client:
            until = time.monotonic() + PATIENCE
            while not os.path.exists(ends[1]) or os.stat(ends[1]).st_size < 20000:
                expect(client.poll() is None and time.monotonic() < until, 'the client has ended')
                time.sleep(0.005)
            client.kill()
        expect(server.wait(PATIENCE) == 1, f'the server ended with {server.returncode}')
    with open(ends[1], 'rb') as file:
        expect(file.read().endswith(b'\n'), 'the last line is not whole')
    for target in TARGETS:
        out = recordings.path('of-killed-' + target)
        said = recordings.replay('-a', target, '-o', out, *ends)
        expect('killed' in said and 'warning' in said, said)
        said = recordings.replay('--diff', out, *ends)
        expect('no difference' in said, said)
    # What the killed process sent last may have arrived in one of the runs only, and so may what was sent to it.
    with open(ends[0], encoding='ascii') as file:
        lines = file.read().splitlines()
    for queue in (r'r\d+ recv', r's\d+ send'):
        edited = list(lines)
        last = max(i for i, line in enumerate(lines) if re.search(rf' done q\d+\.{queue} success', line))
        edited[last] = re.sub(r'success.*', 'flushed len=0', lines[last])
        said = recordings.replay('--diff', out, recordings.edited('flushed', edited), ends[1])
        expect('no difference' in said and re.search(r'excused \d+ times: .*recording that was cut', said), said)


def bounded(recordings, path):
    """Runs it-replay on the file in 400 MB of address space and returns its output, or None under a
    sanitizer, which needs more."""
    done = subprocess.run(['sh', '-c', 'ulimit -v 400000; exec "$0" "$1" "$2"', recordings.options.replay, recordings.ends[0], path],
                          capture_output=True, text=True, timeout=PATIENCE, check=False, env=recordings.environment())
    return None if 'Sanitizer' in done.stderr else f'{done.returncode}: {done.stdout}{done.stderr}'


def test_gigabyte(recordings):
    """it-replay needs little memory for a file of a gigabyte: of octets of 0, and of good lines (a small file unless in the long run)"""
    path = recordings.path('sparse')
    with open(path, 'w', encoding='ascii') as file:
        file.write('itapi-record 1\n')
        file.truncate(1 << 30)
    said = bounded(recordings, path)
    expect(said is None or (said.startswith('2: ') and ':2:' in said), said)
    os.unlink(path)
    lines = recordings.lines(1)
    size = 1 << 30 if recordings.options.operations >= 10000 else 1 << 22
    at = next(i for i in reversed(range(len(lines))) if ' post q1.r' in lines[i])
    posted = int(re.search(r'post q1\.r(\d+)', lines[at])[1])
    rest = 'recv len=1984 flags=0x0 local=' + ','.join(['m1+32768:64'] * 31) + '\n'
    with open(path, 'w', encoding='ascii') as file:
        file.write('\n'.join(lines[:at + 1]) + '\n')
        for number in range(1, size // (len(rest) + 22)):
            file.write(f'{at + number} post q1.r{posted + number} {rest}')
        file.write(f'{at + number + 1} end\n')
    operations = recordings.operations + number - sum(' post ' in line for line in lines[at + 1:])
    said = bounded(recordings, path)
    expect(said is None or said == f'0: {operations} operations of 2 queue pairs\n', said)
    os.unlink(path)


def test_no_file(recordings):
    """without ITAPI_RECORD nothing is recorded, and the adapter works nevertheless"""
    done = subprocess.run([recordings.options.app, 'record:nothing', 'server', '1'], capture_output=True, text=True,
                          timeout=PATIENCE, check=False, env=recordings.environment())
    expect(done.returncode == 1, 'an adapter that is not there was opened')


def main():
    parser = argparse.ArgumentParser()
    for name in ('--app', '--queues', '--replay', '--defects'):
        parser.add_argument(name, required=True)
    parser.add_argument('--roce', default='', help='the object of the provider, if it was built')
    parser.add_argument('--operations', type=int, default=600)
    options = parser.parse_args()
    tests = [test_recording, test_replays, test_shared, test_shared_iwarp, test_shared_differs, test_shared_bad, test_one_process,
             test_output_kept, test_fault, test_defects, test_bad, test_random, test_cut, test_killed, test_gigabyte, test_no_file]
    failed = 0
    print(f'1..{len(tests)}')
    with tempfile.TemporaryDirectory(prefix='itapi-replay.') as folder:
        recordings = Recordings(options, folder)
        for number, test in enumerate(tests, 1):
            try:
                test(recordings)
                print(f'ok {number} - {test.__doc__}', flush=True)
            except (Failed, subprocess.SubprocessError, OSError, StopIteration) as error:
                failed += 1
                print(f'not ok {number} - {test.__doc__}')
                print('\n'.join('# ' + line for line in str(error).splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
