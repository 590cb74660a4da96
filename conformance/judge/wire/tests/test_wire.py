#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SPDX-FileCopyrightText: the itapi authors
"""Tests that it-wire can fail: wrong expectations, invalid scripts, deviations, reports and
captures (TAP).

Usage: test_wire.py IT_WIRE IT_WIRE_PEER SOURCE
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

IT_WIRE, PEER, SOURCE = sys.argv[1:]
WRONG = os.path.join(SOURCE, 'tests', 'wrong.wire')
VECTORS = os.path.join(SOURCE, '..', '..', 'wire', 'vectors')

# What each case of wrong.wire must be told.
WORDS = {
    'wrong-code': 'expected Terminate 0205, got 0206',
    'wrong-copy': 'the segment had',
    'wrong-no-copy': 'M, D and R of the Terminate are c0, expected 00',
    'wrong-data': 'octet 0 of the response is wrong',
    'wrong-size': 'data is 8, expected 9',
    'wrong-stag': 'stag is 1, expected 2',
    'wrong-message': 'expected send, got response',
    'wrong-early': 'stag is 1, expected',
    'wrong-nothing': 'expected nothing, got',
    'wrong-patience': 'no more in time',
    'wrong-open': 'did not close the connection in time',
    'wrong-end': 'expected a reset, got a FIN',
    'wrong-alive': 'got 0 octets and',
    'wrong-event': 'event=broken',
    'wrong-done': 'len=4',
    'wrong-unexpected': 'op=receive (success), which no step expects',
    'wrong-memory': 'octet 0 of open',
    'wrong-field': 'rev is 2, expected 1',
    'wrong-reject': 'r is 0, expected 1',
    'wrong-part': 'data is 8, expected 9',
    'wrong-take': 'expected 900 octets, got',
    'wrong-behind': 'expected Terminate 0205, got 0206',
    'wrong-load': 'of descriptors, expected 0',
    'wrong-refused': '0 were refused, expected 1',
}

_count = 0


def check(name, good, why=''):
    """Prints the line of one check."""
    global _count  # pylint: disable=global-statement
    _count += 1
    print(f'{"ok" if good else "not ok"} {_count} - {name}' + (f': {why}' if not good else ''), flush=True)


def judge(*words):
    """Runs it-wire against its helper."""
    env = {**os.environ, 'ITAPI_IWARP_RNR_MS': '0'}
    return subprocess.run([IT_WIRE, '--start', PEER, '--vectors', VECTORS, *words], env=env, capture_output=True,
                          text=True, timeout=300, check=False)


def blocks(path):
    """The types of the blocks of a pcapng file; an empty list if the lengths do not fit."""
    with open(path, 'rb') as file:
        data = file.read()
    found = []
    at = 0
    while at + 12 <= len(data):
        kind, size = struct.unpack_from('=II', data, at)
        if size % 4 or at + size > len(data) or struct.unpack_from('=I', data, at + size - 4)[0] != size:
            return []
        found.append(kind)
        at += size
    return found if at == len(data) else []


def dissected(path):
    """Decodes a capture with tshark."""
    run = subprocess.run(['tshark', '-r', path, '-o', 'tcp.check_checksum:TRUE', '-o', 'ip.check_checksum:TRUE', '-V'],
                         capture_output=True, text=True, timeout=120, check=False)
    return run.stdout if run.returncode == 0 else ''


def test_failures(folder):
    """Every case of wrong.wire fails with the words of its title, and leaves a capture."""
    report = os.path.join(folder, 'report.json')
    page = os.path.join(folder, 'report.html')
    run = judge('--cases', WRONG, '--case', 'wrong-*', '--json', report, '--html', page,
                '--captures', folder)
    check('wrong/status', run.returncode == 1, f'{run.returncode}: {run.stderr}')
    if not os.path.exists(report):
        check('wrong/report', False, f'{run.stdout}{run.stderr}'.replace('\n', ' '))
        return
    with open(report, encoding='utf-8') as file:
        said = {case['id']: case for case in json.load(file)['cases']}
    for name, words in WORDS.items():
        cases = [case for case in said.values() if case['id'].startswith(name + '/')]
        texts = [case['text'] or '' for case in cases]
        check(f'wrong/{name}', cases and all(case['outcome'] == 'failed' for case in cases)
              and all(words in text for text in texts), '; '.join(texts))
    check('wrong/all', {name.split('/', maxsplit=1)[0] for name in said} == set(WORDS), str(sorted(said)))
    with open(page, encoding='utf-8') as file:
        text = file.read()
    check('report/html', text.count('class="failed"') == len(said) and 'http' not in text)
    captures = [case['capture'] for case in said.values()]
    shapes = [blocks(path) for path in captures]
    check('capture/blocks', all(shape[:2] == [0x0a0d0d0a, 1] and set(shape[2:]) == {6} for shape in shapes), str(shapes))
    if shutil.which('tshark') is None:
        check('capture/tshark # SKIP there is no tshark', True)
        return
    text = dissected(said['wrong-code/client']['capture'])
    check('capture/tshark', 'ID Req frame' in text and 'Terminate' in text and '[Malformed' not in text
          and 'incorrect' not in text, text[-2000:])


def test_deviations(folder):
    """A known deviation does not fail the run; one that passes is reported."""
    path = os.path.join(folder, 'deviations')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('# known\nwrong-code/*  the reason why\nright/client told\n')
    run = judge('--cases', WRONG, '--case', 'wrong-code/*', '--case', 'right/*', '--deviations', path)
    check('deviations/status', run.returncode == 0, run.stdout)
    check('deviations/known', run.stdout.count('TO' 'DO known deviation: the reason why') == 2, run.stdout)
    check('deviations/mended', '# right/client passes, but is listed' in run.stdout, run.stdout)
    with open(path, 'w', encoding='utf-8') as file:
        file.write('wrong-code/client\n')
    run = judge('--cases', WRONG, '--deviations', path)
    check('deviations/reason', run.returncode == 1 and 'wants a reason' in run.stderr, run.stderr)


def test_scripts(folder):
    """An invalid script is refused, with file and line."""
    head = 'case one\ntitle t\nclause c\n'
    path = os.path.join(folder, 'bad.wire')
    for name, text, words in (('begin', 'alive\n', 'not a case'), ('title', 'case one\nalive\n', 'wants a title'),
                              ('twice', head + 'alive\n' + head + 'alive\n', 'two cases'),
                              ('range', head + 'each n 5..4\nalive\n', 'not a range')):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        run = subprocess.run([IT_WIRE, '--list', '--cases', path], capture_output=True, text=True, timeout=120,
                             check=False)
        check(f'scripts/{name}', run.returncode == 2 and words in run.stderr and 'bad.wire:' in run.stderr, run.stderr)
    for name, step in (('step', 'dance'), ('number', '> send data=many'), ('message', '> letter x'),
                       ('loop', 'loop 2'), ('loop-count', 'loop\nend'), ('marker', '> send mark=9 mark-pointer=4 marked'),
                       ('place', '> send place=4'), ('flip', '> send flip=999'), ('answer', 'peer accepted'),
                       ('kill', 'peer kill'), ('leave', 'leave reset'), ('serve', 'serve'), ('take', 'take')):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(head + step + '\n')
        run = judge('--cases', path)
        check(f'scripts/{name}', run.returncode == 1 and 'bad.wire:4:' in run.stdout, run.stdout)


def listed(*words):
    """The ids that --list prints."""
    run = subprocess.run([IT_WIRE, '--list', '--cases', WRONG, *words], capture_output=True, text=True, timeout=120,
                         check=False)
    return [line.split()[0] for line in run.stdout.splitlines()]


def test_after():
    """--after ID runs only those cases, of the ones that --case selects, that come after the case
    ID."""
    ids = listed()
    check('after/all', len(ids) > 20 and listed('--after', ids[4]) == ids[5:], str(ids))
    check('after/last', not listed('--after', ids[-1]))
    check('after/some', listed('--after', ids[4], '--case', ids[2], '--case', ids[7]) == [ids[7]])


def test_helper():
    """Without a helper there is no verdict."""
    with socket.socket() as taken:      # its port is in use, and has no listener
        taken.bind(('127.0.0.1', 0))
        for name, words in (('none', ['--start', '/bin/false']), ('odd', ['--start', 'echo hello']),
                            ('away', ['--peer', f'127.0.0.1:{taken.getsockname()[1]}'])):
            run = subprocess.run([IT_WIRE, '--cases', WRONG, *words], capture_output=True, text=True, timeout=120,
                                 check=False)
            check(f'helper/{name}', run.returncode == 1 and 'it-wire: ' in run.stderr, run.stderr)
    run = subprocess.run([IT_WIRE, '--cases', WRONG, '--start', PEER, '--accept', 'all'], capture_output=True, text=True,
                         timeout=120, check=False)
    check('helper/accept', run.returncode == 2 and 'siw-terminate' in run.stderr, run.stderr)
    run = subprocess.run([IT_WIRE, '--cases', WRONG], capture_output=True, text=True, timeout=120, check=False)
    check('helper/neither', run.returncode == 2 and '--start' in run.stderr, run.stderr)


def main():
    """Runs all checks."""
    with tempfile.TemporaryDirectory() as folder:
        test_failures(folder)
        test_deviations(folder)
        test_scripts(folder)
    test_after()
    test_helper()
    print(f'1..{_count}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
