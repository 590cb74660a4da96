#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Recordings of two processes, replayed elsewhere and compared; recordings that are bad (TAP).

Usage: test_replay.py --app REPLAY-APP --replay IT-REPLAY --defects FOLDER [--operations N]
"""

import argparse
import os
import re
import stat
import subprocess
import sys
import tempfile

PATIENCE = 100
TARGETS = ('emul:ib', 'emul:iwarp', 'shm:iwarp')


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


class Recordings:
    """What is recorded once, and used by all tests."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.ends = [self.path('server'), self.path('client')]

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self, **more):
        own = {key: value for key, value in os.environ.items() if key not in ('ITAPI_FAULTY', 'ITAPI_RECORD')}
        return dict(own, ITAPI_PROVIDER_PATH=self.options.defects, **more)

    def record(self, adapter):
        words = [self.options.app, 'record:' + adapter]
        count = str(self.options.operations)
        with subprocess.Popen([*words, 'server', count], stdout=subprocess.PIPE, text=True,
                              env=self.environment(ITAPI_RECORD=self.ends[0])) as server:
            try:
                port = server.stdout.readline().strip()
                subprocess.run([*words, 'client', count, port], check=True, timeout=PATIENCE,
                               env=self.environment(ITAPI_RECORD=self.ends[1]))
                expect(server.wait(PATIENCE) == 0, f'the server ended with {server.returncode}')
            finally:
                server.kill()

    def replay(self, *words, status=0, **more):
        """What it-replay says, after it has ended with that status."""
        done = subprocess.run([self.options.replay, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=self.environment(**more))
        said = done.stdout + done.stderr
        expect(done.returncode == status, f'it-replay {" ".join(words)} ended with {done.returncode}, not {status}: {said}')
        return said

    def lines(self, which=0):
        with open(self.ends[which], encoding='ascii') as file:
            return file.read().splitlines()

    def edited(self, name, lines):
        with open(self.path(name), 'w', encoding='ascii') as file:
            file.write('\n'.join(lines) + '\n')
        return self.path(name)


def numbered(lines):
    """The lines with the numbers that are due."""
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
        for verb in ('send', 'recv', 'rdma_write', 'rdma_read', 'fetch_add', 'bind_mw'):
            there = any(f' post q1.{letter}' in line and f' {verb} ' in line for line in lines for letter in 'sr')
            expect(there or (which == 0) != (verb == 'bind_mw'), f'no {verb} in {path}')
    expect(posted >= recordings.options.operations, f'only {posted} operations')
    expect('invalidate=' in '\n'.join(recordings.lines(1)), 'no Send invalidates')
    said = recordings.replay(*recordings.ends)
    expect(said == f'{posted} operations of 2 queue pairs\n', said)


def test_replays(recordings):
    """the replay on each adapter does not differ"""
    for target in TARGETS:
        out = recordings.path('of-' + target)
        recordings.replay('-a', target, '-o', out, *recordings.ends)
        said = recordings.replay('--diff', out, *recordings.ends)
        expect('no difference' in said and 'excused: order of different queues' in said, said)


def test_output_kept(recordings):
    """a file that exists is not written"""
    said = recordings.replay('-a', 'emul:ib', '-o', recordings.ends[0], *recordings.ends, status=2)
    expect('exists' in said, said)


def test_fault(recordings):
    """a completion that fails in the replay is named by its operation"""
    out = recordings.path('of-fault')
    recordings.replay('-a', 'faulty:emul:ib', '-o', out, '-t', '2', *recordings.ends, status=1,
                      ITAPI_FAULTY='complete 20 transport')
    said = recordings.replay('--diff', out, *recordings.ends, status=1)
    expect(re.search(r'completions of re\w+ of q1 of .*differ:\n .* done q1\.\w+ .* success .*\n.* done q\d\.\w+ .* transport', said),
           said)


def first(lines, pattern):
    return next(at for at, line in enumerate(lines) if re.search(pattern, line))


def test_defects(recordings):
    """a defect that is planted into a recording is named by its operation"""
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
    """recordings that are cut, out of order, of another version, or that lie are refused with the line"""
    good = recordings.lines(1)
    link = first(good, ' link ')
    post = first(good, r'post q1\.s')
    done = first(good, r'done q1\.')
    swapped = list(good)
    swapped[post], swapped[post + 1] = swapped[post + 1], swapped[post]

    def with_line(at, line):
        return [*good[:at], line, *good[at + 1:]]
    cases = {
        'cut': (good[:-1], 'the recording is cut'),
        'reordered': (swapped, f':{post + 1}: .*out of order'),
        'missing': (good[:done] + good[done + 1:], f':{done + 1}: .*missing'),
        'version': (['itapi-record 2'] + good[1:], 'version 2'),
        'other': (['something'], 'no recording'),
        'verb': (with_line(post, f'{post} jump q1'), f":{post + 1}: 'jump' is no verb"),
        'twice': (numbered(good[:done + 1] + good[done:]), f':{done + 2}: .*twice'),
        'early': (with_line(done, f'{done} done q1.s999999 send success len=1'), f':{done + 1}: .*was not posted'),
        'object': (with_line(post, good[post].replace('q1.', 'q9.', 1)), f':{post + 1}: there is no queue pair q9'),
        'region': (with_line(post, re.sub(r'm1\+\d+', 'm1+99999999', good[post])), f':{post + 1}: .*is in no region'),
        'huge': (with_line(post, re.sub(r'len=\d+', 'len=99999999999999999999', good[post])), f':{post + 1}: len='),
        'memory': (with_line(first(good, ' mr '), re.sub(r'len=\d+', 'len=999999999999', good[first(good, ' mr ')])), 'len='),
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


def test_gigabyte(recordings):
    """a file of a gigabyte does not take memory"""
    path = recordings.path('sparse')
    with open(path, 'w', encoding='ascii') as file:
        file.write('itapi-record 1\n')
        file.truncate(1 << 30)
    said = subprocess.run(['sh', '-c', 'ulimit -v 400000; exec "$0" "$1"', recordings.options.replay, path], capture_output=True,
                          text=True, timeout=PATIENCE, check=False, env=recordings.environment())
    sanitized = 'Sanitizer' in said.stderr
    expect(sanitized or (said.returncode == 2 and ':2:' in said.stderr), said.stderr)


def test_no_file(recordings):
    """without ITAPI_RECORD nothing is recorded, and the adapter works"""
    done = subprocess.run([recordings.options.app, 'record:nothing', 'server', '1'], capture_output=True, text=True,
                          timeout=PATIENCE, check=False, env=recordings.environment())
    expect(done.returncode == 1, 'an adapter that is not there was opened')


def main():
    parser = argparse.ArgumentParser()
    for name in ('--app', '--replay', '--defects'):
        parser.add_argument(name, required=True)
    parser.add_argument('--operations', type=int, default=600)
    options = parser.parse_args()
    tests = [test_recording, test_replays, test_output_kept, test_fault, test_defects, test_bad, test_gigabyte, test_no_file]
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
